//! What `open` and the engine know of a kind of model: each kind's file describes it, as `PROVIDER`.
//!
//! Owns: the shape of this description. Must not: know any kind. Tests: `open.rs`, `picture.rs`.

use std::path::Path;
use std::sync::Arc;

use super::Model;
use super::picture::Counting;
use super::settings::Settings;

/// Makes a model; only a recording has a path. The error is a sentence for the operator.
pub(super) type Open = fn(Settings, Option<&Path>) -> Result<Arc<dyn Model>, String>;

/// One kind of model.
pub(super) struct Provider {
    /// Its vendor in refusals; none for a recording, which needs neither a name nor a key.
    pub(super) vendor: Option<&'static str>,
    /// How one is made.
    pub(super) open: Open,
    /// How pictures are counted at the vendor's own address.
    pub(super) counting: Counting,
    /// How they are counted at an address that the entry names.
    pub(super) counting_elsewhere: Counting,
}
