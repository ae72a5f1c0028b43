//! A model that can be made unavailable, may have a price, and records its requests.

use async_trait::async_trait;
use caisson::llm::{Deltas, Facts, Model, ModelError, ModelRequest, ModelResponse, Presence, Price};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Whether it is unavailable, its price, the requests it got, and its delay.
#[derive(Clone, Default)]
pub struct Switch(Arc<AtomicBool>, Arc<Mutex<Price>>, Arc<Mutex<Vec<ModelRequest>>>, Arc<AtomicU64>);

impl Switch {
    pub fn set_away(&self, away: bool) {
        self.0.store(away, Ordering::SeqCst);
    }

    /// Micro-dollars per million tokens.
    pub fn set_price(&self, input: u64, output: u64) {
        *self.1.lock().expect("whole") = Price { input, output, cache_read: input, cache_write: input, unknown: false };
    }

    /// No configuration says its price.
    pub fn set_unpriced(&self) {
        *self.1.lock().expect("whole") = Price { unknown: true, ..Price::default() };
    }

    /// Delay before each answer.
    pub fn set_thinks(&self, time: Duration) {
        self.3.store(u64::try_from(time.as_millis()).expect("short"), Ordering::SeqCst);
    }

    /// Every request so far, oldest first.
    pub fn asked(&self) -> Vec<ModelRequest> {
        self.2.lock().expect("whole").clone()
    }

    pub fn before(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Switched { away: self.clone(), model })
    }
}

struct Switched {
    away: Switch,
    model: Arc<dyn Model>,
}

#[async_trait]
impl Model for Switched {
    fn facts(&self) -> &Facts {
        self.model.facts()
    }

    fn price(&self) -> Price {
        *self.away.1.lock().expect("whole")
    }

    async fn presence(&self) -> Result<Presence, ModelError> {
        self.model.presence().await
    }

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        self.away.2.lock().expect("whole").push(request.clone());
        tokio::time::sleep(Duration::from_millis(self.away.3.load(Ordering::SeqCst))).await;
        match self.away.0.load(Ordering::SeqCst) {
            true => Err(ModelError::Unavailable("away".to_owned())),
            false => self.model.respond(request, deltas).await,
        }
    }
}
