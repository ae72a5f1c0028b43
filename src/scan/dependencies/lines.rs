//! The lines of a manifest on which its dependencies stand, for formats whose readers do not know them.
//!
//! Owns which of several lines with a name is meant. Tests: below.

use std::collections::HashMap;

use super::{Requirement, yarn};

/// Part of the line with which a table of dependencies begins: Cargo, npm and `pyproject.toml`; Composer; Pipenv.
const TABLES: [&str; 3] = ["ependenc", "\"require", "packages]"];
/// Ranks a line by whether it begins with the name or only has it in quotes, and whether it comes before any table of dependencies.
const QUOTED: u8 = 1;
const BEFORE: u8 = 2;
const NOWHERE: u8 = 4;

/// For each name the first line, from 1 on, that begins with it, or else has it in quotes; one before the first table of dependencies only where
/// there is none behind. None where there is no such line. The text is gone through once.
pub(super) fn lines_of<'a>(text: &str, asked: &'a [Requirement]) -> HashMap<&'a str, u64> {
    let mut ranked: HashMap<&'a str, (u8, u64)> = asked.iter().map(|it| (it.name.as_str(), (NOWHERE, 0))).collect();
    let (mut open, mut before) = (ranked.len(), BEFORE);
    for (at, line) in text.lines().enumerate() {
        if open == 0 {
            break;
        }
        if TABLES.iter().any(|table| line.contains(table)) {
            before = 0;
        }
        let bare = line.trim_start().trim_start_matches(['"', '\'']);
        let (scope, rest) = bare.split_at(usize::from(bare.starts_with('@')));
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "-_./".contains(c))).unwrap_or(rest.len());
        let begins = [&bare[..scope.len() + end], bare.split_whitespace().next().unwrap_or_default()];
        // An alias of npm names the package in its range.
        let quoted = ['"', '\''].into_iter().flat_map(|quote| line.split(quote).skip(1));
        let quoted = quoted.map(|word| (yarn::real(word, word).0, before + QUOTED));
        for (word, rank) in begins.map(|word| (word, before)).into_iter().chain(quoted) {
            if let Some(known) = ranked.get_mut(word).filter(|known| rank < known.0) {
                *known = (rank, at as u64 + 1);
                open -= usize::from(rank == 0);
            }
        }
    }
    ranked.retain(|_, (rank, _)| *rank < NOWHERE);
    ranked.into_iter().map(|(name, (_, line))| (name, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<const N: usize>(text: &str, names: [&str; N]) -> [Option<u64>; N] {
        let asked =
            |name: &str| Requirement { name: name.into(), version: String::new(), locked: Vec::new(), line: None };
        let all = names.map(asked);
        let lines = lines_of(text, &all);
        names.map(|name| lines.get(name).copied())
    }

    #[test]
    fn a_name_stands_where_a_line_begins_with_it_or_has_it_in_quotes() {
        let text = "b-c = 1\n b==2\n\"@s/c\": \"1\"\nx = { package = \"d\" }\n\th/e~f v1\nb = 3\n";
        let lines = found(text, ["b", "@s/c", "d", "h/e~f", "none"]);
        assert_eq!(lines, [Some(2), Some(3), Some(4), Some(5), None]);
    }

    #[test]
    fn the_line_in_a_table_of_dependencies_is_meant_whatever_stands_before_it() {
        let text = "{\n\"scripts\": {\n\"test\": \"jest\",\n\"mocha\": \"mocha\"\n},\n\"devDependencies\": {\n\"jest\": \"^29\",\n\"mocha\": \"^10\",\n\"e\": \"npm:real@^3\"\n}\n}\n";
        assert_eq!(found(text, ["jest", "mocha", "real"]), [Some(7), Some(8), Some(9)]);
        let text =
            "[features]\nserde = [\"dep:serde\"]\n[dependencies]\nx = { features = [\"serde\"] }\nserde = \"1\"\n";
        assert_eq!(found(text, ["serde"]), [Some(5)]);
        let text = "[project]\nkeywords = [\"requests\"]\ndependencies = [\n  \"requests>=2\",\n]\n";
        assert_eq!(found(text, ["requests"]), [Some(4)]);
        let text = "\"description\": \"a/b\",\n\"require\": {\n\"a/b\": \"1\"\n}\n";
        assert_eq!(found(text, ["a/b"]), [Some(3)]);
        let text = "[[source]]\nname = \"a\"\n[packages]\na = \"*\"\n";
        assert_eq!(found(text, ["a"]), [Some(4)]);
        let text = "a==1\nb==2\n# dependencies of tests\nc==3\n";
        assert_eq!(found(text, ["a", "b", "c"]), [Some(1), Some(2), Some(4)]);
    }
}
