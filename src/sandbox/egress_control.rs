//! Egress control of a subnet, as the sandboxes need it: open with rules, or closed.
//!
//! Owns only the trait, which the router's client implements; tests use one that records its calls.

use async_trait::async_trait;
use protocol::router::Rule;

/// The router as a sandbox uses it.
#[async_trait]
pub trait EgressControl: Send + Sync {
    /// Opens the subnet for the operator's hosts and these rules; repeated calls replace the rules.
    ///
    /// # Errors
    /// A sentence for a person. The subnet then counts as closed.
    async fn open(&self, subnet: u32, rules: &[Rule]) -> Result<(), String>;

    /// Cuts every connection, forgets every name and denies everything; returns once the router confirmed it.
    ///
    /// # Errors
    /// A sentence for a person. The subnet then counts as open, and the caller must not continue.
    async fn close(&self, subnet: u32) -> Result<(), String>;

    /// Position in the router's log: its life and the number of the newest line, which is after everything that happened in a closed
    /// subnet. None where nobody keeps a log.
    fn log_read(&self) -> Option<(String, u64)> {
        None
    }

    /// Waits until the router was replaced while subnets were open; gives its life and those subnets.
    async fn replaced(&self) -> (String, Vec<u32>);
}

#[async_trait]
impl EgressControl for crate::egress::Egress {
    async fn open(&self, subnet: u32, rules: &[Rule]) -> Result<(), String> {
        crate::egress::Egress::open(self, subnet, rules).await.map_err(|e| e.to_string())
    }

    async fn close(&self, subnet: u32) -> Result<(), String> {
        crate::egress::Egress::close(self, subnet).await.map_err(|e| e.to_string())
    }

    fn log_read(&self) -> Option<(String, u64)> {
        crate::egress::Egress::log_read(self)
    }

    async fn replaced(&self) -> (String, Vec<u32>) {
        crate::egress::Egress::replaced(self).await
    }
}
