//! Sources of a model's figures: its own entry, a file of prices, or none.

/// Source of a figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody specified it.
    #[default]
    Unknown,
    /// The model's own entry.
    Entry,
    /// The operator's file, or the built-in one.
    File {
        /// Day on which the figure was looked up, as in the file.
        date: String,
        /// The vendor's page with the figure.
        page: String,
    },
}

impl Origin {
    /// For a table's cell: `entry`, the day, or nothing.
    pub fn word(&self) -> &str {
        match self {
            Origin::Unknown => "",
            Origin::Entry => "entry",
            Origin::File { date, .. } => date,
        }
    }
}

/// Sources of one model's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Source of its four prices.
    pub price: Origin,
    /// Source of `context_tokens`; unknown where the default was taken.
    pub window: Origin,
    /// Source of `vision`; unknown where its protocol decided.
    pub vision: Origin,
}
