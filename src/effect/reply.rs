//! Answers a person's question about a task with its model or that one's fallbacks, from the log and the last commit. Part of posting the
//! answer: at most two calls per question may lose their answers, the worst case is charged first, and the answer is in the log before it is
//! posted. The model has no tools here and decides nothing. A task that is over answers in the same way. Tests: `tests/stories/questions.rs`,
//! `tests/stories/fallbacks.rs`, `tests/stories/asked_after.rs`.

use super::ask_models::{self, Inquired, Inquiry, ModelAsker};
use super::configured_model::{ConfiguredModel, ConfiguredModels};
use super::money::{SpendingLimits, unpaid};
use super::repository::Repositories;
use crate::engine::{self, CallStep, Question, Ready, Tries, TurnAnswer};
use crate::message;
use crate::redact::redacted;
use crate::store::{EffectRow, Store};
use crate::text::cut;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Event, Input, PauseReason, Reply, Task};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Time limit of the calls, because other comments of this task wait behind it.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most calls for one question whose answers were lost.
const MOST_CALLS: usize = 2;
/// The most questions per task that are answered.
const MOST_QUESTIONS: usize = 50;
/// The most characters kept of an answer.
const LONGEST: usize = 6_000;
/// The most files shown that the question names, and bytes of each; and words of it that are looked for.
const MOST_FILES: usize = 4;
const MOST_BYTES: u64 = 64 << 10;
const MOST_WORDS: usize = 20;
/// Bytes of a commit's file names that are read to find them, and names that are listed where several files have one.
const MOST_NAMES: u64 = 8 << 20;
const MOST_CANDIDATES: usize = 5;
/// The most words of a question that are told to be the names of several files.
const MOST_UNCLEAR: usize = 2;
const NOT_ASKED: &str = "the model could not be asked";
const WORDLESS: &str = "the model reached the limit of its answer before its first word";
const TOO_LITTLE: &str = "what the task may still use does not suffice for a call (`/cost` says what is left, `/budget …` grants more), or \
                          the model holds too little";
const TOO_LITTLE_AFTER: &str = "what the task may still use does not suffice for a call, and one that is over is granted no \
                                more (`/cost` says what it used; `/explain …` in an issue begins a task that answers from the \
                                code), or the model holds too little";
const MODEL_GONE: &str = "the model that was named for this task can't be asked any more; name another with `/model`";
const MODEL_GONE_AFTER: &str = "the model that was named for this task can't be asked any more (`/explain …` in an issue \
                                begins a task that answers from the code)";

/// Answers questions.
pub(super) struct Replies {
    pub store: Store,
    pub repositories: Arc<Repositories>,
    pub models: Arc<ConfiguredModels>,
    pub spending_limits: Arc<SpendingLimits>,
    /// Number of this process's epoch.
    pub epoch: i64,
}

impl Replies {
    /// The text that answers the question with this number in the forge's order.
    pub(super) async fn text(
        &self,
        task: &Task,
        row: &EffectRow,
        (number, login, question): (i64, &str, &str),
        feed: &dyn Feed,
    ) -> Result<String, Trouble> {
        let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
        let models = self.models.of(task).each();
        let next = tries(&log, number).next(&ask_models::labels(&models));
        let over = task.state.ended();
        if let Some(text) = stored_answer(&log, number, (login, over)).filter(|_| next.is_none()) {
            return Ok(text);
        }
        if let Some(why) = self.bar(task, &log, number) {
            return Ok(message::unanswered(login, why));
        }
        let (files, paths) = self.files(task, question).await;
        let asked = QuestionAsked {
            number,
            call: u32::try_from(calls(&log)).unwrap_or(u32::MAX).saturating_add(1),
            question: Question { login, words: question, files: &files, paths: &paths },
            log: &log,
        };
        let (spending_limits, limit) = (&*self.spending_limits, PATIENCE);
        let asker = ModelAsker { spending_limits, feed, task: task.id, epoch: self.epoch, tries: row.tries, limit };
        Ok(match asker.ask(task, &models, next.unwrap_or(0), &asked).await? {
            Inquired::Answered(answer, _) => worded((login, over), &answer.model, &kept(&answer.text)),
            Inquired::Refused | Inquired::Stopped => message::unanswered(login, NOT_ASKED),
            Inquired::Lost => message::unanswered(login, "the model did not answer in time"),
            Inquired::Unfit(why) => message::unanswered(login, &why),
            Inquired::Spent(PauseReason::Budget { .. }) if over => message::unanswered(login, TOO_LITTLE_AFTER),
            Inquired::Spent(reason) => message::unanswered(login, &unpaid(&reason)),
        })
    }

    /// Why no model is asked, if so.
    fn bar(&self, task: &Task, log: &[Event], number: i64) -> Option<&'static str> {
        if tries(log, number).lost() >= MOST_CALLS {
            Some("the answers of two calls to the model were lost")
        } else if others(log, number) >= MOST_QUESTIONS {
            Some("this task has answered 50 questions already")
        } else if self.models.there(task).is_err() {
            Some(if task.state.ended() { MODEL_GONE_AFTER } else { MODEL_GONE })
        } else {
            None
        }
    }

    /// Files that the question names, at the task's last commit, where missing ones are left out; and the paths of all.
    async fn files(&self, task: &Task, question: &str) -> (Vec<(String, String)>, Vec<String>) {
        let Some((request, commit)) = task.request.as_ref().zip(task.head.as_ref().or(task.base.as_ref())) else {
            return (Vec::new(), Vec::new());
        };
        let named = named_in(question);
        if let Err(trouble) = self.repositories.bring_all(task, vec![commit.clone()]).await {
            tracing::warn!(task = task.id.0, ?trouble, "a question's files are not here");
            let away = "[its commit is not on this host, so it cannot be read now]";
            let named = named.into_iter().take(MOST_FILES).map(|word| (word, away.to_owned()));
            return (named.collect(), Vec::new());
        }
        let repos = &self.repositories.repos;
        // Without the names only whole paths are found.
        let names = repos.files(&request.repository, commit, MOST_NAMES).await.unwrap_or_default();
        let (mut found, mut unclear): (Vec<(String, String)>, usize) = (Vec::new(), 0);
        for word in named {
            let path = match candidates(&names, &word)[..] {
                [] => word,
                [one] => one.to_owned(),
                // Some of them, so that the files themselves have room.
                ref several if unclear < MOST_UNCLEAR => {
                    unclear += 1;
                    let list = several[..several.len().min(MOST_CANDIDATES)].join(", ");
                    found.push((word, format!("[{} files have this name, among them {list}]", several.len())));
                    continue;
                }
                _ => continue,
            };
            if found.len() - unclear >= MOST_FILES || found.iter().any(|(known, _)| *known == path) {
                continue;
            }
            if let Ok(Some(bytes)) = repos.show(&request.repository, commit, &path, MOST_BYTES).await {
                found.push((path, redacted(&String::from_utf8_lossy(&bytes)).0.into_owned()));
            }
        }
        (found, names)
    }
}

/// Words of a question that may name a file, each once, without quotes around it and without a line's number behind it.
fn named_in(question: &str) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for word in question.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !"_./".contains(c)).trim_end_matches(['.', '/']);
        let mut word = word.strip_prefix("./").unwrap_or(word).trim_start_matches('/');
        while let Some((path, line)) = word.rsplit_once(':')
            && line.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        {
            word = path;
        }
        if word.contains(['.', '/']) && !named.iter().any(|known| known == word) && named.len() < MOST_WORDS {
            named.push(word.to_owned());
        }
    }
    named
}

/// The files that a word means: the one with this path, or else all whose path ends with it.
fn candidates<'a>(names: &'a [String], word: &str) -> Vec<&'a str> {
    if names.iter().any(|name| name == word) {
        return names.iter().filter(|name| *name == word).map(String::as_str).collect();
    }
    let ends = |name: &&str| name.strip_suffix(word).is_some_and(|before| before.ends_with('/'));
    names.iter().map(String::as_str).filter(ends).collect()
}

/// One person's question, put to a model.
struct QuestionAsked<'a> {
    number: i64,
    /// Number of the first call for it.
    call: u32,
    question: Question<'a>,
    log: &'a [Event],
}

impl Inquiry for QuestionAsked<'_> {
    fn name(&self) -> (&'static str, String) {
        ("reply", self.number.to_string())
    }

    fn ready(&self, task: &Task, configured: &ConfiguredModel) -> Result<Ready, String> {
        let too_little = if task.state.ended() { TOO_LITTLE_AFTER } else { TOO_LITTLE };
        engine::reply(task, self.log, &self.question, &configured.engine, configured.model.as_ref())
            .ok_or_else(|| too_little.to_owned())
    }

    fn starting(&self, before: u32, worst_micro_usd: u64) -> Input {
        Input::ReplyStarting { number: self.number, call: self.call.saturating_add(before), worst_micro_usd }
    }

    /// What was done is asked about at any time.
    fn is_open(&self, _: &Task) -> bool {
        true
    }

    fn answered(&self, before: u32, answer: TurnAnswer) -> Input {
        let TurnAnswer { text, usage, micro_usd, model, .. } = answer;
        let (number, call) = (self.number, self.call.saturating_add(before));
        Input::Replied { number, call, text: kept(&text), usage, micro_usd, model }
    }
}

/// What is stored and posted of an answer.
fn kept(text: &str) -> String {
    cut(&redacted(text).0, LONGEST).0.to_owned()
}

/// Number of calls for questions so far.
fn calls(log: &[Event]) -> usize {
    log.iter().filter(|event| matches!(event, Event::ReplyStarted { .. })).count()
}

/// Number of other questions so far for which a model was called.
fn others(log: &[Event], than: i64) -> usize {
    let number = |event: &Event| if let Event::ReplyStarted { number, .. } = event { Some(*number) } else { None };
    log.iter().filter_map(number).filter(|number| *number != than).collect::<BTreeSet<i64>>().len()
}

/// The calls for this question.
fn tries(log: &[Event], of: i64) -> Tries<'_> {
    Tries::of(log.iter().filter_map(|event| match event {
        Event::ReplyStarted { number, .. } if *number == of => Some(CallStep::Begun),
        Event::Replied(reply) if reply.number == of => Some(CallStep::stored(&reply.model, reply.usage.total())),
        _ => None,
    }))
}

/// The stored answer to the question; none if another model was asked behind it.
fn stored_answer(log: &[Event], of: i64, asker: (&str, bool)) -> Option<String> {
    let newest = log.iter().rev().find_map(|event| match event {
        Event::Replied(reply) if reply.number == of => Some(reply),
        _ => None,
    });
    let newest = newest.filter(|_| tries(log, of).is_over());
    newest.map(|Reply { text, model, .. }| worded(asker, model, text))
}

/// The text with a model's answer; `over`: whether the task is over.
fn worded((login, over): (&str, bool), model: &str, text: &str) -> String {
    match text.trim() {
        "" => message::unanswered(login, NOT_ASKED),
        text if engine::is_wordless(text) => message::unanswered(login, WORDLESS),
        text => message::replied(login, model, text, over),
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, candidates, kept, named_in, tries, worded};
    use domain::{Event, Reply, Usage};

    #[test]
    fn a_list_goes_on_behind_the_model_that_refused_last_and_an_answer_ends_it() {
        let replied = |model: &str, text: &str| {
            let (usage, model, text) = (Usage::default(), model.to_owned(), text.to_owned());
            Event::Replied(Reply { number: 7, call: 1, text, usage, micro_usd: 0, model })
        };
        let asked = || Event::ReplyStarted { number: 7, call: 1, worst_micro_usd: 5 };
        let labels = ["first", "spare", "last"].map(str::to_owned);
        let next = |log: &[Event]| tries(log, 7).next(&labels);
        assert_eq!((next(&[]), next(&[asked()])), (None, None), "from the beginning");
        let refused = [asked(), replied("first", "")];
        assert_eq!((next(&refused), tries(&refused, 8).next(&labels)), (Some(1), None));
        let lost = [&refused[..], &[asked()]].concat();
        assert_eq!(next(&lost), Some(1), "the call whose answer was lost is made again");
        let both = [&lost[..], &[replied("spare", "")]].concat();
        assert_eq!(next(&both), Some(2));
        assert_eq!(next(&[&both[..], &[asked(), replied("last", "")]].concat()), None, "nobody is left");
        assert_eq!(next(&[&both[..], &[asked(), replied("last", "It is so.")]].concat()), None);
        assert_eq!(next(&[asked(), replied("gone", "")]), None, "it is in the list no more");
    }

    #[test]
    fn a_note_that_the_answer_was_cut_off_is_no_answer() {
        let said = |text: &str| worded(("alice", false), "m", text);
        assert!(said("\n[cut off: the answer reached its limit of 900 tokens]").contains("before its first word"));
        let half = said("It compares\n[cut off: the answer reached its limit of 900 tokens]");
        assert!(half.contains("It compares") && !half.contains("first word"), "{half}");
    }

    #[test]
    fn a_credential_at_the_end_of_what_is_kept_is_left_out_before_the_cut() {
        let answer = format!("{}ghp_{}", "x ".repeat((LONGEST - 10) / 2), "a1B2".repeat(9));
        let kept = kept(&answer);
        assert!(!kept.contains("ghp_") && kept.chars().count() == LONGEST, "{kept}");
    }

    #[test]
    fn a_file_is_named_by_its_path_or_by_its_end_with_or_without_a_line() {
        let asked = "Why does `parse` in \"semver.py\" (see /src/a.rs:12:5, ./b/c.go:3-9 and .gitignore) do that? In semver.py, 1:2.";
        assert_eq!(named_in(asked), ["semver.py", "src/a.rs", "b/c.go", ".gitignore"]);
        let names: Vec<String> = ["a.py", "x/a.py", "x/b.py", "y/b.py", "x/my_c.py"].map(str::to_owned).to_vec();
        assert_eq!(candidates(&names, "a.py"), ["a.py"], "the whole path");
        assert_eq!(candidates(&names, "b.py"), ["x/b.py", "y/b.py"]);
        assert_eq!(candidates(&names, "y/b.py"), ["y/b.py"]);
        assert!(candidates(&names, "c.py").is_empty(), "a part of a name is none");
    }
}
