//! Counts of outputs of the real tools (`tests/fixtures/checks`).

use protocol::runner::{Outcome, Status};

use super::*;
use crate::sandbox::checks::{ChecksResult, standing};

fn output(tool: &str, case: &str) -> String {
    let path = format!("{}/tests/fixtures/checks/{tool}/{case}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
}

#[test]
fn each_tools_output_says_how_many_tests_ran_or_nothing() {
    for (tool, case, expected) in [
        ("ctest", "passing", Some(2)),
        ("ctest", "failing", Some(2)),
        ("ctest", "not-built", None),
        ("ctest", "passing-none", Some(0)),
        ("ctest", "passing-skipped", Some(0)),
        ("exunit", "passing", Some(3)),
        ("exunit", "failing", Some(3)),
        ("exunit", "passing-none", Some(0)),
        ("exunit", "passing-skipped", Some(0)),
        ("exunit", "passing-umbrella", Some(3)),
        ("gradle", "passing", None),
        ("gradle", "failing", Some(2)),
        ("gradle", "modules", Some(2)),
        ("gradle", "passing-disabled", Some(0)),
        ("gradle", "passing-none", Some(0)),
        ("gradle", "passing-skipped", None),
        ("maven", "passing", Some(1)),
        ("maven", "failing", Some(3)),
        ("maven", "coloured", Some(3)),
        ("maven", "build", None),
        ("maven", "modules", Some(5)),
        ("maven", "passing-modules", Some(5)),
        ("maven", "passing-none", Some(0)),
        ("maven", "passing-skipped", Some(0)),
        ("maven", "passing-surefire-2", Some(2)),
        ("maven", "passing-warnings", None),
        ("maven", "quiet", Some(3)),
        ("minitest", "passing", Some(2)),
        ("minitest", "failing", Some(3)),
        ("minitest", "passing-none", Some(0)),
        ("minitest", "passing-skipped", Some(0)),
        ("phpunit", "passing", Some(2)),
        ("phpunit", "failing", Some(4)),
        ("phpunit", "coloured", Some(4)),
        ("phpunit", "passing-none", Some(0)),
        ("phpunit", "passing-skipped", Some(0)),
        ("phpunit", "passing-some", Some(1)),
        ("rspec", "passing", Some(3)),
        ("rspec", "failing", Some(2)),
        ("rspec", "coloured", Some(2)),
        ("rspec", "passing-none", Some(0)),
        ("rspec", "passing-pending", None),
        ("rspec", "passing-skipped", Some(0)),
        ("test-unit", "passing", Some(2)),
        ("test-unit", "failing", Some(4)),
        ("test-unit", "passing-skipped", Some(0)),
    ] {
        let text = output(tool, case);
        assert_eq!(unskipped(&text), expected, "{tool}/{case}");
        let is_nothing = standing(&Outcome::new(Status::Ok, text)) == ChecksResult::Nothing;
        assert_eq!(is_nothing, expected == Some(0), "{tool}/{case}");
    }
}

#[test]
fn numbers_that_are_not_of_all_tests_are_not_compared() {
    assert_eq!(fewer(&output("phpunit", "passing-some"), &output("phpunit", "passing")), Some((1, 2)));
    let three = "100% tests passed, 0 tests failed out of 3\n";
    assert_eq!(fewer(&output("ctest", "passing"), three), Some((2, 3)));
    // What a failed test printed may have summaries of its own.
    assert_eq!(fewer(&output("ctest", "failing"), three), None);
    for (tool, case, expected) in [
        ("ctest", "failing", None),
        ("gradle", "failing", None),
        ("maven", "quiet", None),
        ("maven", "modules", Some(5)),
        ("maven", "failing", Some(3)),
        ("phpunit", "failing", Some(4)),
    ] {
        assert_eq!(counted(&output(tool, case)), expected, "{tool}/{case}");
    }
}
