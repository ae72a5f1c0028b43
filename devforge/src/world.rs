//! The forge's state in memory, with its accounts and rights. Must not speak HTTP or run git. Times are whole Unix seconds, as in Gitea.

use crate::posting::Posting;
pub use crate::team::Access;
use crate::team::{CODE, Team};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// Why something was refused: the HTTP status that Gitea answers, and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status of the answer.
    pub status: u16,
    /// Message in the answer's body, in Gitea's words; may be empty.
    pub message: String,
}

pub type Result<T> = std::result::Result<T, Refusal>;

pub(crate) fn refuse<T>(status: u16, message: impl Into<String>) -> Result<T> {
    Err(Refusal { status, message: message.into() })
}

#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub id: i64,
    pub login: String,
    pub password: String,
    pub admin: bool,
    pub created: i64,
    pub tokens: Vec<Token>,
    /// Owners of an organisation, which has no password.
    pub owners: Option<Vec<String>>,
    pub teams: Vec<Team>,
    pub labels: Vec<Label>,
    /// Hooks for pushes to all repositories of the account or organisation.
    pub hooks: Vec<Hook>,
}

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub id: i64,
    pub name: String,
    pub value: String,
    pub scopes: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub id: i64,
    pub name: String,
    pub color: String,
    pub description: String,
    pub exclusive: bool,
}

#[derive(Debug)]
pub(crate) struct Repo {
    pub id: i64,
    pub owner: String,
    pub name: String,
    pub private: bool,
    pub default_branch: String,
    pub has_actions: bool,
    pub has_issues: bool,
    pub has_pulls: bool,
    /// It takes no changes.
    pub archived: bool,
    pub created: i64,
    /// Id of the repository that it is a fork of.
    pub fork_of: Option<i64>,
    pub collaborators: BTreeMap<String, Access>,
    pub labels: Vec<Label>,
    pub issues: BTreeMap<u64, Issue>,
    pub hooks: Vec<Hook>,
    pub keys: Vec<(i64, String)>,
    pub statuses: Vec<Status>,
    /// Jobs of the forge's own CI.
    pub jobs: Vec<CiJob>,
    pub protections: Vec<serde_json::Map<String, serde_json::Value>>,
    /// Full reference names to commits, as of the last push.
    pub refs: BTreeMap<String, String>,
    /// First push of each branch, because the API does not see a branch at once.
    pub fresh: BTreeMap<String, Instant>,
    /// Time until which the first push is not noticed.
    pub empty_until: Option<Instant>,
}

impl Repo {
    /// Whether it is empty as Gitea reports it, which is true for a moment after the first push.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty() || self.empty_until.is_some_and(|end| Instant::now() < end)
    }
}

#[derive(Debug)]
pub(crate) struct CiJob {
    /// Id of its run.
    pub run: i64,
    pub id: i64,
    /// Number of its run in the repository, from 1.
    pub index: usize,
    pub sha: String,
    pub log: String,
}

#[derive(Debug)]
pub(crate) struct Issue {
    pub id: i64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: i64,
    pub open: bool,
    pub created: i64,
    pub updated: i64,
    pub labels: Vec<i64>,
    pub assignees: Vec<i64>,
    pub comments: Vec<Comment>,
    pub attachments: Vec<Attachment>,
    pub changes: Vec<Change>,
    pub pull: Option<Pull>,
    /// Numbers of what has to be closed before this is.
    pub depends_on: Vec<u64>,
    /// Whether an import brought it, of somebody who has no account here.
    pub imported: bool,
}

/// A change that stands in the timeline.
#[derive(Debug)]
pub(crate) struct Change {
    /// From the sequence that it shares with comments and reviews.
    pub number: i64,
    pub actor: i64,
    pub at: i64,
    pub what: Changed,
}

#[derive(Debug)]
pub(crate) enum Changed {
    /// `close` or `reopen`.
    State(&'static str),
    Title {
        old: String,
        new: String,
    },
    Label {
        id: i64,
        added: bool,
    },
    Assignee {
        account: i64,
        removed: bool,
    },
}

/// A file attached to an issue.
#[derive(Debug, Clone)]
pub(crate) struct Attachment {
    pub uuid: String,
    pub name: String,
    pub bytes: bytes::Bytes,
    /// Address given in answers if the file is stored elsewhere.
    pub elsewhere: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub id: i64,
    pub author: i64,
    pub body: String,
    pub created: i64,
    pub updated: i64,
    pub attachments: Vec<Attachment>,
    /// As of an issue.
    pub imported: bool,
}

#[derive(Debug)]
pub(crate) struct Pull {
    /// Id of the repository that holds the head branch: this one, or a fork.
    pub from: i64,
    pub head: String,
    pub base: String,
    /// The head's commit as last seen, kept when the branch is deleted.
    pub head_sha: String,
    /// The commit that `refs/pull/N/head` stands at; empty before it is written.
    pub kept: String,
    pub merged: Option<String>,
    pub merged_by: Option<i64>,
    pub reviews: Vec<Review>,
}

/// State of a review, named as in Gitea's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// `PENDING`: a draft that only its author sees.
    Pending,
    /// `APPROVED`: approves the review's commit.
    Approved,
    /// `COMMENT`: decides nothing.
    Comment,
    /// `REQUEST_CHANGES`: rejects the review's commit.
    RequestChanges,
    /// `REQUEST_REVIEW`: the account was asked for a review and has posted none since.
    RequestReview,
}

#[derive(Debug)]
pub(crate) struct Review {
    pub id: i64,
    /// The number in its address, in one sequence with comments; 0 while pending.
    pub number: i64,
    pub author: i64,
    pub state: ReviewState,
    pub body: String,
    pub commit: String,
    pub official: bool,
    pub dismissed: bool,
    /// Time from which it shows as stale.
    pub stale_from: Option<Instant>,
    /// Time of its first note, which the API reports as its submission.
    pub begun: i64,
    pub submitted: i64,
    /// Time of the last edit on the page, shown only in the timeline.
    pub shown_updated: i64,
    pub notes: Vec<Inline>,
}

#[derive(Debug, Clone)]
pub(crate) struct Inline {
    pub id: i64,
    pub author: i64,
    pub path: String,
    pub new_line: i64,
    pub old_line: i64,
    pub body: String,
    /// Who resolved the conversation that it began.
    pub resolver: Option<i64>,
    pub created: i64,
    pub updated: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub id: i64,
    pub url: String,
    pub secret: String,
    pub events: Vec<String>,
    pub active: bool,
    pub content_type: String,
    pub branch_filter: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub id: i64,
    pub sha: String,
    pub state: String,
    pub context: String,
    pub description: String,
    pub target_url: String,
    pub author: i64,
    pub created: i64,
}

#[derive(Debug)]
pub(crate) struct World {
    pub base: String,
    pub accounts: Vec<Account>,
    pub repos: Vec<Repo>,
    /// The next number of the sequence shared by comments and reviews of the whole forge.
    pub next_number: i64,
    /// Former names of repositories, with the repository's id; they answer 301.
    pub old_names: Vec<(String, String, i64)>,
    pub next_id: i64,
    pub postings: UnboundedSender<Posting>,
    /// Deliveries that were neither sent nor lost yet.
    pub underway: Arc<AtomicUsize>,
    /// Seconds by which the forge's clock is ahead of the machine's.
    pub ahead: i64,
}

impl World {
    pub fn new(base: String, postings: UnboundedSender<Posting>) -> Self {
        Self {
            base,
            accounts: Vec::new(),
            repos: Vec::new(),
            next_number: 0,
            old_names: Vec::new(),
            next_id: 0,
            postings,
            underway: Arc::default(),
            ahead: 0,
        }
    }

    /// The forge's clock, in whole Unix seconds.
    pub fn now(&self) -> i64 {
        jiff::Timestamp::now().as_second() + self.ahead
    }

    /// A new id from the sequence for everything without its own.
    pub fn id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    /// The next number of the sequence that comments and reviews share.
    pub fn number(&mut self) -> i64 {
        self.next_number += 1;
        self.next_number
    }

    pub fn find_account(&self, login: &str) -> Option<&Account> {
        self.accounts.iter().find(|a| a.login.eq_ignore_ascii_case(login))
    }

    pub fn account(&self, login: &str) -> Result<&Account> {
        self.find_account(login).map_or_else(|| refuse(404, format!("user does not exist [name: {login}]")), Ok)
    }

    pub fn account_mut(&mut self, login: &str) -> Result<&mut Account> {
        match self.accounts.iter_mut().find(|a| a.login.eq_ignore_ascii_case(login)) {
            Some(account) => Ok(account),
            None => refuse(404, format!("user does not exist [name: {login}]")),
        }
    }

    pub fn add_account(&mut self, login: &str, password: &str, admin: bool) -> Result<i64> {
        if self.find_account(login).is_some() {
            return refuse(422, format!("user already exists [name: {login}]"));
        }
        let (id, created) = (self.id(), self.now());
        self.accounts.push(Account {
            id,
            login: login.to_owned(),
            password: password.to_owned(),
            admin,
            created,
            tokens: Vec::new(),
            owners: None,
            teams: Vec::new(),
            labels: Vec::new(),
            hooks: Vec::new(),
        });
        Ok(id)
    }

    /// Gives an account another login, under which it keeps its rights. One that owns repositories is refused.
    pub fn rename_account(&mut self, login: &str, new: &str) -> Result<()> {
        if new.is_empty() || self.find_account(new).is_some() || self.repos.iter().any(|repo| repo.owner == login) {
            return refuse(422, format!("{login} cannot be renamed to {new:?}"));
        }
        let old = std::mem::replace(&mut self.account_mut(login)?.login, new.to_owned());
        for account in &mut self.accounts {
            let members = account.teams.iter_mut().flat_map(|team| team.members.iter_mut());
            let named = account.owners.iter_mut().flatten().chain(members);
            named.filter(|name| name.eq_ignore_ascii_case(&old)).for_each(|name| new.clone_into(name));
        }
        for repo in &mut self.repos {
            if let Some(access) = repo.collaborators.remove(&old) {
                repo.collaborators.insert(new.to_owned(), access);
            }
        }
        Ok(())
    }

    pub fn add_organisation(&mut self, login: &str, owner: &str) -> Result<i64> {
        let owner = self.account(owner)?.login.clone();
        let id = self.add_account(login, "", false)?;
        self.account_mut(login)?.owners = Some(vec![owner]);
        Ok(id)
    }

    /// Adds a token whose value is 40 hexadecimal digits.
    pub fn add_token(&mut self, login: &str, name: &str, scopes: Vec<String>) -> Result<Token> {
        let id = self.id();
        let account = self.account_mut(login)?;
        if account.tokens.iter().any(|t| t.name == name) {
            return refuse(400, "access token name has been used already");
        }
        let value = format!("{}{}", uuid::Uuid::new_v4().simple(), &uuid::Uuid::new_v4().simple().to_string()[..8]);
        account.tokens.push(Token { id, name: name.to_owned(), value, scopes });
        Ok(account.tokens[account.tokens.len() - 1].clone())
    }

    pub fn by_token(&self, value: &str) -> Option<&Account> {
        self.accounts.iter().find(|a| a.tokens.iter().any(|t| !t.value.is_empty() && t.value == value))
    }

    pub fn by_password(&self, login: &str, password: &str) -> Option<&Account> {
        self.find_account(login).filter(|a| a.owners.is_none() && !a.password.is_empty() && a.password == password)
    }

    pub fn login_of(&self, id: i64) -> &str {
        self.accounts.iter().find(|a| a.id == id).map_or("Ghost", |a| a.login.as_str())
    }

    /// The right of an account (none = not signed in) to a repository's code.
    pub fn access(&self, repo: &Repo, login: Option<&str>) -> Access {
        self.unit_access(repo, login, CODE)
    }

    pub fn repo_at(&self, owner: &str, name: &str) -> Option<usize> {
        self.repos.iter().position(|r| r.owner.eq_ignore_ascii_case(owner) && r.name.eq_ignore_ascii_case(name))
    }

    /// The repository's index if `login` has at least `need`; an invisible repository counts as missing.
    pub fn repo(&self, owner: &str, name: &str, login: Option<&str>, need: Access) -> Result<usize> {
        let Some(at) = self.repo_at(owner, name) else {
            return refuse(404, "The target couldn't be found.");
        };
        if !self.sees(&self.repos[at], login) {
            return refuse(404, "The target couldn't be found.");
        }
        // An account that sees any part of it may read what this forge shows.
        if need > Access::Read && self.access(&self.repos[at], login) < need {
            return refuse(403, "user should have the right to do this in the repository");
        }
        Ok(at)
    }

    pub fn issue_mut(&mut self, at: usize, number: u64) -> Result<&mut Issue> {
        match self.repos[at].issues.get_mut(&number) {
            Some(issue) => Ok(issue),
            None => refuse(404, "The target couldn't be found."),
        }
    }

    pub fn issue(&self, at: usize, number: u64) -> Result<&Issue> {
        let repo = &self.repos[at];
        let found = repo.issues.get(&number).filter(|issue| repo.has_issues || issue.pull.is_some());
        found.map_or_else(|| refuse(404, "The target couldn't be found."), Ok)
    }

    pub fn pull(&self, at: usize, number: u64) -> Result<&Pull> {
        self.issue(at, number)?.pull.as_ref().map_or_else(|| refuse(404, "The target couldn't be found."), Ok)
    }

    pub fn pull_mut(&mut self, at: usize, number: u64) -> Result<&mut Pull> {
        match self.issue_mut(at, number)?.pull.as_mut() {
            Some(pull) => Ok(pull),
            None => refuse(404, "The target couldn't be found."),
        }
    }

    /// Position of a plain comment: the issue's number and its index there.
    pub fn comment_at(&self, at: usize, id: i64) -> Option<(u64, usize)> {
        self.repos[at].issues.values().find_map(|i| Some((i.number, i.comments.iter().position(|c| c.id == id)?)))
    }
}
