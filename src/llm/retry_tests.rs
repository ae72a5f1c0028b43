//! A model that fails as told, and how patiently it is asked.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::llm::{Facts, Silent};

/// Fails with each error in turn, then answers; hangs for ever when `hang` is set.
struct Failing {
    errors: Mutex<VecDeque<ModelError>>,
    hang: bool,
    facts: Facts,
}

impl Failing {
    fn with(errors: &[ModelError]) -> Self {
        Self { errors: Mutex::new(errors.iter().cloned().collect()), hang: false, facts: Facts::default() }
    }
}

#[async_trait]
impl Model for Failing {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    async fn respond(&self, _: &ModelRequest, _: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        if self.hang {
            std::future::pending::<()>().await;
        }
        match self.errors.lock().unwrap().pop_front() {
            Some(error) => Err(error),
            None => Ok(ModelResponse { text: "answer".into(), ..ModelResponse::default() }),
        }
    }
}

const QUICK: Patience =
    Patience { tries: 4, first: Duration::from_millis(2), longest: Duration::from_millis(10), until: None };

fn request() -> ModelRequest {
    ModelRequest {
        system: String::new(),
        turns: Vec::new(),
        tools: Vec::new(),
        max_output_tokens: 1,
        temperature: None,
        seed: None,
        cache_key: None,
        must_call: false,
    }
}

async fn ask(errors: &[ModelError]) -> Result<ModelResponse, RetryError> {
    respond(&Failing::with(errors), &request(), &Silent, &QUICK, &CancellationToken::new()).await
}

fn down() -> ModelError {
    ModelError::Unavailable("down".into())
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let limited = ModelError::RateLimited { retry_after_ms: Some(1) };
    assert_eq!(ask(&[limited, down(), down()]).await.unwrap().text, "answer");
}

#[tokio::test]
async fn patience_ends() {
    assert_eq!(ask(&vec![down(); 9]).await.unwrap_err(), RetryError::Failed { error: down(), tries: 4 });
}

#[tokio::test]
async fn lasting_refusals_are_not_repeated() {
    for error in [ModelError::ContextFull, ModelError::Unauthorized("x".into()), ModelError::BadRequest("x".into())] {
        assert_eq!(ask(std::slice::from_ref(&error)).await.unwrap_err(), RetryError::Failed { error, tries: 1 });
    }
}

#[tokio::test]
async fn what_may_have_cost_something_is_not_repeated_here() {
    for error in [ModelError::Malformed("x".into()), ModelError::Lost("x".into())] {
        assert!(error.may_cost());
        assert_eq!(ask(std::slice::from_ref(&error)).await.unwrap_err(), RetryError::Failed { error, tries: 1 });
    }
}

#[tokio::test]
async fn a_wait_longer_than_ours_is_left_to_the_task() {
    let error = ModelError::RateLimited { retry_after_ms: Some(3_600_000) };
    assert_eq!(ask(std::slice::from_ref(&error)).await.unwrap_err(), RetryError::Failed { error, tries: 1 });
}

#[tokio::test]
async fn cancelling_ends_a_request_and_a_wait() {
    let cancel = CancellationToken::new();
    let hanging = Failing { hang: true, ..Failing::with(&[]) };
    let request = request();
    let call = respond(&hanging, &request, &Silent, &QUICK, &cancel);
    let (answer, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(answer.unwrap_err(), RetryError::Cancelled);

    let cancel = CancellationToken::new();
    let slow = Patience { first: Duration::from_secs(3600), longest: Duration::from_secs(3600), tries: 2, until: None };
    let refusing = Failing::with(&[down()]);
    let call = respond(&refusing, &request, &Silent, &slow, &cancel);
    let (answer, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(answer.unwrap_err(), RetryError::Cancelled);
}

#[test]
fn waits_grow_and_keep_within_bounds() {
    let patience = Patience { tries: 10, ..Patience::default() };
    for tries in 1..10 {
        let step = Duration::from_secs(1 << (tries - 1)).min(patience.longest);
        let wait = wait(&down(), tries, &patience).unwrap();
        assert!(wait >= step / 2 && wait <= step, "try {tries}: {wait:?}");
    }
    let asked = wait(&ModelError::RateLimited { retry_after_ms: Some(30_000) }, 1, &patience).unwrap();
    assert!(asked >= Duration::from_secs(30) && asked < Duration::from_secs(31));
}

#[tokio::test]
async fn a_wait_that_would_end_too_late_gives_the_last_refusal_at_once() {
    let until = |seconds| Some(tokio::time::Instant::now() + Duration::from_secs(seconds));
    let limited = ModelError::RateLimited { retry_after_ms: Some(30_000) };
    assert!(wait(&limited, 1, &Patience { until: until(40), ..Patience::default() }).is_some());
    assert_eq!(wait(&limited, 1, &Patience { until: until(20), ..Patience::default() }), None);
    let (failing, patience) = (Failing::with(&[limited]), Patience { until: until(20), ..Patience::default() });
    let ended = respond(&failing, &request(), &Silent, &patience, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(ended, RetryError::Failed { tries: 1, error: ModelError::RateLimited { .. } }), "{ended:?}");
}
