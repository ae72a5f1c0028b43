//! One fetch at a time into each local repository from each address. Of two at once that bring the same, git refuses the second: it finds the ref
//! at another commit than when it began.
//!
//! Owns whose turn it is. Must not know what is fetched. Tests: below.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

type Turn = Arc<tokio::sync::Mutex<()>>;

/// By local repository and address, of those that are fetched now; of every [`super::Repos`] on the same directory.
static TURNS: Mutex<BTreeMap<(PathBuf, String), Turn>> = Mutex::new(BTreeMap::new());

/// Waits until no other fetch into `dir` from `url` is under way; the next one waits until this is dropped.
pub(super) async fn enter(dir: &Path, url: &str) -> OwnedMutexGuard<()> {
    let turn = {
        let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry((dir.to_owned(), url.to_owned())).or_default().clone()
    };
    turn.lock_owned().await
}

#[cfg(test)]
mod tests {
    use super::super::{Branch, PlainFile, RemoteUrl, Repos};

    #[tokio::test]
    async fn fetches_at_the_same_time_bring_the_same_and_none_fails() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, repos) = (Repos::new(dir.path().join("upstream")), Repos::new(dir.path().join("repos")));
        let url = RemoteUrl::parse(&theirs.path("shop").unwrap().display().to_string()).unwrap();
        let main = Branch::parse("main").unwrap();
        let mut tip = None;
        for round in 0..8_u8 {
            let file = PlainFile { path: "a.txt".to_owned(), bytes: vec![b'0' + round], executable: false };
            let next = theirs.commit_files("shop", tip.as_ref(), &[file], &main, "x").await.unwrap();
            let fetch = || repos.fetch("shop", &url, None);
            assert_eq!(tokio::join!(fetch(), fetch(), fetch()), (Ok(()), Ok(()), Ok(())), "round {round}");
            let again = || repos.fetch_commit("shop", &url, None, &next);
            assert_eq!(tokio::join!(again(), again(), again()), (Ok(()), Ok(()), Ok(())), "round {round}");
            assert_eq!(repos.resolve("shop", &main).await.as_ref(), Ok(&next));
            tip = Some(next);
        }
    }
}
