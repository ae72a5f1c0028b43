//! What the earlier answers of a round mean for the next one.
//!
//! Owns: that an answer which mends a candidate keeps that candidate's other files, and that files which were tried before are not tried
//! again. Such an answer is stored with a call that is not carried out, so the log tells which candidate it repeats. Pure. Tests: below.

use domain::{Call, CallRequest, Event, NewFile};
use serde_json::json;

/// Name of the call that stands for files which were tried before.
const REPEATED: &str = "repeated_try";
/// Its argument: the turn of the candidate with these files.
const OF: &str = "turn";

/// The candidates of a round, with which its next answer is compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EarlierTries {
    /// Turn and files of each candidate.
    pub tried: Vec<(u32, Vec<NewFile>)>,
    /// The files of the candidate that the answer mends; empty if the answer is asked for anew.
    pub mended: Vec<NewFile>,
}

impl EarlierTries {
    /// The files of an answer, with those of the candidate that it mends and does not give back; none if it changes nothing.
    pub(super) fn completed(&self, files: Vec<NewFile>) -> Vec<NewFile> {
        if files.is_empty() {
            return files;
        }
        let left = |one: &&NewFile| !files.iter().any(|file| file.path == one.path);
        let mut all: Vec<NewFile> = self.mended.iter().filter(left).cloned().collect();
        all.extend(files);
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// The call of an answer whose files were tried before; none if they were not.
    pub(super) fn repeated(&self, files: &[NewFile], turn: u32) -> Option<CallRequest> {
        let (of, _) = self.tried.iter().find(|(_, tried)| are_equal(tried, files))?;
        let reason = format!("not run: the files are those of answer {of}, which were tried");
        Some(CallRequest {
            id: format!("call_{turn}_0"),
            name: REPEATED.to_owned(),
            arguments: json!({ OF: of }),
            call: Call::Malformed { reason },
        })
    }
}

/// The turn of the candidate that this answer repeats.
pub(super) fn repeated_turn(event: &Event) -> Option<u32> {
    let Event::TurnCompleted { calls, .. } = event else { return None };
    let is_repeated =
        |request: &&CallRequest| request.name == REPEATED && matches!(request.call, Call::Malformed { .. });
    let turn = calls.iter().find(is_repeated)?.arguments.get(OF)?.as_u64()?;
    u32::try_from(turn).ok()
}

/// Whether the files are the same. Indentation has a meaning in Python, so only white space at the ends of lines makes no difference.
fn are_equal(some: &[NewFile], others: &[NewFile]) -> bool {
    let is_equal = |(a, b): (&NewFile, &NewFile)| {
        let lines = a.content.trim_end().lines().map(str::trim_end);
        a.path == b.path && a.create == b.create && lines.eq(b.content.trim_end().lines().map(str::trim_end))
    };
    some.len() == others.len() && some.iter().zip(others).all(is_equal)
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::{acted, answered, looked, requested, unittest};
    use super::super::{Reader, files, record, round};
    use super::*;
    use crate::engine::EngineConfig;
    use crate::llm::ModelResponse;
    use crate::secret::Secret;
    use domain::{Action, OutcomeStatus, Task, TaskId};

    fn new(path: &str, content: &str) -> NewFile {
        NewFile { create: true, ..NewFile::new(path, content) }
    }

    /// A candidate whose checks fail with these tests.
    fn tried(turn: u32, files: Vec<NewFile>, failing: &[&str]) -> Vec<Event> {
        let action = Action::Try { files, command: "make test".into(), check: None };
        let mut log = vec![answered(turn, vec![action])];
        log.extend(acted(turn, turn, 0, OutcomeStatus::Exited { code: 1 }, &unittest(failing)));
        log
    }

    /// The calls of a model's next answer, as the host reads it.
    fn calls(log: &[Event], text: &str) -> Vec<CallRequest> {
        let task = Task::fold(TaskId(1), log);
        let turn = task.turn + 1;
        let look = Box::new(round::again(log, &record::words(&task)).expect("a look"));
        let log = [log, &[Event::Looked { turn, look }]].concat();
        let (_, reader): (_, Reader) = files::request(&task, &log, &EngineConfig::new(Secret::new("k"), 4096));
        reader.calls(&ModelResponse { text: text.to_owned(), ..ModelResponse::default() }, turn)
    }

    fn paths(calls: &[CallRequest]) -> Vec<(&str, &str, bool)> {
        let Some(Action::Try { files, .. }) = calls.first().and_then(|request| request.call.action()) else {
            return Vec::new();
        };
        files.iter().map(|file| (file.path.as_str(), file.content.as_str(), file.create)).collect()
    }

    fn two_candidates() -> Vec<Event> {
        let mut log = vec![requested(), looked(1, Some((0, &unittest(&[]))))];
        log.extend(tried(1, vec![NewFile::new("calc.py", "worse = 1\n")], &["test_add", "test_sub"]));
        log.extend(tried(2, vec![NewFile::new("calc.py", "bad = 1\n"), new("new.py", "n = 1\n")], &["test_add"]));
        log
    }

    #[test]
    fn a_mended_candidate_keeps_the_files_that_the_answer_does_not_change() {
        let log = two_candidates();
        let (unchanged, mended) = ("new.py\n```python\nn = 1\n```\n", "calc.py\n```python\ngood = 1\n```\n");
        let expected = [("calc.py", "good = 1\n", false), ("new.py", "n = 1\n", true)];
        assert_eq!(paths(&calls(&log, &format!("{mended}\n{unchanged}"))), expected);
        assert_eq!(paths(&calls(&log, mended)), expected, "nor those that it leaves out");
        let other = "new.py\n```python\nn = 2\n```\n";
        assert_eq!(paths(&calls(&log, other)), [("calc.py", "bad = 1\n", false), ("new.py", "n = 2\n", true)]);
        assert!(calls(&log, unchanged).is_empty(), "it gave back what it was to mend");
    }

    #[test]
    fn an_answer_that_is_asked_for_anew_has_only_its_own_files() {
        let mut log = two_candidates();
        log.push(answered(3, Vec::new()));
        assert!(round::mended(&log, "").is_none());
        let sum = "def add(a, b):\n    return a + b\n";
        assert_eq!(paths(&calls(&log, &format!("calc.py\n```python\n{sum}```\n"))), [("calc.py", sum, false)]);
    }

    #[test]
    fn files_that_were_tried_are_not_tried_again_and_the_log_tells_whose_they_are() {
        let mut log = vec![requested(), looked(1, Some((0, &unittest(&[]))))];
        log.extend(tried(1, vec![NewFile::new("calc.py", "if a:\n    b = 1\nc = 1\n")], &["test_add"]));
        let again = calls(&log, "calc.py\n```python\nif a:\n    b = 1 \nc = 1\n\n```\n");
        assert!(matches!(&again[..], [CallRequest { call: Call::Malformed { .. }, .. }]), "{again:?}");
        let mut event = answered(2, Vec::new());
        assert_eq!(repeated_turn(&event), None);
        if let Event::TurnCompleted { calls, .. } = &mut event {
            *calls = again;
        }
        assert_eq!(repeated_turn(&event), Some(1));
        let indented = calls(&log, "calc.py\n```python\nif a:\n    b = 1\n    c = 1\n```\n");
        assert_eq!(paths(&indented).len(), 1, "that is another program");
    }

    #[test]
    fn a_file_that_may_now_be_replaced_is_no_repetition_of_one_that_could_only_be_made() {
        let earlier = EarlierTries { tried: vec![(1, vec![new("utils.py", "x")])], mended: Vec::new() };
        assert!(earlier.repeated(&[NewFile::new("utils.py", "x")], 2).is_none());
        assert!(earlier.repeated(&[new("utils.py", "x\n")], 2).is_some());
        assert!(earlier.repeated(&[new("utils.py", "x"), new("b.py", "x")], 2).is_none());
    }
}
