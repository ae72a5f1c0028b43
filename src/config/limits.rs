//! How much is done, and for how long what is over is kept.

use super::fields::path;
use serde::Deserialize;
use std::path::PathBuf;

/// `[advisories]`: what is known of packages that `/deps` finds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advisories {
    /// A folder of files in the OSV format, which whoever runs the bot keeps up to date; none = no advisories are looked at.
    #[serde(deserialize_with = "path")]
    pub dir: Option<PathBuf>,
    /// A folder of newest versions, which `caisson deps newest` fills; none = nobody knows whether a version is behind.
    #[serde(deserialize_with = "path")]
    pub newest_dir: Option<PathBuf>,
}

/// `[tests]`: runs that somebody asks for with `/test-pr` or `/test-pr-bug`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// How many of one repository are taken up within an hour; 0 = none.
    pub per_hour: u32,
    /// How many run on this host at the same time, at least 1.
    pub at_once: u32,
}

/// `[git]`: what is fetched.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitLimits {
    /// The most that one fetch may bring, in MiB; at least 1.
    pub max_pack_mib: u64,
}

/// Days; 0 = for ever.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// How long handled webhook deliveries are kept, in days.
    pub deliveries_days: u32,
    /// How long the outbox, input keys and router's log of an ended task are kept, in days.
    pub details_days: u32,
    /// How long an ended task itself is kept, with its log, outputs, decisions and checkpoints, in days.
    pub tasks_days: u32,
}
