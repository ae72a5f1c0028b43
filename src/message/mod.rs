//! Every text the bot posts as a comment, a pull request's body, a commit's message or a status: one named function each.
//!
//! Owns the wording only. Must not know the forge, the store or when a text is posted. Logins and other foreign text go through `text`;
//! commands are named from the table of existing commands. Reviews are in `checkpoint`.
//! Tests: `src/message/tests.rs` (a snapshot of each).

mod about;
mod action_log;
mod answer;
mod artifacts;
mod budget;
mod cost;
mod host;
mod life;
mod merge;
mod notice;
mod over;
mod own;
mod own_refusal;
mod permission;
mod proposal;
mod pull;
mod rebase;
mod remarks;
mod reply;
mod status_comment;
mod sync;
mod terms;
mod test_run;
#[cfg(test)]
mod tests;
mod trigger;
mod upstream_ci;
mod upstream_issue;
mod waits;

pub use about::About;
pub use action_log::{action_log, action_log_comment, action_log_name};
pub use answer::{
    NotReviewed, advance_ended, already_live, approval_left, at_work, at_work_elsewhere, begins_nothing, both_ways,
    doubtful, edited, help, in_advance, left_in_lines, left_inline, left_undone, malformed, name_the_commit, no_room,
    no_task, not_among, not_paused, not_reviewed, nothing_to_approve, refused, stale, starts_elsewhere, status,
    too_long, unknown_beside, unknown_here,
};
pub use artifacts::artifacts_name;
pub use budget::cut_down;
pub use cost::{OfModel, cost, sums};
pub use host::{allowed_nowhere, taken_back};
pub use life::{
    AnswerParts, accepted, approved, cancelled, declined, delivered, expired, failed, nowhere_to_look, paused,
    plan_answer, question, resumed, trouble, voided,
};
pub use notice::notice;
pub use over::{begun_already, over_for, overtaken};
pub use own::OWN_WHILE_AT_WORK;
pub use own_refusal::{own_barred, own_model_refused, own_not_among};
pub use permission::{not_shown, permission, whole};
pub use proposal::{proposal_body, proposal_commit, proposal_title};
pub use pull::{
    DRAFT, NoStart, branch_moved, commit, goes_on_from, kept, no_start, not_replaced, pull_body, pull_title,
    status_line, with_plan,
};
pub use remarks::{remarks_edited, remarks_to_nobody, remarks_too_early};
pub use reply::{replied, unanswered};
pub use status_comment::{StatusPlaces, status_comment};
pub use sync::{
    plain_lines, rewritten_body, rewritten_gone, rewritten_over, rewritten_title, rewritten_unfollowed, synced,
};
pub use terms::{budget_of_a_start, nameable, term_refused};
pub use test_run::{
    NotTested, PushNotTested, is_test_status, is_test_waiting, not_tested, push_not_tested, test_log_name,
    test_log_refused, test_off, test_overtaken, test_status, test_waited, test_waits, tested,
};
pub use trigger::{trigger_edited, trigger_refused};
pub use upstream_issue::{upstream_issue_body, upstream_issue_closed, upstream_issue_title};
pub use waits::words as waits;
