//! The user that each repository's sandboxes run as, because the kernel counts some limits by user and repositories must not share them.
//!
//! Owns `users.json` of the state directory. A number is given once and never taken back, because stopped sandboxes and mirrors belong to
//! it. With more repositories than numbers, the least used number is given again. An unreadable file is an error, because a guess could
//! give one repository's mirror to another's user (`docs/decisions/0015-a-user-for-each-repository.md`).
//! Tests: below, `tests/trees/users.rs`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::broker::USERS;

use super::{Result, SandboxError};

/// User numbers by the keys of repositories.
type Assignments = BTreeMap<String, u32>;

pub(super) struct Users {
    path: PathBuf,
    /// One user for everything, as for the barrier's own sandboxes.
    only: Option<u32>,
    given: Mutex<Assignments>,
}

impl Users {
    /// # Errors
    /// [`SandboxError::Refused`] for a file with other content, [`SandboxError::Unavailable`] for one that cannot be opened.
    pub(super) fn load(state_dir: &Path, only: Option<u32>) -> Result<Self> {
        let path = state_dir.join("users.json");
        let given = match std::fs::read(&path) {
            Ok(text) => parse(&text).map_err(|why| {
                SandboxError::Refused(format!(
                    "{} does not say which repository's sandboxes run as which user ({why}), and that is not guessed; put it back from a \
                     copy of the state directory, or remove it: then the numbers are given anew",
                    path.display()
                ))
            })?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Assignments::new(),
            Err(e) => return Err(io(&path, &e)),
        };
        Ok(Self { path, only, given: Mutex::new(given) })
    }

    fn lock(&self) -> MutexGuard<'_, Assignments> {
        // A panic while the lock was held leaves the map consistent.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user of a repository that has one.
    pub(super) fn known(&self, key: &str) -> Option<u32> {
        self.only.or_else(|| self.lock().get(key).copied())
    }

    /// The user of a repository, which gets one if necessary; stored before anything runs as that user.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when it cannot be stored.
    pub(super) fn of(&self, key: &str) -> Result<u32> {
        if let Some(user) = self.only {
            return Ok(user);
        }
        let mut given = self.lock();
        if let Some(user) = given.get(key) {
            return Ok(*user);
        }
        let user = next(&given);
        let mut more = given.clone();
        more.insert(key.to_owned(), user);
        self.write(&more)?;
        *given = more;
        Ok(user)
    }

    /// Writes and syncs the file, because an empty file after a power failure would stop everything.
    fn write(&self, given: &Assignments) -> Result<()> {
        let text = serde_json::to_vec(given).map_err(|e| SandboxError::Refused(e.to_string()))?;
        let beside = self.path.with_extension("new");
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let kept = File::create(&beside)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&beside, &self.path))
            .and_then(|()| File::open(directory)?.sync_all());
        kept.map_err(|e| io(&self.path, &e))
    }
}

fn parse(text: &[u8]) -> std::result::Result<Assignments, String> {
    let given: Assignments = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    match given.iter().find(|(_, user)| !USERS.contains(user)) {
        Some((key, user)) => Err(format!("{user}, of {}, is no sandbox's", crate::text::one_line(key))),
        None => Ok(given),
    }
}

/// The lowest number among those that the fewest repositories have.
fn next(given: &Assignments) -> u32 {
    let load = |user: u32| given.values().filter(|it| **it == user).count();
    USERS.min_by_key(|user| (load(*user), *user)).unwrap_or(*USERS.start())
}

fn io(path: &Path, e: &std::io::Error) -> SandboxError {
    SandboxError::Unavailable(format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once_and_survives() {
        let dir = tempfile::tempdir().unwrap();
        let users = Users::load(dir.path(), None).unwrap();
        assert_eq!(users.known("shop"), None);
        assert_eq!([users.of("shop"), users.of("lab-x"), users.of("shop")], [Ok(10_003), Ok(10_004), Ok(10_003)]);
        let again = Users::load(dir.path(), None).unwrap();
        assert_eq!((again.known("lab-x"), again.of("third"), again.of("shop")), (Some(10_004), Ok(10_005), Ok(10_003)));
    }

    #[test]
    fn beyond_all_numbers_the_least_loaded_is_shared() {
        let dir = tempfile::tempdir().unwrap();
        let users = Users::load(dir.path(), None).unwrap();
        let given: Vec<u32> = (0..62).map(|at| users.of(&format!("r{at}")).unwrap()).collect();
        assert_eq!(given, (10_003..=10_064).collect::<Vec<_>>());
        assert_eq!([users.of("more"), users.of("and more")], [Ok(10_003), Ok(10_004)]);
        // A gap, as left by an entry removed by hand.
        let mut all: Assignments =
            serde_json::from_slice(&std::fs::read(dir.path().join("users.json")).unwrap()).unwrap();
        all.retain(|_, user| *user != 10_030);
        assert_eq!(next(&all), 10_030);
    }

    #[test]
    fn what_cannot_be_read_is_not_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users.json");
        for text in ["", "{", r#"{"shop":0}"#, r#"{"shop":10002}"#, r#"{"shop":10065}"#, r#"{"shop":"root"}"#] {
            std::fs::write(&path, text).unwrap();
            let Err(SandboxError::Refused(said)) = Users::load(dir.path(), None) else { panic!("taken: {text}") };
            assert!(said.contains("users.json") && said.contains("not guessed"), "{said}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(Users::load(dir.path(), None), Err(SandboxError::Unavailable(_))));
    }

    #[test]
    fn what_cannot_be_written_down_is_nobody_s() {
        let dir = tempfile::tempdir().unwrap();
        let users = Users::load(&dir.path().join("away"), None).unwrap();
        assert!(matches!(users.of("shop"), Err(SandboxError::Unavailable(_))));
        assert_eq!(users.known("shop"), None);
    }
}
