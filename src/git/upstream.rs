//! What another repository has (branches, tags, where its HEAD leads), and taking some of it in: the first half of keeping a copy in step.
//! What is taken in lies below `refs/caisson/upstream/`, so that neither the forge's branches nor a task's commits change. Tests:
//! below, and `src/upstream/sync_tests.rs`.

use super::repos::{Repos, TRANSFER};
use super::run::{Git, Input};
use super::{Auth, Branch, GitError, Meaning, RemoteUrl};
use domain::Commit;
use std::collections::BTreeMap;
use std::time::Duration;

/// Where branches and tags of the upstream lie in the local repository, each under its name in hexadecimal: so `a` and, later, `a/b` are in
/// nobody's way.
const TAKEN: &str = "refs/caisson/upstream";
/// The longest part of a ref's path that a file system takes, with the `.lock` that git adds.
const LONGEST_PART: usize = 250;
/// Digits of each part of a name that is longer.
const PART: usize = 100;
/// The most bytes of a listing: some 300,000 branches and tags.
const LISTING_CAP: u64 = 32 << 20;
/// Tags in one push: each stands on git's command line.
const TAGS_AT_ONCE: usize = 200;

/// Branches and tags of a repository. Those whose names [`Branch::parse`] refuses are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The branch that HEAD names; none where it names none.
    pub head: Option<Branch>,
    /// Branches with their commits.
    pub branches: BTreeMap<Branch, Commit>,
    /// Tags with the id of the object that each names (a commit, or the tag's own object).
    pub tags: BTreeMap<Branch, String>,
}

impl Repos {
    /// Asks `url` for its branches and tags; nothing is transferred.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the other side is unreachable or refuses (see [`GitError::meaning`]).
    pub async fn listing(&self, url: &RemoteUrl, auth: Option<&Auth>) -> Result<Listing, GitError> {
        let ask = Git::new("ls-remote").remote(url, auth).timeout(Duration::from_secs(60)).cap(LISTING_CAP);
        let what = ["--quiet", "--symref", "--end-of-options", url.as_str(), "HEAD", "refs/heads/*", "refs/tags/*"];
        Ok(listing(&ask.args(what).ok().await?))
    }

    /// Fetches these branches and tags of `url`, checked by fsck, beside what is there.
    ///
    /// # Errors
    /// As [`Repos::fetch`].
    pub async fn take_in(
        &self,
        key: &str,
        url: &RemoteUrl,
        auth: Option<&Auth>,
        branches: &[&Branch],
        tags: &[&Branch],
    ) -> Result<(), GitError> {
        let dir = self.ensure(key).await?;
        let specs = branches.iter().map(|name| format!("+refs/heads/{name}:{TAKEN}/heads/{}\n", hexadecimal(name)));
        let tags = tags.iter().map(|name| format!("+refs/tags/{name}:{TAKEN}/tags/{}\n", hexadecimal(name)));
        let specs: String = specs.chain(tags).collect();
        let fetch = Git::new("fetch").at(&dir).remote(url, auth).timeout(TRANSFER);
        let flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--stdin", "--end-of-options"];
        let fetch = fetch.args(flags).arg(url.as_str()).input(Input::Bytes(specs.into_bytes()));
        self.limits.run(&dir, fetch).await
    }

    /// Pushes tags that [`Repos::take_in`] fetched to `url`. One that exists there with another object is refused, never moved.
    ///
    /// # Errors
    /// [`GitError::Failed`] when the other side refuses one or is unreachable; others may have arrived.
    pub async fn push_tags(
        &self,
        key: &str,
        url: &RemoteUrl,
        auth: Option<&Auth>,
        tags: &[&Branch],
    ) -> Result<(), GitError> {
        let dir = self.path(key)?;
        let mut refused = None;
        for some in tags.chunks(TAGS_AT_ONCE) {
            let push = Git::new("push").at(&dir).remote(url, auth).timeout(TRANSFER);
            let flags = ["--quiet", "--no-verify", "--recurse-submodules=no", "--end-of-options", url.as_str()];
            let specs = some.iter().map(|name| format!("{TAKEN}/tags/{}:refs/tags/{name}", hexadecimal(name)));
            match push.args(flags).args(specs).ok().await {
                Ok(_) => {}
                // The others of these have arrived, and what comes behind them may.
                Err(error) if error.meaning() == Meaning::Lasting => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Number of commits that `to` has and `from` has not. Both must exist here.
    ///
    /// # Errors
    /// When one of them is missing.
    pub async fn commits_between(&self, key: &str, from: &Commit, to: &Commit) -> Result<u64, GitError> {
        let dir = self.path(key)?;
        let counted = Git::new("rev-list").at(&dir).args(["--count", "--end-of-options", &format!("{from}..{to}")]);
        let line = counted.line().await?;
        line.parse().map_err(|_| GitError::Invalid(format!("git counted {line:?} commits")))
    }

    /// Has fetches into the repository `key` find objects of another local repository, instead of asking for them. For a copy that is
    /// removed soon: what the other one loses is missing here.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn borrow_from(&self, key: &str, other: &std::path::Path) -> Result<(), GitError> {
        let dir = self.ensure(key).await?;
        let objects = other.join("objects");
        if !objects.is_dir() {
            return Ok(());
        }
        let line = format!("{}\n", objects.display());
        std::fs::write(dir.join("objects/info/alternates"), line).map_err(|e| GitError::io("alternates", &e))
    }
}

fn hexadecimal(name: &Branch) -> String {
    let digits = hex::encode(name.as_str());
    if digits.len() <= LONGEST_PART {
        return digits;
    }
    // `-` is no digit, so what is a folder for one name is a ref for no other.
    let parts: Vec<_> = digits.as_bytes().chunks(PART).map(String::from_utf8_lossy).collect();
    parts.join("-/")
}

/// A line that is no UTF-8 names nothing that could be asked for.
fn listing(out: &[u8]) -> Listing {
    let mut found = Listing::default();
    let lines = out.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    for (left, name) in lines.filter_map(|line| line.split_once('\t')) {
        if let Some(head) = left.strip_prefix("ref: refs/heads/").filter(|_| name == "HEAD") {
            found.head = Branch::parse(head).ok();
        } else if let Some(branch) = name.strip_prefix("refs/heads/").and_then(|name| Branch::parse(name).ok()) {
            found.branches.extend(Commit::parse(left).ok().map(|commit| (branch, commit)));
        } else if let Some(tag) = name.strip_prefix("refs/tags/").and_then(|name| Branch::parse(name).ok()) {
            // `name^{}`, which says what a tag's object points to, is no name that Branch takes.
            found.tags.insert(tag, left.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_without_what_no_name_may_be() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let text = format!(
            "ref: refs/heads/trunk\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/trunk\n{b}\trefs/heads/x..y\n{b}\trefs/heads/dev/one\n\
             {b}\trefs/tags/v1\n{a}\trefs/tags/v1^{{}}\nno line\n{a}\trefs/pull/1/head\nodd\trefs/heads/odd\n"
        );
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(b.as_bytes());
        bytes.extend_from_slice(b"\trefs/tags/caf\xe9\n");
        let found = listing(&bytes);
        assert_eq!(found.head, Some(Branch::parse("trunk").unwrap()));
        let names: Vec<&str> = found.branches.keys().map(Branch::as_str).collect();
        assert_eq!(names, ["dev/one", "trunk"]);
        assert_eq!(found.tags.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), [("v1", &*b)]);
        assert_eq!(listing(b"").head, None);
    }

    #[test]
    fn a_long_name_has_parts_that_a_file_system_takes_and_no_other_name_has() {
        let path = |bytes: usize| hexadecimal(&Branch::parse(&"x".repeat(bytes)).unwrap());
        assert_eq!(path(125), "78".repeat(125), "where it lay before");
        assert_eq!(path(126), ["78".repeat(50), "78".repeat(50), "78".repeat(26)].join("-/"));
        let folder = format!("{}-", path(50));
        assert!((126..=200).all(|bytes| path(bytes).starts_with(&format!("{folder}/"))));
        assert!((1..=125).all(|bytes| path(bytes) != folder));
    }
}
