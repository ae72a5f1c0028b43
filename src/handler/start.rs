//! A command that begins a task (`/fix [words]`, `/plan [words]`, …) in an opened issue or a comment. Who: somebody with write access to the code.
//! Effect: a task begins, once for each text; everybody else gets one polite refusal. Hosts in a text that starts nothing: `hosts.rs`.

use super::called::Called;
use super::joined;
use super::left::SoFar;
use super::reader::Reader;
use crate::command::{OwnNames, only_own};
use crate::config::process::Repository;
use crate::forge::{Account, Change, Issue, ReviewComment, text_hash};
use crate::message;
use crate::redact;
use crate::thread::terms::{Agreed, agree, asked_beside, unused_on_a_pull};
use crate::thread::words;
use crate::thread::{SLACK_MS, decision_key, first, hosts_key, pull_here};
use crate::trouble::Trouble;
use domain::{
    ACTIONS_PER_CHECKPOINT, Access, Commit, Decision, FilePosition, Grant, Input, PullHead, Request, Source, Task,
    TaskKind, Terms, Trigger, Verb,
};
use std::collections::HashMap;

/// A text in a thread without a task; it may ask for one.
pub(super) struct Text {
    pub source: Source,
    pub number: i64,
    pub author: Account,
    pub body: String,
    pub verb: Verb,
    pub edited: bool,
    pub created_at: i64,
    /// What it is where it is no command and stands for one.
    pub trigger: Option<Trigger>,
    /// The assignment or label that it is, with no text.
    pub change: Option<Change>,
    /// The command of the repository's own that it asks for; `verb` is then that of its kind.
    pub own: Option<Called>,
    /// The names of the repository's own commands, where its first word may have been one of them.
    pub names: OwnNames,
    /// The names of commands in a review's inline comments that are followed by nothing.
    pub left: Vec<String>,
    /// The inline comment that its command, or a question to the bot by its name, stands in; of a reply without either that reply.
    pub note: Option<ReviewComment>,
    /// The answer to what it denies, where it may begin a task: given with the one why it begins none.
    pub denied: Option<String>,
}

const SLUG: usize = 40;

impl Reader {
    /// Reads an issue or pull request without a live task: an open issue may start one; hosts may be taken back in every thread.
    pub(super) async fn look_without_task(&self, entry: &Repository, number: u64) -> Result<(), Trouble> {
        let at = self.addresses.at(entry)?;
        // Before the issue, so that what was written after it was closed does not meet it as open.
        let comments = self.forge.comments(&at, number).await?;
        let issue = self.forge.issue(&at, number).await?;
        let since = self.first_read(&entry.key).await? - SLACK_MS;
        let own_since = self.own_since(&entry.key).await? - SLACK_MS;
        let answers_since = self.answers_since(&entry.key).await?;
        let (mut texts, unread) = self.texts(entry, &at, &issue, comments).await?;
        texts.iter_mut().filter(|text| text.created_at < own_since).for_each(Text::read_as_before);
        self.add_triggers(entry, &at, &issue, &mut texts).await?;
        self.threads.moves.was_at(entry, &at, self.machine.as_ref()).await?;
        let mut so_far = SoFar::default();
        match self.approved_again(entry, &issue, &texts).await {
            Ok(()) => {}
            Err(moved @ Trouble::Moved { .. }) => return Err(moved),
            // They wait for it, but for what they take back.
            Err(trouble) => so_far.stops(trouble),
        }
        let from = (own_since, answers_since, unread.as_ref().map(|unread| unread.from));
        for text in texts {
            if text.is_plain() || text.created_at < since || !self.threads.accounts.counts(&text.author) {
                continue;
            }
            match self.meet(entry, &issue, text, from, &mut so_far).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(moved @ Trouble::Moved { .. }) => return Err(moved),
                Err(trouble) => so_far.stops(trouble),
            }
        }
        so_far.trouble(unread.map(|unread| unread.why)).map_or(Ok(()), Err)
    }

    /// Looks at one text; true when those behind it are not looked at. `unread`: the number of the first text that could not be read.
    ///
    /// # Errors
    /// When those behind it wait, too, but for what they take back.
    async fn meet(
        &self,
        entry: &Repository,
        issue: &Issue,
        mut text: Text,
        (own_since, answers_since, unread): (i64, i64, Option<i64>),
        so_far: &mut SoFar,
    ) -> Result<bool, Trouble> {
        let (number, key) = (issue.number, decision_key(&text.source));
        if self.threads.answers.is_taken_up(entry, number, &key, text.author.id).await? {
            return Ok(false);
        }
        // Later texts wait too, so that the oldest comes first.
        if self.waits(entry, issue, &text).await? {
            return Ok(true);
        }
        text.edited = self.edited(entry, issue, &text).await?;
        // On a pull request none of them begins, so nothing is asked about those that are not answered.
        let asks_own = text.created_at >= own_since && (!issue.is_pull || text.created_at >= answers_since);
        let looks = asks_own && text.may_be_own() && !so_far.stopped;
        let is_known = !looks || self.is_known(entry, issue, &mut text, so_far).await?;
        // What it decides is for the task that an earlier one may begin.
        so_far.begins |= unread.is_some_and(|unread| text.number > unread);
        if so_far.stopped || !is_known || so_far.keeps((&text.verb, &text.body), text.may_begin()) {
            self.leave(entry, number, (&text, &key), so_far).await?;
            return Ok(false);
        }
        // Neither hosts nor a test run begin a task: a router or a forge that does not take them holds up no answer to another text.
        let stands_alone = text.verb.is_apart() || matches!(text.verb, Verb::Allow { .. } | Verb::Deny { .. });
        let (hosts, may_begin) = (!words::every_host(&text.body).is_empty(), text.may_begin());
        match self.take_up(entry, issue, text, &key).await {
            Err(trouble) if !matches!(trouble, Trouble::Moved { .. }) && (stands_alone || may_begin) => {
                so_far.takes_back |= hosts;
                so_far.begins |= may_begin;
                so_far.fails(trouble);
                Ok(false)
            }
            done => done,
        }
    }

    /// Takes up one text; true when a task began.
    async fn take_up(&self, entry: &Repository, issue: &Issue, mut text: Text, key: &str) -> Result<bool, Trouble> {
        let number = issue.number;
        if !text.left.is_empty() {
            self.answer_lines(entry, number, &text, key).await?;
        }
        if matches!(text.verb, Verb::Say { .. }) {
            return Ok(false);
        }
        let begins = text.verb.begins().map(|(kind, ..)| kind);
        let bar = match self.overtaken(entry, number, &text).await? {
            None => begins.and_then(|kind| self.begins_elsewhere((kind, &text), issue)),
            overtaken => overtaken,
        };
        if let Some(answer) = bar {
            let denied = self.deny_at_once(entry, number, &text, key).await?;
            let answer = joined([answer].into_iter().chain(denied));
            self.answer_or_refuse(entry, number, (&text, text.command_name()), (key, &answer)).await?;
            return Ok(false);
        }
        if let Verb::Retry { from } = text.verb {
            return self.retry(entry, number, (&text, from), key).await;
        }
        if text.verb.is_apart() {
            self.take_hosts(entry, number, &text, &hosts_key(key)).await?;
            self.apart(entry, number, &text, key).await?;
            return Ok(false);
        }
        let starter = begins.is_some();
        if !starter && issue.is_pull && self.works_elsewhere(entry, number, &text, key).await? {
            return Ok(false);
        }
        // A line takes nothing back.
        if !starter && !text.is_reply() && self.take_hosts(entry, number, &text, key).await? {
            return Ok(false);
        }
        if starter {
            // Before it begins, so that it does not begin with them; and whether it begins or not.
            text.denied = self.deny_at_once(entry, number, &text, key).await?;
            return self.take_text(entry, issue, &text, key).await;
        }
        self.answer_unstarted(entry, issue, &text, key).await?;
        Ok(false)
    }

    /// What a task is to review that was asked for on this thread; none on an issue.
    pub(super) async fn reviewed(
        &self,
        entry: &Repository,
        number: u64,
        is_pull: bool,
    ) -> Result<Option<PullHead>, Trouble> {
        if !is_pull {
            return Ok(None);
        }
        let pull = pull_here(&*self.forge, &self.addresses.at(entry)?, number).await?;
        // One that was closed since it was read is read again, and answered so.
        let open = pull.filter(|pull| pull.open);
        let head = open.and_then(|pull| Some((Commit::parse(&pull.head_sha).ok()?, pull.base_ref)));
        let Some((head, target)) = head else {
            return Err(Trouble::later(
                "the forge does not say where the pull request's branch stands, or it was closed",
            ));
        };
        Ok(Some(PullHead { head, target }))
    }

    /// Hosts that a task begins with: none on a pull request, where a stranger's files are read, which may want to send away what else is read.
    pub(super) async fn hosts_of(&self, entry: &Repository, is_pull: bool) -> Result<Vec<Grant>, Trouble> {
        if is_pull { Ok(Vec::new()) } else { Ok(self.store.grants(&entry.key).await?) }
    }

    async fn waits(&self, entry: &Repository, issue: &Issue, text: &Text) -> Result<bool, Trouble> {
        match &text.change {
            Some(change) => self.threads.edits.change_on_its_way(entry, issue, change).await,
            None => self.threads.edits.on_its_way(entry, &text.source, text.created_at).await,
        }
    }

    /// Whether somebody changed the text since it was written; of what has no text, the issue's since then.
    async fn edited(&self, entry: &Repository, issue: &Issue, text: &Text) -> Result<bool, Trouble> {
        match (&text.source, &text.change) {
            (_, Some(change)) => self.threads.edits.edited_since(entry, issue, change).await,
            (Source::Issue(_) | Source::Change(_), None) => self.threads.edits.issue_edited(entry, issue).await,
            (Source::Reply { .. }, None) => {
                self.threads.edits.reply_edited(entry, (text.number, &text.body), text.edited).await
            }
            (Source::Comment(_) | Source::Review(_), None) => {
                let note = match &text.note {
                    Some(note) => {
                        let differs = note.updated_at > note.created_at.max(text.created_at);
                        self.threads.edits.reply_edited(entry, (note.id, &note.body), differs).await?
                    }
                    None => false,
                };
                Ok(text.edited || note || self.threads.edits.contradicted(entry, text.number, &text.body).await?)
            }
        }
    }

    /// When this repository was first read, by the forge's clock.
    async fn first_read(&self, key: &str) -> Result<i64, Trouble> {
        self.first_look(&first(key)).await
    }

    /// The time of this watermark; the present one, by the forge's clock, which is noted then, where there is none.
    pub(super) async fn first_look(&self, mark: &str) -> Result<i64, Trouble> {
        if let Some(at) = self.store.watermark(mark).await? {
            return Ok(at);
        }
        let at = self.forge.clock().await?;
        self.store.set_watermark(mark, at).await?;
        Ok(at)
    }

    /// Takes up a text; true when a task began.
    async fn take_text(&self, entry: &Repository, issue: &Issue, text: &Text, key: &str) -> Result<bool, Trouble> {
        if let (Some(trigger), Some((kind, ..))) = (&text.trigger, text.verb.begins()) {
            return self.take_trigger(entry, issue, text, (trigger, kind), key).await;
        }
        if let Some(called) = &text.own {
            return self.take_own(entry, issue, (text, called), key).await;
        }
        let (kind, terms) = match &text.verb {
            Verb::Fix { terms, .. } => (TaskKind::Fix, terms.clone()),
            Verb::Plan { terms, .. } => (TaskKind::Plan, terms.clone()),
            Verb::Work { kind, terms, .. } => (*kind, terms.clone()),
            _ => return Ok(false),
        };
        if text.edited {
            self.threads.answers.answer_once(entry, issue.number, key, &message::edited(&text.author.login)).await?;
            return Ok(false);
        }
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        if right < Access::Write {
            let refused = message::refused(&text.author.login, kind.name());
            self.threads.answers.refuse_once(entry, issue.number, key, text.asks(kind.name()), &refused).await?;
            return Ok(false);
        }
        let admitted = self.admitted(entry, (issue.number, key), text, (&text.verb, right), None).await?;
        let Some(listed) = admitted else { return Ok(false) };
        // Who may have no pull request reviewed may not have one read under another name.
        let review = Verb::begin(TaskKind::Review, String::new(), Terms::default());
        if issue.is_pull && self.barred(entry, issue.number, key, text, (&review, right)).await? {
            return Ok(false);
        }
        if let Some(answer) = issue.is_pull.then(|| unused_on_a_pull(&terms, &text.author.login)).flatten() {
            self.threads.answers.answer_once(entry, issue.number, key, &text.with_denied(answer)).await?;
            return Ok(false);
        }
        let agreed = match agree(&self.config, entry, &terms, (&text.author.login, right)) {
            Ok(agreed) => agreed,
            Err(answer) => {
                self.threads.answers.answer_once(entry, issue.number, key, &text.with_denied(answer)).await?;
                return Ok(false);
            }
        };
        if self.terms_barred(entry, issue.number, key, text, (&terms, &agreed, right)).await? {
            return Ok(false);
        }
        let asking = text.evidence(issue.number, right);
        let said = (&asking.poster, text.beside(), &text.verb);
        self.threads.further.answer_beside(entry, issue.number, key, (said, &text.names), right).await?;
        let request = self.request(entry, issue, (text, right), kind, terms).await?;
        let request = Request { budget: agreed.budget, listed, ..request };
        // Hosts and grants of the same text go with the creation, because nothing reads the text again for them.
        let mut more = self.threads.hosts.hosts(entry, text.beside(), (&asking, None)).await?;
        more.extend(agreed.more.map(|verb| Input::Decided { decision: Box::new(Decision { verb, ..asking.clone() }) }));
        Ok(self.machine.create(key, request, more).await?.is_some())
    }

    /// Whether the operator restricts this to others; the author is then told so.
    pub(super) async fn barred(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        text: &Text,
        given: (&Verb, Access),
    ) -> Result<bool, Trouble> {
        Ok(self.admitted(entry, (number, key), text, given, None).await?.is_none())
    }

    /// The words of the operator's lists that let the author give this, to this task if it is about its work; none where they do not, and the
    /// author is told so.
    pub(super) async fn admitted(
        &self,
        entry: &Repository,
        (number, key): (u64, &str),
        text: &Text,
        (verb, right): (&Verb, Access),
        task: Option<&Task>,
    ) -> Result<Option<Vec<String>>, Trouble> {
        match self.threads.groups.admits(entry, (verb, &words::account(&text.author), right), task).await? {
            Ok(listed) => Ok(Some(listed)),
            Err(whom) => {
                let answer = message::not_among(&text.author.login, verb.command().unwrap_or_default(), &whom);
                tracing::info!(repository = entry.key, number, source = %text.source, login = text.author.login, "not among those who may");
                self.answer_denied(entry, number, text, key).await?;
                self.threads.answers.refuse_once(entry, number, key, text.asks_for(verb), &answer).await?;
                Ok(None)
            }
        }
    }

    /// As [`Reader::barred`], for options: they do what commands do, so the same people may use them.
    pub(super) async fn terms_barred(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        text: &Text,
        (terms, agreed, right): (&Terms, &Agreed, Access),
    ) -> Result<bool, Trouble> {
        for verb in &asked_beside(terms, agreed) {
            if self.barred(entry, number, key, text, (verb, right)).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The branch of the next task of an issue.
    pub(super) async fn branch(&self, entry: &Repository, issue: u64, title: &str) -> Result<String, Trouble> {
        let earlier = self.store.tasks_of_issue(&entry.key, issue).await?;
        let again = if earlier == 0 { String::new() } else { format!("-{}", earlier + 1) };
        Ok(format!("agent/{issue}-{}{again}", slug(title)))
    }

    pub(super) async fn request(
        &self,
        entry: &Repository,
        issue: &Issue,
        (text, right): (&Text, Access),
        kind: TaskKind,
        terms: Terms,
    ) -> Result<Request, Trouble> {
        Ok(Request {
            kind,
            repository: entry.key.clone(),
            issue: issue.number,
            title: redact::in_words(&issue.title),
            body: redact::in_words(&issue.body),
            words: text.verb.begins().map(|(_, words, _)| words.to_owned()).unwrap_or_default(),
            place: text.note.as_ref().map(|note| FilePosition { path: redact::in_words(&note.path), line: note.line }),
            asker: words::account(&text.author),
            right: Some(right),
            listed: Vec::new(),
            issue_author: words::account(&issue.author),
            // Asked only where the asker also opened the issue and the command is a comment.
            edited: text.author.id == issue.author.id
                && !matches!(text.source, Source::Issue(_))
                && self.threads.edits.issue_edited(entry, issue).await?,
            source: text.source.clone(),
            number: text.number,
            branch: self.branch(entry, issue.number, &issue.title).await?,
            base_branch: entry.default_branch.clone(),
            budget: self.config.budget_of(&entry.key).granted(),
            every: ACTIONS_PER_CHECKPOINT,
            has_upstream: !entry.upstream.is_empty(),
            hosts: self.hosts_of(entry, issue.is_pull).await?,
            pull: self.reviewed(entry, issue.number, issue.is_pull).await?,
            terms,
            earlier: None,
            own: None,
            trigger: None,
        })
    }
}

impl Text {
    /// A text that was not edited, at no time.
    pub(super) fn new(source: Source, number: i64, (author, body): (Account, String), verb: Verb) -> Self {
        Self {
            source,
            number,
            author,
            body,
            verb,
            edited: false,
            created_at: 0,
            trigger: None,
            change: None,
            own: None,
            names: OwnNames::new(),
            left: Vec::new(),
            note: None,
            denied: None,
        }
    }

    /// Whether it asks for nothing.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.verb, Verb::Say { .. }) && self.left.is_empty()
    }

    /// What is looked at for further commands: nothing where its command stands on a line, whose others are named as left.
    fn beside(&self) -> &str {
        if self.note.is_some() { "" } else { &self.body }
    }

    /// Whether it is a reply on a line.
    pub(super) fn is_reply(&self) -> bool {
        matches!(self.source, Source::Reply { .. })
    }

    /// Whether its first word may be a command of the repository's own.
    pub(super) fn may_be_own(&self) -> bool {
        let of_review = self.is_reply() || matches!(self.source, Source::Review(_));
        self.change.is_none() && !of_review && words::own_name(&self.body).is_some()
    }

    /// Whether a task may begin by it, as far as it was read.
    pub(super) fn may_begin(&self) -> bool {
        matches!(self.verb, Verb::Retry { .. }) || self.verb.begins().is_some()
    }

    /// Reads it as it was read before repositories had commands of their own: a first word that only one of those can be is plain text.
    fn read_as_before(&mut self) {
        if matches!(&self.verb, Verb::Unknown { word, why: None } if only_own(word)) {
            self.verb = words::plain(&self.body, &self.author.login);
        }
    }

    /// The command that it asks for, without its slash; empty where it asks for none.
    pub(super) fn command_name(&self) -> &str {
        self.own.as_ref().map_or_else(|| self.verb.command().unwrap_or_default(), |called| &called.name)
    }

    /// The decision that this text is, for what else stands in it; `thread` is the number of its issue or pull request.
    pub(super) fn evidence(&self, thread: u64, right: Access) -> Decision {
        Decision {
            thread: Some(thread),
            at: self.created_at,
            text_hash: text_hash(&self.body),
            edited: self.edited,
            ..Decision::new(self.source.clone(), self.number, (words::account(&self.author), right), self.verb.clone())
        }
    }
}

/// Lower-case letters and digits of a title, with single dashes for everything else.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if slug.len() >= SLUG {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_slug_is_safe_in_a_branch_name() {
        assert_eq!(slug("Compare versions: 1.10 < 1.9!"), "compare-versions-1-10-1-9");
        assert_eq!(slug("日本語"), "task");
        assert_eq!(slug("--../..//"), "task");
        assert!(slug(&"long ".repeat(40)).len() <= super::SLUG);
    }
}
