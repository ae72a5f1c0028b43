//! Where the figures of a model came from: its own entry, a file of prices, or nowhere.

/// Where a figure of a model came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said it.
    #[default]
    Unknown,
    /// The model's own entry.
    Entry,
    /// The operator's file, or the one that is compiled in.
    File {
        /// The day that the figure was read, as the file has it.
        date: String,
        /// The vendor's page that it was read on.
        page: String,
    },
}

impl Origin {
    /// In a table's cell: `entry`, the day, or nothing.
    pub fn word(&self) -> &str {
        match self {
            Origin::Unknown => "",
            Origin::Entry => "entry",
            Origin::File { date, .. } => date,
        }
    }
}

/// Where the figures of one model came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Of its four prices.
    pub price: Origin,
    /// Of `context_tokens`; unknown where the usual one was taken.
    pub window: Origin,
    /// Of `vision`; unknown where its wire decided.
    pub vision: Origin,
}
