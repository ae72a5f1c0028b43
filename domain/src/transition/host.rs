//! `/allow` and `/deny`: hosts that a task may reach besides those of the operator. The log names the author and their right.

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

/// Takes back a host; `kept` tells that a grant of the repository, of whatever task, has this name.
pub(super) fn deny(draft: &mut Draft, decision: &Decision, host: &str, kept: bool) {
    let (login, host) = (decision.poster.login.clone(), host.to_owned());
    if !kept && !draft.task.hosts.iter().any(|grant| grant.is_named_by(&host)) {
        return refuse(draft, decision, "nothing to deny", Notice::NothingToDeny { login, host });
    }
    draft.emit(Event::HostDenied { host: host.clone(), decision: Box::new(decision.clone()) });
    bring(draft, kept, Notice::HostDenied { login, host });
}

/// Refuses one host; a text may name several, so each refusal is posted as a comment of its own.
fn refuse(draft: &mut Draft, decision: &Decision, reason: &str, notice: Notice) {
    draft.refused(decision, reason);
    draft.say(notice);
}

/// Wants the router's rules updated; the notice is posted afterwards.
fn bring(draft: &mut Draft, repo: bool, notice: Notice) {
    draft.want(Effect::Egress { serial: draft.task.seq, repo, notice });
}

/// Posts the notice for a change the router applied, keyed by serial because several may end without an event between them.
pub(super) fn in_force(draft: &mut Draft, serial: u32, notice: &Notice) {
    draft.want(Effect::Comment { to: To::Hosts { serial }, notice: notice.clone() });
}
