//! Files that are taken out of the sandbox of finished work beside its commit, and what became of them.

use crate::Commit;
use serde::{Deserialize, Serialize};

/// A file that was taken. The store holds its bytes by their digest, until newer finished work has some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Path relative to the repository's root. Untrusted.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, in lower-case hex.
    pub sha256: String,
}

/// Why a file that a pattern matches was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactBar {
    /// It is a symbolic link, or below one.
    Link,
    /// It is no regular file, or could not be read.
    Unreadable,
    /// Its name is none that other systems would take for the same.
    Name,
    /// It is larger than one may be.
    TooLarge {
        /// The most bytes of one.
        most: u64,
    },
    /// With those before it, it is more than all may be.
    Together {
        /// The most bytes of all.
        most: u64,
    },
    /// As many as may be were taken or tried before it.
    TooMany {
        /// The most files.
        most: u32,
    },
    /// It holds what looks like a credential, or a secret of the bot's machine.
    Credential,
    /// The store holds as many bytes of this task as it may.
    Unstored,
}

/// A file that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactLeft {
    /// Path relative to the repository's root. Untrusted.
    pub path: String,
    /// Why not.
    pub bar: ArtifactBar,
}

/// What became of the archive of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hangs", rename_all = "snake_case")]
pub enum ArtifactsHang {
    /// It hangs on the pull request.
    Under {
        /// Its name there.
        name: String,
    },
    /// The forge takes no such file.
    Refused,
    /// It could not be attached although the forge answers otherwise.
    Failed,
}

/// What was taken, by the patterns of the base's `.caisson.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    /// Number of the checkpoint.
    pub n: u32,
    /// The commit that was made of the same stopped sandbox.
    pub commit: Commit,
    /// The files, in the order of their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Artifact>,
    /// The first of those that were not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<ArtifactLeft>,
    /// How many more were not taken.
    #[serde(default)]
    pub more: u32,
    /// Patterns that match no file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
    /// Why nothing could be looked for, as a sentence without a full stop; none where it could. Partly untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What became of their archive; none in the log, and before that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<ArtifactsHang>,
}

impl Artifacts {
    /// Whether they are of this commit, and to be attached still.
    pub fn wait_for(&self, commit: &Commit) -> bool {
        self.commit == *commit && self.hang.is_none() && !self.files.is_empty()
    }

    /// What `held` is after this step; a step that is about another commit changes nothing.
    pub(crate) fn after(held: Option<Self>, step: &ArtifactStep) -> Option<Self> {
        match (held, step) {
            (_, ArtifactStep::Taken(taken)) => Some(taken.clone()),
            (Some(held), ArtifactStep::Attached { commit, hang }) if held.commit == *commit => {
                Some(Self { hang: Some(hang.clone()), ..held })
            }
            (held, ArtifactStep::Attached { .. }) => held,
        }
    }
}

/// A step of a task's artifacts, in its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum ArtifactStep {
    /// They were taken out of the sandbox, or not.
    Taken(Artifacts),
    /// It is known what became of their archive.
    Attached {
        /// The commit beside which they were taken.
        commit: Commit,
        /// What became of it.
        hang: ArtifactsHang,
    },
}
