//! Hosts that people allowed from a review: what a grant is, and what stands against one.

use crate::Account;
use serde::{Deserialize, Serialize};

/// One allowed host, as a rule of the router is written: `host`, `host:port`, `*.suffix`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The rule's text, with the name in punycode.
    pub host: String,
    /// Whether it holds for the repository's later tasks too; otherwise it ends with its task.
    pub repo: bool,
    /// Account that allowed it.
    pub by: Account,
}

impl Grant {
    /// Whether `/deny` with this text takes it back: a host without a port matches every port.
    pub fn is_named_by(&self, host: &str) -> bool {
        names_grant(host, &self.host)
    }
}

/// Whether `/deny` of this host takes back the grant of that one: without a port, of every port.
pub fn names_grant(host: &str, grant: &str) -> bool {
    grant.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Why a host can't be allowed by anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "bar", rename_all = "snake_case")]
pub enum Bar {
    /// The operator's own rule that denies it.
    Operator {
        /// The rule of the configuration that denies it, as a rule of the router is written.
        rule: String,
    },
    /// Sandboxes have no network at all.
    NoNetwork,
}
