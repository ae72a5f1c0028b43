//! Summarizes a file that is too long to be shown, part by part and then summaries of summaries.
//!
//! Owns: which part is next, what a model is asked about it, and the text of the result. Pure: earlier summaries are in the log, so an
//! interrupted reading continues. Must not: read a file, or make a call. Tests: below, `tests/stories/summaries.rs`.

use domain::{Event, ModelSummary, SummaryOf, Task};
use minijinja::context;

use super::EngineConfig;
use super::fence::{Fence, Trust, spelled};
pub use super::numbered::shown;
use super::summarize::{asked_for, call, room};
use super::tries;
use super::turn::Ready;
use crate::llm::Model;
use crate::text;

/// The most parts that one action reads.
const MOST_PARTS: usize = 24;
/// The most calls of one action, including those whose answers were lost.
const MOST_CALLS: usize = 60;
/// The longest summary of one part, in tokens, beside what a model thinks before it.
const LENGTH: u64 = 350;
/// The most characters of the parts' own summaries in a result.
const PARTS: usize = 9_000;
/// Stands for the summary of a part that the model said nothing about.
const NOTHING: &str = "(the model said nothing about these lines)";

/// The next step of a reading.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// Summarize the part that begins with this line.
    Read {
        /// The line, counted from 1.
        from: u64,
    },
    /// Summarize these summaries.
    Join {
        /// What the new summary covers.
        of: SummaryOf,
        /// The summaries, in the file's order.
        parts: Vec<&'a ModelSummary>,
    },
    /// Everything that was read is summarized.
    End,
}

/// The summaries of an action so far.
#[derive(Debug, Default)]
pub struct Reading<'a> {
    done: Vec<&'a ModelSummary>,
    calls: usize,
}

/// Level, first line, last line, and number of lines of the whole file.
fn span(summary: &ModelSummary) -> (u32, u64, u64, u64) {
    match summary.of {
        SummaryOf::Lines { level, from, to, total, .. } => (level, from, to, total),
        SummaryOf::Turns { .. } => (0, 0, 0, 0),
    }
}

/// Whether it says that a model did not answer, which cost nothing.
fn is_refusal(summary: &ModelSummary) -> bool {
    summary.text.is_empty() && summary.usage.total() == 0
}

/// What it says, or that it says nothing.
fn words(summary: &ModelSummary) -> &str {
    Some(summary.text.trim()).filter(|text| !text.is_empty()).unwrap_or(NOTHING)
}

impl<'a> Reading<'a> {
    /// The reading of the action with this number.
    pub fn of(log: &'a [Event], number: u32) -> Self {
        let its = |of: &SummaryOf| matches!(of, SummaryOf::Lines { number: known, .. } if *known == number);
        let mut all = Reading::default();
        for event in log {
            match event {
                Event::SummaryStarted { of, .. } if its(of) => all.begin(*of),
                Event::Summarised { summary } if its(&summary.of) => all.done.push(summary),
                _ => {}
            }
        }
        all
    }

    /// Counts a call, in place of a refusal of the same if that was the newest: then the next model of a list is asked.
    fn begin(&mut self, of: SummaryOf) {
        if self.done.last().is_some_and(|last| last.of == of && is_refusal(last)) {
            self.done.pop();
        } else {
            self.calls += 1;
        }
    }

    /// Whether the reading ends with what it has, because no model answered, two calls in a row gave nothing, or the limit of calls is reached.
    /// A single part that the model said nothing about leaves a gap.
    pub fn is_over(&self) -> bool {
        let ends = |one: &&ModelSummary| is_refusal(one) || one.text.is_empty() && span(one).0 > 0;
        let nothing = |two: &[&ModelSummary]| two.iter().all(|one| one.text.is_empty());
        self.calls >= MOST_CALLS || self.done.iter().any(ends) || self.done.windows(2).any(nothing)
    }

    /// Where a list of models with these labels goes on behind the one that refused last; none if the newest call ended otherwise, none
    /// stands behind it, or no further call may be made.
    pub fn next_model(&self, labels: &[String]) -> Option<usize> {
        let refused = self.done.last().filter(|last| is_refusal(last) && self.calls < MOST_CALLS)?;
        tries::behind(&refused.model, labels)
    }

    fn summaries(&self) -> impl Iterator<Item = &'a ModelSummary> {
        self.done.iter().copied().filter(|one| !one.text.is_empty())
    }

    /// The label of the model that gave the newest summary.
    pub fn last_model(&self) -> Option<&'a str> {
        self.summaries().last().map(|one| one.model.as_str())
    }

    /// The models that gave summaries, each once.
    fn models(&self) -> String {
        let mut all: Vec<&str> = Vec::new();
        for one in self.summaries() {
            if !all.contains(&one.model.as_str()) {
                all.push(&one.model);
            }
        }
        format!("the model{} {}", if all.len() > 1 { "s" } else { "" }, all.join(" and "))
    }

    /// The parts that were read, with those that the model said nothing about.
    fn parts(&self) -> Vec<&'a ModelSummary> {
        self.done.iter().copied().filter(|one| span(one).0 == 0 && !is_refusal(one)).collect()
    }

    /// The next step of a reading that begins with line `from`, for a model that is shown at most `most` characters at once.
    pub fn next(&self, number: u32, from: u64, most: usize) -> Next<'a> {
        let parts = self.parts();
        match parts.last().map(|last| span(last)) {
            None => return Next::Read { from },
            Some((_, _, to, total)) if to < total && parts.len() < MOST_PARTS => return Next::Read { from: to + 1 },
            Some(_) => {}
        }
        match self.climb(number, most) {
            Ok(_) => Next::End,
            Err(join) => join,
        }
    }

    /// The summary of all parts, or the step that is missing for it.
    fn climb(&self, number: u32, most: usize) -> Result<Option<&'a ModelSummary>, Next<'a>> {
        let (mut row, mut level) = (self.parts(), 1);
        while row.len() > 1 {
            let mut above = Vec::new();
            for group in groups(&row, most) {
                let ((_, from, _, _), (_, _, to, _)) = (span(group[0]), span(group[group.len() - 1]));
                // A file may grow while it is read.
                let total = group.iter().map(|one| span(one).3).max().unwrap_or(to);
                let known = self.summaries().find(|one| span(one) == (level, from, to, total));
                match (group, known) {
                    ([one], _) => above.push(*one),
                    (_, Some(known)) => above.push(known),
                    (group, None) => {
                        let of = SummaryOf::Lines { number, level, from, to, total };
                        return Err(Next::Join { of, parts: group.to_vec() });
                    }
                }
            }
            (row, level) = (above, level + 1);
        }
        Ok(row.first().copied())
    }

    /// The result's text and the last line that it covers; none if there is none.
    pub fn result(&self, number: u32, most: usize) -> Option<(String, u64)> {
        let parts = self.parts();
        self.summaries().next()?;
        let (last, first) = (parts.last()?, parts.first()?);
        let (total, to) = (span(last).3, span(last).2);
        let mut out = format!("told in short by {}: lines {} to {to} of {total}\n", self.models(), span(first).1);
        if let Ok(Some(top)) = self.climb(number, most)
            && parts.len() > 1
        {
            out.push_str(&format!("\nall together:\n{}\n", top.text.trim()));
        }
        for part in &parts {
            let (_, from, to, _) = span(part);
            let words = spelled(words(part));
            let (words, missing) = text::cut(&words, PARTS / parts.len());
            out.push_str(&format!("\nlines {from} to {to}:\n{words}{}\n", if missing > 0 { "…" } else { "" }));
        }
        Some((out, to))
    }

    /// Number of lines of the whole file, once a part is summarized.
    pub fn total(&self) -> Option<u64> {
        self.parts().last().map(|last| span(last).3)
    }

    /// Calls, and tokens of prompts and answers together, of this reading.
    pub fn cost(&self) -> (usize, u64) {
        (self.calls, self.done.iter().map(|one| one.usage.total()).sum())
    }
}

/// Groups of neighbours that are summarized together: at least two, and as many as fit into `most` characters.
fn groups<'r, 'a>(row: &'r [&'a ModelSummary], most: usize) -> Vec<&'r [&'a ModelSummary]> {
    let (mut out, mut begin, mut size) = (Vec::new(), 0, 0);
    for (at, one) in row.iter().enumerate() {
        let chars = one.text.chars().count();
        if at - begin >= 2 && size + chars > most {
            out.push(&row[begin..at]);
            (begin, size) = (at, 0);
        }
        size += chars;
    }
    out.push(&row[begin..]);
    out
}

/// Characters of a file or of summaries that this model is shown at once.
pub fn at_once(model: &dyn Model) -> usize {
    room(model) / 4 * 3
}

/// The call to summarize lines of a file, as the runner shows them. None if it does not fit.
pub fn lines(task: &Task, of: SummaryOf, lines: &str, config: &EngineConfig, model: &dyn Model) -> Option<Ready> {
    about(task, of, ("summary_lines", "the file's lines", lines), config, model)
}

/// The call to summarize summaries. None if it does not fit.
pub fn joined(
    task: &Task,
    of: SummaryOf,
    parts: &[&ModelSummary],
    config: &EngineConfig,
    model: &dyn Model,
) -> Option<Ready> {
    let told = |part: &&ModelSummary| format!("lines {} to {}:\n{}\n", span(part).1, span(part).2, words(part));
    let all = parts.iter().map(told).collect::<String>();
    about(task, of, ("summary_parts", "what the parts hold", &all), config, model)
}

fn about(
    task: &Task,
    of: SummaryOf,
    (template, source, words): (&str, &str, &str),
    config: &EngineConfig,
    model: &dyn Model,
) -> Option<Ready> {
    let SummaryOf::Lines { from, to, total, .. } = of else { return None };
    let fence = Fence::new(&config.secret, task.id);
    let values = context! {
        from, to, total,
        words => asked_for(task, &fence, room(model) / 8),
        text => fence.wrap(source, Trust::None, words),
    };
    call(task, template, values, LENGTH, config, model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Usage;

    fn summarised(level: u32, from: u64, to: u64, total: u64, text: &str) -> Event {
        let of = SummaryOf::Lines { number: 3, level, from, to, total };
        let (text, model, usage) = (text.to_owned(), "m".to_owned(), Usage::default());
        let summary = ModelSummary { of, text, trust: Trust::None, usage, micro_usd: 0, duration_ms: 0, model };
        Event::Summarised { summary: Box::new(summary) }
    }

    #[test]
    fn what_the_runner_shows_is_understood_and_a_line_of_the_file_is_never_taken_for_its_end() {
        let part =
            "     7\tseven\n     8\t[lines 1-2 of 3; read on with from=9]\n[lines 7-8 of 90; read on with from=9]";
        let lines = "     7\tseven\n     8\t[lines 1-2 of 3; read on with from=9]";
        assert_eq!(shown(part), Some((lines, 8, 90)));
        assert_eq!(shown("     1\ta\n     2\t[lines 1-2 of 3]\n"), Some(("     1\ta\n     2\t[lines 1-2 of 3]", 2, 2)));
        assert_eq!(shown("     9\tz\n[lines 9-9 of 9]"), Some(("     9\tz", 9, 9)));
        assert_eq!(shown("     8\ty\r\n     9\tz\r\n[lines 8-9 of 9]"), Some(("     8\ty\r\n     9\tz", 9, 9)));
        assert_eq!((shown("[a.png is binary: 90 bytes]"), shown("[a is empty]"), shown("")), (None, None, None));
    }

    /// Takes steps until the end; returns the events and what was asked, in order.
    fn walk(total: u64, each: u64, text: &str, most: usize) -> (Vec<Event>, Vec<String>) {
        let (mut log, mut asked) = (Vec::new(), Vec::new());
        loop {
            let next = match Reading::of(&log, 3).next(3, 1, most) {
                Next::Read { from } => (0, from, (from + each - 1).min(total)),
                Next::Join { of: SummaryOf::Lines { level, from, to, .. }, parts } => {
                    assert!(parts.len() > 1);
                    (level, from, to)
                }
                Next::Join { .. } | Next::End => return (log, asked),
            };
            asked.push(format!("{}:{}-{}", next.0, next.1, next.2));
            log.push(summarised(next.0, next.1, next.2, total, &format!("{text} {}-{}", next.1, next.2)));
        }
    }

    #[test]
    fn parts_are_told_first_then_summaries_of_them_until_one_stands_for_all() {
        assert_eq!(walk(10, 10, "x", 100).1, ["0:1-10"], "one part needs nothing above it");
        assert_eq!(walk(30, 10, "x", 100).1, ["0:1-10", "0:11-20", "0:21-30", "1:1-30"]);
        let (log, asked) = walk(50, 10, &"x".repeat(40), 100);
        assert_eq!(asked[5..], ["1:1-20", "1:21-40", "2:1-40", "3:1-50"], "{asked:?}");
        let (result, to) = Reading::of(&log, 3).result(3, 100).unwrap();
        assert!(to == 50 && result.starts_with("told in short by the model m: lines 1 to 50 of 50\n"), "{result}");
        assert!(result.contains("all together:\n") && result.contains("\nlines 41 to 50:\n"), "{result}");
    }

    #[test]
    fn a_parts_words_are_cut_once_their_hidden_characters_are_spelled() {
        let log = [summarised(0, 1, 10, 10, &"\u{200b}".repeat(PARTS))];
        let (result, _) = Reading::of(&log, 3).result(3, 1000).expect("one");
        assert_eq!(result.matches("\\u{200b}").count(), PARTS / 8);
    }

    #[test]
    fn each_model_that_told_a_part_is_named() {
        let mut log = [summarised(0, 1, 10, 20, "x"), summarised(0, 11, 20, 20, "y")];
        let Event::Summarised { summary } = &mut log[1] else { unreachable!() };
        summary.model = "spare".to_owned();
        let (result, _) = Reading::of(&log, 3).result(3, 1000).expect("one");
        assert!(result.starts_with("told in short by the models m and spare: lines 1 to 20 of 20\n"), "{result}");
        assert_eq!(Reading::of(&log, 3).last_model(), Some("spare"));
    }

    #[test]
    fn a_refusal_ends_a_reading_unless_the_next_model_is_asked_behind_it() {
        let started = |to| {
            let of = SummaryOf::Lines { number: 3, level: 0, from: 1, to, total: 90 };
            Event::SummaryStarted { of, worst_micro_usd: 1 }
        };
        let mut log = vec![started(10), summarised(0, 1, 10, 90, "")];
        assert!(Reading::of(&log, 3).is_over());
        let labels = ["m", "spare"].map(str::to_owned);
        assert_eq!(Reading::of(&log, 3).next_model(&labels), Some(1), "as after a kill");
        assert_eq!(Reading::of(&log, 3).next_model(&labels[..1]), None);
        log.push(started(10));
        assert_eq!(Reading::of(&log, 3).next_model(&labels), None);
        assert!(!Reading::of(&log, 3).is_over() && Reading::of(&log, 3).cost().0 == 1, "one call that may cost");
        log.push(summarised(0, 1, 10, 90, "x"));
        assert_eq!(Reading::of(&log, 3).next(3, 1, 100), Next::Read { from: 11 });
        log[2] = started(12);
        assert!(Reading::of(&log, 3).is_over(), "of other lines");
    }

    #[test]
    fn a_part_that_the_model_said_nothing_about_is_a_gap_and_two_in_a_row_end_the_reading() {
        let empty = |level, from, to| {
            let mut event = summarised(level, from, to, 40, "");
            let Event::Summarised { summary } = &mut event else { unreachable!() };
            summary.usage.input = 400;
            event
        };
        let log = [summarised(0, 1, 10, 40, "x"), empty(0, 11, 20), summarised(0, 21, 30, 40, "y")];
        assert!(!Reading::of(&log[..2], 3).is_over());
        assert_eq!(Reading::of(&log[..2], 3).next(3, 1, 1000), Next::Read { from: 21 });
        let (result, to) = Reading::of(&log, 3).result(3, 1000).expect("two parts");
        assert!(to == 30 && result.contains(&format!("\nlines 11 to 20:\n{NOTHING}\n")), "{result}");
        assert!(Reading::of(&[&log[..2], &[empty(0, 21, 30)]].concat(), 3).is_over());
        assert!(Reading::of(&[&log[..], &[empty(1, 1, 30)]].concat(), 3).is_over(), "nothing of all together");
        assert_eq!(Reading::of(&[empty(0, 1, 10)], 3).result(3, 1000), None);
    }

    #[test]
    fn of_a_file_that_grew_meanwhile_the_join_has_the_last_total() {
        let log = [summarised(0, 1, 10, 12, "x"), summarised(0, 11, 20, 20, "y")];
        let Next::Join { of, .. } = Reading::of(&log, 3).next(3, 1, 100) else { panic!("a join") };
        assert_eq!(of, SummaryOf::Lines { number: 3, level: 1, from: 1, to: 20, total: 20 });
    }

    #[test]
    fn a_reading_that_was_cut_goes_on_where_it_was_and_one_without_end_is_bounded() {
        let (log, asked) = walk(30, 10, "x", 100);
        for cut in 0..log.len() {
            let next = Reading::of(&log[..cut], 3).next(3, 1, 100);
            let from = match next {
                Next::Read { from } => format!("0:{from}-"),
                Next::Join { .. } => "1:1-30".to_owned(),
                Next::End => String::new(),
            };
            assert!(!from.is_empty() && asked[cut].starts_with(&from), "{cut}: {from} is not {}", asked[cut]);
        }
        let (log, asked) = walk(1_000_000, 10, "x", 100_000);
        assert_eq!((asked.len(), Reading::of(&log, 3).result(3, 100_000).unwrap().1), (MOST_PARTS + 1, 240));
        assert!(Reading::of(&[summarised(0, 1, 10, 90, "")], 3).is_over(), "a call that gave nothing");
        assert!(!Reading::of(&log, 4).is_over() && Reading::of(&log, 4).result(4, 9).is_none(), "another action's");
    }
}
