//! Compares a repository on the forge with its upstream, and moves what may be moved. Every step may be repeated: what has arrived is not sent
//! again, and a branch moves from the commit that was seen, or not at all.

use crate::git::{Auth, Branch, GitError, Listing, Meaning, PushSpec, Pushed, RemoteUrl, Repos};
use domain::Commit;

/// The most tags that are brought at once.
const MOST_TAGS: usize = 1_000;
/// After so many tags that cannot be brought, the others wait for the next time.
const MOST_FAILURES: usize = 20;

/// A copy on the forge, and what it is a copy of.
#[derive(Debug)]
pub struct Copy<'a> {
    /// Key of the local repository.
    pub key: &'a str,
    /// The upstream, and the credential for it.
    pub from: (&'a RemoteUrl, Option<&'a Auth>),
    /// The forge's repository, and the credential of the account that may push to its protected branches.
    pub to: (&'a RemoteUrl, Option<&'a Auth>),
    /// The branches that are kept in step; the first is the default branch.
    pub branches: &'a [Branch],
}

/// Which side failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SyncError {
    /// The upstream is unreachable, or refuses.
    #[error("the upstream cannot be read{hint}: {error}", hint = hint(.0), error = .0)]
    Upstream(GitError),
    /// The forge, or the local repository.
    #[error("the copy on the forge cannot be compared or moved: {0}")]
    Copy(#[from] GitError),
    /// This host's own configuration.
    #[error("this host cannot: {0}")]
    Setup(GitError),
}

impl SyncError {
    /// For people on the forge: without the words of git, which hold addresses and paths.
    pub fn brief(&self) -> &'static str {
        match self {
            SyncError::Upstream(error) => match error.meaning() {
                Meaning::Away => "the repository that this one was copied from cannot be reached",
                Meaning::Moved => "the repository that this one was copied from has another address now",
                Meaning::Missing | Meaning::Forbidden => {
                    "the repository that this one was copied from is gone, or the bot may not read it"
                }
                Meaning::Lasting => "git cannot take what the repository has that this one was copied from",
            },
            SyncError::Copy(_) => "this repository cannot be compared or moved",
            SyncError::Setup(_) => "the bot is not set up for it",
        }
    }
}

/// What a refusal of the upstream's means.
fn hint(error: &GitError) -> &'static str {
    match error.meaning() {
        Meaning::Forbidden | Meaning::Missing => {
            " (it is gone, or private and the token of its server in [[upstream.hosts]] may not read it)"
        }
        Meaning::Moved => " (it has another address now: `caisson repo add` takes that)",
        Meaning::Away | Meaning::Lasting => "",
    }
}

/// How a branch on the forge stands to the upstream's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Both are at this commit.
    Same(Commit),
    /// The forge has none yet.
    New(Commit),
    /// The upstream has more.
    Behind {
        /// The forge's commit.
        from: Commit,
        /// The upstream's.
        to: Commit,
        /// Commits that the forge lacks.
        commits: u64,
    },
    /// The forge has more: somebody pushed to it. That stays, and goes nowhere.
    Ahead {
        /// The forge's commit.
        ours: Commit,
        /// Commits that the upstream lacks.
        commits: u64,
    },
    /// The upstream's history does not contain what the forge has.
    Rewritten {
        /// The forge's commit.
        ours: Commit,
        /// The upstream's.
        theirs: Commit,
        /// Commits that only the forge has.
        lost: u64,
    },
    /// The upstream has no such branch (any more).
    Gone,
}

/// What became of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// Nothing: it needs nothing, or must not be moved.
    Left(Standing),
    /// It stands where the upstream's does now.
    Brought(Standing),
    /// Somebody else moved it at the same time; the next comparison says more.
    Raced,
}

/// What became of the tags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags {
    /// Number of those that were brought; of a comparison, those that are missing.
    pub new: usize,
    /// Number of those that are left for the next time.
    pub later: usize,
    /// Those that could not be brought, with git's words.
    pub failed: Vec<(Branch, String)>,
    /// Those that name something else upstream than on the forge, which is left as it is.
    pub differ: Vec<Branch>,
}

/// What a comparison found, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// Each branch that is kept in step, in their order.
    pub branches: Vec<(Branch, Moved)>,
    /// The tags.
    pub tags: Tags,
    /// The upstream's default branch, where that is another one than here.
    pub other_head: Option<Branch>,
}

impl Synced {
    /// Whether something was brought.
    pub fn brought(&self) -> bool {
        self.tags.new > 0 || self.branches.iter().any(|(_, moved)| matches!(moved, Moved::Brought(_)))
    }

    /// Whether a person has to look: a branch is gone, rewritten or has commits of its own here, or a tag could not be brought.
    pub fn is_stuck(&self) -> bool {
        let stuck = |moved: &Moved| match moved {
            Moved::Left(Standing::Gone | Standing::Rewritten { .. } | Standing::Ahead { .. }) => true,
            Moved::Left(Standing::Same(_) | Standing::New(_) | Standing::Behind { .. })
            | Moved::Brought(_)
            | Moved::Raced => false,
        };
        !self.tags.failed.is_empty() || self.branches.iter().any(|(_, moved)| stuck(moved))
    }

    /// The branches whose upstream was rewritten: the forge's commit and the upstream's.
    pub fn rewritten(&self) -> impl Iterator<Item = (&Branch, &Commit, &Commit)> {
        self.branches.iter().filter_map(|(branch, moved)| match moved {
            Moved::Left(Standing::Rewritten { ours, theirs, .. }) => Some((branch, ours, theirs)),
            Moved::Left(_) | Moved::Brought(_) | Moved::Raced => None,
        })
    }
}

impl Copy<'_> {
    /// Only compares; objects that are needed for that are fetched.
    ///
    /// # Errors
    /// [`SyncError`], with which side is unreachable or refuses.
    pub async fn compare(&self, repos: &Repos) -> Result<Synced, SyncError> {
        let (theirs, ours) = self.listings(repos).await?;
        let standings = self.standings(repos, &theirs, &ours).await?;
        let branches = standings.into_iter().map(|(branch, standing)| (branch, Moved::Left(standing))).collect();
        let tags = Tags { new: missing(&theirs, &ours).len(), differ: differing(&theirs, &ours), ..Tags::default() };
        Ok(Synced { branches, tags, other_head: self.other_head(&theirs) })
    }

    /// Brings over what may be brought: branches forward, and tags that are missing. `rewritten` is the upstream's commit that an operator
    /// wants in the place of this branch's own history.
    ///
    /// # Errors
    /// As [`Copy::compare`]; also when the forge refuses a push.
    pub async fn sync(&self, repos: &Repos, rewritten: Option<(&Branch, &Commit)>) -> Result<Synced, SyncError> {
        let (theirs, ours) = self.listings(repos).await?;
        let mut branches = Vec::new();
        for (branch, standing) in self.standings(repos, &theirs, &ours).await? {
            let moved = self.bring(repos, &branch, standing, rewritten).await?;
            branches.push((branch, moved));
        }
        let tags = self.bring_tags(repos, &theirs, &ours).await;
        Ok(Synced { branches, tags, other_head: self.other_head(&theirs) })
    }

    /// Brings the tags that are missing. One that cannot be brought keeps no other back, and no branch.
    async fn bring_tags(&self, repos: &Repos, theirs: &Listing, ours: &Listing) -> Tags {
        let mut new = missing(theirs, ours);
        let later = new.len().saturating_sub(MOST_TAGS);
        new.truncate(MOST_TAGS);
        let mut tags = Tags { new: new.len(), later, failed: Vec::new(), differ: differing(theirs, ours) };
        if new.is_empty() || self.tags(repos, &new).await.is_ok() {
            return tags;
        }
        tags.new = 0;
        for (at, tag) in new.iter().enumerate() {
            match self.tags(repos, &[tag]).await {
                Ok(()) => tags.new += 1,
                Err(error) => {
                    let away = error.meaning() == Meaning::Away;
                    tags.failed.push(((*tag).clone(), error.to_string()));
                    if away || tags.failed.len() >= MOST_FAILURES {
                        tags.later += new.len() - at - 1;
                        break;
                    }
                }
            }
        }
        tags
    }

    async fn tags(&self, repos: &Repos, tags: &[&Branch]) -> Result<(), GitError> {
        repos.take_in(self.key, self.from.0, self.from.1, &[], tags).await?;
        repos.push_tags(self.key, self.to.0, self.to.1, tags).await
    }

    async fn listings(&self, repos: &Repos) -> Result<(Listing, Listing), SyncError> {
        let theirs = async { repos.listing(self.from.0, self.from.1).await.map_err(SyncError::Upstream) };
        let ours = async { Ok(repos.listing(self.to.0, self.to.1).await?) };
        tokio::try_join!(theirs, ours)
    }

    fn other_head(&self, theirs: &Listing) -> Option<Branch> {
        theirs.head.clone().filter(|head| self.branches.first() != Some(head))
    }

    async fn standings(
        &self,
        repos: &Repos,
        theirs: &Listing,
        ours: &Listing,
    ) -> Result<Vec<(Branch, Standing)>, SyncError> {
        let at = |branch: &Branch| (theirs.branches.get(branch), ours.branches.get(branch));
        let apart: Vec<&Branch> =
            self.branches.iter().filter(|branch| matches!(at(branch), (Some(a), b) if Some(a) != b)).collect();
        if !apart.is_empty() {
            repos.take_in(self.key, self.from.0, self.from.1, &apart, &[]).await.map_err(SyncError::Upstream)?;
        }
        let mut found = Vec::new();
        for branch in self.branches {
            let standing = match at(branch) {
                (None, _) => Standing::Gone,
                (Some(their), Some(our)) if their == our => Standing::Same(our.clone()),
                (Some(their), None) => Standing::New(their.clone()),
                (Some(their), Some(our)) => self.apart(repos, our, their).await?,
            };
            found.push((branch.clone(), standing));
        }
        Ok(found)
    }

    async fn apart(&self, repos: &Repos, ours: &Commit, theirs: &Commit) -> Result<Standing, SyncError> {
        if !repos.has(self.key, ours).await? {
            repos.fetch_commit(self.key, self.to.0, self.to.1, ours).await?;
        }
        if !repos.has(self.key, theirs).await? {
            // It moved between listing and fetching.
            let fetched = repos.fetch_commit(self.key, self.from.0, self.from.1, theirs).await;
            fetched.map_err(SyncError::Upstream)?;
        }
        let lost = repos.commits_between(self.key, theirs, ours).await?;
        let commits = repos.commits_between(self.key, ours, theirs).await?;
        let (ours, theirs) = (ours.clone(), theirs.clone());
        Ok(match (lost, commits) {
            (0, commits) => Standing::Behind { from: ours, to: theirs, commits },
            (lost, 0) => Standing::Ahead { ours, commits: lost },
            (lost, _) => Standing::Rewritten { ours, theirs, lost },
        })
    }

    async fn bring(
        &self,
        repos: &Repos,
        branch: &Branch,
        standing: Standing,
        rewritten: Option<(&Branch, &Commit)>,
    ) -> Result<Moved, SyncError> {
        let (old, new) = match &standing {
            Standing::New(new) => (None, new),
            Standing::Behind { from, to, .. } => (Some(from), to),
            Standing::Rewritten { ours, theirs, .. } if rewritten == Some((branch, theirs)) => (Some(ours), theirs),
            Standing::Same(_) | Standing::Ahead { .. } | Standing::Rewritten { .. } | Standing::Gone => {
                return Ok(Moved::Left(standing));
            }
        };
        let spec = PushSpec { url: self.to.0, auth: self.to.1, branch, new, expected_old: old };
        Ok(match repos.push(self.key, spec).await? {
            Pushed::Done => Moved::Brought(standing),
            Pushed::Moved { .. } => Moved::Raced,
        })
    }
}

/// Tags that the forge lacks.
fn missing<'a>(theirs: &'a Listing, ours: &Listing) -> Vec<&'a Branch> {
    theirs.tags.keys().filter(|tag| !ours.tags.contains_key(*tag)).collect()
}

fn differing(theirs: &Listing, ours: &Listing) -> Vec<Branch> {
    let differs = |(tag, id): &(&Branch, &String)| ours.tags.get(*tag).is_some_and(|own| own != *id);
    theirs.tags.iter().filter(differs).map(|(tag, _)| tag.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// An upstream, and a copy of it on "the forge", as two bare repositories; commits are made in a clone of each.
    struct Pair {
        dir: tempfile::TempDir,
        repos: Repos,
    }

    fn git(at: &Path, args: &[&str]) -> String {
        let done =
            Command::new("git").current_dir(at).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    impl Pair {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for name in ["upstream", "forge"] {
                git(dir.path(), &["init", "-q", "--bare", "--initial-branch=main", &format!("{name}.git")]);
            }
            let repos = Repos::new(dir.path().join("repos"));
            let pair = Self { dir, repos };
            pair.commit("upstream", "main", "one");
            pair
        }

        fn bare(&self, name: &str) -> PathBuf {
            self.dir.path().join(format!("{name}.git"))
        }

        /// A commit on top of a branch of one of the two.
        fn commit(&self, name: &str, branch: &str, what: &str) -> Commit {
            let bare = self.bare(name);
            let tree = git(&bare, &["mktree"]);
            let old =
                Command::new("git").current_dir(&bare).args(["rev-parse", "-q", "--verify", branch]).output().unwrap();
            let old = String::from_utf8_lossy(&old.stdout).trim().to_owned();
            let mut args = vec!["-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", &tree, "-m", what];
            if !old.is_empty() {
                args.extend(["-p", &old]);
            }
            let new = git(&bare, &args);
            git(&bare, &["update-ref", &format!("refs/heads/{branch}"), &new]);
            Commit::parse(&new).unwrap()
        }

        fn at(&self, name: &str, what: &str) -> String {
            git(&self.bare(name), &["rev-parse", what])
        }

        async fn run(&self, branches: &[&str], rewritten: Option<&Commit>) -> Synced {
            let url = |name: &str| RemoteUrl::parse(&self.bare(name).display().to_string()).unwrap();
            let (from, to) = (url("upstream"), url("forge"));
            let branches: Vec<Branch> = branches.iter().map(|name| Branch::parse(name).unwrap()).collect();
            let copy = Copy { key: "shop", from: (&from, None), to: (&to, None), branches: &branches };
            let compared = copy.compare(&self.repos).await.unwrap();
            let synced = copy.sync(&self.repos, rewritten.map(|commit| (&branches[0], commit))).await.unwrap();
            let left = |synced: &Synced| -> Vec<Standing> {
                let of = |moved: &Moved| match moved {
                    Moved::Left(standing) | Moved::Brought(standing) => standing.clone(),
                    Moved::Raced => panic!("nobody else is here"),
                };
                synced.branches.iter().map(|(_, moved)| of(moved)).collect()
            };
            assert_eq!(left(&compared), left(&synced), "what is compared is what is acted on");
            assert!(!compared.branches.iter().any(|(_, moved)| matches!(moved, Moved::Brought(_))));
            assert_eq!(compared.tags.differ, synced.tags.differ);
            synced
        }

        async fn only(&self, rewritten: Option<&Commit>) -> Moved {
            self.run(&["main"], rewritten).await.branches.remove(0).1
        }
    }

    #[tokio::test]
    async fn a_branch_is_moved_forward_and_nothing_else_happens_to_it() {
        let pair = Pair::new();
        assert!(matches!(pair.only(None).await, Moved::Brought(Standing::New(_))));
        assert!(matches!(pair.only(None).await, Moved::Left(Standing::Same(_))));
        pair.commit("upstream", "main", "two");
        let three = pair.commit("upstream", "main", "three");
        let moved = pair.only(None).await;
        assert!(matches!(&moved, Moved::Brought(Standing::Behind { commits: 2, to, .. }) if *to == three), "{moved:?}");
        assert_eq!(pair.at("forge", "main"), three.as_str());
        // What was pushed to the forge stays there.
        let own = pair.commit("forge", "main", "own");
        assert_eq!(pair.only(None).await, Moved::Left(Standing::Ahead { ours: own.clone(), commits: 1 }));
        assert_eq!((pair.at("forge", "main"), pair.at("upstream", "main")), (own.to_string(), three.to_string()));
        let four = pair.commit("upstream", "main", "four");
        let rewritten = Standing::Rewritten { ours: own.clone(), theirs: four.clone(), lost: 1 };
        assert_eq!(pair.only(None).await, Moved::Left(rewritten.clone()));
        assert_eq!(pair.only(Some(&three)).await, Moved::Left(rewritten.clone()), "another commit was named");
        assert_eq!(pair.at("forge", "main"), own.to_string());
        assert_eq!(pair.only(Some(&four)).await, Moved::Brought(rewritten));
        assert_eq!(pair.at("forge", "main"), four.to_string());
    }

    #[tokio::test]
    async fn chosen_branches_come_and_others_do_not() {
        let pair = Pair::new();
        for branch in ["dev", "agent/7-fix", "other"] {
            pair.commit("upstream", branch, branch);
        }
        let synced = pair.run(&["main", "dev", "gone"], None).await;
        assert!(matches!(synced.branches[1].1, Moved::Brought(Standing::New(_))), "{synced:?}");
        assert_eq!(synced.branches[2].1, Moved::Left(Standing::Gone));
        assert_eq!(git(&pair.bare("forge"), &["for-each-ref", "--format=%(refname:short)"]), "dev\nmain");
        assert_eq!(synced.other_head, None);
        git(&pair.bare("upstream"), &["symbolic-ref", "HEAD", "refs/heads/dev"]);
        let other = pair.run(&["main"], None).await.other_head;
        assert_eq!(other.as_ref().map(Branch::as_str), Some("dev"));
    }

    #[tokio::test]
    async fn tags_are_added_and_never_moved() {
        let pair = Pair::new();
        git(&pair.bare("upstream"), &["tag", "v1", "main"]);
        git(
            &pair.bare("upstream"),
            &["-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "v2", "main"],
        );
        assert_eq!(pair.run(&["main"], None).await.tags, Tags { new: 2, ..Tags::default() });
        assert_eq!(pair.at("forge", "v2"), pair.at("upstream", "v2"), "the tag's own object");
        let v1 = pair.at("forge", "v1");
        let two = pair.commit("upstream", "main", "two");
        git(&pair.bare("upstream"), &["tag", "-f", "v1", two.as_str()]);
        git(&pair.bare("upstream"), &["tag", "v3", two.as_str()]);
        let tags = pair.run(&["main"], None).await.tags;
        assert_eq!(tags, Tags { new: 1, differ: vec![Branch::parse("v1").unwrap()], ..Tags::default() });
        assert_eq!((pair.at("forge", "v1"), pair.at("forge", "v3")), (v1, two.to_string()));
        // What is in the way on the forge, or has a name that git takes and a text does not, keeps no other back.
        git(&pair.bare("upstream"), &["tag", "-d", "v3"]);
        git(&pair.bare("upstream"), &["tag", "v3/one", two.as_str()]);
        git(&pair.bare("upstream"), &["tag", "v4", two.as_str()]);
        let name = std::os::unix::ffi::OsStrExt::from_bytes(b"refs/tags/caf\xe9");
        let name: &std::ffi::OsStr = name;
        let mut odd = Command::new("git");
        odd.current_dir(pair.bare("upstream")).arg("update-ref").arg(name).arg(two.as_str());
        assert!(odd.status().unwrap().success());
        let tags = pair.run(&["main"], None).await.tags;
        assert_eq!((tags.new, tags.failed.len()), (1, 1), "{tags:?}");
        assert!(tags.failed[0].0.as_str() == "v3/one" && pair.at("forge", "v4") == two.to_string());
        let three = pair.commit("upstream", "main", "three");
        assert!(matches!(pair.only(None).await, Moved::Brought(Standing::Behind { to, .. }) if to == three));
    }

    #[tokio::test]
    async fn a_branch_that_somebody_moves_meanwhile_is_left() {
        let pair = Pair::new();
        pair.only(None).await;
        let two = pair.commit("upstream", "main", "two");
        let (from, to) = (pair.bare("upstream"), pair.bare("forge"));
        let (from, to) = (RemoteUrl::parse(&from.display().to_string()), RemoteUrl::parse(&to.display().to_string()));
        let (from, to, branches) = (from.unwrap(), to.unwrap(), [Branch::parse("main").unwrap()]);
        let copy = Copy { key: "shop", from: (&from, None), to: (&to, None), branches: &branches };
        let seen = copy.compare(&pair.repos).await.unwrap().branches.remove(0).1;
        let Moved::Left(standing) = seen else { panic!("{seen:?}") };
        let own = pair.commit("forge", "main", "own");
        assert_eq!(copy.bring(&pair.repos, &branches[0], standing, None).await.unwrap(), Moved::Raced);
        assert_eq!(pair.at("forge", "main"), own.to_string(), "not {two}");
    }
}
