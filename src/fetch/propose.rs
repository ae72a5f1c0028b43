//! `caisson fetch --open-pr`: an approved commit becomes a pull request on the upstream, by a person and with her own token. Her clone is only
//! read.
//!
//! Owns what is checked before anything is pushed, and the pull request's words. Must not use a credential of the bot. Tests:
//! `tests/trees/propose.rs`.

use std::path::PathBuf;

use domain::Commit;

use super::upstream_ci::{self, Pace, UpstreamCi};
use super::{Offer, Refusal, unless_shallow};
use crate::config::process::UpstreamHost;
use crate::git::{Auth, Branch, Home, PushSpec, Pushed, RemoteUrl};
use crate::text::title_line;
use crate::upstream::{Answers, GitHub, NewPull, OnGitHub, OpenPull, Unconfirmed, name_in, name_of};

/// The most characters of a title.
const TITLE: usize = 120;

const AWAY: &str = "look whether the upstream answers, and what your token may: read and write contents and pull requests; \
                    where you may not push there, name your fork (--fork you/project)";
const BY_HAND: &str = "bring it with --as-branch, rebase and push it yourself, and open the pull request there";

/// What a pull request is opened with.
#[derive(Debug, Clone)]
pub struct Propose {
    /// A file with her token, which may write contents and pull requests.
    pub token_file: PathBuf,
    /// `owner/name` of her fork, where she may not push to the upstream itself.
    pub fork: Option<String>,
    /// How the upstream's CI is waited for; none where it is not.
    pub wait_ci: Option<Pace>,
}

/// Where a repository on the forge comes from.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its address.
    pub address: RemoteUrl,
    /// GitHub's number of the repository that was added; 0 where it is not known.
    pub id: u64,
    /// Its server, where that has a GitHub API.
    pub github: Option<UpstreamHost>,
    /// The branch that the task began from.
    pub branch: String,
    /// The number of the upstream's issue as which the task's own was opened on the forge.
    pub issue: Option<u64>,
}

/// A pull request that can be opened.
pub(super) struct Proposal {
    github: GitHub,
    auth: Auth,
    /// The upstream, and GitHub's number of it.
    from: RemoteUrl,
    id: u64,
    /// What is pushed to: the upstream, or her fork; and whose that is.
    to: RemoteUrl,
    owner: String,
    /// `owner/name` of her fork.
    fork: Option<String>,
    repository: String,
    base: Branch,
    /// The upstream's issue that the work is for.
    issue: Option<u64>,
    wait_ci: Option<Pace>,
}

impl Proposal {
    /// Checks everything that can be known without asking the upstream.
    pub(super) fn check(offer: &Offer, wanted: &Propose) -> Result<Self, Refusal> {
        let none = "only what was added from an upstream can be proposed there (caisson repo list)";
        let source = offer.upstream.as_ref().ok_or_else(|| Refusal::new("its repository has no upstream", none))?;
        let host = source.github.as_ref().zip(name_in(source.address.as_str()));
        let (host, repository) = host.ok_or_else(|| {
            Refusal::new(
                format!("{} was not added as `owner/name` or over https from a GitHub server", source.address.as_str()),
                BY_HAND,
            )
        })?;
        let own = UpstreamHost { token_file: Some(wanted.token_file.clone()), ..host.clone() };
        if let Some((_, why)) = own.problem() {
            let said = format!("your token does not go to {} as it is configured", source.address.as_str());
            return Err(Refusal::new(said, "mend [[upstream.hosts]] in caisson.toml").because([why.to_owned()]));
        }
        let token = own.token().map_err(|why| {
            Refusal::new("the token cannot be read", "chmod 600 FILE, if others may read it").because([why])
        })?;
        let token = token.ok_or_else(|| Refusal::new("no token is named", "repeat with --token-file FILE"))?;
        let github = GitHub::open(&own, &Answers::default()).map_err(|why| Refusal::new(why, BY_HAND))?;
        let pushed = wanted.fork.as_deref().unwrap_or(&repository);
        let owner = name_of(pushed).map(|(owner, _)| owner);
        let owner = owner.ok_or_else(|| Refusal::new(format!("{pushed:?} is no owner/name"), "--fork you/project"))?;
        Ok(Self {
            to: github.address(pushed)?,
            auth: Auth::basic(&own.user, token.expose()),
            owner: owner.to_owned(),
            fork: wanted.fork.clone(),
            base: Branch::parse(&source.branch)?,
            issue: source.issue,
            from: source.address.clone(),
            id: source.id,
            repository,
            github,
            wait_ci: wanted.wait_ci,
        })
    }

    /// Checks that the upstream is still the repository that was added, and goes on with its present name.
    fn confirm(&mut self, upstream: &OnGitHub, key: &str) -> Result<(), Refusal> {
        if self.id == 0 {
            return Ok(());
        }
        let (name, known) = (&self.repository, self.id);
        let source = self.github.source_in(upstream, name, known).map_err(|why| match why {
            Unconfirmed::GitHub(error) => away(&error),
            Unconfirmed::Address(error) => error.into(),
            Unconfirmed::Another { found } => {
                let said =
                    format!("{name} is another repository on GitHub now (number {found}, and {known} was added)");
                let hint = format!("look at it; to follow it: caisson repo add {name} --name {key} --moved");
                Refusal::new(said, hint)
            }
        })?;
        if source.renamed {
            self.from = source.address;
            if self.fork.is_none() {
                self.to = self.from.clone();
                self.owner = source.name.split('/').next().unwrap_or_default().to_owned();
            }
            self.repository = source.name;
        }
        Ok(())
    }

    /// Checks that what is pushed to is a fork of the upstream, and goes on with its present name: to another repository nothing is pushed.
    async fn confirm_fork(&mut self, upstream: &OnGitHub) -> Result<(), Refusal> {
        let Some(name) = &self.fork else { return Ok(()) };
        let fork = self.github.repository(name).await.map_err(|error| away(&error))?;
        if !fork.is_related_to(upstream) {
            let said = format!("{} is no fork of {}", fork.full_name, upstream.full_name);
            return Err(Refusal::new(said, "name your fork of it: --fork you/project"));
        }
        self.to = self.github.address(&fork.full_name)?;
        self.owner = fork.full_name.split('/').next().unwrap_or_default().to_owned();
        self.fork = Some(fork.full_name);
        Ok(())
    }

    /// Checks that the upstream is the one that was added, and has what the work began from: nothing else of the forge may go there with it.
    pub(super) async fn begins_there(&mut self, home: &Home, offer: &Offer) -> Result<(), Refusal> {
        if self.id != 0 || self.fork.is_some() {
            let upstream = self.github.repository(&self.repository).await.map_err(|error| away(&error))?;
            self.confirm(&upstream, &offer.repository)?;
            self.confirm_fork(&upstream).await?;
        }
        let base = &offer.base;
        if home.is_on(base, &self.from, Some(&self.auth), &self.base).await.map_err(|error| away(&error))? {
            return Ok(());
        }
        let said =
            format!("the task began from {}, which is not on {} of {}", base.short(), self.base, self.from.as_str());
        Err(unless_shallow(home, Refusal::new(said, BY_HAND)))
    }

    /// Pushes the tree of the commit as one commit behind the base, and opens the pull request. So nothing is published that only an earlier
    /// checkpoint held. What was pushed by an earlier try, and a pull request that is open, are found again. `stands`: the approval was read
    /// again and holds. Gives the commit that was pushed, too.
    pub(super) async fn make(
        &self,
        home: &Home,
        offer: &Offer,
        (commit, stands): (&Commit, bool),
    ) -> Result<(OpenPull, Commit), Refusal> {
        let message = format!("{}\n", title(offer));
        let pushed = home.squashed(commit, &offer.base, &message).await?;
        let spec =
            PushSpec { url: &self.to, auth: Some(&self.auth), branch: &offer.branch, new: &pushed, expected_old: None };
        match home.push(spec).await.map_err(|error| away(&error))? {
            Pushed::Done => {}
            Pushed::Moved { found } => {
                let at = found.map(|found| found.short().to_owned()).unwrap_or_default();
                let said =
                    format!("{} has a branch {} at {at}, which is another commit", self.to.as_str(), offer.branch);
                return Err(Refusal::new(said, "look at it there; delete it, and repeat"));
            }
        }
        let is_owners = name_of(&self.repository).is_some_and(|(owner, _)| owner.eq_ignore_ascii_case(&self.owner));
        let new = NewPull {
            repository: &self.repository,
            head: &format!("{}:{}", self.owner, offer.branch),
            head_repo: self.fork.as_deref().filter(|_| is_owners),
            base: self.base.as_str(),
            title: &title(offer),
            body: &self.body(offer, stands),
        };
        let opened = self.github.open_pull(&new).await.map_err(|error| {
            let said = format!("the branch {} is on {}, without a pull request", offer.branch, self.to.as_str());
            Refusal::new(said, "repeat it; the branch is found again").because([error.to_string()])
        })?;
        Ok((opened, pushed))
    }

    /// What the upstream's CI says of the pushed commit, where it is waited for.
    pub(super) async fn ci(&self, pushed: &Commit) -> Option<UpstreamCi> {
        let pace = self.wait_ci?;
        Some(upstream_ci::wait(&self.github, &self.repository, pushed, pace).await)
    }

    /// The text of the pull request, which has only words of ours and a name that cannot be anything else. The upstream's issue is named, so that
    /// GitHub shows the one at the other; closing it stays its people's.
    fn body(&self, offer: &Offer, stands: bool) -> String {
        let by = match &offer.approved {
            Some(approved) if stands => format!("approved by people, at last by {}", title_line(&approved.by, TITLE)),
            _ => "**without an approval that stands**".to_owned(),
        };
        let verdict = offer.verdict.as_ref();
        let checks = match verdict.map(|verdict| verdict.kind) {
            Some(domain::VerdictKind::Passed) => "the project's tests passed in a clean sandbox",
            Some(domain::VerdictKind::Failed) if verdict.is_some_and(domain::Verdict::only_lacks_tests) => {
                "**tests of the base did not run in a clean sandbox**"
            }
            Some(domain::VerdictKind::Failed) => "**the project's tests failed in a clean sandbox**",
            Some(domain::VerdictKind::None) | None => "no tests were run",
        };
        let issue = self.issue.map(|number| format!("\nFor {}#{number}.\n", self.repository)).unwrap_or_default();
        format!("Made by a coding agent (Caisson), {by}; {checks}.\n{issue}")
    }
}

/// Git or GitHub cannot do what was asked of the upstream.
fn away(error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(error.to_string(), AWAY)
}

/// The issue's title, without anything that GitHub would read as more than words.
fn title(offer: &Offer) -> String {
    let title = title_line(&offer.title, TITLE);
    if title.is_empty() { offer.branch.to_string() } else { title }
}
