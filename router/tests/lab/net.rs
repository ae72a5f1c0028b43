//! Namespaces of the test: two sandboxes, the router, and everything beyond it.
//!
//! The machine's own network is not touched: both ends of every interface pair are in our namespaces, which are removed with [`Net`].

use std::fs::File;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sched::{CloneFlags, setns};

use super::skipped::skipped;

static LABS: AtomicU32 = AtomicU32::new(0);

/// The subnets' pool, the resolver's upstream and the hosts beyond.
pub const POOL: &str = "10.90.240.0/24";
pub const GOOD: &str = "198.51.100.10";
pub const EVIL: &str = "198.51.100.20";
pub const DNS: &str = "198.51.100.53";
pub const OUTER: &str = "198.51.100.2";
/// A service of a company's network, and the cloud's metadata service: both would answer if a packet arrived.
pub const LAN: &str = "10.66.0.5";
pub const METADATA: &str = "169.254.169.254";
/// Azure's service for its own machines (metadata, names, keys), at an address that looks like any other.
pub const WIRE_SERVER: &str = "168.63.129.16";

pub struct Net {
    prefix: String,
}

/// Whether namespaces can be made here; if not, prints that (and fails if `CAISSON_REQUIRE` lists `netns`).
pub fn possible() -> bool {
    static TRIED: OnceLock<Option<String>> = OnceLock::new();
    let Some(why) = TRIED.get_or_init(|| {
        let name = format!("csnprobe{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        if made.as_ref().is_ok_and(|output| output.status.success()) {
            ip(&["netns", "del", &name]);
            return None;
        }
        Some(format!("{made:?}"))
    }) else {
        return true;
    };
    skipped("netns", &format!("network namespaces can't be made here (root and iproute2 are needed): {why}"));
    false
}

fn ip(args: &[&str]) {
    let output = Command::new("ip").args(args).output().expect("ip runs");
    assert!(output.status.success(), "ip {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Net {
    pub fn new() -> Net {
        let prefix = format!("csn{}x{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
        let net = Net { prefix };
        for place in ["s0", "s1", "r", "i"] {
            ip(&["netns", "add", &net.name(place)]);
            net.set(place, &["link", "set", "lo", "up"]);
        }
        net.pair("r", "outer", "i", "inner");
        net.set("r", &["addr", "add", &format!("{OUTER}/24"), "dev", "outer"]);
        for address in [format!("{GOOD}/24"), format!("{EVIL}/24"), format!("{DNS}/24"), "198.51.100.254/24".into()] {
            net.set("i", &["addr", "add", &address, "dev", "inner"]);
        }
        for address in [LAN, METADATA, WIRE_SERVER] {
            net.set("i", &["addr", "add", &format!("{address}/32"), "dev", "inner"]);
        }
        net.set("r", &["route", "add", "default", "via", "198.51.100.254"]);
        // Leaked packets are answered as well, so that a hole is seen as a connection and not only as a packet.
        net.set("i", &["route", "add", POOL, "via", OUTER]);
        for subnet in 0..2u32 {
            net.subnet(subnet);
        }
        net
    }

    fn subnet(&self, subnet: u32) {
        let (place, interface) = (format!("s{subnet}"), format!("subnet{subnet}"));
        self.pair("r", &interface, &place, "eth0");
        let base = subnet * 16;
        self.set("r", &["addr", "add", &format!("10.90.240.{}/28", base + 2), "dev", &interface]);
        self.set(&place, &["addr", "add", &format!("{}/28", self.sandbox(subnet)), "dev", "eth0"]);
        self.set(&place, &["route", "add", "default", "via", &self.gateway(subnet).to_string()]);
    }

    /// A namespace that reaches the internet without a router, to compare speeds.
    pub fn beside(&self) -> &'static str {
        let place = "d";
        ip(&["netns", "add", &self.name(place)]);
        self.set(place, &["link", "set", "lo", "up"]);
        self.pair("i", "beside", place, "eth0");
        self.set("i", &["addr", "add", "198.51.100.129/25", "dev", "beside"]);
        self.set(place, &["addr", "add", "198.51.100.130/25", "dev", "eth0"]);
        self.set(place, &["route", "add", "default", "via", "198.51.100.129"]);
        place
    }

    pub fn sandbox(&self, subnet: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.gateway(subnet)) + 9)
    }

    pub fn gateway(&self, subnet: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 90, 240, 1)) + subnet * 16)
    }

    pub fn name(&self, place: &str) -> String {
        format!("{}{place}", self.prefix)
    }

    pub fn set(&self, place: &str, args: &[&str]) {
        let name = self.name(place);
        ip(&[&["-n", &name][..], args].concat());
    }

    fn pair(&self, a: &str, a_name: &str, b: &str, b_name: &str) {
        let (a_space, b_space) = (self.name(a), self.name(b));
        ip(&["link", "add", a_name, "netns", &a_space, "type", "veth", "peer", "name", b_name, "netns", &b_space]);
        for (place, name) in [(a, a_name), (b, b_name)] {
            self.set(place, &["link", "set", name, "up"]);
        }
    }

    /// Runs the closure on a thread inside the namespace; its sockets stay there.
    pub fn within<T: Send>(&self, place: &str, job: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.name(place));
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                let space = File::open(path).expect("the namespace's file");
                setns(space, CloneFlags::CLONE_NEWNET).expect("enter the namespace");
                job()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// IP packets of any kind that arrived in the internet so far.
    pub fn arrived(&self) -> u64 {
        let text = self.within("i", || std::fs::read_to_string("/proc/thread-self/net/snmp")).expect("counters");
        let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
        let (heads, values) = (lines.next().expect("heads"), lines.next().expect("values"));
        let at = heads.split_whitespace().position(|head| head == "InReceives").expect("InReceives");
        values.split_whitespace().nth(at).and_then(|value| value.parse().ok()).expect("a number")
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for place in ["s0", "s1", "r", "i", "d"] {
            let _ = Command::new("ip").args(["netns", "del", &self.name(place)]).output();
        }
    }
}
