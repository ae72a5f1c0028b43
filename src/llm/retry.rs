//! Waiting after a refusal: back-off with jitter, bounded in tries and in time, ended at once by a cancellation.
//!
//! Owns: when to try the same request again within one call of the task machine. Must not: decide what happens after giving
//! up (a timer, a pause: `transition` does), nor count money (the caller does, from `tries`). Tests: below.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Deltas, Model, ModelError, ModelRequest, ModelResponse};

/// How patient one call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Requests sent at most, the first included.
    pub tries: u32,
    /// The first wait; each further one doubles.
    pub first: Duration,
    /// No single wait is longer, a server's Retry-After included: one that asks for more ends the call, so that the task's own
    /// timer waits instead of a driver.
    pub longest: Duration,
    /// No wait ends later, if set: the last refusal is the result then.
    pub until: Option<tokio::time::Instant>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { tries: 5, first: Duration::from_secs(1), longest: Duration::from_secs(60), until: None }
    }
}

/// How a call with retries ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetryError {
    /// `cancel` fired; a request that was on its way was dropped.
    #[error("cancelled")]
    Cancelled,
    /// The last refusal, after so many requests.
    #[error("{error} (tried {tries} times)")]
    Failed {
        /// The last refusal.
        error: ModelError,
        /// Requests that were sent.
        tries: u32,
    },
}

/// Asks until there is an answer, the patience ends, the request wasn't just turned away, or `cancel` fires (which drops a request on
/// its way). A call that may have cost something is never repeated here: the task records each such call before it goes out.
pub async fn respond(
    model: &dyn Model,
    request: &ModelRequest,
    deltas: &dyn Deltas,
    patience: &Patience,
    cancel: &CancellationToken,
) -> Result<ModelResponse, RetryError> {
    let mut tries = 0;
    loop {
        let answer = tokio::select! {
            () = cancel.cancelled() => return Err(RetryError::Cancelled),
            answer = model.respond(request, deltas) => answer,
        };
        tries += 1;
        let error = match answer {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        if error.is_turned_away() {
            deltas.turned_away();
        }
        let Some(wait) = wait(&error, tries, patience) else {
            return Err(RetryError::Failed { error, tries });
        };
        tracing::info!(%error, tries, wait_ms = wait.as_millis() as u64, "the model is asked again");
        tokio::select! {
            () = cancel.cancelled() => return Err(RetryError::Cancelled),
            () = tokio::time::sleep(wait) => deltas.begin_again(),
        }
    }
}

/// How long to wait before the next try; `None` gives up.
fn wait(error: &ModelError, tries: u32, patience: &Patience) -> Option<Duration> {
    if !error.is_turned_away() || tries >= patience.tries {
        return None;
    }
    let step = patience.first.saturating_mul(1 << (tries - 1).min(16)).min(patience.longest);
    let asked = match error {
        ModelError::RateLimited { retry_after_ms: Some(ms) } => Duration::from_millis(*ms),
        _ => Duration::ZERO,
    };
    if asked > patience.longest {
        return None;
    }
    // Half fixed, half by chance: tasks that were refused together must not come back together.
    let jittered = step / 2 + (step / 2).mul_f64(chance());
    let wait = jittered.max(asked + (patience.first / 4).mul_f64(chance()));
    let is_in_time = |until| tokio::time::Instant::now() + wait <= until;
    patience.until.is_none_or(is_in_time).then_some(wait)
}

/// A number in 0..1. Without randomness from the system a fixed one does: only spreading suffers.
fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |n| f64::from(n) / f64::from(u32::MAX))
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
