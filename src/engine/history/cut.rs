//! How much of a conversation its requests hold, what a model told of the rest, and from which answer on a vendor's own parts may come back. Tests: `history_tests.rs`,
//! `compact_tests.rs`.

use domain::{Event, ModelSummary, SummaryOf};

/// How much of a conversation its requests hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct Cut {
    /// As in [`Event::Compacted`].
    pub(in crate::engine) shrunk: u32,
    /// As in [`Event::Compacted`].
    pub(in crate::engine) folded: u32,
    /// The first turn whose request was made so; 0 where nothing was cut.
    pub(in crate::engine) since: u32,
}

impl Cut {
    /// The one in force: the newest since the conversation began.
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

/// The last turn that a model told in short, and its words; none where that is none of the conversation's folded ones. Later turns are told by rules.
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

/// The first turn since another model began to be asked, a person named one, or the first one was asked again after a checkpoint; 0 where that never was. Two entries may have
/// the same model at different servers, so a label does not tell.
pub(super) fn switched(log: &[Event]) -> u32 {
    let (mut since, mut other, mut last, mut asked) = (0, false, 0, 0);
    for event in log {
        match event {
            Event::ModelCallStarted { turn, .. } => asked = *turn,
            Event::TurnCompleted { turn, .. } => last = *turn,
            // The turn that was asked for before may still be the other one's.
            Event::ModelChosen { .. } => since = last.max(asked) + 1,
            Event::ModelCallUncharged { turn, fallback: Some(_) } => (since, other) = (*turn, true),
            Event::CheckpointPosted { .. } | Event::Answered { .. } if other => (since, other) = (last + 1, false),
            _ => {}
        }
    }
    since
}
