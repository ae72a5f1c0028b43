//! Events of a task's sandbox, egress and conversation as sentences, for reviews and `caisson task show`. Pure.

use crate::text::{code, count};
use domain::{Event, Fallback, Loss, ModelChosen, Rebased, SummaryOf, Task};

/// Files that are named; further ones are counted.
const MAX_FILES: usize = 10;

/// The sentence about one event, without a full stop and possibly quoting a command; none for other events.
pub fn sentence(event: &Event) -> Option<String> {
    match event {
        // An older log has only the sentence.
        Event::SandboxLost { sentence, loss: Loss::Unknown } => Some(sentence.clone()),
        Event::SandboxLost { loss: Loss::PutAway, .. } => {
            Some(format!("{}; it was made anew from the last commit, without files that git ignores", Loss::PutAway))
        }
        Event::SandboxLost { loss: Loss::Outdated, .. } => Some(format!(
            "{}; it was made anew with what could be taken out of it, without files that git ignores",
            Loss::Outdated
        )),
        Event::SandboxLost { loss, .. } => {
            Some(format!("{loss}; it was made anew from the last commit, and what was not committed is lost"))
        }
        Event::Rebased(rebased) => Some(moved(rebased)),
        Event::TreeCaptured { tree, .. } if !tree.marked.is_empty() => {
            Some(left(&tree.marked))
        }
        Event::RouterReplaced => Some(
            "the router was gone for a moment: open connections were cut and nothing went out, then it stood there again with the same rules"
                .to_owned(),
        ),
        Event::AnotherWay { tried } => Some(format!(
            "the agent got nowhere and began anew, to take another way: {}",
            tried.join("; ")
        )),
        Event::PermissionGiven { number, decision } => {
            Some(format!("action {number} was permitted by {}", decision.poster.login))
        }
        Event::PermissionRefused { number, decision } => {
            Some(format!("action {number} was refused by {}", decision.poster.login))
        }
        Event::QuestionAnswered { .. } => Some("the agent asked a question, and it was answered".to_owned()),
        Event::ModelCallUncharged { fallback: Some(Fallback { from, to, why }), .. } => {
            Some(format!("the model {from} {why}: {to} is asked from then on, until the next checkpoint"))
        }
        Event::PicturesRefused { .. } => {
            Some("the model's server refused the pictures: they were named to it and not shown from then on".to_owned())
        }
        Event::ModelChosen(ModelChosen { id, decision }) => {
            Some(format!("{} named the model {id}: it is asked from then on", decision.poster.login))
        }
        Event::Compacted { folded: 1.., .. } => Some(
            "the conversation with the model had become long: what it did at first is told to it in short from then on".to_owned(),
        ),
        Event::Summarised { summary } if !summary.text.is_empty() => match summary.of {
            SummaryOf::Turns { .. } => Some(format!("what it did at first was told in short by the model {}", summary.model)),
            SummaryOf::Lines { .. } => None,
        },
        Event::ConversationRestarted => Some(
            "the conversation with the model had become too long: it begins anew, with what people asked for and where the work stands"
                .to_owned(),
        ),
        _ => None,
    }
}

/// The work stands on a newer base.
fn moved(rebased: &Rebased) -> String {
    let (from, onto) = (rebased.from.short(), rebased.onto.short());
    let conflicts = match rebased.conflicts.len() {
        0 => "everything could be merged by itself".to_owned(),
        files => {
            format!("{} could not be merged by git alone: {}", count(files as u64, "file"), named(&rebased.conflicts))
        }
    };
    format!("the work was brought from the base {from} onto {onto}, so all of it is shown once more; {conflicts}")
}

/// Files in which a conflict is not resolved, as far as that can be seen in the commit.
fn left(marked: &[String]) -> String {
    format!("marks of a conflict, or only the newer base's version, are left in {}: read these first", named(marked))
}

/// The first of some names, and how many more there are.
fn named(paths: &[String]) -> String {
    let first: Vec<String> = paths.iter().take(MAX_FILES).map(|path| code(path)).collect();
    let rest = paths.len().saturating_sub(MAX_FILES);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{rest}", first.join(", "))
}

/// The distinct sentences of a segment of the log, with their counts, and what conflicts the newest commit of the whole `log` leaves: a
/// review of a tree that did not change shows them too.
pub fn gather(task: &Task, log: &[Event], window: &[Event]) -> Vec<(String, u32)> {
    let conflicts = (!task.marked.is_empty()).then(|| (left(&task.marked), 1));
    let told = super::folder_rules::newly_given(log, log.len() - window.len());
    let told = (!told.is_empty())
        .then(|| (format!("it worked in folders with rules of their own, and was told of these: {}", named(&told)), 1));
    distinct(window).into_iter().chain(told).chain(conflicts).collect()
}

fn distinct(log: &[Event]) -> Vec<(String, u32)> {
    let mut all: Vec<(String, u32)> = Vec::new();
    let told = |(at, event): (usize, &Event)| match event {
        // Said of the newest tree alone.
        Event::TreeCaptured { .. } => None,
        // The preceding event has the reason.
        Event::ConversationRestarted if at > 0 && matches!(log[at - 1], Event::AnotherWay { .. }) => None,
        event => sentence(event),
    };
    for sentence in log.iter().enumerate().filter_map(told) {
        match all.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, times)) => *times += 1,
            None => all.push((sentence, 1)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::FallbackReason;

    fn lost(loss: Loss) -> Event {
        Event::SandboxLost { sentence: loss.to_string(), loss }
    }

    #[test]
    fn each_is_told_once_with_how_often_and_an_old_log_in_its_own_words() {
        let old = Event::SandboxLost { sentence: "the sandbox had to be made anew".into(), loss: Loss::Unknown };
        let told = distinct(&[lost(Loss::Removed), Event::RouterReplaced, lost(Loss::Removed), Event::Resumed, old]);
        let told: Vec<(&str, u32)> = told.iter().map(|(text, times)| (&text[..16], *times)).collect();
        assert_eq!(told, [("somebody removed", 2), ("the router was g", 1), ("the sandbox had ", 1)]);
    }

    fn captured(marked: &[&str]) -> Event {
        let tree = domain::CapturedTree {
            commit: domain::Commit::parse(&"a".repeat(40)).expect("a commit"),
            files: Vec::new(),
            diff: String::new(),
            diff_cut: 0,
            steering: Vec::new(),
            left_out: Vec::new(),
            outside: Vec::new(),
            marked: marked.iter().map(|path| (*path).to_owned()).collect(),
            facts: Vec::new(),
        };
        Event::TreeCaptured { n: 1, tree }
    }

    #[test]
    fn a_conflict_that_is_left_is_told_until_a_commit_resolves_it_also_where_the_tree_did_not_change() {
        let told = |log: &[Event], from: usize| {
            let task = Task::fold(domain::TaskId(1), log);
            gather(&task, log, &log[from..]).into_iter().map(|(text, _)| text).collect::<Vec<_>>()
        };
        let log = [captured(&["a.py"]), Event::Resumed, captured(&["b.py"]), captured(&[])];
        let first = told(&log[..1], 0);
        assert!(first.len() == 1 && first[0].contains("left in `a.py`"), "{first:?}");
        assert_eq!(told(&log[..2], 2), first, "no tree since the last checkpoint");
        let newest = told(&log[..3], 0);
        assert!(newest.len() == 1 && newest[0].contains("left in `b.py`"), "{newest:?}");
        assert!(told(&log, 0).is_empty(), "resolved");
    }

    #[test]
    fn another_model_is_named_with_the_reason() {
        for (why, words) in [
            (FallbackReason::Away, "could not be reached"),
            (FallbackReason::Missing, "is missing on its server"),
            (FallbackReason::NoTools, "takes no tools on its server"),
            (FallbackReason::Full, "has too small a window for the conversation"),
        ] {
            let (from, to) = ("big".to_owned(), "spare".to_owned());
            let fallback = Some(Fallback { from, to, why });
            let told = sentence(&Event::ModelCallUncharged { turn: 3, fallback }).expect("told");
            assert_eq!(told, format!("the model big {words}: spare is asked from then on, until the next checkpoint"));
        }
        assert_eq!(sentence(&Event::ModelCallUncharged { turn: 3, fallback: None }), None);
    }

    #[test]
    fn what_was_put_away_lost_no_work() {
        let told = sentence(&lost(Loss::PutAway)).expect("told");
        assert!(told.contains("put away") && !told.contains("is lost"), "{told}");
        assert!(sentence(&lost(Loss::Memory)).is_some_and(|told| told.contains("not committed is lost")));
    }
}
