//! Reasons why a sandbox or its network was lost without the task's doing.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a sandbox is gone. Its `Display` is a sentence for a person, without a full stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The reason is not known; also in logs of earlier releases.
    #[default]
    Unknown,
    /// The kernel killed its process 1 for lack of memory. (For other processes see the action's outcome.)
    Memory,
    /// Its process 1 ended, and nobody is known to have ended it.
    Ended,
    /// Somebody stopped or killed it through the engine.
    Stopped,
    /// Somebody removed it.
    Removed,
    /// It was restarted, so the processes in it are gone.
    Restarted,
    /// The engine, or the whole machine, was restarted and ended it.
    EngineRestarted,
    /// It violated the runner's protocol, or left its greeting unanswered again and again, and the bot removed it.
    Untrusted,
    /// The bot itself removed it while its task waited.
    PutAway,
    /// Another host continues the task than the one that has the sandbox.
    Moved,
    /// Its runner speaks another version: uncommitted work is taken out, and the sandbox is replaced.
    Outdated,
}

impl Loss {
    /// How often since the last decision it is made anew without asking a person; none = without limit.
    pub fn tolerated(self) -> Option<u8> {
        match self {
            // The same work probably needs the same memory, so only one retry is worthwhile.
            Loss::Memory => Some(1),
            Loss::EngineRestarted | Loss::PutAway | Loss::Moved | Loss::Outdated => None,
            Loss::Unknown | Loss::Ended | Loss::Stopped | Loss::Removed | Loss::Restarted | Loss::Untrusted => Some(3),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Unknown => "the sandbox is gone, and nothing tells why",
            Loss::Memory => {
                "the sandbox ran out of memory as a whole: the kernel killed its first process, and everything in it with that"
            }
            Loss::Ended => "the sandbox's first process ended by itself",
            Loss::Stopped => "somebody stopped the sandbox's container",
            Loss::Removed => "somebody removed the sandbox's container",
            Loss::Restarted => "somebody restarted the sandbox's container",
            Loss::EngineRestarted => "the container engine, or the whole machine, was restarted, which ended the sandbox",
            Loss::Untrusted => "the sandbox broke its protocol, or answered no more, and was removed",
            Loss::PutAway => "the sandbox had been put away while the task waited",
            Loss::Moved => "the sandbox was on another host than the one that goes on with the task",
            Loss::Outdated => "the sandbox was made by another release of the bot",
        })
    }
}

/// The resource that a task ran out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Memory of the sandbox: the kernel killed its first process.
    Memory,
    /// Space on the engine's disk: its workspace exceeded its limit, or the disk is nearly full.
    Disk,
}
