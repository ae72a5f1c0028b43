//! Checks before an action runs whether a task of this kind may make its changes (`scope.rs`), and whether it would change existing tests
//! without being asked to.
//!
//! Owns what is read for that: the file at the base, the one in the sandbox, and people's words. If that is not enough to tell, the action
//! is allowed: a command could do the same, and the review marks each changed test. The judgement itself: `src/sandbox/kept.rs`. Tests:
//! `tests/stories/kept.rs`.

use super::act::Actions;
use super::repository::{base, request};
use crate::git::GitError;
use crate::policy::plain;
use crate::redact;
use crate::sandbox::kept::{asks_for_tests, is_test, lost};
use crate::text;
use crate::trouble::Trouble;
use domain::{Action, Event, Item, Task, TextEdit, Verb};
use protocol::edit::{self, Edit};

/// Longest test file that is compared, in bytes.
const LONGEST: u64 = 1 << 20;

/// One file as an action would leave it.
enum Change<'a> {
    Whole(&'a str),
    Edits(Vec<Edit>),
}

impl Actions {
    /// Why the action may not run; none if it may.
    pub(super) async fn guarded(&self, task: &Task, action: &Action) -> Result<Option<String>, Trouble> {
        if let Some(path) = destroyed(action) {
            return Ok(Some(format!(
                "this would write a place where a credential was left out over the credential itself, in {}. Change the other lines with \
                 edit_file, or say in your summary what a person should do",
                text::cut(&text::one_line(path), 80).0
            )));
        }
        if let Some(reason) = self.repositories.out_of_scope(task, action).await? {
            return Ok(Some(reason));
        }
        let mut words = None;
        for (path, change) in changes(action) {
            let Some(path) = plain(path).filter(|path| is_test(path)) else { continue };
            let Some(base) = self.at_base(task, &path).await? else { continue };
            if words.is_none() {
                words = Some(self.asked(task).await?);
            }
            if words.as_deref().is_some_and(|words| asks_for_tests(words, &path)) {
                continue;
            }
            let Some(now) = self.sandboxes.looks.text(task.id.0, &path, LONGEST).await? else { continue };
            let new = match change {
                Change::Whole(text) => text.to_owned(),
                // An edit that cannot be made changes nothing.
                Change::Edits(edits) => match edited(&now, &edits) {
                    Some(text) => text,
                    None => continue,
                },
            };
            if let Some(line) = lost(&base, &now, &new) {
                return Ok(Some(sentence(&path, line)));
            }
        }
        Ok(None)
    }

    async fn at_base(&self, task: &Task, path: &str) -> Result<Option<String>, Trouble> {
        let base = base(task)?;
        match self.repositories.repos.show(&request(task)?.repository, &base, path, LONGEST).await {
            Ok(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok())),
            Err(GitError::TooLarge { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// The issue, the command's own words, and everything that reviewers said.
    async fn asked(&self, task: &Task) -> Result<String, Trouble> {
        let request = request(task)?;
        let mut words = vec![request.title.clone(), request.body.clone(), request.words.clone()];
        let said = |item: &Item| format!("{}\n{}", item.path.as_deref().unwrap_or_default(), item.text);
        for (_, event) in self.store.log(task.id).await? {
            if let Event::DecisionUsed { decision, .. } = &event
                && let Verb::Changes { items } = &decision.verb
            {
                words.extend(items.iter().map(said));
            } else if let Event::FeedbackGiven { items, .. } = &event {
                words.extend(items.iter().map(said));
            } else if let Event::WidenedToFix { words: said } = &event {
                words.push(said.clone());
            }
        }
        Ok(words.join("\n"))
    }
}

/// The text after all edits, exactly as the runner makes them; none if one cannot be made.
fn edited(now: &str, edits: &[Edit]) -> Option<String> {
    edits.iter().try_fold(now.to_owned(), |text, edit| Some(edit::apply(&text, edit).ok()?.text))
}

/// The first path whose new text contains the placeholder of a removed credential.
fn destroyed(action: &Action) -> Option<&str> {
    let holds = |change: &Change<'_>| match change {
        Change::Whole(text) => text.contains(redact::PLACE),
        Change::Edits(edits) => edits.iter().any(|edit| edit.new.contains(redact::PLACE)),
    };
    changes(action).into_iter().find_map(|(path, change)| holds(&change).then_some(path))
}

fn changes(action: &Action) -> Vec<(&str, Change<'_>)> {
    match action {
        Action::WriteFile { path, content } => vec![(path, Change::Whole(content))],
        Action::WriteFiles { files } => {
            files.iter().map(|file| (file.path.as_str(), Change::Whole(&file.content))).collect()
        }
        Action::EditFile { path, old, new, all } => {
            let edit = Edit { old: old.clone(), new: new.clone(), all: *all };
            vec![(path, Change::Edits(vec![edit]))]
        }
        Action::EditPlaces { path, edits } => {
            let edit = |edit: &TextEdit| Edit { old: edit.old.clone(), new: edit.new.clone(), all: edit.all };
            vec![(path, Change::Edits(edits.iter().map(edit).collect()))]
        }
        // The files of a whole directory are not checked: a command could remove it too, and the review marks each test.
        Action::MoveFile { from: path, .. } | Action::DeleteFile { path, .. } => vec![(path, Change::Whole(""))],
        Action::Bash { .. }
        | Action::Background { .. }
        | Action::ReadFile { .. }
        | Action::ReadRanges { .. }
        | Action::Summarize { .. }
        | Action::ListFiles { .. }
        | Action::Search { .. }
        | Action::WebFetch { .. }
        | Action::Try { .. } => Vec::new(),
    }
}

fn sentence(path: &str, line: &str) -> String {
    let (path, line) = (text::one_line(path), text::one_line(line.trim()));
    format!(
        "existing tests stay as they are, and this takes `{}` out of {}. Add cases or a new file instead. If the test itself is wrong, say so \
         in your summary: a person allows it by naming the file in the issue or with `/revise`",
        text::cut(&line, 60).0,
        text::cut(&path, 80).0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_of_a_credential_is_written_over_the_credential() {
        let text = format!("TOKEN={}a GitHub token]\n", redact::PLACE);
        let write = Action::WriteFile { path: ".env".into(), content: text.clone() };
        let edit = |new: &str| Action::EditFile { path: "a".into(), old: "x".into(), new: new.into(), all: false };
        assert_eq!(destroyed(&write), Some(".env"));
        assert_eq!((destroyed(&edit(&text)), destroyed(&edit("y"))), (Some("a"), None));
    }

    #[test]
    fn paths_are_those_of_a_tree() {
        for (path, wanted) in [
            ("tests/a.py", Some("tests/a.py")),
            ("./tests//b/../a.py", Some("tests/a.py")),
            ("/workspace/tests/a.py", Some("tests/a.py")),
            ("../a.py", None),
            ("/etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(plain(path).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn every_way_to_change_a_file_is_looked_at_as_the_runner_makes_it() {
        let one = |old: &str, new: &str| TextEdit { old: old.into(), new: new.into(), all: false };
        let now = "def test_a():\n\tassert f() == 1\n";
        let after = |action: Action| match changes(&action).remove(0) {
            (path, Change::Whole(text)) => (path.to_owned(), Some(text.to_owned())),
            (path, Change::Edits(edits)) => (path.to_owned(), edited(now, &edits)),
        };
        let path = || "tests/a.py".to_owned();
        // A difference in white space is still recognised.
        let edits = vec![one("def test_a():\n    assert f() == 1\n", "def test_a():\n    pass\n"), one("pass", "...")];
        let (looked, text) = after(Action::EditPlaces { path: path(), edits: edits.clone() });
        assert_eq!((looked, text.as_deref()), (path(), Some("def test_a():\n\t...\n")));
        let edits = [edits.as_slice(), &[one("nowhere", "x")]].concat();
        assert_eq!(after(Action::EditPlaces { path: path(), edits }).1, None, "all or none");
        for gone in
            [Action::DeleteFile { path: path(), recursive: false }, Action::MoveFile { from: path(), to: "b".into() }]
        {
            assert_eq!(after(gone), (path(), Some(String::new())));
        }
    }

    #[test]
    fn the_reason_is_whole_where_the_model_reads_it() {
        let said = sentence(&"p".repeat(300), &format!("    {}", "x".repeat(300)));
        assert!(said.chars().count() <= 400 && said.ends_with("with `/revise`"), "{}", said.chars().count());
    }
}
