//! `/allow` and `/deny`: what a task may reach besides what the operator allows. The log has who said so, and with what right.

use super::Draft;
use crate::{Bar, Decision, Effect, Event, Notice, To};

pub(super) fn allow(draft: &mut Draft, decision: &Decision, host: &str, repo: bool, bar: Option<&Bar>) {
    let (login, host) = (decision.poster.login.clone(), host.to_owned());
    if let Some(bar) = bar {
        return refuse(draft, decision, "barred", Notice::HostBarred { login, host, bar: bar.clone() });
    }
    draft.emit(Event::HostAllowed { host: host.clone(), repo, decision: Box::new(decision.clone()) });
    bring(draft, repo, Notice::HostAllowed { login, host, repo });
}

/// `kept`: a grant of the repository has this name, whichever task it came from.
pub(super) fn deny(draft: &mut Draft, decision: &Decision, host: &str, kept: bool) {
    let (login, host) = (decision.poster.login.clone(), host.to_owned());
    if !kept && !draft.task.hosts.iter().any(|grant| grant.is_named_by(&host)) {
        return refuse(draft, decision, "nothing to deny", Notice::NothingToDeny { login, host });
    }
    draft.emit(Event::HostDenied { host: host.clone(), decision: Box::new(decision.clone()) });
    bring(draft, kept, Notice::HostDenied { login, host });
}

/// One text may name several hosts: each refusal is an event, so that each has an answer of its own.
fn refuse(draft: &mut Draft, decision: &Decision, reason: &str, notice: Notice) {
    draft.refused(decision, reason);
    draft.say(notice);
}

/// The answer is given once the router obeys.
fn bring(draft: &mut Draft, repo: bool, notice: Notice) {
    draft.want(Effect::Egress { serial: draft.task.seq, repo, notice });
}

/// The router obeys the change with this serial: said under that serial, for several may end without an event between them.
pub(super) fn in_force(draft: &mut Draft, serial: u32, notice: &Notice) {
    draft.want(Effect::Comment { to: To::Hosts { serial }, notice: notice.clone() });
}
