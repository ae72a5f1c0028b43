//! Definitions that a model gave back, put into the file that it was shown.
//!
//! Owns: which definition of the file each of them replaces, new imports and new definitions beside them, indentation. What cannot be
//! placed for certain is not placed. Tests: below.

use super::definitions::{Definition, all, indent, named};

/// A container is replaced as a whole only by something about as long: otherwise what is missing would be lost.
const WHOLE: usize = 70;
/// Definitions of one block that are placed.
const MOST: usize = 64;

/// `file` with the definitions of `block` in their places; none where the block has no definition, or one whose place is not certain.
pub(super) fn placed(file: &str, block: &str) -> Option<String> {
    let given: Vec<&str> = block.lines().collect();
    let outer = outermost(&given);
    // Each is looked for in the whole file.
    if outer.is_empty() || outer.len() > MOST {
        return None;
    }
    let mut text: Vec<String> = file.lines().map(str::to_owned).collect();
    let mut after = None;
    for piece in &outer {
        after = place(&mut text, &given, piece, after)?;
    }
    import(&mut text, &given[..outer[0].lead]);
    let mut out = text.join("\n");
    out.push('\n');
    (out.trim_end() != file.trim_end()).then_some(out)
}

/// Definitions that stand within no other.
fn outermost(lines: &[&str]) -> Vec<Definition> {
    let mut reached = 0;
    let mut out: Vec<Definition> = Vec::new();
    for found in all(lines) {
        if found.first >= reached {
            reached = found.end;
            out.push(found);
        }
    }
    out
}

/// Puts one in. Gives the line after it, for a new one that follows; none of the outer kind when it has no certain place.
#[expect(clippy::option_option, reason = "no place at all, and nothing to follow yet, differ")]
fn place(text: &mut Vec<String>, given: &[&str], piece: &Definition, after: Option<usize>) -> Option<Option<usize>> {
    let lines: Vec<&str> = text.iter().map(String::as_str).collect();
    let known = all(&lines);
    let mut same = known.iter().filter(|known| known.name == piece.name);
    match (same.next(), same.next()) {
        (Some(old), None) => {
            let (old_size, new_size) = (old.end - old.first, piece.end - piece.first);
            if piece.holds && new_size * 100 < old_size * WHOLE {
                return within(text, given, piece).then_some(after);
            }
            let old = old.clone();
            // Comments and decorators that were not given back stay.
            let from = if piece.lead < piece.first { old.lead } else { old.first };
            let start = if piece.lead < piece.first { piece.lead } else { piece.first };
            let new = shifted(&given[start..piece.end], piece.indent, old.indent);
            let end = from + new.len();
            text.splice(from..old.end, new);
            Some(Some(end))
        }
        (Some(_), Some(_)) => None,
        (None, _) if piece.indent == 0 => {
            let at = after.unwrap_or(text.len());
            let mut new = vec![String::new()];
            new.extend(shifted(&given[piece.lead..piece.end], 0, 0));
            let end = at + new.len();
            text.splice(at..at, new);
            Some(Some(end))
        }
        (None, _) => None,
    }
}

/// The definitions within a container that was given back in part.
fn within(text: &mut Vec<String>, given: &[&str], piece: &Definition) -> bool {
    let inner: Vec<Definition> =
        all(given).into_iter().filter(|one| one.first > piece.first && one.end <= piece.end && !one.holds).collect();
    let mut reached = 0;
    let mut any = false;
    for one in inner {
        if one.first < reached {
            continue;
        }
        reached = one.end;
        if place(text, given, &one, None).is_none() {
            return false;
        }
        any = true;
    }
    any
}

fn shifted(lines: &[&str], from: usize, to: usize) -> Vec<String> {
    let shift = |line: &&str| match indent(line) {
        None => String::new(),
        Some(deep) => format!("{}{}", " ".repeat((deep + to).saturating_sub(from)), line.trim_start()),
    };
    if from == to { lines.iter().map(|line| (*line).to_owned()).collect() } else { lines.iter().map(shift).collect() }
}

/// Adds the imports of `head` that the file has not, after its own.
fn import(text: &mut Vec<String>, head: &[&str]) {
    let imports = |line: &str| {
        ["import ", "from ", "use ", "const {", "#include"].iter().any(|word| line.starts_with(word))
            && named(line).is_none_or(|_| line.contains("require("))
    };
    for line in head.iter().filter(|line| imports(line)) {
        if text.iter().any(|known| known.trim_end() == line.trim_end()) {
            continue;
        }
        let at = text.iter().rposition(|known| imports(known)).map_or(0, |at| at + 1);
        text.insert(at, (*line).to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "import re\n\n\ndef one():\n    return 1\n\n\nclass Bag:\n    size = 2\n\n    # How many.\n    def count(self):\n        return 0\n\n    def drop(self):\n        pass\n\n    def fill(self):\n        pass\n";

    #[test]
    fn one_definition_replaces_that_one() {
        let out = placed(FILE, "def one():\n    return 2\n").unwrap();
        assert_eq!(out, FILE.replace("return 1", "return 2"));
        let method = placed(FILE, "def count(self):\n    return self.size\n").unwrap();
        assert_eq!(method, FILE.replace("return 0", "return self.size"), "moved to its place");
    }

    #[test]
    fn a_class_given_in_part_loses_nothing() {
        let out = placed(FILE, "class Bag:\n    def count(self):\n        return 5\n").unwrap();
        assert_eq!(out, FILE.replace("return 0", "return 5"));
    }

    #[test]
    fn new_imports_and_new_definitions_find_a_place() {
        let out =
            placed(FILE, "import os\n\ndef one():\n    return two()\n\n\ndef two():\n    return os.sep\n").unwrap();
        let wanted = FILE
            .replace("import re\n", "import re\nimport os\n")
            .replace("    return 1\n", "    return two()\n\ndef two():\n    return os.sep\n");
        assert_eq!(out, wanted);
    }

    #[test]
    fn what_has_no_certain_place_is_not_placed() {
        assert_eq!(placed(FILE, "x = 1\n"), None);
        assert_eq!(placed(FILE, "    def other(self):\n        pass\n"), None);
        assert_eq!(placed("def a():\n  1\ndef a():\n  2\n", "def a():\n  3\n"), None, "there are two");
        assert_eq!(placed(FILE, "def one():\n    return 1\n"), None, "nothing changed");
    }
}
