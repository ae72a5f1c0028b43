//! What is told of an answer while it arrives, and how much of it may come.
//!
//! Owns: the shape of a delta, where deltas go, and the count that ends an answer which is longer than it may be. Nothing here is an
//! answer: only a completed one becomes a [`super::ModelResponse`]. Tests: below, and `tests/providers/streams.rs`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::ModelError;

/// A piece of an answer that is on its way. Foreign, and void unless the whole answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More of what it says beside its calls.
    Text(&'a str),
    /// A call begins; `place` counts the calls of one answer from 0, in the order in which they began.
    Call {
        /// Which call of the answer.
        place: usize,
        /// The tool's name, as far as it is known.
        name: &'a str,
    },
    /// More of a call's arguments, as text of JSON.
    Arguments {
        /// Which call of the answer.
        place: usize,
        /// The next piece of the text.
        piece: &'a str,
    },
    /// The model thinks; its words are not passed on.
    Reasoning {
        /// Bytes of reasoning that came with this piece.
        bytes: usize,
    },
}

/// Where the pieces of an answer go. Called on the task that reads the answer, so it must neither block nor fail.
pub trait Deltas: Send + Sync {
    /// The next piece.
    fn take(&self, delta: Delta<'_>);
    /// The request is sent again: what was told so far is void.
    fn begin_again(&self) {}
    /// The server turned the request away, which cost nothing; it is sent again only behind [`Deltas::begin_again`].
    fn turned_away(&self) {}
}

/// For callers that want the whole answer only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Deltas for Silent {
    fn take(&self, _: Delta<'_>) {}
}

/// Counts what arrived: what `caisson model check` shows, and what the log tells of a call at `debug`.
#[derive(Debug)]
pub struct Tally {
    began: Instant,
    first: Mutex<Option<Duration>>,
    pieces: AtomicU64,
    text: AtomicU64,
    calls: AtomicU64,
    reasoning: AtomicU64,
    turned_away: AtomicBool,
}

impl Default for Tally {
    fn default() -> Self {
        let zero = AtomicU64::default;
        Self {
            began: Instant::now(),
            first: Mutex::default(),
            pieces: zero(),
            text: zero(),
            calls: zero(),
            reasoning: zero(),
            turned_away: AtomicBool::default(),
        }
    }
}

impl Tally {
    /// From its making to the first piece; none where no piece came.
    pub fn first(&self) -> Option<Duration> {
        *self.first.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Pieces that came.
    pub fn pieces(&self) -> u64 {
        self.pieces.load(Ordering::Relaxed)
    }

    /// Whether the request was turned away last, and was not sent again.
    pub fn was_turned_away(&self) -> bool {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// One line for the log: what came, in bytes, and when it began.
    pub fn summary(&self) -> String {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let first = self.first().map_or_else(|| "never".to_owned(), |first| format!("after {} ms", first.as_millis()));
        format!(
            "{} pieces, the first {first}: {} bytes of text and arguments, {} calls, {} bytes of reasoning",
            self.pieces(),
            count(&self.text),
            count(&self.calls),
            count(&self.reasoning)
        )
    }
}

impl Deltas for Tally {
    fn take(&self, delta: Delta<'_>) {
        if self.pieces.fetch_add(1, Ordering::Relaxed) == 0 {
            let mut first = self.first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *first = Some(self.began.elapsed());
            tracing::debug!(after_ms = self.began.elapsed().as_millis() as u64, "the model begins to answer");
        }
        let (of, more) = match delta {
            Delta::Text(piece) | Delta::Arguments { piece, .. } => (&self.text, piece.len()),
            Delta::Call { .. } => (&self.calls, 1),
            Delta::Reasoning { bytes } => (&self.reasoning, bytes),
        };
        of.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn begin_again(&self) {
        self.turned_away.store(false, Ordering::Relaxed);
    }

    fn turned_away(&self) {
        self.turned_away.store(true, Ordering::Relaxed);
    }
}

/// Passes pieces on and counts them, so that an answer ends where it is longer than it may be.
pub(super) struct BoundedDeltas<'a> {
    deltas: &'a dyn Deltas,
    bytes: u64,
    limit: u64,
    began: bool,
}

impl<'a> BoundedDeltas<'a> {
    /// `limit` is the most that all pieces together may hold, in bytes.
    pub(super) fn new(deltas: &'a dyn Deltas, limit: u64) -> Self {
        Self { deltas, bytes: 0, limit, began: false }
    }

    /// Whether the model has produced anything, which may have been charged.
    pub(super) fn began(&self) -> bool {
        self.began
    }

    pub(super) fn text(&mut self, piece: &str) -> Result<(), ModelError> {
        self.pass(piece.len(), Delta::Text(piece))
    }

    pub(super) fn call(&mut self, place: usize, name: &str) -> Result<(), ModelError> {
        self.began = true;
        // A call without a name counts too: a stream of empty ones must end.
        self.pass(name.len().max(1), Delta::Call { place, name })
    }

    pub(super) fn arguments(&mut self, place: usize, piece: &str) -> Result<(), ModelError> {
        self.pass(piece.len(), Delta::Arguments { place, piece })
    }

    pub(super) fn reasoning(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.pass(bytes, Delta::Reasoning { bytes })
    }

    fn pass(&mut self, bytes: usize, delta: Delta<'_>) -> Result<(), ModelError> {
        if bytes == 0 {
            return Ok(());
        }
        self.began = true;
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limit {
            return Err(ModelError::TooLong { limit: self.limit });
        }
        self.deltas.take(delta);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_counted_and_too_many_end_the_answer() {
        let tally = Tally::default();
        let mut deltas_out = BoundedDeltas::new(&tally, 10);
        assert!(!deltas_out.began());
        deltas_out.text("").unwrap();
        assert!(!deltas_out.began() && tally.first().is_none(), "nothing is no piece");
        deltas_out.text("four").unwrap();
        deltas_out.call(0, "ls").unwrap();
        deltas_out.reasoning(4).unwrap();
        assert!(deltas_out.began() && tally.first().is_some());
        assert_eq!(deltas_out.arguments(0, "x"), Err(ModelError::TooLong { limit: 10 }));
        assert_eq!(tally.pieces(), 3, "what is too much is not passed on");
        assert!(tally.summary().ends_with("4 bytes of text and arguments, 1 calls, 4 bytes of reasoning"));
    }
}
