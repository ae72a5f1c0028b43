//! Asks the runner's `survey` for the files of a task's sandbox that are relevant to the issue, and validates the answer.
//!
//! Owns the validation. The program runs in the sandbox as a process of the agent's user: this process parses nothing of a tree, and an
//! answer is untrusted. Only files of the given commit are accepted; counts and lengths have limits, and an answer beyond one is refused as
//! a whole. It is no action: it changes nothing, and runs nothing of the project. Tests: below and `tests/trees/survey.rs`.

use std::collections::HashSet;

use domain::Commit;
use protocol::survey::{
    MAX_ANSWER, MAX_FILES, MAX_NAME, MAX_NAMES, MAX_PARTS, MAX_PATH, MAX_REASONS, MAX_TEXTS, Part, Question,
    RankedFile, Reason, SurveyAnswer,
};

use super::look::Looks;
use super::session::Work;
use super::{Result, SandboxError};
use crate::text;

/// Path by which the runner starts its own program.
const ITSELF: &str = "/proc/self/exe";
/// Limit of one survey, in milliseconds.
const WALL_MS: u64 = 20_000;
/// The most bytes of names of a commit's files.
const NAMES: u64 = 64 << 20;
/// The most words of one reason.
const WORDS: usize = 10;
/// Longest file of a survey, in bytes.
const LONGEST: u64 = 512 << 10;
/// Bytes per token, where tokens are only estimated.
const TOKEN: u64 = 4;

/// A question, and the commit whose files may be answered.
#[derive(Debug, Clone)]
pub struct SurveySpec {
    /// The task's number, whose sandbox is asked.
    pub task: i64,
    /// The repository's key in the configuration.
    pub repo_key: String,
    /// Files that it does not have are dropped.
    pub commit: Commit,
    /// Question to the runner.
    pub question: Question,
}

/// A validated answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Surveyed {
    /// Whether the files are all sources of the tree.
    pub whole: bool,
    /// The files, most relevant first.
    pub files: Vec<RankedFile>,
    /// Number of answered files that the commit does not have.
    pub strange: usize,
    /// Number of text files that were read. Untrusted.
    pub seen: u64,
    /// Tokens (bytes / 4) of all sources among the files that were looked at.
    pub tokens: u64,
    /// Files that were not read: too long, no text, unreadable, or beyond a limit.
    pub passed_over: u64,
}

impl Looks {
    /// Asks a task's sandbox for relevant files.
    ///
    /// # Errors
    /// [`SandboxError::Limit`] when it takes longer than 20 s or its answer is too long, [`SandboxError::Refused`] when the answer is
    /// invalid; otherwise as [`Actions::act`](super::Actions::act).
    pub async fn survey(&self, spec: &SurveySpec) -> Result<Surveyed> {
        self.core.must_be_current(spec.task)?;
        let known = self.core.repos.files(&spec.repo_key, &spec.commit, NAMES).await?;
        let question = serde_json::to_vec(&spec.question).map_err(|e| SandboxError::Refused(e.to_string()))?;
        let session = self.sessions.of(spec.task).await?;
        let work = Work::new([ITSELF, "survey", "."]).wall(WALL_MS);
        let answer =
            session.read(work.input(&mut &question[..]), MAX_ANSWER, "looking for the files that matter").await?;
        judge(&answer, &spec.question, &known.iter().map(String::as_str).collect())
    }
}

fn judge(answer: &[u8], question: &Question, known: &HashSet<&str>) -> Result<Surveyed> {
    let refused =
        |why: &str| SandboxError::Refused(format!("the sandbox's answer about relevant files is not believed: {why}"));
    let told: SurveyAnswer =
        serde_json::from_slice(answer).map_err(|e| refused(text::cut(&text::one_line(&e.to_string()), 200).0))?;
    let most = if told.whole { MAX_FILES } else { MAX_FILES.min(question.most.max(question.paths.len())) };
    if told.files.len() > most {
        return Err(refused("it names more files than it was asked for"));
    }
    let (mut seen, mut texts) = (HashSet::new(), question.texts.min(MAX_TEXTS));
    for file in &told.files {
        fault(file).map_or(Ok(()), |why| Err(refused(why)))?;
        let text = file.text.as_ref().map_or(0, |text| text.len() as u64);
        texts = texts.checked_sub(text).ok_or_else(|| refused("it holds more text than it was asked for"))?;
        if !seen.insert(file.path.clone()) {
            return Err(refused("it names a file twice"));
        }
    }
    let named = told.files.len();
    let ours = |file: &RankedFile| known.contains(file.path.as_str());
    let files: Vec<RankedFile> = told.files.into_iter().filter(ours).map(|file| by_known(file, known)).collect();
    let strange = named - files.len();
    Ok(Surveyed {
        whole: told.whole,
        files,
        strange,
        seen: told.seen,
        tokens: told.tokens,
        passed_over: told.passed_over,
    })
}

/// Drops reasons that name a file which the commit does not have.
fn by_known(mut file: RankedFile, known: &HashSet<&str>) -> RankedFile {
    file.because.retain(|why| match why {
        Reason::ImportedBy(path) => known.contains(path.as_str()),
        Reason::Asked
        | Reason::FailingCheck
        | Reason::Named
        | Reason::Defines(_)
        | Reason::Path(_)
        | Reason::Text(_)
        | Reason::Whole => true,
    });
    file
}

/// Why our runner would not give this answer about a file.
fn fault(file: &RankedFile) -> Option<&'static str> {
    let text = file.text.as_ref().is_none_or(|text| text.len() as u64 == file.bytes);
    let lines = u64::from(file.lines) <= file.bytes;
    [
        (is_path(&file.path), "a path in it leads elsewhere or is no path"),
        (
            file.bytes <= LONGEST && lines && file.tokens == file.bytes.div_ceil(TOKEN),
            "a file's sizes do not fit each other",
        ),
        (file.score.is_finite(), "a score is no number"),
        (file.because.len() <= MAX_REASONS && file.because.iter().all(is_reason), "a reason is longer than one may be"),
        (
            file.defines.len() <= MAX_NAMES && file.defines.iter().all(|name| is_name(name)),
            "a name is longer than one may be",
        ),
        (
            file.parts.len() <= MAX_PARTS && are_parts(&file.parts, file.lines),
            "a file's parts are not within it, one after the other",
        ),
        (text, "a text is not as long as its file"),
    ]
    .into_iter()
    .find_map(|(fine, why)| (!fine).then_some(why))
}

fn is_path(path: &str) -> bool {
    let inside = |part: &str| !matches!(part, "" | "." | ".." | ".git");
    !path.is_empty() && path.len() <= MAX_PATH && !path.chars().any(char::is_control) && path.split('/').all(inside)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control)
}

fn is_reason(why: &Reason) -> bool {
    match why {
        Reason::Asked | Reason::FailingCheck | Reason::Named | Reason::Whole => true,
        Reason::ImportedBy(path) => is_path(path),
        Reason::Defines(name) => is_name(name),
        Reason::Path(words) | Reason::Text(words) => words.len() <= WORDS && words.iter().all(|word| is_name(word)),
    }
}

fn are_parts(parts: &[Part], lines: u32) -> bool {
    let within = |part: &Part| 1 <= part.first && part.first <= part.last && part.last <= lines && is_name(&part.name);
    parts.iter().all(within) && parts.windows(2).all(|two| two[0].last < two[1].first)
}

/// A reason in words for a person, with untrusted parts as code.
pub fn because(why: &Reason) -> String {
    let words = |words: &[String]| words.iter().map(|word| text::code(word)).collect::<Vec<_>>().join(", ");
    match why {
        Reason::Asked => "it was asked for".to_owned(),
        Reason::FailingCheck => "a failing check names it".to_owned(),
        Reason::ImportedBy(test) => format!("the test {} is about it", text::code(test)),
        Reason::Named => "the issue names it".to_owned(),
        Reason::Defines(name) => format!("it defines {}", text::code(name)),
        Reason::Path(shared) => format!("its path has the issue's {}", words(shared)),
        Reason::Text(shared) => format!("its text has the issue's {}", words(shared)),
        Reason::Whole => "all sources are few enough to be shown".to_owned(),
    }
}

impl Surveyed {
    /// A map for a model: one line per file with its definitions, as many as fit into so many tokens. Untrusted.
    pub fn map(&self, tokens: u64) -> String {
        let mut out = String::new();
        for file in &self.files {
            let names: Vec<String> = file.defines.iter().take(12).map(|name| text::one_line(name)).collect();
            let about = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
            let line = format!("{} ({} lines){about}\n", text::one_line(&file.path), file.lines);
            if (out.len() + line.len()) as u64 > tokens.saturating_mul(TOKEN) {
                break;
            }
            out.push_str(&line);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["src/a.py", "src/b.py", "tests/test_a.py"];

    fn found(path: &str) -> RankedFile {
        RankedFile {
            path: path.to_owned(),
            bytes: 800,
            tokens: 200,
            lines: 20,
            score: 1.5,
            because: vec![Reason::Named, Reason::ImportedBy("tests/test_a.py".to_owned())],
            defines: vec!["parse_header".to_owned(), "send".to_owned()],
            parts: vec![Part { name: "send".to_owned(), first: 3, last: 9 }],
            text: None,
        }
    }

    fn judged(files: Vec<RankedFile>) -> Result<Surveyed> {
        let answer = serde_json::to_vec(&SurveyAnswer { files, seen: 9, ..SurveyAnswer::default() }).unwrap();
        let question = Question { most: 3, texts: 1000, ..Question::default() };
        judge(&answer, &question, &KNOWN.into_iter().collect())
    }

    #[test]
    fn an_answer_of_our_runner_is_taken_as_it_is() {
        let told = judged(vec![found("src/b.py"), found("src/a.py")]).unwrap();
        assert_eq!((told.files.clone(), told.strange, told.seen), (vec![found("src/b.py"), found("src/a.py")], 0, 9));
        let shown: Vec<String> = told.files[0].because.iter().map(because).collect();
        assert_eq!(shown, ["the issue names it", "the test `tests/test_a.py` is about it"]);
    }

    #[test]
    fn files_that_the_commit_does_not_have_are_left_out() {
        let mut other = found("src/a.py");
        other.because.push(Reason::ImportedBy("tests/made_up.py".to_owned()));
        let told = judged(vec![found("made/up.py"), other]).unwrap();
        assert_eq!((told.files, told.strange), (vec![found("src/a.py")], 1));
    }

    #[test]
    fn what_our_runner_never_says_is_refused_whole() {
        let part = |first, last| Part { name: "x".to_owned(), first, last };
        let long = || "x".repeat(MAX_NAME + 1);
        type Change = fn(&mut RankedFile);
        let wrong: Vec<(&str, Change)> = vec![
            ("../a.py", |_| {}),
            ("/etc/passwd", |_| {}),
            ("src/.git/config", |_| {}),
            ("src//a.py", |_| {}),
            ("src/a\n.py", |_| {}),
            ("", |_| {}),
            ("src/a.py", |file| file.tokens = 3),
            ("src/a.py", |file| (file.bytes, file.tokens) = (1 << 40, 1 << 38)),
            ("src/a.py", |file| file.lines = 801),
            ("src/a.py", |file| file.text = Some("short".to_owned())),
        ];
        for (path, change) in wrong {
            let mut file = found(path);
            change(&mut file);
            assert!(matches!(judged(vec![file]), Err(SandboxError::Refused(_))), "{path:?}");
        }
        for change in [
            RankedFile { parts: vec![part(0, 1)], ..found("src/a.py") },
            RankedFile { parts: vec![part(1, 21)], ..found("src/a.py") },
            RankedFile { parts: vec![part(1, 5), part(5, 6)], ..found("src/a.py") },
            RankedFile { parts: vec![part(6, 5)], ..found("src/a.py") },
            RankedFile { defines: vec![long()], ..found("src/a.py") },
            RankedFile { defines: vec!["a\u{1b}[0m".to_owned()], ..found("src/a.py") },
            RankedFile { defines: vec!["x".to_owned(); MAX_NAMES + 1], ..found("src/a.py") },
            RankedFile { because: vec![Reason::Defines(long())], ..found("src/a.py") },
            RankedFile { because: vec![Reason::ImportedBy("../x".to_owned())], ..found("src/a.py") },
            RankedFile { because: vec![Reason::Text(vec!["x".to_owned(); 99])], ..found("src/a.py") },
            RankedFile { because: vec![Reason::Named; 99], ..found("src/a.py") },
        ] {
            assert!(matches!(judged(vec![change.clone()]), Err(SandboxError::Refused(_))), "{change:?}");
        }
        assert!(judged(vec![found("src/a.py"), found("src/a.py")]).is_err(), "twice");
        assert!(judged(["1", "2", "3", "4"].map(found).to_vec()).is_err(), "more than asked for");
        let full = |path| RankedFile { text: Some("x".repeat(800)), ..found(path) };
        assert!(judged(vec![full("src/a.py")]).is_ok() && judged(vec![full("src/a.py"), full("src/b.py")]).is_err());
    }

    #[test]
    fn what_is_no_answer_is_refused_in_one_line() {
        for text in ["", "[]", "{\"whole\":true}", "{\"files\":[{}]}", "\u{1b}[31m\nno"] {
            let Err(SandboxError::Refused(why)) = judge(text.as_bytes(), &Question::default(), &HashSet::new()) else {
                panic!("{text:?} was taken");
            };
            assert!(!why.contains('\n') && !why.contains('\u{1b}') && why.len() < 400, "{why}");
        }
    }

    #[test]
    fn a_map_keeps_to_its_tokens_and_hides_nothing() {
        let mut odd = found("src/b.py");
        odd.defines = vec!["a\u{202e}b".to_owned()];
        let told = judged(vec![found("src/a.py"), odd]).unwrap();
        assert_eq!(told.map(1024), "src/a.py (20 lines): parse_header, send\nsrc/b.py (20 lines): a\\u{202e}b\n");
        assert_eq!(told.map(10), "src/a.py (20 lines): parse_header, send\n");
        assert_eq!(told.map(2), "");
    }
}
