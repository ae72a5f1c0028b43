//! Files that a command touched, as its sandbox reports. Pure.
//!
//! Untrusted: shown beside the action, and never in place of the bot's own diff.

use super::view::{ActionLine, TouchedFiles};
use crate::text::{self, grouped, plain_cell};
use domain::{Action, Outcome, Touched};

/// The most files of a command that are named; further ones are counted.
const MOST: usize = 3;
/// The most characters of what could not be observed.
const UNSEEN: usize = 120;

/// Shown below the actions if one of them has files.
pub(super) const WHOSE_WORD: &str =
    "Files beside a command (+ new, ± changed, − gone) are the sandbox's own word; the diff is the bot's.\n\n";

/// Files that a command touched; none for actions that name their files.
pub(super) fn of<'a>(action: &Action, outcome: Option<&'a Outcome>) -> Option<&'a Touched> {
    outcome.and_then(|outcome| outcome.touched.as_deref()).filter(|_| action.command().is_some())
}

/// Paths of created and changed files.
pub(super) fn written(touched: &Touched) -> impl Iterator<Item = &String> {
    touched.created.iter().chain(&touched.changed)
}

/// The files that a review names; none where no file was changed and all was observed.
pub(super) fn named(touched: &Touched) -> Option<TouchedFiles> {
    let signed = |sign, paths: &[String]| paths.iter().map(|path| (sign, path.clone())).collect::<Vec<_>>();
    let parts = [('+', &touched.created), ('±', &touched.changed), ('−', &touched.deleted)];
    let mut named: Vec<(char, String)> = parts.into_iter().flat_map(|(sign, paths)| signed(sign, paths)).collect();
    let more = named.len().saturating_sub(MOST) as u64 + touched.unnamed;
    named.truncate(MOST);
    let (ignored, not_seen) = (touched.ignored, touched.unseen.clone());
    (touched.changes() > 0 || not_seen.is_some()).then_some(TouchedFiles { named, more, ignored, not_seen })
}

/// The end of an action's table row.
pub(super) fn cell(action: &ActionLine) -> String {
    let Some(touched) = &action.touched else { return String::new() };
    let name = |(sign, path): &(char, String)| format!("{sign} {}", plain_cell(path));
    let mut words: Vec<String> = touched.named.iter().map(name).collect();
    if touched.more > 0 {
        words.push(format!("{} more", grouped(touched.more)));
    }
    if touched.ignored > 0 {
        words.push(format!("{} that git ignores", grouped(touched.ignored)));
    }
    let files = if words.is_empty() { String::new() } else { format!(" · files: {}", words.join(", ")) };
    let not_seen = touched.not_seen.as_deref().map(|said| format!(" · not seen: {}", text::prose_cell(said, UNSEEN)));
    format!("{files}{}", not_seen.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::OutcomeStatus;

    fn row(touched: Touched) -> String {
        let outcome = Outcome { touched: Some(Box::new(touched)), ..Outcome::new(OutcomeStatus::Ok, "") };
        let bash = Action::Bash { command: "make".into() };
        cell(&ActionLine { touched: of(&bash, Some(&outcome)).and_then(named).map(Box::new), ..ActionLine::default() })
    }

    #[test]
    fn a_few_files_are_named_and_the_others_counted() {
        let paths = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(row(Touched::default()), "");
        assert_eq!(row(Touched { ignored: 10_000, ..Touched::default() }), " · files: 10 000 that git ignores");
        let many = Touched {
            created: paths(&["a", "b"]),
            changed: paths(&["c.py", "d.py"]),
            deleted: paths(&["e"]),
            unnamed: 40,
            ..Touched::default()
        };
        assert_eq!(row(many), " · files: + `a`, + `b`, ± `c.py`, 42 more");
        let blind = Touched { unseen: Some("what was | read is not known".into()), ..Touched::default() };
        assert_eq!(row(blind.clone()), " · not seen: what was `\\|` read is not known");
        let both = row(Touched { changed: paths(&["c.py"]), ..blind });
        assert_eq!(both, " · files: ± `c.py` · not seen: what was `\\|` read is not known");
        let deep = "d/".repeat(60);
        assert_eq!(row(Touched { changed: vec![deep.clone()], ..Touched::default() }), format!(" · files: ± `{deep}`"));
        let hostile = row(Touched { created: paths(&["a|b\n![x](http://e.example)<img>"]), ..Touched::default() });
        let inside =
            hostile.strip_prefix(" · files: + `").and_then(|rest| rest.strip_suffix('`')).expect("one span of code");
        assert!(!inside.contains(['\n', '`']) && inside.contains("a\\|b"), "{hostile}");
    }

    #[test]
    fn what_names_its_files_itself_has_none_beside_it() {
        let touched = Some(Box::new(Touched { changed: vec!["a.py".into()], ..Touched::default() }));
        let outcome = Outcome { touched, ..Outcome::new(OutcomeStatus::Ok, "") };
        let write = Action::WriteFile { path: "a.py".into(), content: String::new() };
        assert!(of(&write, Some(&outcome)).is_none());
        let background = Action::Background { command: "make".into() };
        assert_eq!(of(&background, Some(&outcome)).map(|all| written(all).count()), Some(1));
    }
}
