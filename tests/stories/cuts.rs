//! Lets a test break the bot's effects off at chosen boundaries while the bot runs.

use caisson::store::EffectRow;
use caisson::task::{Boundary, Cut};
use std::sync::{Arc, Mutex, PoisonError};

type Judge = Box<dyn FnMut(&EffectRow, Boundary) -> bool + Send>;

/// Clones share one judge; what is set holds for every later start of the bot.
#[derive(Clone, Default)]
pub struct Cuts(Arc<Mutex<Option<Judge>>>);

impl Cuts {
    /// Asked at each boundary from now on: true breaks the effect off there.
    pub fn set(&self, judge: impl FnMut(&EffectRow, Boundary) -> bool + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(judge));
    }

    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn cut(&self) -> Cut {
        let judge = self.0.clone();
        Arc::new(move |row, boundary| {
            let mut judge = judge.lock().unwrap_or_else(PoisonError::into_inner);
            judge.as_mut().is_some_and(|judge| judge(row, boundary))
        })
    }
}
