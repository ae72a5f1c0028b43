//! The contract of `trait Forge`, as its doc comments state it: one suite, run against the built-in forge and against a real Gitea. Each
//! case gets a repository of its own. Without a Gitea the second run is skipped with a message (`CAISSON_REQUIRE=gitea` makes that a
//! failure).

mod support;

#[path = "contract/actions.rs"]
mod actions;
#[path = "contract/changes.rs"]
mod changes;
#[path = "contract/comments.rs"]
mod comments;
#[path = "contract/forks.rs"]
mod forks;
#[path = "contract/hooks.rs"]
mod hooks;
#[path = "contract/merges.rs"]
mod merges;
#[path = "contract/people.rs"]
mod people;
#[path = "contract/pulls.rs"]
mod pulls;
#[path = "contract/remarks.rs"]
mod remarks;
#[path = "contract/reviews.rs"]
mod reviews;
#[path = "contract/signs.rs"]
mod signs;
#[path = "contract/traps.rs"]
mod traps;

use caisson::forge::ForgeReads;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::forges::{self, Lab};
use support::skipped::skipped;

const LONGEST: Duration = Duration::from_secs(240);

type Case = fn(Arc<Lab>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! cases {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), |lab| Box::pin($module::$name(lab)) as _)),*]
    };
}

/// Every case, in order of execution; a failure is reported with the name on the left.
const CASES: &[(&str, Case)] = cases![
    people::the_token_says_who,
    people::a_repository_is_seen_by_those_who_may,
    people::issues_that_are_switched_off_are_not_taken_for_gone,
    people::rights_are_those_of_the_moment,
    people::a_renamed_account_keeps_its_rights,
    people::a_team_has_the_right_of_its_code_unit,
    people::a_right_by_team_ends_with_it,
    people::a_teams_members_are_known_to_who_may_see_it,
    people::a_renamed_repository_is_never_followed,
    people::a_repository_is_found_by_its_id,
    people::the_forge_has_a_clock,
    people::protection_holds,
    comments::issues_are_read_as_written,
    comments::files_of_an_issue_are_listed_and_handed_out_to_whoever_may_read_it,
    comments::an_archive_is_taken_and_a_file_of_another_type_is_not,
    comments::changed_issues_are_found_again,
    comments::comments_come_and_go,
    comments::comments_of_the_repository_are_found_again,
    comments::who_may_not_edit_is_refused,
    comments::a_comment_has_files_of_its_own,
    comments::the_issues_of_an_account_are_opened_changed_and_found_again,
    comments::what_moved_an_issue_is_told_apart_from_an_edit,
    comments::who_may_write_pull_requests_alone_may_have_changed_their_texts,
    comments::a_deleted_thread_is_gone_and_its_repository_is_not,
    changes::assignments_and_labels_are_told_with_who_did_them,
    changes::an_issue_that_is_opened_with_them_has_them_in_its_timeline,
    changes::an_edit_after_an_assignment_is_told_apart_from_one_before,
    changes::an_issue_that_a_commit_closes_is_closed_by_whoever_pushed_it,
    pulls::a_draft_is_opened_and_made_ready,
    merges::approved_work_is_merged_at_its_head_and_nothing_else_is,
    merges::a_branchs_rule_is_told_as_it_is_for_the_account,
    merges::a_required_status_holds_a_merge_back_until_it_succeeds,
    merges::what_it_depends_on_holds_a_merge_back_until_it_is_closed,
    pulls::a_second_pull_of_a_branch_conflicts,
    pulls::a_missing_branch_is_not_found,
    pulls::a_branch_without_a_pull_has_none,
    pulls::a_deleted_branch_keeps_its_name,
    pulls::the_head_follows_a_push,
    reviews::a_review_keeps_its_notes,
    reviews::numbers_rise_over_comments_and_reviews,
    reviews::an_approval_names_its_commit,
    reviews::a_later_push_is_no_edit_of_an_approval,
    reviews::requested_changes_come_with_their_lines,
    reviews::a_request_for_review_is_a_row,
    reviews::reviews_can_be_deleted_twice,
    reviews::a_note_beside_a_line_that_is_too_long_fails_and_leaves_a_pending_review,
    reviews::an_edit_on_the_page_shows,
    reviews::a_review_that_was_deleted_on_its_page_is_listed_without_a_number,
    reviews::a_review_begun_earlier_is_no_edit,
    remarks::a_resolved_conversation_and_a_deleted_comment_show,
    remarks::a_later_verdict_dismisses_the_one_before,
    remarks::a_reply_on_a_line_counts_under_its_review,
    forks::a_forks_pull_is_fetched_by_its_commit_and_reviewed_on_its_lines,
    forks::a_head_that_was_pushed_for_review_is_no_branch,
    signs::an_exclusive_label_takes_the_others_place,
    signs::an_unknown_label_is_not_found,
    signs::the_newest_status_of_a_context_counts,
    signs::a_page_that_is_no_jobs_has_no_log,
    actions::a_job_of_the_forges_own_ci_is_waited_for_and_its_log_is_read,
    signs::a_branch_has_a_tip,
    signs::whatever_else_reads_a_push_is_named,
    signs::the_hooks_of_a_persons_account_are_named_where_they_are_not_shown,
    hooks::deliveries_are_signed_and_wake,
    hooks::an_old_hook_is_replaced,
    hooks::an_edit_within_a_second_shows_in_the_deliveries,
    hooks::an_edit_of_a_review_names_its_number,
    hooks::a_file_is_delivered_as_an_edit_that_changes_nothing,
];

async fn run(lab: Lab, name: &str) {
    let failed = cases_that_fail(lab, name).await;
    assert!(failed.is_empty(), "{name} breaks the contract in: {}", failed.join(", "));
}

async fn cases_that_fail(lab: Lab, name: &str) -> Vec<&'static str> {
    let lab = Arc::new(lab);
    let mut failed = Vec::new();
    for (case, start) in CASES {
        let began = Instant::now();
        // A task for each case, so that its panic is caught and it cannot block the suite.
        let ended = tokio::time::timeout(LONGEST, tokio::spawn(start(Arc::clone(&lab)))).await;
        let fine = matches!(ended, Ok(Ok(())));
        eprintln!("{name} {} {case} {:.1} s", if fine { "ok    " } else { "FAILED" }, began.elapsed().as_secs_f64());
        if !fine {
            failed.push(*case);
        }
    }
    failed
}

#[tokio::test(flavor = "multi_thread")]
async fn the_builtin_forge_keeps_the_contract() {
    run(forges::builtin(devforge::Options::default()).await, "devforge").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_gitea_keeps_the_contract() {
    if let Some(lab) = forges::real().await {
        run(lab, "gitea").await;
    }
}

/// Programs of other versions of Gitea, or of Forgejo, that `CAISSON_FORGE_BINS` names, a list like the PATH. Each is run, so that one which
/// fails does not hide another.
#[tokio::test(flavor = "multi_thread")]
async fn every_other_forge_that_is_named_keeps_the_contract() {
    let named = std::env::var_os("CAISSON_FORGE_BINS").unwrap_or_default();
    let others: Vec<PathBuf> = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    if others.is_empty() {
        return skipped("forges", "CAISSON_FORGE_BINS names no other version of Gitea and no Forgejo");
    }
    let mut failed = Vec::new();
    for binary in others {
        let lab = forges::of(&binary).await;
        let version = lab.bot.version().await.expect("a version");
        let name = format!("{} {version}", binary.file_name().unwrap_or_default().display());
        failed.extend(cases_that_fail(lab, &name).await.into_iter().map(|case| format!("{name}: {case}")));
    }
    assert!(failed.is_empty(), "the contract is broken in: {}", failed.join(", "));
}
