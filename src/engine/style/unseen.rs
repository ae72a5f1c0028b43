//! Files that a model was not shown: an answer may make one, and never writes over one.
//!
//! The engine knows only some paths of a repository, so the runner finds out what is there. Owns: which files of an answer go to it as ones
//! that may only be made (`NewFile::create`), and which a failed write was to make, so that the next question shows what stood in the
//! way. Pure, from the log alone. Tests: below.

use domain::{Action, Event, Look, Loss, NewFile, Outcome, OutcomeStatus};

use crate::engine::repeats::ended;

/// The files of an answer. One may only be made unless the answer's question showed it (in part is enough, because the host puts what comes
/// back into the whole text), or an earlier answer wrote it. `written` are those paths.
pub(super) fn marked(files: Vec<NewFile>, look: &Look, written: &[String]) -> Vec<NewFile> {
    let is_shown = |path: &str| look.files.iter().any(|file| file.path == path && !file.made);
    let is_known = |path: &String| is_shown(path) || written.contains(path);
    files.into_iter().map(|file| NewFile { create: !is_known(&file.path), ..file }).collect()
}

/// Paths that answers of this task wrote into the workspace as it now is.
pub(super) fn written(log: &[Event]) -> Vec<String> {
    let is_new_workspace = |event: &Event| match event {
        Event::SandboxLost { loss, .. } => *loss != Loss::Outdated,
        Event::Rebased(_) => true,
        _ => false,
    };
    let since = log.iter().rposition(is_new_workspace).map_or(0, |at| at + 1);
    let files = ended(log, since).into_iter().filter_map(|(_, call, outcome)| match call.call.action()? {
        Action::WriteFiles { files } if outcome.status.succeeded() => Some(files),
        _ => None,
    });
    files.flatten().map(|file| file.path.clone()).collect()
}

/// Paths that failed writes and tries were to make, those of the newest first, each once. Only the workspace tells which are there.
pub fn in_the_way(log: &[Event]) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    for (_, call, outcome) in ended(log, 0).into_iter().rev() {
        let Some(Action::WriteFiles { files } | Action::Try { files, .. }) = call.call.action() else { continue };
        for file in files.iter().filter(|file| file.create && is_refused(files, outcome)) {
            if !out.contains(&file.path.as_str()) {
                out.push(&file.path);
            }
        }
    }
    out
}

/// Whether these files may not have been written because something had the path of one that may only be made.
pub(super) fn is_refused(files: &[NewFile], outcome: &Outcome) -> bool {
    matches!(outcome.status, OutcomeStatus::Failed { .. }) && files.iter().any(|file| file.create)
}

#[cfg(test)]
mod tests {
    use super::super::{EarlierTries, First, Reader, shown};
    use super::*;
    use crate::engine::style::files::tests::{acted, answered, looked, requested};
    use crate::llm::ModelResponse;
    use domain::ShownFile;

    fn new(path: &str) -> NewFile {
        NewFile { create: true, ..NewFile::new(path, "x = 1\n") }
    }

    fn write(paths: &[&str]) -> Action {
        Action::WriteFiles { files: paths.iter().map(|path| new(path)).collect() }
    }

    fn failed() -> OutcomeStatus {
        OutcomeStatus::Failed { reason: "a.py is there already".into() }
    }

    /// A log with one action for each of these, in turns of their own.
    fn log(actions: &[(Action, OutcomeStatus)]) -> Vec<Event> {
        let mut log = vec![requested()];
        for ((action, status), n) in actions.iter().zip(1..) {
            log.extend([looked(n, None), answered(n, vec![action.clone()])]);
            log.extend(acted(n, n, 0, status.clone(), ""));
        }
        log
    }

    #[test]
    fn what_was_not_shown_may_only_be_made() {
        let mut look = shown(&[("calc.py", "x = 1\n"), ("long.py", "y = 1\n")]);
        look.files[1].lines = vec![(1, 1)];
        look.files.push(ShownFile { made: true, ..ShownFile::whole("tried.py", "z = 1\n", "") });
        let files = ["calc.py", "long.py", "tried.py", "utils.py", "own.py"].map(|path| NewFile::new(path, "new"));
        let marked = marked(files.to_vec(), &look, &["own.py".to_owned()]);
        let create: Vec<&str> = marked.iter().filter(|file| file.create).map(|file| file.path.as_str()).collect();
        assert_eq!(create, ["tried.py", "utils.py"], "an answer's own file in a copy is none of the workspace");
        assert!(marked.iter().all(|file| file.content == "new"));
    }

    #[test]
    fn an_answer_goes_out_with_its_files_marked_whether_they_are_tried_or_written() {
        let look = Box::new(shown(&[("src/calc.py", "x = 1\n")]));
        let text = "src/calc.py\n```python\nx = 2\n```\n\nsrc/utils.py\n```python\ny = 1\n```\n".to_owned();
        let response = ModelResponse { text, ..ModelResponse::default() };
        for first in [First::Written, First::Tried { words: String::new() }] {
            let (look, command, written) = (look.clone(), Some("make test".to_owned()), Vec::new());
            let earlier = EarlierTries::default();
            let reader = Reader::Files { look, command, asked: String::new(), first, written, earlier };
            let calls = reader.calls(&response, 1);
            let Some(Action::WriteFiles { files } | Action::Try { files, .. }) = calls[0].call.action() else {
                panic!("{calls:?}")
            };
            let marks: Vec<(&str, bool)> = files.iter().map(|file| (file.path.as_str(), file.create)).collect();
            assert_eq!(marks, [("src/calc.py", false), ("src/utils.py", true)]);
        }
    }

    #[test]
    fn what_an_answer_wrote_counts_as_shown_while_the_workspace_is_the_same() {
        let tried = Action::Try { files: vec![new("d.py")], command: "make test".into(), check: None };
        let mut log = log(&[
            (write(&["a.py", "b.py"]), OutcomeStatus::Ok),
            (write(&["c.py"]), failed()),
            (tried, OutcomeStatus::Ok),
        ]);
        assert_eq!(written(&log), ["a.py", "b.py"]);
        for (loss, stays) in [(Loss::Outdated, 2), (Loss::Removed, 0)] {
            log.push(Event::SandboxLost { sentence: loss.to_string(), loss });
            assert_eq!(written(&log).len(), stays, "{loss}");
        }
    }

    #[test]
    fn what_failed_writes_were_to_make_stood_in_their_way() {
        let tried = |path: &str| Action::Try { files: vec![new(path)], command: "make test".into(), check: None };
        let known = Action::WriteFiles { files: vec![NewFile::new("known.py", "x")] };
        let log = log(&[
            (write(&["a.py", "b.py"]), failed()),
            (tried("c.py"), failed()),
            (tried("passes.py"), OutcomeStatus::Ok),
            (tried("fails.py"), OutcomeStatus::Exited { code: 1 }),
            (known, failed()),
            (write(&["a.py"]), failed()),
        ]);
        assert_eq!(in_the_way(&log), ["a.py", "c.py", "b.py"]);
    }
}
