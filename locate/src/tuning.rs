//! The numbers of the ranking, each found by measuring (`docs/relevant-files.md`). Owns nothing else.

use crate::index::Weight;

/// A score by words is between 0 and 1 (the best file's); what is named adds to that.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Weight of the words in a file's path.
    pub path: Weight,
    /// Weight of the words in the names that a file defines.
    pub symbols: Weight,
    /// Weight of the words in a file's text.
    pub text: Weight,
    /// How soon more of the same word stops to count.
    pub k1: f64,
    /// The first line's words against the others'.
    pub first: f64,
    /// The words of failing checks against the issue's.
    pub failed: f64,
    /// What a score by words is multiplied with in a test, and in a document or the like.
    pub test: f64,
    /// The same factor for documents, configuration and data.
    pub beside: f64,
    /// A path or name of a file that the issue names.
    pub named: f64,
    /// A definition that the issue names.
    pub defines: f64,
    /// What a failing check names, and what a named test imports.
    pub failing: f64,
    /// What is added for a source that a named test imports, or that such a test is named after.
    pub imported: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            path: Weight { counts: 4.0, length: 0.4 },
            symbols: Weight { counts: 4.0, length: 0.4 },
            text: Weight { counts: 1.0, length: 0.4 },
            k1: 1.5,
            first: 2.0,
            failed: 0.5,
            test: 0.3,
            beside: 0.3,
            named: 1.0,
            defines: 0.5,
            failing: 1.2,
            imported: 0.5,
        }
    }
}
