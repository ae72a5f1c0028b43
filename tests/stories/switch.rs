//! A model that can be switched off, and that costs something where a story says so.

use async_trait::async_trait;
use caisson::llm::{Deltas, Facts, Model, ModelError, ModelRequest, ModelResponse, Price};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A model that can be out of reach, and what it costs.
#[derive(Clone, Default)]
pub struct Switch(Arc<AtomicBool>, Arc<Mutex<Price>>);

impl Switch {
    pub fn set_away(&self, away: bool) {
        self.0.store(away, Ordering::SeqCst);
    }

    /// Micro-dollars for a million tokens.
    pub fn set_price(&self, input: u64, output: u64) {
        *self.1.lock().expect("whole") = Price { input, output, cache_read: input, cache_write: input };
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

    async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
        match self.away.0.load(Ordering::SeqCst) {
            true => Err(ModelError::Unavailable("away".to_owned())),
            false => self.model.respond(request, deltas).await,
        }
    }
}
