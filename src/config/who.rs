//! `[who]` and `[repositories.who]`: who may give which command, within what it takes anyway. They only narrow: nobody may through them what
//! the forge does not let them do. Pure: whether somebody is in a team or owns code is asked by `thread/groups.rs`. Tests: below.

use domain::Access;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The commands that whoever reads an issue may give, where nothing is said.
const OF_READERS: [&str; 3] = ["status", "cost", "help"];
const CODE_OWNERS: &str = "code_owners";
const TEAM: &str = "team:";

/// For each command by its name those who may give it: `readers`, `writers`, `admins`, `nobody`, `code_owners`, `team:ORG/NAME`, or `@login`;
/// one of them is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Who(BTreeMap<String, Vec<String>>);

/// People of whom the configuration does not say who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group<'a> {
    /// Those whom the repository's `CODEOWNERS` names.
    CodeOwners,
    /// A team of an organisation on the forge.
    Team {
        /// Its organisation.
        organisation: &'a str,
        /// Its name there.
        name: &'a str,
    },
}

impl Who {
    /// The lists of which somebody has to be on each to give this command, those of a repository (`self`) before the operator's for all: who
    /// may have nothing written, or nothing read, may not under another name.
    pub fn lists<'a>(&'a self, all: &'a Who, command: &str) -> impl Iterator<Item = &'a [String]> {
        let as_well = match command {
            "test" | "refactor" => Some("fix"),
            "explain" | "review" | "security" | "deps" | "search" => Some("plan"),
            _ => None,
        };
        let list = |command: &str| self.0.get(command).or_else(|| all.0.get(command)).map(Vec::as_slice);
        [list(command), as_well.and_then(list)].into_iter().flatten()
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
                    word if is_group_of_writers(word) || group(word).is_some() => None,
                    other => Some(format!(
                        "{other:?} is none of readers, writers, admins, nobody, code_owners, team:ORG/NAME, @login"
                    )),
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

/// Whether this is a command of those who may only read.
pub fn is_of_readers(command: &str) -> bool {
    OF_READERS.contains(&command)
}

/// Whom these words name, as the end of "it is for"; none where this account, with this right to the code, is one of them as far as that is
/// known without the groups.
pub fn bar_of(among: &[String], login: &str, right: Access) -> Option<String> {
    match word_of(among, login, right) {
        Some(_) => None,
        None => Some(among.iter().map(|word| shown(word)).collect::<Vec<_>>().join(", ")),
    }
}

/// The first of these words that names this account, with this right to the code, as far as that is known without the groups.
pub fn word_of<'a>(among: &'a [String], login: &str, right: Access) -> Option<&'a str> {
    let is_one = |word: &&str| match *word {
        "readers" => right >= Access::Read,
        "writers" => right >= Access::Write,
        "admins" => right >= Access::Admin,
        "nobody" => false,
        named => named.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(login)),
    };
    among.iter().map(String::as_str).find(is_one)
}

/// Whether this word names all who may give a command anyway that takes this right.
pub fn is_everybody(word: &str, least: Access) -> bool {
    word == "readers" || word == "writers" && least >= Access::Write
}

/// The groups among these words, each with its word.
pub fn groups(among: &[String]) -> impl Iterator<Item = (&str, Group<'_>)> {
    among.iter().filter_map(|word| Some((word.as_str(), group(word)?)))
}

/// The group that this word names, if any.
pub(super) fn group(word: &str) -> Option<Group<'_>> {
    if word == CODE_OWNERS {
        return Some(Group::CodeOwners);
    }
    let (organisation, name) = word.strip_prefix(TEAM)?.split_once('/')?;
    let fit = |part: &str| !part.is_empty() && !part.contains('/');
    (fit(organisation) && fit(name)).then_some(Group::Team { organisation, name })
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
        CODE_OWNERS => "code owners of what it is about".to_owned(),
        named => match named.strip_prefix(TEAM) {
            Some(team) => format!("members of the team {team}"),
            None => named.trim_start_matches('@').to_owned(),
        },
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

    impl Who {
        fn bar(&self, command: &str, login: &str, right: Access) -> Option<String> {
            Who::default().lists(self, command).find_map(|among| bar_of(among, login, right))
        }
    }

    #[test]
    fn groups_are_named_and_let_nobody_in_by_themselves() {
        let who = load("[who]\nfix = [\"code_owners\", \"team:lab/core\", \"@alice\"]\n").unwrap().who;
        let list: Vec<&[String]> = who.lists(&who, "fix").collect();
        let found: Vec<Group<'_>> = groups(list[0]).map(|(_, group)| group).collect();
        assert_eq!(found, [Group::CodeOwners, Group::Team { organisation: "lab", name: "core" }]);
        assert_eq!(who.bar("fix", "alice", Access::Write), None);
        let told = who.bar("fix", "bob", Access::Owner).unwrap();
        assert_eq!(told, "code owners of what it is about, members of the team lab/core, alice");
    }

    #[test]
    fn a_repositorys_list_stands_in_place_of_the_installations() {
        let text = "[who]\nfix = [\"admins\"]\nstop = [\"@carol\"]\n[[repositories]]\nkey = \"shop\"\n[repositories.who]\nfix = [\"@bob\"]\n";
        let config = load(text).unwrap();
        let bar = |key: &str, command: &str| {
            config.who_of(key, command).into_iter().find_map(|among| bar_of(among, "bob", Access::Write))
        };
        assert_eq!((bar("shop", "fix"), bar("shop", "refactor")), (None, None));
        assert!(bar("shop", "stop").is_some() && bar("other", "fix").is_some() && bar("other", "test").is_some());
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
            ("fix = [\"team:\"]", "none of readers"),
            ("fix = [\"team:lab\"]", "none of readers"),
            ("fix = [\"team:lab/core/x\"]", "none of readers"),
            ("dance = [\"writers\"]", "who.dance"),
        ] {
            let refused = load(&format!("[who]\n{line}\n")).err().unwrap();
            assert!(refused.contains(words), "{line}: {refused}");
        }
        assert!(load("[who]\nhelp = [\"writers\"]\n").is_ok());
        let own = |line: &str| {
            load(&format!("[[repositories]]\nkey = \"shop\"\n[repositories.who]\n{line}\n")).err().unwrap()
        };
        assert!(own("fix = [\"readers\"]").contains("repositories.0.who.fix"), "{}", own("fix = [\"readers\"]"));
        assert!(own("dance = [\"writers\"]").contains("no such key"), "{}", own("dance = [\"writers\"]"));
    }
}
