//! Compares a repository on the forge with its upstream, and moves what may be moved. Every step may be repeated: what has arrived is not sent
//! again, and a branch moves from the commit that was seen, or not at all. Tests: `sync_tests.rs`.

use super::source_now::SourceNow;
use crate::clock::now;
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
    /// Its name on GitHub means another repository than the one that was added.
    #[error(
        "{name} is another repository on GitHub now (number {found}, and {known} was added): nothing is brought from there. To follow it, once \
         you looked at it: caisson repo add {name} --name {key} --moved"
    )]
    Another {
        /// The key here.
        key: String,
        /// `owner/name` that was asked for.
        name: String,
        /// GitHub's number of the one that was added.
        known: u64,
        /// GitHub's number of the one that has the name now.
        found: u64,
    },
    /// GitHub does not say whether it is the one that was added.
    #[error("nothing is brought until GitHub says that the upstream is still the repository that was added: {why}")]
    Unsure {
        /// Whether it does not exist, or may not be seen.
        gone: bool,
        /// What happened.
        why: String,
    },
}

/// Said of an upstream that cannot be seen.
const GONE: &str = "the repository that this one was copied from is gone, or the bot may not read it";

impl SyncError {
    /// For people on the forge: without the words of git, which hold addresses and paths.
    pub fn brief(&self) -> &'static str {
        match self {
            SyncError::Upstream(error) => match error.meaning() {
                Meaning::Away => "the repository that this one was copied from cannot be reached",
                Meaning::Moved => "the repository that this one was copied from has another address now",
                Meaning::Missing | Meaning::Forbidden => GONE,
                Meaning::Lasting => "git cannot take what the repository has that this one was copied from",
            },
            SyncError::Copy(_) => "this repository cannot be compared or moved",
            SyncError::Setup(_) => "the bot is not set up for it",
            SyncError::Another { .. } => {
                "the name of the repository that this one was copied from means another one now; whoever runs the bot has to look at it \
                 (`caisson repo status`)"
            }
            SyncError::Unsure { gone: true, .. } => GONE,
            SyncError::Unsure { gone: false, .. } => {
                "GitHub does not say now whether the repository that this one was copied from is still the same"
            }
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
pub enum BranchRelation {
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
    /// Each has commits that the other lacks: the upstream's history was rewritten, or somebody merged or pushed on the forge before the upstream
    /// got more.
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
    Left(BranchRelation),
    /// It stands where the upstream's does now.
    Brought(BranchRelation),
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
    /// Where GitHub says that the upstream is; none where it was not asked.
    pub source: Option<SourceNow>,
}

/// What both sides have.
#[derive(Debug, Clone)]
pub struct ListingPair {
    theirs: Listing,
    ours: Listing,
}

impl ListingPair {
    /// Whether each of these branches is the same on both sides, and no tag of the upstream's is missing; one that was moved there is never
    /// brought.
    pub fn is_in_step(&self, branches: &[Branch]) -> bool {
        let same = |branch: &Branch| self.theirs.branches.get(branch) == self.ours.branches.get(branch);
        branches.iter().all(same) && missing(self).is_empty()
    }
}

impl Synced {
    /// Whether something was brought.
    pub fn brought(&self) -> bool {
        self.tags.new > 0 || self.branches.iter().any(|(_, moved)| matches!(moved, Moved::Brought(_)))
    }

    /// Whether a person has to look: a branch is gone, rewritten or has commits of its own here, or a tag could not be brought.
    pub fn is_stuck(&self) -> bool {
        let stuck = |moved: &Moved| match moved {
            Moved::Left(BranchRelation::Gone | BranchRelation::Rewritten { .. } | BranchRelation::Ahead { .. }) => true,
            Moved::Left(BranchRelation::Same(_) | BranchRelation::New(_) | BranchRelation::Behind { .. })
            | Moved::Brought(_)
            | Moved::Raced => false,
        };
        !self.tags.failed.is_empty() || self.branches.iter().any(|(_, moved)| stuck(moved))
    }

    /// The branches whose upstream was rewritten: the forge's commit and the upstream's.
    pub fn rewritten(&self) -> impl Iterator<Item = (&Branch, &Commit, &Commit)> {
        self.branches.iter().filter_map(|(branch, moved)| match moved {
            Moved::Left(BranchRelation::Rewritten { ours, theirs, .. }) => Some((branch, ours, theirs)),
            Moved::Left(_) | Moved::Brought(_) | Moved::Raced => None,
        })
    }
}

impl Copy<'_> {
    /// Asks both sides what they have; nothing is transferred.
    ///
    /// # Errors
    /// [`SyncError`], with which side is unreachable or refuses.
    pub async fn look(&self, repos: &Repos) -> Result<ListingPair, SyncError> {
        let theirs = async { repos.listing(self.from.0, self.from.1).await.map_err(SyncError::Upstream) };
        let ours = async { Ok(repos.listing(self.to.0, self.to.1).await?) };
        let (theirs, ours) = tokio::try_join!(theirs, ours)?;
        Ok(ListingPair { theirs, ours })
    }

    /// Only compares; objects that are needed for that are fetched.
    ///
    /// # Errors
    /// As [`Copy::look`].
    pub async fn compare_seen(&self, repos: &Repos, seen: &ListingPair) -> Result<Synced, SyncError> {
        let standings = self.standings(repos, seen).await?;
        let branches = standings.into_iter().map(|(branch, standing)| (branch, Moved::Left(standing))).collect();
        let tags = Tags { new: missing(seen).len(), differ: differing(seen), ..Tags::default() };
        Ok(Synced { branches, tags, other_head: self.other_head(seen), source: None })
    }

    /// Brings over what may be brought: branches forward, and tags that are missing. `rewritten` is a branch with the upstream's commit that an operator
    /// wants in the place of this branch's own history.
    ///
    /// # Errors
    /// As [`Copy::look`]; also when the forge refuses a push.
    pub async fn sync_seen(
        &self,
        repos: &Repos,
        seen: &ListingPair,
        rewritten: Option<(&Branch, &Commit)>,
    ) -> Result<Synced, SyncError> {
        let mut branches = Vec::new();
        for (branch, standing) in self.standings(repos, seen).await? {
            let moved = self.bring(repos, &branch, standing, rewritten).await?;
            branches.push((branch, moved));
        }
        let tags = self.bring_tags(repos, seen).await;
        Ok(Synced { branches, tags, other_head: self.other_head(seen), source: None })
    }

    /// Brings the tags that are missing. One that cannot be brought keeps no other back, and no branch.
    async fn bring_tags(&self, repos: &Repos, seen: &ListingPair) -> Tags {
        let mut new = missing(seen);
        let later = new.len().saturating_sub(MOST_TAGS);
        // Each time others first, so that those which the forge refuses for good keep none back behind them.
        let turn = usize::try_from(now() / 1000).unwrap_or_default() % new.len().max(1);
        new.rotate_left(turn);
        new.truncate(MOST_TAGS);
        let mut tags = Tags { new: new.len(), later, failed: Vec::new(), differ: differing(seen) };
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

    fn other_head(&self, seen: &ListingPair) -> Option<Branch> {
        seen.theirs.head.clone().filter(|head| self.branches.first() != Some(head))
    }

    async fn standings(&self, repos: &Repos, seen: &ListingPair) -> Result<Vec<(Branch, BranchRelation)>, SyncError> {
        let ListingPair { theirs, ours } = seen;
        let at = |branch: &Branch| (theirs.branches.get(branch), ours.branches.get(branch));
        let apart: Vec<&Branch> =
            self.branches.iter().filter(|branch| matches!(at(branch), (Some(a), b) if Some(a) != b)).collect();
        if !apart.is_empty() {
            repos.take_in(self.key, self.from.0, self.from.1, &apart, &[]).await.map_err(SyncError::Upstream)?;
        }
        let mut found = Vec::new();
        for branch in self.branches {
            let standing = match at(branch) {
                (None, _) => BranchRelation::Gone,
                (Some(their), Some(our)) if their == our => BranchRelation::Same(our.clone()),
                (Some(their), None) => BranchRelation::New(their.clone()),
                (Some(their), Some(our)) => self.apart(repos, our, their).await?,
            };
            found.push((branch.clone(), standing));
        }
        Ok(found)
    }

    async fn apart(&self, repos: &Repos, ours: &Commit, theirs: &Commit) -> Result<BranchRelation, SyncError> {
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
            (0, commits) => BranchRelation::Behind { from: ours, to: theirs, commits },
            (lost, 0) => BranchRelation::Ahead { ours, commits: lost },
            (lost, _) => BranchRelation::Rewritten { ours, theirs, lost },
        })
    }

    pub(super) async fn bring(
        &self,
        repos: &Repos,
        branch: &Branch,
        standing: BranchRelation,
        rewritten: Option<(&Branch, &Commit)>,
    ) -> Result<Moved, SyncError> {
        let (old, new) = match &standing {
            BranchRelation::New(new) => (None, new),
            BranchRelation::Behind { from, to, .. } => (Some(from), to),
            BranchRelation::Rewritten { ours, theirs, .. } if rewritten == Some((branch, theirs)) => {
                (Some(ours), theirs)
            }
            BranchRelation::Same(_)
            | BranchRelation::Ahead { .. }
            | BranchRelation::Rewritten { .. }
            | BranchRelation::Gone => {
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
fn missing(ListingPair { theirs, ours }: &ListingPair) -> Vec<&Branch> {
    theirs.tags.keys().filter(|tag| !ours.tags.contains_key(*tag)).collect()
}

fn differing(ListingPair { theirs, ours }: &ListingPair) -> Vec<Branch> {
    let differs = |(tag, id): &(&Branch, &String)| ours.tags.get(*tag).is_some_and(|own| own != *id);
    theirs.tags.iter().filter(differs).map(|(tag, _)| tag.clone()).collect()
}
