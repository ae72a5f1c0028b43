//! The state that resolver, proxy and control share: what is allowed now, and which connections are open.
//!
//! Owns policy, subnets, names and the log. A subnet without a grant may do nothing; a change of policy reaches open connections through
//! [`AccessControl::changes`]. One lock, never held across I/O. Must not open sockets.
//! Tests: `access_tests.rs`, and `router/tests/lab/`.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use protocol::router::{Bogons, Caps, Decision, LogEntry, Net, Policy, Pool, Rule, SUBNET_CLOSED, Verdict, check_name};
use tokio::sync::{Notify, watch};

use crate::names::Names;
use crate::ring::{Bucket, Event, Ring};

/// Look-ups per second and subnet, after a burst.
const ASK_RATE: f64 = 1000.0;

/// Bytes a rule let through since its subnet was opened.
#[derive(Debug, Default)]
pub struct Usage {
    /// Bytes from the sandbox.
    pub up: AtomicU64,
    /// Bytes to the sandbox.
    pub down: AtomicU64,
}

struct Subnet {
    /// Distinguishes one allocation of a subnet from the next.
    epoch: u64,
    rules: Arc<[Rule]>,
    open: Arc<AtomicU32>,
    used: HashMap<String, Arc<Usage>>,
    asks: Bucket,
    wild: Bucket,
}

struct State {
    generation: u64,
    policy: Arc<Policy>,
    bogons: Bogons,
    subnets: HashMap<u32, Subnet>,
    names: Names,
    epochs: u64,
}

/// Policy, subnets, names and log of a running router, shared by resolver, proxy and control.
pub struct AccessControl {
    pool: Pool,
    subnets: u32,
    private: Vec<Net>,
    public: Vec<Net>,
    state: Mutex<State>,
    ring: Mutex<Ring>,
    changes: watch::Sender<u64>,
    /// Notified when the log has a new entry.
    pub logged: Notify,
}

/// Answer to a look-up.
#[derive(Debug, PartialEq, Eq)]
pub enum NameVerdict {
    /// The name is allowed; its synthetic address in this subnet.
    Address(Ipv4Addr),
    /// The name is not allowed: answered as NXDOMAIN.
    Denied,
}

/// An admitted connection; it counts against the subnet's cap until it is dropped.
#[derive(Debug)]
pub struct Ticket {
    /// Number of the subnet the connection came from.
    pub subnet: u32,
    /// Name behind the connection's synthetic address, lower case without a final dot.
    pub name: Arc<str>,
    /// Port the connection was made to.
    pub port: u16,
    /// Rule that allowed it.
    pub rule: Rule,
    /// Bytes of all connections of this subnet under the rule.
    pub usage: Arc<Usage>,
    /// The most bytes (up, down) under the rule in all.
    pub caps: (u64, u64),
    /// Whether a TLS hello that may encrypt another name (ECH) is refused, by the policy at admission.
    pub refuse_ech: bool,
    epoch: u64,
    open: Arc<AtomicU32>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A connection that isn't allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// Name behind the connection's address; `None` where it has none, the subnet is closed, or a look-up was denied.
    pub name: Option<Arc<str>>,
    /// Rule that refused it, or that would have allowed it but for a cap; `None` = neither.
    pub rule: Option<Rule>,
    /// Why, as it appears in the log.
    pub reason: &'static str,
}

/// Why an open connection must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CutReason {
    /// Its subnet was closed since, and perhaps opened again. This says nothing about the host.
    #[error("the subnet was closed")]
    SubnetClosed,
    /// The present policy and grant do not allow it.
    #[error("no longer allowed")]
    TakenBack,
}

/// The time now in Unix milliseconds; 0 if the clock stands before 1970.
#[must_use]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl AccessControl {
    /// `private` and `public` as in [`Bogons::new`]: a policy can add to the first, but not to the second.
    #[must_use]
    pub fn new(pool: Pool, subnets: u32, private: Vec<Net>, public: Vec<Net>) -> AccessControl {
        let bogons = Bogons::new(&private, &public);
        let state = State {
            generation: 0,
            policy: Arc::default(),
            bogons,
            subnets: HashMap::new(),
            names: Names::default(),
            epochs: 0,
        };
        let (state, ring, changes) = (Mutex::new(state), Mutex::default(), watch::Sender::new(0));
        AccessControl {
            pool,
            subnets: subnets.min(pool.subnets()),
            private,
            public,
            state,
            ring,
            changes,
            logged: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of the subnet that a source address belongs to.
    #[must_use]
    pub fn subnet_of(&self, source: Ipv4Addr) -> Option<u32> {
        self.pool.subnet_of(source).filter(|subnet| *subnet < self.subnets)
    }

    /// Whether the subnet may ask one more name now; also true for a closed subnet, because NXDOMAIN is a quicker answer than none.
    #[must_use]
    pub fn may_ask(&self, subnet: u32) -> bool {
        let mut state = self.state();
        state.subnets.get_mut(&subnet).is_none_or(|subnet| subnet.asks.take(ASK_RATE, ASK_RATE, Instant::now()))
    }

    /// Answers a look-up and logs denials.
    #[must_use]
    pub fn look_up(&self, subnet: u32, name: &str) -> NameVerdict {
        let mut state = self.state();
        match state.look_up(subnet, name) {
            Ok(address) => NameVerdict::Address(address),
            Err(denied) => {
                // Reverse look-ups, services of allowed hosts and further record types of a name that was just denied are not logged.
                let silent = name.is_empty() || name.ends_with(".arpa") || state.is_allowed_service(subnet, name);
                if !silent && !self.ring().repeats(subnet, name) {
                    let reason = denied.reason.to_owned();
                    self.log(Event { rule: denied.rule, reason, ..blank(subnet, name, 0, Verdict::Denied) });
                }
                NameVerdict::Denied
            }
        }
    }

    /// Judges a connection from a subnet to a synthetic address.
    ///
    /// # Errors
    /// [`Denied`], not yet written to the log.
    pub fn admit(&self, subnet: u32, address: Ipv4Addr, port: u16) -> Result<Ticket, Denied> {
        self.state().admit(subnet, address, port)
    }

    /// Whether an open connection is still allowed by the present policy.
    ///
    /// # Errors
    /// [`CutReason`]: it must end.
    pub fn still(&self, ticket: &Ticket) -> Result<(), CutReason> {
        let state = self.state();
        let same = state.subnets.get(&ticket.subnet).filter(|subnet| subnet.epoch == ticket.epoch);
        let subnet = same.ok_or(CutReason::SubnetClosed)?;
        match state.policy.judge(&subnet.rules, &ticket.name, ticket.port) {
            Decision::Allow(_) => Ok(()),
            Decision::Deny { .. } => Err(CutReason::TakenBack),
        }
    }

    /// Changes whenever an open connection may have become forbidden.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether a resolved address must not be connected to.
    #[must_use]
    pub fn refuses(&self, address: Ipv4Addr) -> bool {
        self.state().bogons.refuses(address)
    }

    /// Logs an event and wakes the task that sends the log to the host.
    pub fn log(&self, event: Event) {
        self.ring().push(event, now_ms());
        self.logged.notify_one();
    }

    /// Logs the summed events of floods; to be called once a second.
    pub fn tick(&self) {
        if self.ring().tick(now_ms()) {
            self.logged.notify_one();
        }
    }

    /// Logs the summed events of this subnet's flood, after it was closed and before that is reported.
    pub fn settle(&self, subnet: u32) {
        if self.ring().settle(subnet, now_ms()) {
            self.logged.notify_one();
        }
    }

    /// The first entry after number `seq` that is still kept; `None` = there is none.
    #[must_use]
    pub fn entry_after(&self, seq: u64) -> Option<LogEntry> {
        self.ring().after(seq).cloned()
    }

    /// Number of the newest log entry; 0 = none yet.
    #[must_use]
    pub fn last_entry(&self) -> u64 {
        self.ring().last()
    }

    /// Generation of the policy in force; 0 = none came yet.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.state().generation
    }

    /// Connections at once that the policy in force allows to a subnet.
    #[must_use]
    pub fn connection_cap(&self) -> usize {
        usize::try_from(self.state().policy.caps.connections).unwrap_or(usize::MAX)
    }

    /// Puts a newer policy in force for every subnet.
    ///
    /// # Errors
    /// When the generation is not newer, or a rule is malformed: the old policy then stays.
    pub fn set_policy(&self, generation: u64, policy: Policy) -> Result<(), String> {
        checked(policy.allow.iter().chain(&policy.deny))?;
        let mut state = self.state();
        if generation <= state.generation {
            return Err(format!("policy {generation} is not newer than {}", state.generation));
        }
        let private: Vec<Net> = self.private.iter().chain(&policy.private).copied().collect();
        state.bogons = Bogons::new(&private, &self.public);
        (state.generation, state.policy) = (generation, Arc::new(policy));
        drop(state);
        self.changed();
        Ok(())
    }

    /// Opens a subnet or replaces its rules.
    ///
    /// # Errors
    /// When the subnet doesn't exist, no policy came yet, or a rule is malformed: the subnet then keeps what it had.
    pub fn grant(&self, subnet: u32, rules: Vec<Rule>) -> Result<(), String> {
        let plain: Vec<Rule> = rules.iter().map(Rule::plain).collect();
        checked(&plain)?;
        if subnet >= self.subnets {
            return Err(format!("subnet {subnet} does not exist: there are {}", self.subnets));
        }
        let mut state = self.state();
        if state.generation == 0 {
            return Err("a grant came before any policy".to_owned());
        }
        state.grant(subnet, rules.into());
        drop(state);
        self.changed();
        Ok(())
    }

    /// Denies the subnet everything and forgets its names. The returned counter is 0 once its connections are gone.
    #[must_use]
    pub fn close(&self, subnet: u32) -> Option<Arc<AtomicU32>> {
        let mut state = self.state();
        let old = state.subnets.remove(&subnet);
        state.names.forget(subnet);
        drop(state);
        self.changed();
        old.map(|subnet| subnet.open)
    }

    /// The subnets that are open.
    #[must_use]
    pub fn open_subnets(&self) -> Vec<u32> {
        self.state().subnets.keys().copied().collect()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// An event with only subnet, host, port and verdict.
#[must_use]
pub fn blank(subnet: u32, host: &str, port: u16, verdict: Verdict) -> Event {
    let (rule, sni, ip, reason) = (None, None, None, String::new());
    Event { subnet, verdict, rule, host: host.to_owned(), port, sni, ip, up: 0, down: 0, ms: 0, reason }
}

/// The host already parsed these rules; the router parses them again because it trusts no input.
fn checked<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Result<(), String> {
    for rule in rules {
        let again = Rule::parse(&rule.to_string()).map_err(|error| error.to_string())?;
        if again.host != rule.host || again.port != rule.port {
            return Err(format!("rule `{rule}` is not in its plain form, `{again}`"));
        }
    }
    Ok(())
}

fn wild_bucket(caps: &Caps) -> (f64, f64) {
    (f64::from(caps.wildcard_names_per_minute), f64::from(caps.wildcard_names_per_minute) / 60.0)
}

impl State {
    fn look_up(&mut self, subnet: u32, name: &str) -> Result<Ipv4Addr, Denied> {
        let deny = |reason| Denied { name: None, rule: None, reason };
        let policy = self.policy.clone();
        let lent = self.subnets.get_mut(&subnet).ok_or(deny(SUBNET_CLOSED))?;
        let rules = lent.rules.clone();
        check_name(name).map_err(|_| deny("not a host name"))?;
        let rule = match policy.judge_name(&rules, name) {
            Decision::Allow(rule) => rule,
            Decision::Deny { rule, reason } => {
                return Err(Denied { name: None, rule: rule.cloned(), reason });
            }
        };
        if let Some(address) = self.names.address(subnet, name) {
            return Ok(address);
        }
        let (burst, rate) = wild_bucket(&policy.caps);
        if rule.is_wildcard() && !lent.wild.take(burst, rate, Instant::now()) {
            return Err(Denied { rule: Some(rule.clone()), ..deny("too many new names under a wildcard") });
        }
        let cap = usize::try_from(policy.caps.names).unwrap_or(usize::MAX);
        let full = || Denied { rule: Some(rule.clone()), ..deny("too many names") };
        self.names.assign(subnet, name, cap).ok_or_else(full)
    }

    /// Whether the name is that of a service (RFC 2782, such as `_http._tcp.host`) of a host that may be looked up. apt asks for one before
    /// each host; the answer is that there is none.
    fn is_allowed_service(&self, subnet: u32, name: &str) -> bool {
        let mut host = name;
        while let Some((_, rest)) = host.strip_prefix('_').and_then(|label| label.split_once('.')) {
            host = rest;
        }
        let allowed = |lent: &Subnet| matches!(self.policy.judge_name(&lent.rules, host), Decision::Allow(_));
        host != name && check_name(host).is_ok() && self.subnets.get(&subnet).is_some_and(allowed)
    }

    fn admit(&mut self, subnet: u32, address: Ipv4Addr, port: u16) -> Result<Ticket, Denied> {
        let deny = |reason| Denied { name: None, rule: None, reason };
        let lent = self.subnets.get_mut(&subnet).ok_or(deny(SUBNET_CLOSED))?;
        let name = self.names.name(subnet, address).ok_or(deny("not an address of this sandbox"))?;
        let rule = match self.policy.judge(&lent.rules, &name, port) {
            Decision::Allow(rule) => rule.clone(),
            Decision::Deny { rule, reason } => {
                return Err(Denied { name: Some(name.clone()), rule: rule.cloned(), reason });
            }
        };
        let deny = |reason| Denied { name: Some(name.clone()), rule: Some(rule.clone()), reason };
        if lent.open.load(Ordering::Acquire) >= self.policy.caps.connections {
            return Err(deny("too many connections at once"));
        }
        let spelled = rule.to_string();
        let caps = self.policy.bytes_for(&spelled);
        let usage = lent.used.entry(spelled).or_default().clone();
        if usage.up.load(Ordering::Relaxed) >= caps.0 || usage.down.load(Ordering::Relaxed) >= caps.1 {
            return Err(deny("the byte cap of this rule is used up"));
        }
        lent.open.fetch_add(1, Ordering::AcqRel);
        let (epoch, open, refuse_ech) = (lent.epoch, lent.open.clone(), self.policy.refuse_ech);
        Ok(Ticket { subnet, name, port, rule, usage, caps, refuse_ech, epoch, open })
    }

    fn grant(&mut self, subnet: u32, rules: Arc<[Rule]>) {
        let policy = self.policy.clone();
        // Exact names get their addresses now, so that addresses that clients cached over a router's restart stay valid.
        let exact = policy.allow.iter().chain(rules.iter()).filter(|rule| !rule.is_wildcard() && !rule.is_refusal());
        for rule in exact {
            let cap = usize::try_from(policy.caps.names).unwrap_or(usize::MAX);
            let _ = self.names.assign(subnet, &rule.host, cap);
        }
        if let Some(lent) = self.subnets.get_mut(&subnet) {
            lent.rules = rules;
            return;
        }
        self.epochs += 1;
        let (asks, wild) = (Bucket::full(ASK_RATE), Bucket::full(wild_bucket(&policy.caps).0));
        let (open, used) = (Arc::default(), HashMap::new());
        self.subnets.insert(subnet, Subnet { epoch: self.epochs, rules, open, used, asks, wild });
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
