//! A model that can be switched off.

use async_trait::async_trait;
use caisson::llm::{Model, ModelError, ModelRequest, ModelResponse, Price};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A model that can be out of reach.
#[derive(Clone, Default)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    pub fn set_away(&self, away: bool) {
        self.0.store(away, Ordering::SeqCst);
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
    fn label(&self) -> String {
        self.model.label()
    }

    fn scripted(&self) -> bool {
        self.model.scripted()
    }

    fn price(&self) -> Price {
        self.model.price()
    }

    fn context_tokens(&self) -> u64 {
        self.model.context_tokens()
    }

    async fn respond(&self, request: &ModelRequest) -> Result<ModelResponse, ModelError> {
        match self.away.0.load(Ordering::SeqCst) {
            true => Err(ModelError::Unavailable("away".to_owned())),
            false => self.model.respond(request).await,
        }
    }
}
