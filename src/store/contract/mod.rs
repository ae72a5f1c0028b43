//! Tests that every store has to pass, in SQLite and PostgreSQL; each runs on a new store of either kind.

mod audit;
mod charges;
mod deliveries;
mod leases;
mod line;
mod moves;
mod pictures;
mod postgres;
mod repositories;
mod retention;
mod tasks;
mod test_runs;
mod upstream_issues;

use super::tests::{acting, created, delivery, feed, feed_at};
use super::*;
use sqlx::AnyPool;

#[path = "../../../tests/support/postgres.rs"]
mod server;
#[path = "../../../tests/support/skipped.rs"]
mod skipped;

/// A location without a store.
pub(super) struct Fresh {
    pub location: Location,
    /// Of SQLite's file.
    pub directory: Option<tempfile::TempDir>,
}

impl Fresh {
    fn directory() -> Self {
        let directory = tempfile::tempdir().expect("dir");
        Self { location: Location::from(directory.path()), directory: Some(directory) }
    }

    /// None, said aloud, where PostgreSQL is not installed.
    fn database() -> Option<Self> {
        let url = server::Server::of_this_process()?.database();
        Some(Self { location: Location::Postgres(url.parse().expect("an address")), directory: None })
    }

    pub async fn open(&self) -> Store {
        Store::open(self.location.clone()).await.expect("open")
    }

    /// A connection for changes that no version of this program makes.
    pub async fn by_hand(&self) -> AnyPool {
        self.location.by_hand().await.expect("open")
    }
}

macro_rules! on_both {
    ($($module:ident::$name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$module::$name(super::Fresh::directory()).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                if let Some(fresh) = super::Fresh::database() {
                    super::$module::$name(fresh).await;
                }
            })*
        }
    };
}

on_both! {
    tasks::what_was_under_way_is_known_by_its_time,
    tasks::a_task_survives_in_its_log_even_with_a_large_body,
    tasks::the_same_input_is_taken_up_once,
    tasks::an_end_drops_open_work_but_not_what_is_owed_to_people,
    tasks::killed_tries_are_counted_apart_from_failures,
    tasks::what_is_set_aside_comes_after_everything_else_of_its_queue,
    tasks::what_is_set_aside_is_due_only_while_it_is_tried,
    tasks::a_repositorys_hosts_are_kept_until_they_are_taken_back,
    tasks::texts_may_hold_any_character,
    tasks::every_projection_is_read_back,
    tasks::one_failing_message_takes_nothing_else_with_it,
    deliveries::what_was_delivered_about_a_text_is_found_again,
    deliveries::bodies_come_back_byte_for_byte_also_those_of_earlier_versions,
    deliveries::one_uuid_is_stored_once_however_often_and_at_once_it_comes,
    deliveries::those_in_hand_are_left_out_of_the_open_ones,
    retention::a_deleted_task_leaves_no_row_and_no_byte_and_begins_nothing_anew,
    retention::a_body_that_another_task_has_too_stays,
    retention::what_is_old_goes_step_by_step_and_what_a_live_task_needs_stays,
    retention::handled_deliveries_go_in_slices_and_open_ones_stay,
    charges::what_was_charged_is_what_the_log_says_was_spent,
    charges::a_deleted_task_is_charged_until_its_month_ends,
    pictures::a_picture_is_kept_once_for_its_task_and_goes_with_it,
    test_runs::a_run_is_taken_up_once_and_goes_on_until_it_is_answered,
    test_runs::an_hour_has_room_for_so_many_of_one_repository,
    test_runs::a_run_is_overtaken_by_a_later_one_of_its_commit_that_has_begun,
    test_runs::a_pull_request_is_watched_with_its_newest_run_until_that_is_taken_back,
    test_runs::a_repository_that_is_taken_out_is_watched_no_more,
    upstream_issues::an_upstreams_issue_is_one_issue_here_until_the_repository_is_taken_out,
    upstream_issues::another_hosts_upstream_issues_are_not_written,
    tasks::of_two_texts_one_begins_a_task_on_an_issue,
    audit::a_decision_is_kept_once_and_the_newest_are_shown,
    audit::another_hosts_decisions_are_not_kept,
    audit::a_host_that_is_taken_back_is_kept_with_it,
    audit::a_task_that_began_is_kept_until_it_is_deleted,
    audit::old_decisions_go_in_slices_with_ended_tasks,
    pictures::pictures_of_a_task_have_a_bound,
    pictures::files_of_finished_work_make_room_for_newer_ones_and_pictures_stay,
    charges::a_question_beside_a_call_is_charged_by_itself,
    charges::tokens_of_unknown_price_are_counted_apart,
    line::who_was_given_a_slot_is_remembered_until_it_is_old,
    line::turns_follow_one_another_although_the_clock_was_set_back,
    line::what_two_live_tasks_changed_is_found_until_one_ends,
    line::files_of_a_large_checkpoint_are_all_stored,
    retention::old_rows_of_many_tasks_go_at_once,
    retention::what_an_ended_task_was_asked_is_trimmed_as_well,
    leases::a_repository_is_one_hosts_until_its_lease_ends,
    leases::a_later_life_of_a_host_has_its_leases_at_once,
    leases::a_later_migration_ends_the_claims_of_an_older_version,
    leases::what_another_host_works_for_is_not_written,
    leases::what_was_given_back_is_free_at_once,
    leases::a_host_is_told_when_the_first_of_the_others_leases_ends,
    leases::a_host_that_is_gone_is_not_said_to_work,
    leases::repositories_are_shared_out_among_hosts,
    leases::who_cannot_work_takes_only_what_nobody_else_could,
    leases::what_is_in_no_file_any_more_is_its_last_hosts,
    leases::a_text_is_taken_up_by_whoever_works_for_its_repository,
    leases::a_commit_waits_in_the_store_for_another_host,
    leases::the_first_key_that_marks_posts_is_remembered,
    repositories::an_entry_is_kept_as_it_was_written_and_only_its_next_generation_replaces_it,
    repositories::an_entry_that_was_taken_out_keeps_its_generation,
    repositories::a_repository_that_is_added_again_is_read_from_then_on,
    repositories::nothing_of_a_repository_counts_for_another_one_under_its_key,
}
