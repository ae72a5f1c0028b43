//! Model calls of a task: which events begin, answer and settle them, and what each call cost, from the log alone.
//!
//! The one list of events that are answered calls: `/cost`, `caisson task cost` and the rows of charges ask here.

use crate::{Event, Reply, Usage};

/// What a model was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPurpose {
    /// The conversation's turn with this number.
    Turn(u32),
    /// A second look at the checkpoint with this number.
    SecondLook(u32),
    /// A summary of older turns or of a file.
    Summary,
    /// A person's question, by the call's number among those for questions.
    Reply(u32),
}

/// An answer to a model call, with what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallAnswer<'a> {
    /// What was asked for.
    pub purpose: CallPurpose,
    /// The model's label as reviews show it. Foreign.
    pub model: &'a str,
    /// Tokens of the call.
    pub usage: Usage,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
    /// Milliseconds of the call, with its retries; none where the log does not keep them.
    pub duration_ms: Option<u64>,
}

impl CallAnswer<'_> {
    /// Whether a model was paid, or counted tokens: the host's own answers cost nothing.
    pub fn is_of_a_model(&self) -> bool {
        self.usage.total() > 0 || self.micro_usd > 0
    }
}

impl Event {
    /// The answer to a model call that this event is; none for every other event.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the test below finds an event with tokens that is missing")]
    pub fn call_answer(&self) -> Option<CallAnswer<'_>> {
        let (purpose, model, usage, micro_usd, duration_ms) = match self {
            Event::TurnCompleted { turn, model, usage, micro_usd, duration_ms, .. } => {
                (CallPurpose::Turn(*turn), model, *usage, *micro_usd, Some(*duration_ms))
            }
            Event::SecondLooked { n, model, usage, micro_usd, duration_ms, .. } => {
                (CallPurpose::SecondLook(*n), model, *usage, *micro_usd, Some(*duration_ms))
            }
            Event::Summarised { summary } => {
                (CallPurpose::Summary, &summary.model, summary.usage, summary.micro_usd, Some(summary.duration_ms))
            }
            Event::Replied(Reply { call, model, usage, micro_usd, .. }) => {
                (CallPurpose::Reply(*call), model, *usage, *micro_usd, None)
            }
            _ => return None,
        };
        Some(CallAnswer { purpose, model, usage, micro_usd, duration_ms })
    }

    /// A model call that is about to be made: its purpose, and the most that it can cost in millionths of a US dollar.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the test below finds an event with a worst case that is missing"
    )]
    pub fn call_start(&self) -> Option<(CallPurpose, u64)> {
        match self {
            Event::ModelCallStarted { turn, worst_micro_usd } => Some((CallPurpose::Turn(*turn), *worst_micro_usd)),
            Event::SecondLookStarted { n, worst_micro_usd } => Some((CallPurpose::SecondLook(*n), *worst_micro_usd)),
            Event::SummaryStarted { worst_micro_usd, .. } => Some((CallPurpose::Summary, *worst_micro_usd)),
            Event::ReplyStarted { call, worst_micro_usd, .. } => Some((CallPurpose::Reply(*call), *worst_micro_usd)),
            _ => None,
        }
    }
}

/// One call of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCall<'a> {
    /// What it was for.
    pub purpose: CallPurpose,
    /// Number of the event that answers it, or begins it where no answer came; counted from 1.
    pub event: usize,
    /// Its answer; none while it is awaited, and where it was lost.
    pub answer: Option<CallAnswer<'a>>,
    /// Millionths of a US dollar: what it cost, or the most that it may have cost where there is no answer.
    pub micro_usd: u64,
}

/// A log's calls in the order in which they began. One that its server refused cost nothing and is left out, as are answers of the host.
pub fn model_calls<'a>(log: impl IntoIterator<Item = &'a Event>) -> Vec<ModelCall<'a>> {
    let mut all: Vec<ModelCall<'a>> = Vec::new();
    // The call whose answer may still come; a person's question runs beside it.
    let mut open: Option<usize> = None;
    for (event, number) in log.into_iter().zip(1..) {
        if let Some((purpose, micro_usd)) = event.call_start() {
            all.push(ModelCall { purpose, event: number, answer: None, micro_usd });
            open = if matches!(purpose, CallPurpose::Reply(_)) { open } else { Some(all.len() - 1) };
        } else if let Some(answer) = event.call_answer() {
            let at = match answer.purpose {
                CallPurpose::Reply(_) => all.iter().rposition(|call| call.purpose == answer.purpose),
                CallPurpose::Turn(_) | CallPurpose::SecondLook(_) | CallPurpose::Summary => open.take(),
            };
            let call =
                ModelCall { purpose: answer.purpose, event: number, answer: Some(answer), micro_usd: answer.micro_usd };
            match at {
                Some(at) => all[at] = call,
                None if answer.is_of_a_model() => all.push(call),
                None => {}
            }
        } else if matches!(event, Event::ModelCallUncharged { .. }) {
            // Nothing but a question can have begun since, and that one keeps its place behind.
            if let Some(at) = open.take() {
                all.remove(at);
            }
        } else if matches!(event, Event::CheckpointPosted { .. } | Event::Answered { .. }) {
            open = None;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Task, TaskId};

    const USAGE: Usage = Usage { input: 10, output: 4, cache_read: 6, cache_write: 1, reasoning: 3, unpriced: 2 };

    fn started(turn: u32, worst_micro_usd: u64) -> Event {
        Event::ModelCallStarted { turn, worst_micro_usd }
    }

    fn turn(turn: u32, usage: Usage, micro_usd: u64) -> Event {
        let (text, calls, model) = (String::new(), Vec::new(), "m".to_owned());
        Event::TurnCompleted { turn, text, calls, usage, micro_usd, duration_ms: 9, model, vendor: None }
    }

    fn told(log: &[Event]) -> Vec<(CallPurpose, usize, bool, u64)> {
        let calls = model_calls(log);
        calls.into_iter().map(|it| (it.purpose, it.event, it.answer.is_some(), it.micro_usd)).collect()
    }

    #[test]
    fn each_call_has_its_cost_or_its_worst_case_and_together_they_are_what_was_spent() {
        let summary = crate::ModelSummary {
            of: crate::SummaryOf::Turns { upto: 1, from: 0, to: 0 },
            text: String::new(),
            trust: crate::Trust::None,
            usage: USAGE,
            micro_usd: 7,
            duration_ms: 2,
            model: "s".into(),
        };
        let reply =
            Reply { number: 3, call: 1, text: String::new(), usage: USAGE, micro_usd: 5, model: "m".to_owned() };
        let log = [
            started(1, 100),
            started(1, 110),
            Event::ReplyStarted { number: 3, call: 1, worst_micro_usd: 50 },
            Event::ModelCallUncharged { turn: 1, fallback: None },
            Event::Replied(reply),
            started(1, 120),
            turn(1, USAGE, 20),
            turn(2, Usage::default(), 0),
            Event::SummaryStarted { of: summary.of, worst_micro_usd: 40 },
            Event::Summarised { summary: Box::new(summary) },
            Event::SecondLookStarted { n: 1, worst_micro_usd: 30 },
        ];
        let expected = [
            (CallPurpose::Turn(1), 1, false, 100),
            (CallPurpose::Reply(1), 5, true, 5),
            (CallPurpose::Turn(1), 7, true, 20),
            (CallPurpose::Summary, 10, true, 7),
            (CallPurpose::SecondLook(1), 11, false, 30),
        ];
        assert_eq!(told(&log), expected);
        let spent = Task::fold(TaskId(1), &log).spent;
        assert_eq!(expected.iter().map(|it| it.3).sum::<u64>(), spent.micro_usd);
        let tokens: u64 = log.iter().filter_map(Event::call_answer).map(|it| it.usage.total()).sum();
        assert_eq!(tokens, spent.tokens);
        let unpriced: u64 = log.iter().filter_map(Event::call_answer).map(|it| it.usage.unpriced).sum();
        assert_eq!((unpriced, spent.unpriced), (6, 6));
    }

    #[test]
    fn what_an_older_version_did_not_begin_is_counted_by_its_answer_alone() {
        assert_eq!(told(&[turn(1, USAGE, 3)]), [(CallPurpose::Turn(1), 1, true, 3)]);
    }

    /// A new event with tokens or a worst case has to be added above.
    #[test]
    fn no_event_with_tokens_or_a_worst_case_is_missing() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let count = |name: &str, field: &str| {
            let text = std::fs::read_to_string(dir.join(name)).expect("a source");
            text.lines().filter(|line| line.trim().trim_start_matches("pub ") == field).count()
        };
        let names = std::fs::read_dir(&dir).expect("sources").map(|file| file.expect("a file").file_name());
        let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        let payloads = names.iter().filter(|name| !matches!(name.as_str(), "model_call.rs" | "input.rs"));
        let with_tokens: usize =
            payloads.filter(|name| name.ends_with(".rs")).map(|name| count(name, "usage: Usage,")).sum();
        assert_eq!(with_tokens, 4);
        assert_eq!(count("event.rs", "worst_micro_usd: u64,"), 4);
    }
}
