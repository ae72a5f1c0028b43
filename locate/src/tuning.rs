//! Parameters of the ranking, each found by measurement (`docs/relevant-files.md`).

use crate::index::Weight;

/// Parameters of the ranking; a score by words is between 0 and 1 (the best file's), and signals from names add to it.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Weight of the words in a file's path.
    pub path: Weight,
    /// Weight of the words in the names that a file defines.
    pub symbols: Weight,
    /// Weight of the words in a file's text.
    pub text: Weight,
    /// BM25's `k1`: how fast repetitions of a word stop to count.
    pub k1: f64,
    /// Factor of words in the first line.
    pub first: f64,
    /// Factor of words of failing checks.
    pub failed: f64,
    /// Factor on the score by words of a test.
    pub test: f64,
    /// The same factor for documents, configuration and data.
    pub beside: f64,
    /// Score added for a file whose path or name the issue mentions.
    pub named: f64,
    /// Score added for a file with a definition that the issue names.
    pub defines: f64,
    /// Score added for a file that a failing check names.
    pub failing: f64,
    /// Score added for a source that a named test imports or is named after.
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
