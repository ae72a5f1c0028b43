//! Whether another attempt may follow one that a `/retry` began. Tests: `tests/machine/steer.rs`.

use super::Task;
use crate::{End, State};

impl Task {
    /// Whether this attempt was begun by a `/retry`, and another one with this number in the forge's order was written before it could be
    /// seen, or is read before it has taken an action. `shown` is the number of the bot's first comment about it; none before it is posted.
    pub fn is_just_begun(&self, number: i64, shown: Option<i64>) -> bool {
        if self.request.as_ref().is_none_or(|request| request.earlier.is_none()) {
            return false;
        }
        // Who ended it knew of it, and so did who wrote behind that.
        if let State::Ended { end: End::Cancelled { number: ended, .. } } = &self.state
            && *ended > 0
            && number >= *ended
        {
            return false;
        }
        let unseen = match shown {
            Some(shown) => number < shown,
            None => !self.state.ended() && self.pull.is_none() && self.checkpoints.is_empty(),
        };
        let unmoved = self.actions == 0 && matches!(self.state, State::Queued | State::Preparing | State::Running);
        unseen || unmoved
    }
}
