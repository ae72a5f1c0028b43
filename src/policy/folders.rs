//! Which of a team's rules for single folders an action comes under.
//!
//! Owns: the places at which an action works, and which files of rules hold there and were not told before. Pure, from rules, action and outcome
//! alone, so that the conversation and a review say the same. Must not: say how they are told. Tests: below, `tests/stories/rules.rs`.

use std::collections::BTreeSet;

use domain::{Action, Outcome, OutcomeStatus, Rules, RulesFile};

use super::plain;

/// A command that reads more files than this looks through the tree; it does not work where each of them lies.
const FEW_READ: usize = 5;

/// The rules of the present base, and which of its folders' were told.
#[derive(Debug, Default)]
pub struct Folders<'a> {
    rules: Option<&'a Rules>,
    known: BTreeSet<&'a str>,
}

impl<'a> Folders<'a> {
    /// Takes up the rules of a base. Those of a base that has others are told anew.
    pub fn prepared(&mut self, rules: &'a Rules) {
        let before = self.rules.replace(rules);
        if !before.is_some_and(|before| before.same_files(rules)) {
            self.known.clear();
        }
    }

    /// The files of rules that hold where this action works and were not told before, those of an outer folder first.
    pub fn entered(&mut self, action: &Action, ended: &Outcome) -> Vec<&'a RulesFile> {
        let Some(rules) = self.rules.filter(|rules| !rules.folders.is_empty()) else { return Vec::new() };
        let places = places(action, ended);
        let holds = |file: &&RulesFile| places.iter().any(|place| is_below(place, &file.path));
        let mut found: Vec<&RulesFile> = rules.folders.iter().filter(holds).collect();
        found.retain(|file| self.known.insert(&file.path));
        found.sort_by_key(|file| file.path.matches('/').count());
        found
    }
}

/// Whether a place is the folder that this file of rules lies in, or inside of it.
fn is_below(place: &str, rules: &str) -> bool {
    let folder = rules.rsplit_once('/').map_or("", |(folder, _)| folder);
    place.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Paths in the workspace that the action names, and those that it touched as its sandbox saw it.
fn places(action: &Action, ended: &Outcome) -> Vec<String> {
    if matches!(ended.status, OutcomeStatus::Denied { .. }) {
        return Vec::new();
    }
    let mut named = action.changed();
    named.extend(action.looked_at());
    let touched = ended.touched.iter().flat_map(|touched| {
        let few = touched.read.len() <= FEW_READ && touched.read_unnamed == 0;
        let read = touched.read.iter().filter(move |_| few);
        touched.created.iter().chain(&touched.changed).chain(&touched.deleted).chain(read).map(String::as_str)
    });
    named.into_iter().chain(touched).filter_map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Touched;

    fn rules(paths: &[&str]) -> Rules {
        let file = |path: &&str| RulesFile { path: (*path).into(), text: format!("rules of {path}"), cut: 0 };
        Rules { folders: paths.iter().map(file).collect(), ..Rules::default() }
    }

    fn entered<'a>(folders: &mut Folders<'a>, action: &Action, touched: Option<Touched>) -> Vec<&'a str> {
        let ended = Outcome { touched: touched.map(Box::new), ..Outcome::new(OutcomeStatus::Ok, "") };
        folders.entered(action, &ended).into_iter().map(|file| file.path.as_str()).collect()
    }

    fn read(path: &str) -> Action {
        Action::ReadFile { path: path.into(), from: 1, lines: 0 }
    }

    fn bash() -> Action {
        Action::Bash { command: "make".into() }
    }

    #[test]
    fn rules_of_a_folder_are_told_once_where_something_in_it_is_worked_on() {
        let all = rules(&["web/ui/AGENTS.md", "web/AGENTS.md", "web/CLAUDE.md", "webs/AGENTS.md", "docs/AGENTS.md"]);
        let mut folders = Folders::default();
        assert!(entered(&mut folders, &read("web/a.ts"), None).is_empty(), "nothing is known of rules yet");
        folders.prepared(&all);
        for outside in ["a.ts", "website/a.ts", "../web/a.ts", "/etc/web/a.ts", "."] {
            assert!(entered(&mut folders, &read(outside), None).is_empty(), "{outside}");
        }
        let inner = entered(&mut folders, &read("/workspace/./web/ui/b.ts"), None);
        assert_eq!(inner, ["web/AGENTS.md", "web/CLAUDE.md", "web/ui/AGENTS.md"], "outer ones first");
        assert!(entered(&mut folders, &read("web/ui/c.ts"), None).is_empty(), "once");
        let moves = Action::MoveFile { from: "a".into(), to: "docs/a".into() };
        assert_eq!(entered(&mut folders, &moves, None), ["docs/AGENTS.md"]);
        let denied = Outcome::new(OutcomeStatus::Denied { reason: "no".into() }, "");
        assert!(folders.entered(&read("webs/a"), &denied).is_empty(), "it did not run");
        let same = all.clone();
        folders.prepared(&same);
        assert!(entered(&mut folders, &read("docs/b"), None).is_empty(), "the same rules are known");
        let newer = rules(&["docs/AGENTS.md"]);
        folders.prepared(&newer);
        assert_eq!(entered(&mut folders, &read("docs/b"), None), ["docs/AGENTS.md"], "those of another base are not");
    }

    #[test]
    fn a_newer_base_with_the_same_rules_and_other_instructions_tells_none_anew() {
        let (mut folders, rules) = (Folders::default(), rules(&["web/AGENTS.md"]));
        let prompt = domain::KindPrompt { kind: domain::TaskKind::Fix, text: "Lint first.".into(), replaces: false };
        let newer = Rules { prompts: vec![prompt], ..rules.clone() };
        folders.prepared(&rules);
        assert_eq!(entered(&mut folders, &read("web/a.ts"), None), ["web/AGENTS.md"]);
        folders.prepared(&newer);
        assert!(entered(&mut folders, &read("web/a.ts"), None).is_empty());
    }

    #[test]
    fn a_command_works_where_it_changed_a_file_or_read_a_few() {
        let all = rules(&["tests/AGENTS.md"]);
        let names = |count: usize| (0..count).map(|at| format!("tests/{at}.py")).collect::<Vec<_>>();
        let after = |touched: Touched| {
            let mut folders = Folders::default();
            folders.prepared(&all);
            !entered(&mut folders, &bash(), Some(touched)).is_empty()
        };
        assert!(after(Touched { created: names(1), ..Touched::default() }));
        assert!(after(Touched { changed: names(30), ..Touched::default() }));
        assert!(after(Touched { deleted: names(1), ..Touched::default() }));
        assert!(after(Touched { read: names(FEW_READ), ..Touched::default() }));
        assert!(!after(Touched { read: names(FEW_READ + 1), ..Touched::default() }), "it looked through everything");
        assert!(!after(Touched { read: names(2), read_unnamed: 9, ..Touched::default() }));
    }
}
