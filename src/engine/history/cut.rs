//! How much of a conversation its requests contain, from which turn a vendor's own form may be sent back, and from which a server's count
//! applies. Tests: `history_tests.rs`, `compact_tests.rs`, `context.rs`.

use domain::{Event, ModelSummary, SummaryOf};

/// How much of a conversation its requests contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct Cut {
    /// As in [`Event::Compacted`].
    pub(in crate::engine) shrunk: u32,
    /// As in [`Event::Compacted`].
    pub(in crate::engine) folded: u32,
    /// The first turn whose request was cut this way; 0 if none was.
    pub(in crate::engine) since: u32,
}

impl Cut {
    /// The present cut: the newest since the conversation began.
    pub(in crate::engine) fn of(log: &[Event]) -> Self {
        let newest = log.iter().rev().find_map(|event| match event {
            Event::ConversationRestarted => Some(Cut::default()),
            Event::Compacted { turn, shrunk, folded, .. } => {
                Some(Cut { shrunk: *shrunk, folded: *folded, since: *turn })
            }
            _ => None,
        });
        newest.unwrap_or_default()
    }
}

/// The last turn that a model summarized, and the summary; none if it covers turns that are not folded. Later turns are summarized by
/// rules.
pub(in crate::engine) fn written(log: &[Event], folded: u32) -> Option<(u32, &ModelSummary)> {
    let newest = log.iter().rev().find_map(|event| match event {
        Event::ConversationRestarted => Some(None),
        Event::Summarised { summary } if !summary.text.is_empty() => match summary.of {
            SummaryOf::Turns { upto, .. } if upto <= folded => Some(Some((upto, &**summary))),
            SummaryOf::Turns { .. } | SummaryOf::Lines { .. } => None,
        },
        _ => None,
    });
    newest.flatten()
}

/// The first turn since the conversation switched to another model: a fallback, one that a person named, or back to the first after a
/// checkpoint; 0 if it never did. A label is not enough to tell, because two entries may have the same model at different servers.
pub(super) fn switched(log: &[Event]) -> u32 {
    let (mut since, mut other, mut last, mut asked) = (0, false, 0, 0);
    for event in log {
        match event {
            Event::ModelCallStarted { turn, .. } => asked = *turn,
            Event::TurnCompleted { turn, .. } => last = *turn,
            // The turn that was already asked for may still come from the previous model.
            Event::ModelChosen(_) => since = last.max(asked) + 1,
            Event::ModelCallUncharged { turn, fallback: Some(_) } => (since, other) = (*turn, true),
            Event::CheckpointPosted { .. } | Event::Answered { .. } if other => (since, other) = (last + 1, false),
            _ => {}
        }
    }
    since
}

/// The first turn whose count of tokens applies to the coming request: earlier prompts were written for another model, with another limit of
/// each result. Beside the switches of `switched`, the planner answers until its plan is carried out, and takes the first step of a new
/// approach.
pub(in crate::engine) fn counted_since(log: &[Event]) -> u32 {
    let (mut since, mut last, mut anew) = (0, 0, false);
    for event in log {
        match event {
            Event::TurnCompleted { turn, .. } => {
                last = *turn;
                if std::mem::take(&mut anew) {
                    since = last + 1;
                }
            }
            Event::AnotherWay { .. } => anew = true,
            Event::WidenedToFix { .. } => since = last + 1,
            _ => {}
        }
    }
    since.max(switched(log))
}
