//! Files of finished work: taken out of its stopped sandbox beside the commit, and attached to its pull request before the final review.
//!
//! Owns what of them is kept, the archive, and when a forge that takes none is believed. Nothing depends on them: however it ends, the
//! review follows. Must not parse what is in them. Tests: below, `tests/stories/artifacts.rs`, `tests/stories/kills.rs`.

use super::attachment::{Attached, On, attach_or_refused, hangs};
use super::publish::Publisher;
use super::repository::base;
use super::review::Talk;
use crate::message;
use crate::redact::{redacted, without};
use crate::sandbox::{FoundArtifacts, SandboxError};
use crate::store::EffectRow;
use crate::thread::Feed;
use crate::trouble::Trouble;
use domain::{Artifact, ArtifactBar, ArtifactStep, Artifacts, ArtifactsHang, Commit, Input, Task};
use sha2::{Digest, Sha256};
use std::io::{Cursor, Write as _};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Tries after which nothing is attached although the forge answers, because the final review waits behind this.
const MOST: i64 = 3;

impl Publisher {
    /// Takes what the base's project file lists, beside this commit of finished work, and records it. May be repeated: the same bytes are
    /// stored once, and it is recorded once.
    pub(super) async fn take_artifacts(
        &self,
        task: &Task,
        n: u32,
        commit: &Commit,
        feed: &dyn Feed,
    ) -> Result<(), Trouble> {
        if task.artifacts.as_ref().is_some_and(|held| held.n == n && held.commit == *commit) {
            return Ok(());
        }
        let Some(rules) = self.repositories.policy(task, &base(task)?).await?.effective.artifacts else {
            return Ok(());
        };
        let (found, trouble) = match self.sandboxes.captures.artifacts(task.id.0, &rules).await {
            Ok(found) => (found, None),
            Err(away @ SandboxError::Unavailable(_)) => return Err(away.into()),
            // The commit is made already, and is not held up.
            Err(why @ (SandboxError::Gone(_) | SandboxError::Refused(_) | SandboxError::Limit(_))) => {
                (FoundArtifacts::default(), Some(without(why.to_string())))
            }
        };
        let (files, found) = self.kept(task, found).await?;
        let FoundArtifacts { left, more, unmatched, .. } = found;
        let taken = Artifacts { n, commit: commit.clone(), files, left, more, unmatched, trouble, hang: None };
        let input = Input::Artifacts { step: Box::new(ArtifactStep::Taken(taken)) };
        feed.feed(task.id, &format!("artifacts:{}:{n}:{commit}", task.id), input).await?;
        Ok(())
    }

    /// Stores the files that hold no credential; the others are named.
    async fn kept(&self, task: &Task, mut found: FoundArtifacts) -> Result<(Vec<Artifact>, FoundArtifacts), Trouble> {
        // Those of earlier finished work are never attached any more.
        self.store.forget_artifacts(task.id).await?;
        let mut files = Vec::new();
        for (path, bytes) in std::mem::take(&mut found.files) {
            let judged = tokio::task::spawn_blocking(move || (digest(&path, &bytes), path, bytes)).await;
            let (digest, path, bytes) = judged.map_err(|why| Trouble::later(why.to_string()))?;
            let Some(sha256) = digest else {
                found.leave(path, ArtifactBar::Credential);
                continue;
            };
            let length = bytes.len() as u64;
            if self.store.keep_artifact(task.id, &sha256, bytes).await? {
                files.push(Artifact { path, bytes: length, sha256 });
            } else {
                found.leave(path, ArtifactBar::Unstored);
            }
        }
        for left in &mut found.left {
            left.path = without(std::mem::take(&mut left.path));
        }
        Ok((files, found))
    }
}

impl Talk {
    /// Attaches the archive, unless it hangs there already.
    pub(super) async fn attach_artifacts(&self, task: &Task, row: &EffectRow) -> Result<Input, Trouble> {
        let (Some(pull), Some(held)) = (task.pull, &task.artifacts) else { return Ok(Input::Settled) };
        let name = message::artifacts_name(task.id.0, &held.commit, &held.files);
        let put = self.put_artifacts(task, held, pull, (&name, row.tries)).await;
        let hang = match put {
            Ok(Attached::Hangs) => ArtifactsHang::Under { name },
            Ok(Attached::Refused) => ArtifactsHang::Refused,
            Err(trouble @ Trouble::Failed(_)) => given_up(task, &trouble),
            // The repository has another address: the next try finds it there.
            Err(trouble @ Trouble::Moved { .. }) => return Err(trouble),
            // Of a forge that is away the review could not be posted either.
            Err(trouble) if row.tries >= MOST && self.threads.accounts.forge_answers().await => {
                // The answer to the upload may have been lost.
                let at = self.repositories.of(task)?.at;
                match hangs(&*self.forge, &at, On::Thread(pull), &name).await {
                    Ok(true) => ArtifactsHang::Under { name },
                    Ok(false) | Err(_) => given_up(task, &trouble),
                }
            }
            // It would pause the task, and the review does not depend on this.
            Err(Trouble::Doubtful { sentence, .. }) => return Err(Trouble::later(sentence)),
            Err(trouble) => return Err(trouble),
        };
        Ok(Input::Artifacts { step: Box::new(ArtifactStep::Attached { commit: held.commit.clone(), hang }) })
    }

    async fn put_artifacts(
        &self,
        task: &Task,
        artifacts: &Artifacts,
        pull: u64,
        (name, tries): (&str, i64),
    ) -> Result<Attached, Trouble> {
        let repository = self.repositories.of(task)?;
        let mut files = Vec::new();
        for Artifact { path, sha256, .. } in &artifacts.files {
            let bytes = self.store.kept_artifact(task.id, sha256).await?;
            files.push((path.as_str(), bytes.ok_or_else(|| Trouble::blocked("its bytes are not stored any more"))?));
        }
        let archive = zipped(&files).map_err(|why| Trouble::blocked(why.to_string()))?;
        attach_or_refused(&*self.forge, &repository.at, On::Thread(pull), (name, &archive), tries).await
    }
}

fn given_up(task: &Task, trouble: &Trouble) -> ArtifactsHang {
    tracing::warn!(task = %task.id, %trouble, "the files of finished work are not attached");
    ArtifactsHang::Failed
}

/// The SHA-256 of a file in hex; none where path or bytes hold what looks like a credential, or a secret of this process.
fn digest(path: &str, bytes: &[u8]) -> Option<String> {
    let clean = redacted(path).1 == 0 && redacted(&String::from_utf8_lossy(bytes)).1 == 0;
    clean.then(|| hex::encode(Sha256::digest(bytes)))
}

/// An archive of the files as they are, which is the same for the same files.
fn zipped(files: &[(&str, Vec<u8>)]) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let options = options.last_modified_time(DateTime::default()).unix_permissions(0o644);
    for (path, bytes) in files {
        archive.start_file(*path, options)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use std::io::Read as _;

    #[test]
    fn an_archive_gives_back_each_file_and_is_the_same_each_time() {
        let files = [("dist/a.whl", b"PK\x03\x04".to_vec()), ("rapport-\u{e9}.html", b"<p>\xff".to_vec())];
        let bytes = zipped(&files).expect("an archive");
        assert_eq!(zipped(&files).expect("an archive"), bytes);
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("read");
        assert_eq!(archive.len(), 2);
        for (path, bytes) in &files {
            let mut file = archive.by_name(path).expect("in it");
            let mut read = Vec::new();
            file.read_to_end(&mut read).expect("read");
            assert_eq!((&read, file.unix_mode().map(|mode| mode & 0o777)), (bytes, Some(0o644)));
        }
    }

    #[test]
    fn a_file_that_holds_a_credential_has_no_digest() {
        let ours = Secret::random().unwrap().known();
        let theirs = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let with = |word: &str| [b"\0\xff\x89PNG ".as_slice(), word.as_bytes(), b"\0\xfe"].concat();
        assert_eq!(digest("a.bin", &with(ours.expose())), None);
        assert_eq!(digest("a.bin", &with(&theirs)), None);
        assert_eq!(digest(&theirs, b"x"), None);
        let sum = digest("a.bin", b"abc").expect("clean");
        assert_eq!(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
