//! Copies the runner to the engine: one volume per version, filled through a container that is never started, so that no path of this
//! machine is mounted. Tests: `tests/docker/`.

use std::io::Read;
use std::sync::Arc;

use bollard::models::VolumeCreateRequest;
use protocol::broker::{Problem, ProblemKind, RUNNER};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use crate::core::Core;
use crate::hardening::runner_directory;
use crate::helper::Helpers;
use crate::name::ResourceKind;

/// A tar archive's block, in bytes.
const BLOCK: usize = 512;

/// Copies the runner to the engine.
pub struct Supply {
    core: Arc<Core>,
    helpers: Arc<Helpers>,
    /// Name of the volume with the runner.
    volume: String,
    /// Whether its content was verified in this life of the broker.
    verified: Mutex<bool>,
}

impl Supply {
    pub fn new(core: Arc<Core>, helpers: Arc<Helpers>) -> Self {
        let volume = core.names.runner(&core.runner.sha256);
        Self { core, helpers, volume, verified: Mutex::default() }
    }

    /// The volume with the runner; created, filled and read back at its first use in this life of the broker, and again where it was removed
    /// meanwhile. `image` is any image of the engine.
    pub async fn runner_volume(&self, image: &str) -> Result<&str, Problem> {
        let mut verified = self.verified.lock().await;
        *verified = *verified && self.is_there().await?;
        if !*verified {
            self.supply(image).await?;
            *verified = true;
        }
        Ok(&self.volume)
    }

    /// Whether the volume is there and ours. While no container uses it, `docker volume prune` removes it, and with the next container the
    /// engine would create it, empty and without our label.
    async fn is_there(&self) -> Result<bool, Problem> {
        let found = self.core.engine.volume(&self.volume).await?;
        Ok(found.is_some_and(|it| self.core.names.owns(Some(&it.labels), ResourceKind::Runner)))
    }

    async fn supply(&self, image: &str) -> Result<(), Problem> {
        let volume = &self.volume;
        let request = VolumeCreateRequest {
            name: Some(volume.clone()),
            driver: Some("local".into()),
            labels: Some(self.core.names.labels(ResourceKind::Runner)),
            ..Default::default()
        };
        // Creating an existing volume returns it; one without our label must not be filled.
        let made = self.core.engine.create_volume(request).await?;
        if !self.core.names.owns(Some(&made.labels), ResourceKind::Runner) {
            return Err(Problem::refused(format!(
                "volume {volume} does not carry this installation's label; remove it"
            )));
        }
        let helper = self.core.names.helper("supply");
        self.helpers.discard(&helper).await?;
        let body = self.helpers.never_started(image, &[(runner_directory(), volume)]);
        let id = self.core.engine.create(&helper, body).await?;
        let filled = self.fill(&id).await;
        self.helpers.discard(&helper).await?;
        filled
    }

    async fn fill(&self, helper: &str) -> Result<(), Problem> {
        if self.runner_hash(helper).await?.as_deref() == Some(self.core.runner.sha256.as_str()) {
            return Ok(());
        }
        let (_, name) = RUNNER.rsplit_once('/').unwrap_or(("", RUNNER));
        self.core.engine.put(helper, runner_directory(), archive(name, &self.core.runner.bytes)).await?;
        if self.runner_hash(helper).await?.as_deref() == Some(self.core.runner.sha256.as_str()) {
            return Ok(());
        }
        Err(Problem::new(ProblemKind::Engine, "the runner read back from its volume is not the one that was put there"))
    }

    /// SHA-256 of the runner in the volume; `None` when there is none.
    async fn runner_hash(&self, helper: &str) -> Result<Option<String>, Problem> {
        let most = self.core.runner.bytes.len() + 64 * BLOCK;
        Ok(match self.core.engine.get(helper, RUNNER, most).await? {
            Some(tar) if tar.len() > most => Some("longer".into()),
            Some(tar) => only_file(&tar).map(|bytes| hex::encode(Sha256::digest(bytes))),
            None => None,
        })
    }
}

/// A ustar archive with one program, owned by root, readable and executable for everyone.
pub fn archive(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut all = header(name, b'0', (0, 0o755), bytes.len()).to_vec();
    all.extend_from_slice(bytes);
    all.resize(all.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    all
}

/// An archive of empty directories, each with the number of its user and group, and its mode.
pub fn directories(all: &[(&str, u32, u32)]) -> Vec<u8> {
    let mut tar: Vec<u8> = all.iter().flat_map(|(name, owner, mode)| header(name, b'5', (*owner, *mode), 0)).collect();
    tar.resize(tar.len() + 2 * BLOCK, 0);
    tar
}

fn header(name: &str, kind: u8, (owner, mode): (u32, u32), bytes: usize) -> [u8; BLOCK] {
    let mut header = [0u8; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, format!("{owner:07o}\0").as_bytes());
    put(116, format!("{owner:07o}\0").as_bytes());
    put(124, format!("{bytes:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The bytes of the archive's first regular file, after skipping extended headers.
fn only_file(tar: &[u8]) -> Option<&[u8]> {
    let mut rest = tar;
    loop {
        let (header, after) = rest.split_at_checked(BLOCK)?;
        let mut digits = String::new();
        header[124..136].take(12).read_to_string(&mut digits).ok()?;
        let size = usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()?;
        match header[156] {
            b'0' | 0 => return after.get(..size),
            b'x' | b'g' | b'L' => rest = after.get(size.next_multiple_of(BLOCK)..)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn an_archive_is_one_that_tar_reads() {
        let bytes: Vec<u8> = (0..3000u32).map(|at| at as u8).collect();
        let made = archive("caisson-runner", &bytes);
        assert_eq!(only_file(&made), Some(&bytes[..]));
        let mut tar =
            Command::new("tar").args(["-xOf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        tar.stdin.take().unwrap().write_all(&made).unwrap();
        let out = tar.wait_with_output().unwrap();
        assert!(out.status.success());
        assert_eq!(out.stdout, bytes);
    }

    #[test]
    fn a_torn_archive_holds_nothing() {
        let made = archive("a", &[7; 1000]);
        assert_eq!(only_file(&made[..700]), None);
        assert_eq!(only_file(b""), None);
        assert_eq!(only_file(&[0xff; 512]), None);
    }
}
