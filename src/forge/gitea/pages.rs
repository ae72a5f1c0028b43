//! Addresses of the forge's pages for people, as far as the API does not return them. Tests: below and `tests/stories/picture.rs`.

use sha1::{Digest, Sha1};
use url::Url;

/// Where the page of a commit shows what it changes in the file `path`. `commits` is the address of the repository's commits, which ends with
/// `/commit/`. The part of each file has the id `diff-` and the SHA-1 of its path (Gitea's `NameHash`, the same since 1.8).
pub fn file_of_commit(commits: &str, commit: &str, path: &str) -> String {
    format!("{commits}{commit}#diff-{}", hex::encode(Sha1::digest(path.as_bytes())))
}

/// Where the forge compares a branch with the one that it goes to; none if `pages`, the address of the repository's pages, is no address. What
/// would end the path, or a link in Markdown, is encoded.
pub fn comparison(pages: &str, base: &str, branch: &str) -> Option<String> {
    let mut url = Url::parse(pages).ok()?;
    url.path_segments_mut().ok()?.push("compare").extend(format!("{base}...{branch}").split('/'));
    Some(url.as_str().replace('(', "%28").replace(')', "%29"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_ends_neither_the_comparisons_address_nor_a_link() {
        let of = |base: &str| comparison("http://forge.example:3000/git/lab/shop", base, "agent/1-fix");
        let plain = "http://forge.example:3000/git/lab/shop/compare/main...agent/1-fix";
        assert_eq!(of("main").as_deref(), Some(plain));
        let odd = "http://forge.example:3000/git/lab/shop/compare/v1/a%29%28b%23%25...agent/1-fix";
        assert_eq!(of("v1/a)(b#%").as_deref(), Some(odd));
        assert_eq!(comparison("shop", "main", "x"), None);
    }

    #[test]
    fn a_files_part_is_named_by_its_path() {
        let at = file_of_commit("http://forge.example/lab/shop/commit/", "f26af04", "abc");
        assert_eq!(at, "http://forge.example/lab/shop/commit/f26af04#diff-a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
