//! The way out of a subnet, as the sandboxes need it: open with rules, or closed.
//!
//! Owns only the trait; the router's client implements it. Tests use one that writes down what it was told.

use async_trait::async_trait;
use protocol::router::Rule;

/// The router, seen from a sandbox.
#[async_trait]
pub trait EgressControl: Send + Sync {
    /// The subnet may reach the operator's hosts and these, from now on; repeated calls replace the rules.
    ///
    /// # Errors
    /// A sentence for a person. The subnet then counts as closed.
    async fn open(&self, subnet: u32, rules: &[Rule]) -> Result<(), String>;

    /// Cuts every connection, forgets every name, denies everything. Returns when the router confirmed it.
    ///
    /// # Errors
    /// A sentence for a person. The subnet then counts as open, and what was to follow must not.
    async fn close(&self, subnet: u32) -> Result<(), String>;

    /// Up to where the router's log has come: its life, and the number of the newest line. What happened in a subnet before it was
    /// closed lies before. None where nobody keeps a log.
    fn log_read(&self) -> Option<(String, u64)> {
        None
    }

    /// Waits until a router took the place of another while subnets stood open: its life, and those subnets.
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
