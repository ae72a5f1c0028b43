//! The access control's decisions about names, connections and policies.

use super::*;

fn access(caps: Caps, allow: &[&str]) -> AccessControl {
    let access = AccessControl::new("10.90.0.0/20".parse().unwrap(), 8, vec![], vec![]);
    access.set_policy(1, Policy { caps, ..Policy::default() }).unwrap();
    access.grant(1, allow.iter().map(|text| Rule::parse(text).unwrap()).collect()).unwrap();
    access
}

fn address(access: &AccessControl, subnet: u32, name: &str) -> Option<Ipv4Addr> {
    match access.look_up(subnet, name) {
        NameVerdict::Address(address) => Some(address),
        NameVerdict::Denied => None,
    }
}

#[test]
fn a_fresh_access_control_denies_and_takes_no_grant_before_a_policy() {
    let access = AccessControl::new("10.90.0.0/20".parse().unwrap(), 8, vec![], vec![]);
    assert_eq!(address(&access, 1, "a.test"), None);
    assert_eq!(access.entry_after(0).expect("its line in the log").reason, SUBNET_CLOSED);
    assert!(access.grant(1, vec![]).is_err());
}

#[test]
fn an_address_is_judged_by_todays_rules_and_only_for_its_subnet() {
    let access = access(Caps::default(), &["a.test"]);
    let synthetic = address(&access, 1, "a.test").unwrap();
    let ticket = access.admit(1, synthetic, 443).unwrap();
    assert_eq!(access.still(&ticket), Ok(()));
    assert_eq!(access.admit(1, synthetic, 22).unwrap_err().reason, "port not allowed");
    access.grant(2, vec![Rule::parse("b.test").unwrap()]).unwrap();
    assert_eq!(access.admit(2, synthetic, 443).unwrap_err().reason, "not an address of this sandbox");
    access.grant(1, vec![]).unwrap();
    assert_eq!(access.still(&ticket), Err(CutReason::TakenBack));
    assert_eq!(access.admit(1, synthetic, 443).unwrap_err().reason, "host not allowed");
}

#[test]
fn closing_forgets_names_and_ends_tickets_even_when_lent_again() {
    let access = access(Caps::default(), &["a.test"]);
    let ticket = access.admit(1, address(&access, 1, "a.test").unwrap(), 443).unwrap();
    let open = access.close(1).unwrap();
    assert_eq!(open.load(Ordering::Acquire), 1);
    assert_eq!(access.still(&ticket), Err(CutReason::SubnetClosed));
    access.grant(1, vec![Rule::parse("a.test").unwrap()]).unwrap();
    assert_eq!(access.still(&ticket), Err(CutReason::SubnetClosed));
    drop(ticket);
    assert_eq!(open.load(Ordering::Acquire), 0);
}

#[test]
fn connections_names_wildcards_and_bytes_are_capped() {
    let caps = Caps { connections: 2, names: 5, wildcard_names_per_minute: 3, up: 10, down: 10 };
    let access = access(caps, &["a.test", "*.w.test"]);
    let synthetic = address(&access, 1, "a.test").unwrap();
    let first = access.admit(1, synthetic, 443).unwrap();
    let _second = access.admit(1, synthetic, 443).unwrap();
    assert_eq!(access.admit(1, synthetic, 443).unwrap_err().reason, "too many connections at once");
    first.usage.up.store(10, Ordering::Relaxed);
    drop(first);
    assert_eq!(access.admit(1, synthetic, 443).unwrap_err().reason, "the byte cap of this rule is used up");
    let got = (0..10).filter(|n| address(&access, 1, &format!("x{n}.w.test")).is_some()).count();
    assert_eq!(got, 3);
    assert!(address(&access, 1, "x0.w.test").is_some(), "a name that has an address keeps it");
}

#[test]
fn a_name_beyond_the_cap_is_logged_with_the_rule_that_allows_it() {
    let access = access(Caps { names: 1, ..Caps::default() }, &["a.test", "b.test"]);
    assert!(address(&access, 1, "a.test").is_some() && address(&access, 1, "b.test").is_none());
    let entry = access.entry_after(0).expect("its line in the log");
    assert_eq!((entry.rule.as_deref(), entry.reason.as_str()), (Some("b.test"), "too many names"));
}

#[test]
fn a_service_of_an_allowed_host_has_no_address_and_is_no_refused_host() {
    let access = access(Caps::default(), &["a.test", "*.w.test"]);
    for name in ["_http._tcp.a.test", "_https._tcp.x.w.test"] {
        assert_eq!((address(&access, 1, name), access.last_entry()), (None, 0), "{name}");
    }
    for (name, seq) in [("_http._tcp.b.test", 1), ("_http._tcp.w.test", 2), ("_http.x_y.a.test", 3), ("_", 4)] {
        assert_eq!((address(&access, 1, name), access.last_entry()), (None, seq), "{name}");
    }
}

#[test]
fn a_refusal_cuts_what_stood_open_and_names_no_address() {
    let access = access(Caps::default(), &["*.a.test", "b.test"]);
    let ticket = access.admit(1, address(&access, 1, "x.a.test").unwrap(), 443).unwrap();
    let granted = ["*.a.test", "b.test"].map(|text| Rule::parse(text).unwrap());
    let refusal = Rule::parse("x.a.test").unwrap().refusing();
    access.grant(1, granted.into_iter().chain([refusal]).collect()).unwrap();
    assert_eq!((access.still(&ticket), address(&access, 1, "x.a.test")), (Err(CutReason::TakenBack), None));
    assert!(address(&access, 1, "y.a.test").is_some() && address(&access, 1, "b.test").is_some());
}

#[test]
fn malformed_or_old_policies_change_nothing() {
    let access = access(Caps::default(), &["a.test"]);
    let refusal = Rule::parse("b.test").unwrap().refusing();
    assert!(access.set_policy(2, Policy { deny: vec![refusal], ..Policy::default() }).is_err());
    let odd = Rule { host: "A.test".into(), port: None, reason: String::new() };
    assert!(access.grant(1, vec![odd.clone()]).is_err());
    assert!(access.set_policy(2, Policy { allow: vec![odd], ..Policy::default() }).is_err());
    assert!(access.set_policy(1, Policy::default()).is_err());
    assert!(access.grant(8, vec![]).is_err());
    assert!(address(&access, 1, "a.test").is_some());
}
