//! The log: the newest entries, numbered, in bounded memory.
//!
//! One entry per connection and denied name. Each subnet may write only so many per second; further ones are summed by kind and written
//! once a second with their count, so that a flood costs neither memory nor other subnets' entries.
//! Does no I/O. Tests: at the end of this file.

use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use protocol::router::{LogEntry, Rule, Verdict};

/// Entries kept, about 3 MB at most.
const KEPT: usize = 8192;
/// The most characters of a rule's reason that an entry repeats.
const REASON: usize = 120;
const BURST: f64 = 400.0;
const PER_SECOND: f64 = 40.0;
/// The most kinds of events that are counted separately during a flood.
const KINDS: usize = 64;
/// Further denied look-ups of the same name within this time are the same event, because IPv4 and IPv6 are asked for together.
const SAME: Duration = Duration::from_millis(1500);

/// An event before it gets a number.
#[derive(Clone, Debug)]
pub struct Event {
    /// Number of the subnet it came from.
    pub subnet: u32,
    /// What became of it.
    pub verdict: Verdict,
    /// Rule that decided; `None` = no single rule did.
    pub rule: Option<Rule>,
    /// Name that was asked for; empty if it is not known.
    pub host: String,
    /// Port; 0 for a look-up.
    pub port: u16,
    /// Name seen in the TLS hello or the Host header; untrusted text.
    pub sni: Option<String>,
    /// Address that was connected to, or the last one that was tried or refused; `None` = there was none.
    pub ip: Option<Ipv4Addr>,
    /// Bytes from the sandbox.
    pub up: u64,
    /// Bytes to the sandbox.
    pub down: u64,
    /// Milliseconds it lasted.
    pub ms: u64,
    /// Why it was refused, failed or broke off; empty if it ended normally.
    pub reason: String,
}

/// Allows `rate` events a second after a burst.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    level: f64,
    at: Instant,
}

impl Bucket {
    /// A bucket with a whole `burst` of events left.
    #[must_use]
    pub fn full(burst: f64) -> Bucket {
        Bucket { level: burst, at: Instant::now() }
    }

    /// Takes one event at the time `now`, after adding `rate` events per second up to `burst`; false if none is left.
    pub fn take(&mut self, burst: f64, rate: f64, now: Instant) -> bool {
        let grown = self.level + now.saturating_duration_since(self.at).as_secs_f64() * rate;
        self.level = grown.min(burst);
        self.at = now;
        let allowed = self.level >= 1.0;
        if allowed {
            self.level -= 1.0;
        }
        allowed
    }
}

type EntryKey = (u32, Verdict, String, u16, String);
/// Summed event, its count, and the time of the first one's end (Unix milliseconds).
type Sum = (Event, u64, i64);

/// The newest entries of the log, and the sums of events that came too fast.
#[derive(Default)]
pub struct Ring {
    entries: VecDeque<LogEntry>,
    last: u64,
    buckets: HashMap<u32, Bucket>,
    waiting: HashMap<EntryKey, Sum>,
    lately: HashMap<(u32, String), Instant>,
}

impl Ring {
    /// Writes the event, or adds it to the sum of similar ones.
    pub fn push(&mut self, event: Event, ts: i64) {
        let now = Instant::now();
        let bucket = self.buckets.entry(event.subnet).or_insert_with(|| Bucket::full(BURST));
        if bucket.take(BURST, PER_SECOND, now) {
            return self.write(event, 1, ts);
        }
        let (subnet, verdict) = (event.subnet, event.verdict);
        let mut kind = (subnet, verdict, event.host.clone(), event.port, event.reason.clone());
        let mut rule = event.rule.clone();
        let known = self.waiting.contains_key(&kind);
        if !known && self.waiting.keys().filter(|other| other.0 == subnet).count() >= KINDS {
            kind = (subnet, verdict, String::new(), 0, "many different ones in a short time".to_owned());
            // Different rules may have decided about them.
            rule = None;
        }
        let (_, _, host, port, reason) = kind.clone();
        let (sum, count, _) = self.waiting.entry(kind).or_insert_with(|| {
            let rest = Event { rule, host, port, reason, up: 0, down: 0, ms: 0, sni: None, ip: None, ..event.clone() };
            (rest, 0, ts)
        });
        sum.up += event.up;
        sum.down += event.down;
        *count += 1;
    }

    /// Whether this denied look-up was just written; remembers it from now on.
    pub fn repeats(&mut self, subnet: u32, name: &str) -> bool {
        let now = Instant::now();
        if self.lately.len() > 1024 {
            self.lately.retain(|_, at| now.duration_since(*at) < SAME);
            if self.lately.len() > 1024 {
                self.lately.clear();
            }
        }
        let key = (subnet, name.to_owned());
        match self.lately.get(&key) {
            Some(at) if now.duration_since(*at) < SAME => true,
            _ => {
                self.lately.insert(key, now);
                false
            }
        }
    }

    /// Writes the sums; called once a second. True if there were any.
    pub fn tick(&mut self, ts: i64) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        self.write_sums(waiting.into_values(), ts)
    }

    /// Writes the sums of one subnet that was closed, so that they are not attributed to its next user.
    pub fn settle(&mut self, subnet: u32, ts: i64) -> bool {
        let sums: Vec<Sum> = self.waiting.extract_if(|kind, _| kind.0 == subnet).map(|(_, sum)| sum).collect();
        self.write_sums(sums, ts)
    }

    fn write_sums(&mut self, sums: impl IntoIterator<Item = Sum>, ts: i64) -> bool {
        let before = self.last;
        for (event, count, first) in sums {
            let ms = u64::try_from(ts - first).unwrap_or_default();
            self.write(Event { ms, ..event }, count, ts);
        }
        self.last > before
    }

    fn write(&mut self, event: Event, count: u64, ts: i64) {
        self.last += 1;
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        let Event { subnet, verdict, rule, host, port, sni, ip, up, down, ms, reason } = event;
        let seq = self.last;
        let because = rule.as_ref().map(|rule| rule.reason.chars().take(REASON).collect::<String>());
        self.entries.push_back(LogEntry {
            seq,
            ts,
            subnet,
            verdict,
            rule: rule.map(|rule| rule.to_string()),
            because: because.filter(|reason| !reason.is_empty()),
            host,
            port,
            sni,
            ip,
            up,
            down,
            ms,
            reason,
            count,
        });
    }

    /// The number of the newest entry.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The first entry after `seq` that is still kept.
    #[must_use]
    pub fn after(&self, seq: u64) -> Option<&LogEntry> {
        let first = self.entries.front()?.seq;
        let index = seq.saturating_add(1).saturating_sub(first);
        self.entries.get(usize::try_from(index).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(subnet: u32, host: &str) -> Event {
        let (rule, sni, ip) = (None, None, None);
        let (up, down, ms) = (1, 2, 3);
        Event {
            subnet,
            verdict: Verdict::Denied,
            rule,
            host: host.into(),
            port: 0,
            sni,
            ip,
            up,
            down,
            ms,
            reason: "r".into(),
        }
    }

    #[test]
    fn entries_are_numbered_and_can_be_read_on_from_anywhere() {
        let mut ring = Ring::default();
        for n in 0..5 {
            ring.push(event(n, "a.test"), 0);
        }
        assert_eq!(ring.after(0).map(|e| e.seq), Some(1));
        assert_eq!(ring.after(4).map(|e| e.seq), Some(5));
        assert_eq!(ring.after(5), None);
        assert_eq!(ring.after(u64::MAX), None);
    }

    #[test]
    fn an_entry_says_which_rule_decided_and_why_that_stands() {
        let mut ring = Ring::default();
        let rule = Rule::parse("*.a.test:22").unwrap();
        for reason in ["our mirror".to_owned(), String::new(), "é".repeat(10_000)] {
            ring.push(Event { rule: Some(rule.clone().because(reason)), ..event(1, "x.a.test") }, 0);
        }
        assert!(ring.entries.iter().all(|entry| entry.rule.as_deref() == Some("*.a.test:22")));
        let because: Vec<_> = ring.entries.iter().map(|entry| entry.because.as_deref()).collect();
        assert_eq!(because, [Some("our mirror"), None, Some("é".repeat(REASON).as_str())]);
    }

    #[test]
    fn a_flood_is_added_up_and_leaves_the_neighbour_alone() {
        let mut ring = Ring::default();
        for n in 0..100_000 {
            ring.push(event(1, &format!("x{n}.test")), 0);
        }
        ring.push(event(2, "quiet.test"), 0);
        assert_eq!(ring.entries.back().map(|e| e.subnet), Some(2));
        assert!(ring.waiting.len() <= KINDS + 1);
        assert!(ring.tick(700));
        let counted: u64 = ring.entries.iter().filter(|e| e.subnet == 1).map(|e| e.count).sum();
        assert_eq!(counted, 100_000);
        assert!(
            ring.entries.iter().filter(|e| e.count > 1).all(|e| e.ts - e.ms as i64 == 0),
            "they began with the first"
        );
        assert!(ring.entries.len() < 1000);
        assert!(!ring.tick(0));
    }

    #[test]
    fn what_different_rules_decided_is_not_attributed_to_one_of_them() {
        let mut ring = Ring::default();
        for n in 0..1000 {
            let rule = Rule::parse(&format!("x{n}.test")).unwrap().because("its own");
            ring.push(Event { rule: Some(rule), ..event(1, &format!("x{n}.test")) }, 0);
        }
        ring.tick(700);
        let (mixed, single): (Vec<&LogEntry>, Vec<&LogEntry>) = ring.entries.iter().partition(|e| e.host.is_empty());
        assert_eq!(mixed.iter().map(|e| (&e.rule, &e.because)).collect::<Vec<_>>(), [(&None, &None)]);
        assert!(single.iter().all(|e| e.rule.as_ref() == Some(&e.host) && e.because.is_some()));
    }

    #[test]
    fn what_a_closed_subnet_added_up_is_written_then_and_its_neighbours_later() {
        let mut ring = Ring::default();
        for n in 0..1000 {
            ring.push(event(1, &format!("x{n}.test")), 0);
            ring.push(event(2, &format!("x{n}.test")), 0);
        }
        let count =
            |ring: &Ring, subnet| ring.entries.iter().filter(|e| e.subnet == subnet).map(|e| e.count).sum::<u64>();
        assert!(ring.settle(1, 700) && !ring.settle(1, 700));
        assert_eq!(count(&ring, 1), 1000);
        assert!(count(&ring, 2) < 1000 && ring.tick(800));
        assert_eq!((count(&ring, 1), count(&ring, 2)), (1000, 1000));
    }

    #[test]
    fn the_oldest_are_dropped() {
        let mut ring = Ring::default();
        for n in 0..KEPT as u32 + 10 {
            ring.push(event(n, "a.test"), 0);
        }
        assert_eq!(ring.after(0).map(|e| e.seq), Some(11));
    }
}
