//! Texts that the bot posts to people, and what each of them answers.

use crate::{Bar, Budget, BudgetBar, Commit, Ending, PauseReason};
use serde::{Deserialize, Deserializer, Serialize};

/// A text that the bot posts; the wording is in `src/message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// The task was created; says what happens next. Only of older versions: the status comment says it now.
    Accepted,
    /// Somebody without write access gave a command; posted once per account and task.
    Refused {
        /// Login of whoever asked.
        login: String,
        /// The command's name without its slash; `comment` for a remark.
        verb: String,
    },
    /// Somebody gave a command that the operator reserves for others; posted once per account and task.
    NotAmong {
        /// Login of whoever asked.
        login: String,
        /// The command's name without its slash.
        verb: String,
        /// Whom the command is for.
        whom: String,
    },
    /// `/fix` or `/plan` where a task is already active.
    AlreadyLive,
    /// `/review` on a task's own issue or pull request.
    NotReviewed {
        /// Login of whoever asked.
        login: String,
        /// Whether it was asked on the task's pull request.
        own: bool,
    },
    /// A text was ignored because it was changed after it was posted.
    Edited {
        /// Login of whoever posted it.
        login: String,
        /// Whether the branch moved on since the review was given: a push that changes a commented line looks like an edit of the comment.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pushed: bool,
    },
    /// The final review that stands can be approved by nobody.
    Unapprovable {
        /// Login of whoever tried.
        login: String,
        /// Why, as a half-sentence.
        reason: String,
    },
    /// An approval does not count, because it is not about the present checkpoint.
    Stale {
        /// Login of whoever approved.
        login: String,
        /// Why, as half a sentence that follows "because".
        reason: String,
    },
    /// An approval counts, and more people have to give theirs.
    OthersAwaited {
        /// Login of whoever approved.
        login: String,
        /// Number of the checkpoint.
        n: u32,
        /// How many more, above 0.
        left: u8,
    },
    /// A bare `/approve` came within a minute of a checkpoint that followed somebody else's decision: asks which one is
    /// meant.
    Doubtful {
        /// Login of whoever approved.
        login: String,
        /// Number of the newest checkpoint.
        n: u32,
    },
    /// An `/approve` came within a minute of a question that followed somebody else's decision: asks which is meant.
    DoubtfulPermission {
        /// Login of whoever approved.
        login: String,
        /// Number of the action that waits.
        number: u32,
    },
    /// An approval of the final review came by a comment that did not name the commit, or by a review that only comments.
    NameTheCommit {
        /// Login of whoever approved.
        login: String,
        /// The commit to name.
        commit: Commit,
    },
    /// Answers `/status`.
    Status,
    /// Answers a question about the task; the model is asked when this notice is posted.
    Reply {
        /// Login of whoever asks.
        login: String,
        /// Number of the question's text in the forge's order; the log has the answer under this number.
        number: i64,
        /// What is asked. Untrusted.
        question: String,
    },
    /// Answers `/cost`.
    Cost,
    /// Answers `/help` with the list of commands.
    Help,
    /// An unknown command, or a known one that can't be followed.
    UnknownCommand {
        /// The word behind the slash, in lower case and without the slash.
        word: String,
        /// What is wrong with a command that exists, as half a sentence; none where there is no such command.
        #[serde(default)]
        why: Option<String>,
    },
    /// A host was allowed; said once the router has the rule.
    HostAllowed {
        /// Login of whoever allowed it.
        login: String,
        /// The host as a rule of the router is written.
        host: String,
        /// Whether it is allowed for the repository's later tasks too.
        repo: bool,
    },
    /// Grants of a host were taken back; said once the router has the rules.
    HostDenied {
        /// Login of whoever took them back.
        login: String,
        /// The name that was denied, as a rule of the router is written.
        host: String,
    },
    /// A host can't be allowed, whoever asks.
    HostBarred {
        /// Login of whoever asked.
        login: String,
        /// The host as a rule of the router is written.
        host: String,
        /// What stands against it.
        bar: Bar,
    },
    /// `/deny` of a host that no grant names.
    NothingToDeny {
        /// Login of whoever asked.
        login: String,
        /// The name that was given, as a rule of the router is written.
        host: String,
    },
    /// An approval where no checkpoint waits for one.
    NothingToApprove {
        /// Login of whoever approved.
        login: String,
    },
    /// Changes were asked for before checkpoint `n` was posted: the remarks wait for the decision about it.
    RemarksKept {
        /// Login of whoever asked for changes.
        login: String,
        /// Number of the checkpoint that stands now.
        n: u32,
    },
    /// Changes were asked for in work that is approved: nothing goes back to the agent.
    NoChangesAnyMore {
        /// Login of whoever asked for changes.
        login: String,
    },
    /// `/budget` was followed.
    BudgetGranted {
        /// Login of whoever granted it.
        login: String,
        /// What was added; 0 in a kind adds nothing.
        more: Budget,
        /// The kind that is still used up, so that the task stays paused.
        lacks: Option<String>,
    },
    /// `/budget` granted nothing.
    BudgetRefused {
        /// Login of whoever asked.
        login: String,
        /// Why not.
        why: BudgetBar,
    },
    /// `/resume` where only more budget helps.
    BudgetNeeded {
        /// Login of whoever asked; `operator` for an order from the command line.
        login: String,
        /// The kind that is used up: `money`, `tokens`, `actions` or `time`.
        what: String,
    },
    /// `/resume` where nothing is paused.
    NotPaused {
        /// Login of whoever asked.
        login: String,
    },
    /// `/pause` where nothing is under way, or the task is already paused.
    NothingToPause {
        /// Login of whoever asked.
        login: String,
    },
    /// Options of a command that starts a task, where a task is already active.
    TermsTooLate {
        /// Login of whoever asked.
        login: String,
    },
    /// Another model answers from the next turn on.
    ModelChosen {
        /// Login of whoever named it.
        login: String,
        /// Id of its entry in the configuration.
        id: String,
    },
    /// A model was named that commands may not name.
    NoSuchModel {
        /// Login of whoever named it.
        login: String,
        /// What was named.
        id: String,
        /// Ids of the entries that commands may name.
        among: Vec<String>,
    },
    /// An approval was used that also covers later checkpoints.
    InAdvance {
        /// Login of whoever approved.
        login: String,
        /// How many later checkpoints it covers.
        next: u8,
    },
    /// An approval in advance ended before it was used up.
    AdvanceEnded {
        /// Login of whoever gave it.
        login: String,
        /// Checkpoints that it was not used for.
        left: u8,
        /// What ended it.
        why: Ending,
    },
    /// The task is paused; says what a person can do.
    Paused {
        /// Why it is paused.
        reason: PauseReason,
    },
    /// `/resume` or the operator's order was followed.
    Resumed,
    /// The final review was approved; says how to fetch the commit.
    Approved {
        /// The approved commit.
        commit: Commit,
    },
    /// A checkpoint's review was edited or deleted: it is posted again.
    Voided {
        /// Number of the checkpoint whose review it was.
        n: u32,
    },
    /// The task was ended by `/stop` or by the operator's order.
    Cancelled {
        /// Login of whoever ended it; `operator` for an order from the command line.
        login: String,
    },
    /// The task was ended by `/retry`: a new attempt begins.
    Retried {
        /// Login of whoever asked for it.
        login: String,
    },
    /// `/rebase` was followed.
    Rebasing {
        /// Login of whoever asked for it.
        login: String,
    },
    /// `/rebase` was not followed.
    NotRebased {
        /// Login of whoever asked for it.
        login: String,
        /// Why not.
        why: crate::RebaseBar,
    },
    /// The pull request is not merged.
    NotMerged {
        /// Login of whoever wanted it.
        login: String,
        /// Why not.
        why: crate::MergeBar,
    },
    /// The pull request was merged, which ended the task.
    Merged {
        /// What was merged, and by whom.
        how: crate::Merged,
    },
    /// The issue or the pull request was closed, which ended the task without a delivery.
    Declined,
    /// The task failed and can't go on.
    Failed {
        /// What went wrong, as a sentence; it may hold untrusted words.
        why: String,
    },
    /// The approved commit was fetched, or the pull request was merged.
    Delivered,
    /// The upstream's CI ended on what was brought there of a delivered task.
    UpstreamCi {
        /// What it said.
        ended: Box<crate::CiEnded>,
    },
    /// The task ended because nothing happened to it for 30 days.
    Expired,
    /// A step waits for something that is down, and is tried again by itself. The status comment shows it.
    Trouble {
        /// What is down, for a person to read.
        sentence: String,
    },
    /// After the final approval a step failed and is not tried again.
    LeftUndone {
        /// What could not be done and why, for a person to read.
        sentence: String,
    },
    /// What is said about further commands of a text, or about a review's remarks on lines that reach nobody, beside what its strongest
    /// command is answered with.
    Beside {
        /// Number of the text in the forge's order; about remarks that of the first of them.
        number: i64,
        /// Number of the issue or pull request where it was posted.
        thread: u64,
        /// What is said, as it is posted.
        text: String,
    },
    /// The repository was renamed or given away; the task follows it. Both as `owner/name`.
    Moved {
        /// Name before.
        from: String,
        /// Name now.
        to: String,
    },
}

impl Notice {
    /// A short digest of what it says (FNV-1a over its stored form).
    pub(crate) fn digest(&self) -> u32 {
        let stored = serde_json::to_string(self).unwrap_or_default();
        stored.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

/// What a comment answers; one text is posted for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// A step of the task, identified by the number of events then and by the place among the step's effects.
    Step {
        /// Number of events in the task's log when the text was asked for.
        seq: u32,
        /// Place of the comment among the step's effects, counted from 0.
        at: u32,
    },
    /// The comment or review with this number on the forge.
    Asked {
        /// The number in the forge's order over comments and reviews.
        number: i64,
        /// Number of the issue or pull request where it was posted, and where the answer goes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<u64>,
        /// Number of events in the task's log when the text was judged again, after it was held; none for what it was answered first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<u32>,
    },
    /// Further commands of the comment or review with this number, or the remarks of a review of which the first has it.
    Beside {
        /// The number in the forge's order over comments and reviews; 0 for the issue's own text.
        number: i64,
        /// Number of the issue or pull request where it was posted, and where the answer goes.
        thread: u64,
    },
    /// Something noticed outside when the log had so many events.
    Seen {
        /// Number of events in the task's log when it was seen.
        seq: u32,
        /// A digest of what is posted, because more may be seen without an event between; none in effects of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<u32>,
    },
    /// The change of hosts with this serial, which the router has applied.
    Hosts {
        /// Serial of the [`crate::Effect::Egress`] that changed them.
        serial: u32,
    },
}

impl To {
    pub(crate) fn key(self) -> String {
        match self {
            To::Step { seq, at } => format!("comment:step:{seq}:{at}"),
            To::Asked { number, again: None, .. } => format!("comment:asked:{number}"),
            To::Asked { number, again: Some(seq), .. } => format!("comment:asked:{number}:{seq}"),
            To::Beside { number, .. } => format!("comment:beside:{number}"),
            To::Seen { seq, digest: None } => format!("comment:seen:{seq}"),
            To::Seen { seq, digest: Some(digest) } => format!("comment:seen:{seq}:{digest:08x}"),
            To::Hosts { serial } => format!("comment:hosts:{serial}"),
        }
    }
}

/// Reads effects of earlier versions, which stored one number: negative for an answer, otherwise 100 per event.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredTo {
    Now(To),
    Serial(i64),
}

pub(crate) fn stored_to<'de, D: Deserializer<'de>>(deserializer: D) -> Result<To, D::Error> {
    let step = |serial: i64| To::Step {
        seq: u32::try_from(serial / 100).unwrap_or(u32::MAX),
        at: u32::try_from(serial % 100).unwrap_or_default(),
    };
    Ok(match StoredTo::deserialize(deserializer)? {
        StoredTo::Now(to) => to,
        StoredTo::Serial(serial) if serial < 0 => {
            To::Asked { number: serial.saturating_neg(), thread: None, again: None }
        }
        StoredTo::Serial(serial) => step(serial),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;

    #[test]
    fn a_comment_that_was_stored_with_one_number_still_says_what_it_answers() {
        let read = |serial: i64| {
            let stored = format!(r#"{{"effect":"comment","serial":{serial},"notice":{{"notice":"help"}}}}"#);
            let Effect::Comment { to, .. } = serde_json::from_str(&stored).unwrap() else { panic!("{stored}") };
            to
        };
        assert_eq!(read(-17), To::Asked { number: 17, thread: None, again: None });
        assert_eq!(read(1203), To::Step { seq: 12, at: 3 });
    }

    #[test]
    fn an_answer_that_was_stored_without_its_place_is_read_and_keeps_its_key() {
        let stored = r#"{"effect":"comment","to":{"asked":{"number":17}},"notice":{"notice":"help"}}"#;
        let old = serde_json::from_str::<Effect>(stored).unwrap();
        let to = To::Asked { number: 17, thread: Some(4), again: None };
        assert_eq!(old.key(), Effect::Comment { to, notice: Notice::Help }.key());
        assert_eq!(serde_json::to_string(&old).unwrap(), stored);
    }

    #[test]
    fn no_two_comments_of_a_task_have_one_key() {
        let all = [
            To::Step { seq: 1, at: 2 },
            To::Step { seq: 12, at: 0 },
            To::Asked { number: 1, thread: Some(3), again: None },
            To::Asked { number: 1, thread: Some(3), again: Some(1) },
            To::Beside { number: 1, thread: 3 },
            To::Seen { seq: 1, digest: None },
            To::Seen { seq: 1, digest: Some(1) },
            To::Hosts { serial: 1 },
        ];
        let keys: std::collections::BTreeSet<String> = all.into_iter().map(To::key).collect();
        assert_eq!(keys.len(), all.len());
        for to in all {
            let effect = Effect::Comment { to, notice: Notice::Help };
            let stored = serde_json::to_string(&effect).unwrap();
            assert_eq!(serde_json::from_str::<Effect>(&stored).unwrap(), effect);
        }
    }
}
