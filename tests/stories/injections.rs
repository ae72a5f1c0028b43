//! Text from outside is data: injections, each with a recording that obeys it to the letter.
//!
//! A case says where the text stands (`case.rs`), plays it over the real handlers, and looks at everything that is left behind
//! (`seen.rs`). What holds for all of them stands in `checks.rs`: nothing leaves, nothing is granted, approved or pushed elsewhere, the text stands
//! in a fence of the right trust in what the model is sent, and posts carry none of its markup. What a case's own text wants stands beside it.
//! Plain processes hold nothing in: what a *sandbox* keeps from leaving is tried in `tests/trees/injections.rs`.
//! `INJECTION="a README"` plays one case.

mod case;
mod checks;
mod forge;
mod output;
mod pages;
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
