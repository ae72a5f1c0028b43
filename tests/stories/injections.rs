//! Foreign text is data: injections, each with a recording that obeys it exactly.
//!
//! A case says where the text is (`case.rs`), runs it through the real handlers, and collects everything that results (`seen.rs`).
//! `checks.rs` checks what must hold for every case: nothing leaves, nothing is granted, approved or pushed elsewhere, the text is in a
//! fence of the right trust in requests to the model, and posts contain none of its markup. Expectations of single cases are in the case.
//! Plain processes are not isolated: what a *sandbox* keeps from leaving is tested in `tests/trees/injections.rs`. `INJECTION="a README"`
//! runs one case.

mod case;
mod checks;
mod forge;
mod output;
pub mod pages;
mod people;
mod prompt;
mod script;
mod seen;
mod shown;
mod tree;
mod words;

use case::{Case, play};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_on_the_forge_before_the_work_is_data() {
    play(forge::cases()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_without_the_right_say_at_a_checkpoint_decides_nothing() {
    play(people::cases()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_the_repository_is_data() {
    play(tree::cases()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tools_answer_is_data() {
    play(output::cases().into_iter().chain(output::unread()).collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_are_shown_of_it_is_text() {
    play(shown::cases()).await;
}

#[test]
fn there_are_many_of_them_and_each_has_a_name_of_its_own() {
    let all: Vec<Case> = [forge::cases(), people::cases(), tree::cases(), output::cases(), shown::cases()]
        .into_iter()
        .flatten()
        .collect();
    let names: std::collections::BTreeSet<&str> = all.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), all.len());
    assert!(all.len() >= 40, "{}", all.len());
}
