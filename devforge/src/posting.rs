//! A queued delivery.

/// One delivery that waits in the queue.
#[derive(Debug)]
pub(crate) struct Posting {
    pub url: String,
    pub secret: String,
    pub event: &'static str,
    pub event_type: &'static str,
    pub body: String,
}
