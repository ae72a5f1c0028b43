//! `/deps`: starts a task that answers what the code depends on and what of that has a known advisory, and only reads.

use super::options::OF_A_REVIEW;
use super::spec::{Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "deps",
    syntax: "/deps [options] [words]",
    who: Who::Writer,
    effect: "reads the manifests and lock files: what is asked for, what is locked, what of it has an advisory or is behind the newest version in the operator's data; changes nothing",
    strength: Strength::Work,
    options: &OF_A_REVIEW,
    read: |argument| {
        let (terms, words) = argument.terms(&OF_A_REVIEW)?;
        Ok(Verb::begin(TaskKind::Deps, words, terms))
    },
};
