//! Secrets and their files: read only where nobody else may, written with mode 0600, made where they are missing. Tests: `tests.rs`, and
//! below.

use crate::secret::Secret;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::NamedTempFile;

impl Secret {
    /// The secret's bytes, for keyed hashes.
    pub fn bytes(&self) -> &[u8] {
        self.expose().as_bytes()
    }

    /// Reads a file with one secret: the white space around it is dropped, an empty one and one that others may read are
    /// refused: its own user's file that its group may, anybody's that all may (except below /run/secrets, which is mounted for one container).
    pub fn read(path: &Path) -> Result<Secret, SecretError> {
        let shown = path.display().to_string();
        let text =
            fs::read_to_string(path).map_err(|source| SecretError::Unreadable { path: shown.clone(), source })?;
        let found = fs::metadata(path).ok();
        let mode = found.as_ref().map_or(0o777, |found| found.permissions().mode());
        // A file that others gave to a group of this process may be given to nobody else, and cannot be changed by it.
        let own = found.is_some_and(|found| found.uid() == nix::unistd::geteuid().as_raw());
        let open = if own { 0o077 } else { 0o007 };
        if mode & open != 0 && !path.starts_with("/run/secrets") {
            return Err(SecretError::Open { path: shown, mode: mode & 0o777, right: if own { "600" } else { "o=" } });
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(SecretError::Empty { path: shown });
        }
        if text.chars().any(char::is_control) {
            return Err(SecretError::Lines { path: shown });
        }
        Ok(Secret::new(text).known())
    }

    /// Reads the file, or makes it with 32 random bytes in hexadecimal and mode 0600.
    pub fn read_or_make(path: &Path) -> Result<Secret, SecretError> {
        if path.exists() {
            return Secret::read(path).map_err(|why| match why {
                SecretError::Empty { path } => SecretError::Cut { path },
                other => other,
            });
        }
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|e| SecretError::Unwritable {
            path: path.display().to_string(),
            source: io::Error::other(e.to_string()),
        })?;
        let secret = Secret::new(hex::encode(bytes)).known();
        secret.write(path)?;
        Ok(secret)
    }

    /// Writes a new file with mode 0600; an existing one is left alone and the call fails.
    pub fn write(&self, path: &Path) -> Result<(), SecretError> {
        let line = [self.bytes(), b"\n"].concat();
        put_whole(path, |file| file.write_all(&line))
            .map_err(|source| SecretError::Unwritable { path: path.display().to_string(), source })
    }
}

/// Makes a file of mode 0600 whose content is on the disk before it has its name, so that a full disk or a power cut leaves no empty one.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] where the file is there, which is left alone; or whatever failed.
pub fn put_whole(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (file, folder) = filled(path, fill)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

/// As [`put_whole`], in the place of the file that may be there.
///
/// # Errors
/// Whatever failed; then the older file is as it was.
pub fn replace_whole(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (file, folder) = filled(path, fill)?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

/// A file beside the path, whose content is on the disk, and the folder of both.
fn filled(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<(NamedTempFile, &Path)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    Ok((file, folder))
}

/// Why a secret could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file could not be read as UTF-8 text.
    #[error("{path}: can't read this secret: {source}; check the path and the file's owner")]
    Unreadable {
        /// The secret's file.
        path: String,
        /// Why it could not be read.
        source: io::Error,
    },
    /// The new file could not be made or written, or there were no random bytes for it.
    #[error("{path}: can't write this secret: {source}; if the file is already there, remove it first")]
    Unwritable {
        /// The secret's file.
        path: String,
        /// What failed; [`io::ErrorKind::AlreadyExists`] where the file was there.
        source: io::Error,
    },
    /// The file's mode gives rights to its group, or to every user of the machine.
    #[error("{path}: other users of this machine may read this secret (mode {mode:o}); run: chmod {right} {path}")]
    Open {
        /// The secret's file.
        path: String,
        /// Its permission bits.
        mode: u32,
        /// The mode for `chmod` that this process can read it with.
        right: &'static str,
    },
    /// The file holds nothing but white space.
    #[error("{path}: the file is empty; put the secret into it")]
    Empty {
        /// The secret's file.
        path: String,
    },
    /// A file that this process makes by itself holds nothing but white space.
    #[error("{path}: the file is empty; put it back from a backup, or remove it if a first start was cut off")]
    Cut {
        /// The secret's file.
        path: String,
    },
    /// There is a line break or another control character inside the secret.
    #[error("{path}: a secret is one line; this file holds more")]
    Lines {
        /// The secret's file.
        path: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_could_not_be_written_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mark.key");
        let full = put_whole(&path, |file| file.write_all(b"12").and(Err(io::ErrorKind::StorageFull.into())));
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        let other = folder.path().join("other");
        for text in [&b"1"[..], b"2"] {
            replace_whole(&other, |file| file.write_all(text)).unwrap();
        }
        replace_whole(&other, |_| Err(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(fs::read(&other).unwrap(), b"2");
        fs::remove_file(&other).unwrap();
        let made = Secret::read_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let twice = made.write(&path).unwrap_err();
        let there = |source: &io::Error| source.kind() == io::ErrorKind::AlreadyExists;
        assert!(matches!(&twice, SecretError::Unwritable { source, .. } if there(source)), "{twice}");
    }

    #[test]
    fn nobody_is_told_to_fill_in_a_key_that_the_bot_makes() {
        let file = NamedTempFile::new().unwrap();
        let why = Secret::read_or_make(file.path()).unwrap_err();
        assert!(matches!(why, SecretError::Cut { .. }) && why.to_string().contains("remove it"), "{why}");
    }
}
