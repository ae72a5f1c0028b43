//! `/allow` and `/deny`: who may use them, what the log then says, and that the router's rules follow.

use crate::common::*;
use caisson_domain::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn allow(number: i64, host: &str) -> Decision {
    let verb = Verb::Allow { host: host.into(), repo: false, bar: None };
    Decision { source: Source::Comment(number), verb, ..approval(number) }
}

fn deny(number: i64, host: &str) -> Decision {
    let verb = Verb::Deny { host: host.into(), kept: false };
    Decision { source: Source::Comment(number), verb, ..approval(number) }
}

fn hosts(task: &Task) -> Vec<&str> {
    task.hosts.iter().map(|grant| grant.host.as_str()).collect()
}

#[test]
fn a_writer_allows_and_takes_back_and_is_answered_once_it_is_so() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).decide(allow(101, "a.test"));
    assert_eq!((hosts(&walk.task), walk.task.state.name()), (vec!["a.test"], "running"));
    let [Effect::Egress { serial, repo: false, notice }] = &walk.last.effects[..] else {
        panic!("no word before the router obeys: {:?}", walk.last.effects)
    };
    let said = Notice::HostAllowed { login: "p7".into(), host: "a.test".into(), repo: false };
    assert_eq!(*notice, said);
    let serial = *serial;
    walk.feed(Input::EgressSet { serial, notice: said.clone() });
    assert_eq!(walk.notice(), Some(&said));
    assert!(walk.task.running.is_some(), "the action that runs is not disturbed");
    walk.decide(deny(102, "a.test"));
    assert!(walk.task.hosts.is_empty() && walk.wants("egress"));
    walk.decide(deny(103, "a.test"));
    assert!(matches!(walk.notice(), Some(Notice::NothingToDeny { .. })) && !walk.wants("egress"));
}

#[test]
fn who_takes_a_host_back_is_answered_though_the_task_ended_before_the_router_obeyed() {
    let mut walk = Walk::running(TaskKind::Fix);
    walk.answer(vec![bash()]).decide(allow(101, "a.test")).decide(deny(102, "a.test"));
    let [Effect::Egress { serial, notice, .. }] = &walk.last.effects.clone()[..] else {
        panic!("{:?}", walk.last.effects)
    };
    walk.feed(Input::IssueClosed);
    assert!(walk.task.state.ended());
    let log = walk.log.len();
    walk.feed(Input::EgressSet { serial: *serial, notice: notice.clone() });
    assert_eq!((walk.notice(), walk.log.len()), (Some(notice), log), "answered, and nothing else");
}

#[test]
fn who_may_not_write_and_what_the_operator_denies_changes_nothing() {
    type Spoil = fn(&mut Decision);
    let spoils: [Spoil; 4] = [
        |d| d.right = Access::Read,
        |d| d.edited = true,
        |d| {
            d.verb =
                Verb::Allow { host: "a.test".into(), repo: true, bar: Some(Bar::Operator { rule: "*.test".into() }) }
        },
        |d| d.verb = Verb::Allow { host: "a.test".into(), repo: false, bar: Some(Bar::NoNetwork) },
    ];
    for spoil in spoils {
        let mut walk = Walk::at_checkpoint();
        let mut decision = allow(101, "a.test");
        spoil(&mut decision);
        walk.decide(decision);
        assert!(walk.task.hosts.is_empty() && !walk.wants("egress") && walk.notice().is_some());
        assert!(matches!(walk.log.last(), Some(Event::DecisionRefused { .. })));
    }
}

#[test]
fn a_name_without_a_port_takes_back_every_port() {
    let mut walk = Walk::at_checkpoint();
    for (at, host) in ["a.test", "a.test:8443", "a.testing", "b.a.test"].into_iter().enumerate() {
        walk.decide(allow(101 + at as i64, host));
    }
    walk.decide(deny(110, "a.test:8443"));
    assert_eq!(hosts(&walk.task), ["a.test", "a.testing", "b.a.test"]);
    walk.decide(deny(111, "a.test"));
    assert_eq!(hosts(&walk.task), ["a.testing", "b.a.test"]);
}

#[test]
fn what_the_repository_was_allowed_is_there_from_the_beginning_and_deny_takes_it_back() {
    let known = Grant { host: "a.test".into(), repo: true, by: person(9) };
    let mut walk = Walk::asked(Request { hosts: vec![known], ..request(TaskKind::Fix) });
    assert_eq!(hosts(&walk.task), ["a.test"]);
    let verb = Verb::Deny { host: "a.test".into(), kept: true };
    walk.decide(Decision { verb, ..approval(101) });
    assert!(walk.task.hosts.is_empty());
    assert!(matches!(walk.last.effects[..], [Effect::Egress { repo: true, .. }]), "other tasks follow");
}

#[test]
fn a_checkpoint_after_a_change_of_hosts_is_not_approved_in_advance() {
    let mut walk = Walk::at_checkpoint();
    walk.decide(allow(101, "a.test")).decide(in_advance(102, 3)).on_to_checkpoint(2);
    assert!(!walk.wants("advance"), "a person sees first what was done with it");
    walk.decide(in_advance(201, 3)).on_to_checkpoint(3);
    assert!(walk.wants("advance"));
}

proptest! {
    /// In any order, the grants are what was allowed and not taken back; each change wants the effect for the router once.
    #[test]
    fn grants_follow_the_log(said in prop::collection::vec((any::<bool>(), 0usize..3, any::<bool>()), 0..40)) {
        let names = ["a.test", "a.test:22", "b.test"];
        let mut walk = Walk::running(TaskKind::Fix);
        let mut expected: BTreeSet<&str> = BTreeSet::new();
        for (at, (allows, which, may)) in said.into_iter().enumerate() {
            let number = 101 + at as i64;
            let mut decision = if allows { allow(number, names[which]) } else { deny(number, names[which]) };
            decision.right = if may { Access::Write } else { Access::Read };
            let before = expected.clone();
            match (may, allows) {
                (false, _) => {}
                (true, true) => drop(expected.insert(names[which])),
                (true, false) => expected.retain(|held| *held != names[which] && (which != 0 || *held != names[1])),
            }
            walk.decide(decision);
            prop_assert_eq!(hosts(&walk.task).into_iter().collect::<BTreeSet<_>>(), expected.clone());
            prop_assert_eq!(walk.wants("egress"), may && (allows || before != expected));
        }
        prop_assert_eq!(&Task::fold(TaskId(1), &walk.log).hosts, &walk.task.hosts);
    }
}
