//! Result of an attempt, for the one that follows it. Pure.

use crate::text::{cut, one_line};
use domain::{CiCheck, CiEnded, Event, Item, Task, VerdictCase};

/// The most lines, and characters of each.
const MOST: usize = 20;
const LONGEST: usize = 600;

/// One line each, in the order of the log: claims, people's requests, results of checks, and failures. Untrusted.
pub fn tried(task: &Task, log: &[Event]) -> Vec<String> {
    let (mut all, mut upstream) = (Vec::new(), None);
    for event in log {
        match event {
            Event::DoneSaid { summary, .. } => all.push(format!("said that it was done: {summary}")),
            Event::AnotherWay { tried } => all.push(format!("got nowhere and began anew: {}", tried.join("; "))),
            Event::Verified { verdict, .. } => {
                let said = match verdict.case() {
                    VerdictCase::Passed => "passed",
                    VerdictCase::Failed => "failed",
                    VerdictCase::NoTest => "ran no test",
                    VerdictCase::None => "were not found",
                };
                all.push(format!("the checks of its work {said}"));
            }
            Event::CiEnded(ended) if ended.failed() => all.push(failed(ended)),
            Event::UpstreamCiEnded(ended) => upstream = Some(ended).filter(|ended| ended.failed()),
            Event::TreeRefused { reasons, .. } => all.push(format!("its tree was refused: {}", reasons.join("; "))),
            Event::TreeCaptured { tree, .. } => {
                let files: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
                all.push(format!("changed {}", files.join(", ")));
            }
            Event::DecisionUsed { decision, .. } => {
                if let domain::Verb::Changes { items } = &decision.verb {
                    all.push(format!("a person asked for changes: {}", words(items)));
                }
            }
            Event::FeedbackGiven { items, .. } => all.push(format!("a person remarked: {}", words(items))),
            Event::Paused { reason: domain::PauseReason::Stuck { sentence } } => {
                all.push(format!("got stuck: {sentence}"))
            }
            _ => {}
        }
    }
    // What was read last is all that it came to there.
    all.extend(upstream.map(|ended| failed(ended)));
    let mut lines: Vec<String> = all.iter().map(|line| cut(&one_line(line), LONGEST).0.to_owned()).collect();
    lines.drain(..lines.len().saturating_sub(MOST));
    lines.push(format!("ended after {} actions and {} checkpoints", task.spent.actions, task.checkpoints.len()));
    lines
}

fn failed(ended: &CiEnded) -> String {
    let of = |check: &CiCheck| match check.description.is_empty() {
        true => check.context.clone(),
        false => format!("{} ({})", check.context, check.description),
    };
    format!("{} failed on its work: {}", ended.whose(), ended.failures().map(of).collect::<Vec<_>>().join(", "))
}

fn words(items: &[Item]) -> String {
    items.iter().map(|item| item.text.trim()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Source, TaskId};

    #[test]
    fn the_newest_lines_are_told_short_and_on_one_line_each() {
        let said = |text: &str| Event::FeedbackGiven {
            items: vec![Item::on_the_whole(text, "alice")],
            from: Source::Comment(1),
            asks: false,
        };
        let mut log: Vec<Event> = (0..30).map(|n| said(&format!("remark {n}"))).collect();
        log.push(said(&format!("two\nlines {}", "x".repeat(1_000))));
        let told = tried(&Task::new(TaskId(1)), &log);
        assert_eq!(told.len(), MOST + 1);
        assert!(told[0].ends_with("remark 11") && told[MOST - 1].chars().count() <= LONGEST, "{told:?}");
        assert!(told.iter().all(|line| !line.contains('\n')) && told[MOST].contains("0 actions"));
    }
}
