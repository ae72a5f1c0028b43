//! `[who]`: who may give which command, within what it takes anyway. It only narrows: nobody may through it what the forge does not let
//! them do. Pure. Tests: below.

use domain::Access;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The commands that whoever reads an issue may give, where nothing is said.
const OF_READERS: [&str; 3] = ["status", "cost", "help"];

/// For each command by its name those who may give it: `readers`, `writers`, `admins`, `nobody`, or `@login`; one of them is enough.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Who(BTreeMap<String, Vec<String>>);

impl Who {
    /// Whom the operator lets give this command, as the end of "it is for"; none where this account, with this right to the code, is
    /// among them.
    pub fn bar(&self, command: &str, login: &str, right: Access) -> Option<String> {
        // Who may have nothing written, or nothing read, may not under another name.
        let as_well = match command {
            "test" | "refactor" => Some("fix"),
            "explain" | "review" | "security" | "deps" | "search" => Some("plan"),
            _ => None,
        };
        let own = self.bar_of(command, login, right);
        own.or_else(|| as_well.and_then(|command| self.bar_of(command, login, right)))
    }

    fn bar_of(&self, command: &str, login: &str, right: Access) -> Option<String> {
        bar_of(self.0.get(command)?, login, right)
    }

    /// The commands that it speaks of.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What is wrong with it: the command, and why.
    pub(super) fn problems(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (command, among) in &self.0 {
            for word in among {
                let why = match word.as_str() {
                    "readers" if !OF_READERS.contains(&command.as_str()) => {
                        Some("it takes write access to the code, and this table only narrows".to_owned())
                    }
                    "readers" => None,
                    word if is_group_of_writers(word) => None,
                    other => Some(format!("{other:?} is none of readers, writers, admins, nobody, @login")),
                };
                found.extend(why.map(|why| (command.clone(), why)));
            }
            if among.is_empty() {
                found.push((command.clone(), "it names no one; write [\"nobody\"] if that is meant".to_owned()));
            }
        }
        found
    }
}

/// Whom these words name, as the end of "it is for"; none where this account, with this right to the code, is one of them.
pub fn bar_of(among: &[String], login: &str, right: Access) -> Option<String> {
    let is_one = |word: &String| match word.as_str() {
        "readers" => right >= Access::Read,
        "writers" => right >= Access::Write,
        "admins" => right >= Access::Admin,
        "nobody" => false,
        named => named.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(login)),
    };
    if among.iter().any(is_one) {
        None
    } else {
        Some(among.iter().map(|word| shown(word)).collect::<Vec<_>>().join(", "))
    }
}

/// Whether it names people of whom each may write: `writers`, `admins`, `nobody`, or one login as `@login`.
pub(super) fn is_group_of_writers(word: &str) -> bool {
    matches!(word, "writers" | "admins" | "nobody") || word.strip_prefix('@').is_some_and(|name| !name.is_empty())
}

fn shown(word: &str) -> String {
    match word {
        "readers" => "anyone who can read the issue".to_owned(),
        "writers" => "those who may write to the repository".to_owned(),
        "admins" => "administrators of the repository".to_owned(),
        "nobody" => "nobody".to_owned(),
        named => named.trim_start_matches('@').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Process;
    use std::path::Path;

    fn load(text: &str) -> Result<Process, String> {
        Process::from_layers(Path::new("/x/c.toml"), text, &|_| None).map_err(|error| error.to_string())
    }

    #[test]
    fn one_of_those_who_are_named_is_enough_and_the_rest_is_told_who_they_are() {
        let who = load("[who]\nfix = [\"admins\", \"@Alice\"]\nstop = [\"nobody\"]\n").unwrap().who;
        assert_eq!(who.bar("fix", "alice", Access::Write), None);
        assert_eq!(who.bar("fix", "root", Access::Owner), None);
        let told = who.bar("fix", "bob", Access::Write).unwrap();
        assert_eq!(told, "administrators of the repository, Alice");
        assert_eq!(who.bar("stop", "root", Access::Owner).as_deref(), Some("nobody"));
        assert_eq!(who.bar("plan", "bob", Access::Write), None, "as it is where nothing is said");
        assert!(who.bar("refactor", "bob", Access::Write).is_some() && who.bar("test", "bob", Access::Write).is_some());
        assert_eq!(who.bar("review", "bob", Access::Write), None);
        assert_eq!((who.bar("explain", "bob", Access::Write), who.bar("test", "alice", Access::Write)), (None, None));
        let reads = load("[who]\nplan = [\"nobody\"]\n").unwrap().who;
        for command in ["explain", "review", "security", "deps", "search"] {
            assert_eq!(reads.bar(command, "bob", Access::Write).as_deref(), Some("nobody"), "{command}");
        }
        assert_eq!(reads.bar("fix", "bob", Access::Write), None);
        assert!(who.bar("plan", "bob", Access::Read).is_some() && who.bar("status", "bob", Access::Read).is_none());
    }

    #[test]
    fn what_would_widen_or_names_nobody_is_refused() {
        for (line, words) in [
            ("fix = [\"readers\"]", "only narrows"),
            ("fix = []", "names no one"),
            ("fix = [\"everybody\"]", "none of readers"),
            ("fix = [\"@\"]", "none of readers"),
            ("dance = [\"writers\"]", "who.dance"),
        ] {
            let refused = load(&format!("[who]\n{line}\n")).err().unwrap();
            assert!(refused.contains(words), "{line}: {refused}");
        }
        assert!(load("[who]\nhelp = [\"writers\"]\n").is_ok());
    }
}
