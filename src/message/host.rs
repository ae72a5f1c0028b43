//! Answers to `/allow` and `/deny`: what is allowed now, for which tasks, and what the operator denies.

use super::about::About;
use crate::text::{code, rule_shown};
use domain::{Bar, State, Task};

/// A host was allowed; posted once the router's rules say so.
pub fn allowed(login: &str, host: &str, repo: bool, about: &About<'_>) -> String {
    let when = match about.task.state {
        State::Running => "It can be reached now.",
        _ => "It can be reached as soon as work goes on.",
    };
    let how_long = match repo {
        true => "This holds for this task and for every later one of this repository, until `/deny` takes it back.",
        false => "This ends with the task, or when `/deny` takes it back.",
    };
    format!("{} allowed {}. {when} {how_long} The next review names it.", code(login), rule_shown(host))
}

/// A grant was taken back; posted once the router's rules say so.
pub fn denied(login: &str, host: &str) -> String {
    format!(
        "{} took back {}: nobody reaches it by such a grant any more, and open connections to it were cut, unless another rule allows them. The next review names it.",
        code(login),
        rule_shown(host)
    )
}

/// A host that the operator denies, or a repository without a network.
pub fn barred(login: &str, host: &str, bar: &Bar) -> String {
    let why = match bar {
        Bar::Operator { rule } => format!(
            "the operator denies it (the rule {} of the configuration), and that wins over everybody's `/allow`",
            code(rule)
        ),
        Bar::NoNetwork => "sandboxes have no network here (`sandbox.network` is `none`)".to_owned(),
    };
    format!("{}: {} can't be allowed: {why}. Nothing was changed.", code(login), rule_shown(host))
}

/// `/deny` of a host that nobody allowed.
pub fn nothing_to_deny(login: &str, host: &str, about: &About<'_>) -> String {
    let others = match about.task.hosts.is_empty() {
        true => String::new(),
        false => format!(" Allowed by command: {}.", listed(about.task)),
    };
    format!(
        "{}: nobody allowed {} by a command, so there is nothing to take back.{others} What the operator allows is taken away in `[egress]` of the configuration.",
        code(login),
        rule_shown(host)
    )
}

/// `/deny` where no task is at work: the repository's grants that the name matched; posted once the router's rules say so.
pub fn taken_back(login: &str, host: &str, grants: &[String]) -> String {
    let elsewhere = "What was allowed for one task ends with it, or is taken back in its own issue or pull request";
    if grants.is_empty() {
        return format!(
            "{}: nobody allowed {} for this repository, so there is nothing to take back here. {elsewhere}; what the operator allows is taken away in `[egress]` of the configuration.",
            code(login),
            rule_shown(host)
        );
    }
    let grants = grants.iter().map(|grant| rule_shown(grant)).collect::<Vec<_>>().join(", ");
    format!(
        "{} took back {grants} for this repository: no task reaches it by such a grant any more, and open connections to it were cut, unless another rule allows them. {elsewhere}.",
        code(login)
    )
}

/// `/allow` where no task is at work.
pub fn allowed_nowhere(login: &str, host: &str) -> String {
    format!(
        "{}: {} was not allowed: no task is at work here, whose log and next review would show it. Write it in the issue or pull request of one that is, or below the `/fix` or `/plan` that starts one; with `repo` behind the host it then holds for later tasks too.",
        code(login),
        rule_shown(host)
    )
}

/// The hosts that people allowed this task.
pub(super) fn listed(task: &Task) -> String {
    let one = |grant: &domain::Grant| format!("{} by {}", rule_shown(&grant.host), code(&grant.by.login));
    task.hosts.iter().map(one).collect::<Vec<_>>().join(", ")
}
