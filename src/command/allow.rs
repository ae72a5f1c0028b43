//! `/allow`: lets the task, or every later task of the repository, reach a host.

use super::host;
use super::spec::{Argument, Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "allow",
    syntax: "/allow host[:port] [task or repo]",
    who: Who::Writer,
    effect: "lets this task reach a host, at once; with `repo` every later task of the repository too",
    strength: Strength::Work,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let mut parts = argument.line().split_whitespace();
    let first = parts.next().ok_or(host::MISSING)?;
    let repo = match parts.next() {
        None | Some("task") => false,
        Some("repo") => true,
        Some(_) => return Err("after the host may stand `task` or `repo`".to_owned()),
    };
    if parts.next().is_some() {
        return Err(host::ONE.to_owned());
    }
    Ok(Verb::Allow { host: host::rule(first)?.to_string(), repo, bar: None })
}
