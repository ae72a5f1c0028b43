//! Addresses of the forge's pages for people, as far as the API does not return them. Tests: below and `tests/stories/picture.rs`.

use sha1::{Digest, Sha1};

/// Where the page of a commit shows what it changes in the file `path`. `commits` is the address of the repository's commits, which ends with
/// `/commit/`. The part of each file has the id `diff-` and the SHA-1 of its path (Gitea's `NameHash`, the same since 1.8).
pub fn file_of_commit(commits: &str, commit: &str, path: &str) -> String {
    format!("{commits}{commit}#diff-{}", hex::encode(Sha1::digest(path.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_part_is_named_by_its_path() {
        let at = file_of_commit("http://forge.example/lab/shop/commit/", "f26af04", "abc");
        assert_eq!(at, "http://forge.example/lab/shop/commit/f26af04#diff-a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
