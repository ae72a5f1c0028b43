//! What the host reads of a workspace before a request in the style *files*: which files matter, their text, that of files which an answer
//! would have written over without having been shown them, and once per task the result of the project's checks on its base. It does not
//! count as an action of the agent; it may be repeated, and the stored look is used.

use super::converse::Conversations;
use super::repository::{head, request};
use crate::engine::style::{files, record, round, unseen, view};
use crate::redact::without;
use crate::sandbox::SurveySpec;
use crate::sandbox::detect::steers_tests;
use crate::sandbox::survey::because;
use crate::store::EffectRow;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{BaseRun, Event, Input, Look, ShownFile, State, Task};
use protocol::survey::{Question, RankedFile, Reason};
use std::collections::BTreeSet;

/// All sources are shown if they have at most this many tokens; shown more, a small model only repeats them.
const SMALL: u64 = 1_000;
/// Otherwise at most this many files.
const MOST: usize = 3;
/// Bytes of text read for one look.
const TEXTS: u64 = 64 << 10;
/// Why a file is shown that was shown before.
const EARLIER: &str = "an earlier answer was about it";
/// Why a file is shown that an answer was to make.
const IN_THE_WAY: &str = "an answer that was not shown it would have written over it";
/// The most files that the survey returns; of those not shown, the paths are kept.
const OTHERS: usize = 100;

impl Conversations {
    /// The task and its log with the look that the coming turn needs; none if the task was paused or ended meanwhile.
    pub(super) async fn looked(
        &self,
        task: &Task,
        turn: u32,
        log: Vec<Event>,
        row: &EffectRow,
        feed: &dyn Feed,
    ) -> Result<Option<(Task, Vec<Event>)>, Trouble> {
        if record::look(&log, turn).is_some() {
            return Ok(Some((task.clone(), log)));
        }
        let base = match record::base(&log) {
            None if !looked_before(&log) => self.checks.base_run(task, row.tries).await?,
            _ => None,
        };
        // If answers are applied at once, the workspace differs after each.
        let again = round::tries(task, &log).then(|| round::again(&log, &record::words(task)));
        let mut look = match again.flatten() {
            Some(look) => look,
            None => self.look(task, &log, base).await?,
        };
        self.add_in_the_way(task, &log, &mut look).await?;
        let key = format!("looked:{}:{turn}:{}:{}", task.id, self.epoch, row.tries);
        let now = feed.feed(task.id, &key, Input::Looked { turn, look: Box::new(look) }).await?;
        match now {
            Some(now) if now.state == State::Running => {
                let log = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
                Ok(Some((now, log)))
            }
            _ => Ok(None),
        }
    }

    async fn look(&self, task: &Task, log: &[Event], base: Option<BaseRun>) -> Result<Look, Trouble> {
        let request = request(task)?;
        let mut words = record::words(task);
        for said in record::widened(log) {
            words.push_str(&format!("\n{said}"));
        }
        for remark in &task.remarks {
            words.push_str(&format!("\n{} {}", remark.path.as_deref().unwrap_or_default(), remark.text));
        }
        let first = base.as_ref().or_else(|| record::base(log)).filter(|base| base.exit_code != Some(0));
        let failing = first.map(|base| files::failing(&base.tail)).unwrap_or_default();
        let paths = shown_before(log);
        let most = MOST.max(paths.len());
        let question = Question {
            words: words.clone(),
            failing: failing.clone(),
            most: OTHERS,
            paths,
            whole: SMALL,
            texts: TEXTS,
        };
        let (repo_key, commit) = (request.repository.clone(), head(task)?);
        let answer = self.sandboxes.looks.survey(&SurveySpec { task: task.id.0, repo_key, commit, question }).await?;
        let hints = format!("{words}\n{}", failing.join("\n"));
        let most = if answer.whole { answer.files.len() } else { most };
        let (shown, rest) = split(answer.files, &words, most, !failing.is_empty(), round::applied(log).is_some());
        let others = rest.into_iter().map(|found| found.path).take(OTHERS).collect();
        let wide = round::wide(log);
        let files = shown.into_iter().filter_map(|found| shown_file(found, &hints, wide)).collect();
        Ok(Look { files, others, base })
    }

    /// Adds what stood in the way of answers that were not shown it. A survey may leave it out, and knows no file that is in no commit.
    async fn add_in_the_way(&self, task: &Task, log: &[Event], look: &mut Look) -> Result<(), Trouble> {
        let (words, wide) = (record::words(task), round::wide(log));
        let mut paths = unseen::in_the_way(log);
        paths.retain(|path| !look.files.iter().any(|file| file.path == *path));
        let mut left = MOST;
        for path in paths {
            if left == 0 {
                break;
            }
            // One byte more than is shown tells that a text was cut.
            let text = self.sandboxes.looks.text(task.id.0, path, TEXTS + 1).await?;
            if let Some(file) = text.and_then(|text| whole_file(path, text, &words, wide)) {
                look.files.push(file);
                left -= 1;
            }
        }
        Ok(())
    }
}

fn looked_before(log: &[Event]) -> bool {
    log.iter().any(|event| matches!(event, Event::Looked { .. }))
}

/// Splits files into those shown and the others. A small model repeats whatever it is shown. So tests are left out unless the words name
/// them and the checks pass (failing tests are reported anyway); and where words or failing checks point at sources, only those are shown,
/// unless `wide` is set because answers about them did not help.
fn split(
    files: Vec<RankedFile>,
    words: &str,
    most: usize,
    red: bool,
    wide: bool,
) -> (Vec<RankedFile>, Vec<RankedFile>) {
    let is_source = |found: &RankedFile| !steers_tests(&found.path);
    let is_named = |found: &RankedFile| !red && words.contains(found.path.rsplit('/').next().unwrap_or(&found.path));
    let strength = |found: &RankedFile| found.because.iter().map(points).max().unwrap_or_default();
    let strongest = files.iter().filter(|found| is_source(found)).map(strength).max().unwrap_or_default();
    let mut left = most;
    files.into_iter().partition(|found| {
        let asked = found.because.contains(&Reason::Asked);
        let matters = if is_source(found) { wide || strength(found) == strongest } else { is_named(found) };
        let shown = left > 0 && (asked || matters);
        left -= usize::from(shown);
        shown
    })
}

/// How strongly a reason points at a file: 2 if it is named, 1 if something is that it defines or imports, 0 otherwise.
fn points(why: &Reason) -> u8 {
    match why {
        Reason::Named => 2,
        Reason::FailingCheck | Reason::ImportedBy(_) | Reason::Defines(_) => 1,
        Reason::Asked | Reason::Path(_) | Reason::Text(_) | Reason::Whole => 0,
    }
}

/// Files of earlier looks and files that the agent changed, each once.
fn shown_before(log: &[Event]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut out = Vec::new();
    let paths = log.iter().flat_map(|event| match event {
        Event::Looked { look, .. } => look.files.iter().map(|file| file.path.clone()).collect(),
        Event::TreeCaptured { tree, .. } => tree.files.iter().map(|file| file.path.clone()).collect(),
        _ => Vec::new(),
    });
    for path in paths {
        if known.insert(path.clone()) {
            out.push(path);
        }
    }
    out.truncate(2 * MOST);
    out
}

/// A file without what looks like a credential: an answer that would write such a place back is refused (`guard`).
fn shown_file(found: RankedFile, words: &str, wide: bool) -> Option<ShownFile> {
    let text = without(found.text.filter(|text| !text.trim().is_empty())?);
    let lines = view::lines(&text, words, wide);
    let strongest = found.because.iter().find(|why| **why != Reason::Asked);
    let because = strongest.map_or_else(|| EARLIER.to_owned(), because);
    Some(ShownFile { path: found.path, text, because, lines, made: false })
}

/// A file that stood in an answer's way, even an empty one; none if the text is not exactly the file's, because an answer replaces all of it.
fn whole_file(path: &str, text: String, words: &str, wide: bool) -> Option<ShownFile> {
    let exact = text.len() as u64 <= TEXTS && !text.contains(['\0', char::REPLACEMENT_CHARACTER]);
    let text = without(exact.then_some(text)?);
    let lines = view::lines(&text, words, wide);
    Some(ShownFile { path: path.to_owned(), text, because: IN_THE_WAY.to_owned(), lines, made: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, because: &[Reason]) -> RankedFile {
        RankedFile {
            path: path.to_owned(),
            bytes: 9,
            tokens: 3,
            lines: 1,
            score: 1.0,
            because: because.to_vec(),
            defines: Vec::new(),
            parts: Vec::new(),
            text: Some("x = 1\n".to_owned()),
        }
    }

    fn seen(files: &[(&str, &[Reason])], words: &str, wide: bool) -> Vec<String> {
        let files = files.iter().map(|(path, because)| found(path, because)).collect();
        split(files, words, 8, words == "red", wide).0.into_iter().map(|found| found.path).collect()
    }

    fn shown(files: &[(&str, &[Reason])], words: &str) -> Vec<String> {
        seen(files, words, false)
    }

    #[test]
    fn what_stood_in_the_way_is_shown_where_its_whole_text_is_known() {
        let shown = |text: &str| whole_file("a.py", text.to_owned(), "", false).map(|file| (file.text, file.lines));
        assert_eq!(shown(""), Some((String::new(), vec![])), "an empty file can be written too");
        let long = "x = 1\n".repeat(400);
        assert_eq!(shown(&long), Some((long.clone(), vec![(1, 100)])), "a part is shown, and the rest is kept");
        let too_long = "x".repeat(TEXTS as usize + 1);
        for text in ["a\0b", "\u{fffd}", too_long.as_str()] {
            assert_eq!(shown(text), None);
        }
    }

    #[test]
    fn a_small_model_sees_what_words_or_checks_point_at_and_all_sources_where_nothing_does() {
        let text = || Reason::Text(vec!["sum".to_owned()]);
        let plain: [(&str, &[Reason]); 3] =
            [("a.py", &[text()]), ("b.py", &[Reason::Whole]), ("tests/test_a.py", &[text()])];
        assert_eq!(shown(&plain, "sums are wrong"), ["a.py", "b.py"], "tests stay out");
        assert_eq!(shown(&plain, "see test_a.py"), ["a.py", "b.py", "tests/test_a.py"], "unless somebody names them");
        let red: [(&str, &[Reason]); 2] = [("tests/test_a.py", &[Reason::Named]), ("a.py", &[text()])];
        assert_eq!(
            shown(&red, "test_a.py"),
            ["tests/test_a.py", "a.py"],
            "a test that is named is not all there is to see"
        );
        assert_eq!(shown(&red, "red"), ["a.py"], "what fails is told");
        let defines = [("a.py", &[text()][..]), ("b.py", &[Reason::Defines("sum".to_owned()), text()])];
        assert_eq!(shown(&defines, "sum() is wrong"), ["b.py"]);
        assert_eq!(seen(&defines, "sum() is wrong", true), ["a.py", "b.py"], "where answers about that did not do");
        let failing = [("a.py", &[Reason::ImportedBy("t.py".to_owned())][..]), ("b.py", &[text()])];
        assert_eq!(shown(&failing, "red"), ["a.py"]);
        let named = [("a.py", &[Reason::Named][..]), ("b.py", &[Reason::Defines("sum".to_owned())])];
        assert_eq!(shown(&named, "sum() in a.py"), ["a.py"], "a file that is named is all there is to see");
        let asked = [("a.py", &[Reason::Named][..]), ("b.py", &[Reason::Asked])];
        assert_eq!(shown(&asked, "a.py"), ["a.py", "b.py"], "what was shown before stays");
    }
}
