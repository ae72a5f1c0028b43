//! A delivery as it waits in the queue.

/// One delivery on its way.
#[derive(Debug)]
pub(crate) struct Posting {
    pub url: String,
    pub secret: String,
    pub event: &'static str,
    pub event_type: &'static str,
    pub body: String,
}
