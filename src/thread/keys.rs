//! The key under which a text is taken up once, and since when texts of a repository count.

use domain::Source;

/// Texts written longer than this before a repository was first read are ignored, so that an old `/fix` starts nothing.
pub const SLACK_MS: i64 = 120_000;

/// Name of the watermark that stores when a repository was first read.
pub fn first(key: &str) -> String {
    format!("first:{key}")
}

/// The key under which a text is taken up once.
pub fn decision_key(source: &Source) -> String {
    match source {
        Source::Issue(id) => format!("opened:{id}"),
        Source::Comment(id) | Source::Reply { comment: id, .. } => format!("comment:{id}#0"),
        Source::Review(id) => format!("review:{id}"),
        Source::Change(id) => format!("change:{id}"),
    }
}
