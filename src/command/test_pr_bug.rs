//! `/test-pr-bug`: as `/test-pr`, on the branch and also on its base with the branch's tests.

use super::spec::{Spec, Strength, Who};
use super::test_pr::read;

pub(super) const SPEC: Spec = Spec {
    name: "test-pr-bug",
    syntax: "/test-pr-bug \"command\" [branch] [--setup \"command\"] [--each-push]",
    who: Who::Writer,
    effect: "does so twice: on the branch, and on its base under the branch's tests, where it has to fail if it is to show the bug; its commit status is `caisson/test-bug`",
    strength: Strength::Work,
    options: &[],
    read: |argument| read(argument, true),
};
