//! What is tried from inside: addresses, names and messages. Judges nothing. Tests: below.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use protocol::broker::Subnet;
use protocol::probe::{By, Cast, LookUp, Plan, Reach, Talk};
use protocol::router::Rule;

use super::canary::{self, Upstream};
use super::inside::Inside;
use super::{BarrierSetup, Untested};

/// Port of the second sandbox's listener.
pub const NEIGHBOUR: u16 = 7700;
pub const PRIVATE: &str = "a name of a private address";
/// Names of the outside listeners' findings.
pub const HEARD: &str = "the listener heard";
pub const MACHINE_HEARD: &str = "the machine's listener heard";
pub const ITSELF: &str = "itself alone";
pub const UPSTREAM: &str = "the resolver upstream";
pub const NOT_OURS: &str = "not ours to watch";
pub const SYNTHETIC: &str = "the allowed name's address";
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// An address of carrier-grade NAT (RFC 6598), and the multicast group of all hosts.
const CARRIER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
const MULTICAST: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// SSH, HTTP, the engine without and with TLS.
const PORTS: [u16; 4] = [22, 80, 2375, 2376];
/// Limit of a refused connection, including the router's questions upstream.
const PATIENCE_MS: u64 = 15_000;

/// Samples of private networks, and a public resolver.
pub fn strangers() -> Vec<IpAddr> {
    [[10, 0, 0, 1], [172, 16, 0, 1], [192, 168, 0, 1], [192, 168, 1, 1], [9, 9, 9, 9]]
        .map(|octets| Ipv4Addr::from(octets).into())
        .to_vec()
}

/// Domain of the test's names, which exists nowhere (RFC 6761).
const ZONE: &str = "caisson-barrier.invalid";

/// Whether a name is one of the test's.
pub fn is_own(name: &str) -> bool {
    name.strip_suffix(ZONE).is_some_and(|rest| rest.ends_with('.'))
}

/// Names that exist nowhere and are new in each run, so that no cache has them.
pub(super) struct Names {
    pub allowed: String,
    pub private: String,
    pub denied: String,
}

impl Names {
    pub fn new() -> Result<Names, Untested> {
        let random = canary::random()?;
        let name = |what: &str| format!("{what}{random}.{ZONE}");
        Ok(Names { allowed: name("allowed-"), private: name(canary::PRIVATE), denied: name("denied-") })
    }

    /// Rules that allow ports 80 and 443 of two names.
    pub fn rules(&self) -> Vec<Rule> {
        [&self.allowed, &self.private]
            .map(|host| Rule { host: host.clone(), port: None, reason: "the barrier's self-test".to_owned() })
            .to_vec()
    }

    /// What the test's name server was asked for.
    pub fn upstream(&self, upstream: Option<&Upstream>) -> String {
        let Some(upstream) = upstream else { return NOT_OURS.to_owned() };
        let asked = upstream.asked();
        if let Some(other) = asked.iter().find(|name| **name != self.allowed && **name != self.private) {
            return format!("heard of {other}");
        }
        let heard = asked.contains(&self.allowed);
        if heard { "heard of the allowed name alone" } else { "was not reached" }.to_owned()
    }
}

/// Everything that needs one sandbox, including what it should not reach.
pub(super) fn all(setup: &BarrierSetup, names: &Names, watched: &Watched, neighbour: Option<(Ipv4Addr, u16)>) -> Plan {
    let endpoints = &watched.endpoints;
    let gateways =
        setup.router.iter().flat_map(|router| &router.subnets).filter_map(|it| it.gateway.parse::<IpAddr>().ok());
    let gateways: Vec<IpAddr> = gateways.collect();
    let mut reach = around(endpoints, &gateways, &setup.strangers, neighbour.as_slice());
    for ip in with(endpoints, &gateways)
        .into_iter()
        .map(|(ip, _)| ip)
        .filter(IpAddr::is_ipv4)
        .chain(setup.strangers.iter().copied())
    {
        add(&mut reach, 14, true, ip, 443);
    }
    // A documentation address: with IPv6 enabled the kernel would look for a route instead of refusing.
    add(&mut reach, 14, false, IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]), 443);
    let mut plan = Plan { standing: true, reach: in_order(reach), look_ups: vec![unheard_of(names)], ..watched.plan() };
    if setup.router.is_some() {
        plan.look_ups.push(look_up(16, "a denied name", &names.denied));
        plan.look_ups.push(look_up(15, SYNTHETIC, &names.allowed));
        plan.talks = talks(names);
        plan.casts = casts(11, endpoints);
    }
    plan
}

/// An address of this machine, and the port of a listener there.
pub(super) type Endpoint = (IpAddr, u16);

/// The listeners on this machine.
pub(super) struct Watched {
    /// Each address with the port of a listener there.
    pub endpoints: Vec<Endpoint>,
    /// What they count must begin with it.
    pub token: String,
}

impl Watched {
    /// A plan that tries nothing yet, with the token.
    fn plan(&self) -> Plan {
        Plan { token: self.token.clone(), ..Plan::default() }
    }
}

/// Adds addresses without a listener, at the port of one that has one.
fn with(endpoints: &[Endpoint], more: &[IpAddr]) -> Vec<Endpoint> {
    let port = endpoints.first().map_or(80, |(_, port)| *port);
    endpoints.iter().copied().chain(more.iter().map(|ip| (*ip, port))).collect()
}

/// Datagrams that bypass the routes: broadcasts, and to each address of this machine.
fn casts(check: u8, endpoints: &[Endpoint]) -> Vec<Cast> {
    let cast = |by, ip: Ipv4Addr, port| Cast { check, by, to: SocketAddrV4::new(ip, port) };
    let mut casts = Vec::new();
    for (ip, port) in endpoints {
        casts.extend([cast(By::Broadcast, Ipv4Addr::BROADCAST, *port), cast(By::Group, MULTICAST, *port)]);
        if let IpAddr::V4(ip) = ip {
            casts.extend([By::Option, By::Flag].map(|by| cast(by, *ip, *port)));
        }
    }
    casts.sort();
    casts.dedup();
    casts
}

/// What a task's own sandbox must not reach: this machine, its gateway except for names, the metadata service, its neighbours.
pub(super) fn own(names: &Names, watched: &Watched, gateway: Option<Ipv4Addr>, others: &[Ipv4Addr]) -> Plan {
    let endpoints = &watched.endpoints;
    let gateway = gateway.map(IpAddr::from);
    let others: Vec<_> = others.iter().map(|ip| (*ip, NEIGHBOUR)).collect();
    let reach = in_order(around(endpoints, gateway.as_slice(), &[], &others));
    let casts = if gateway.is_some() { casts(11, endpoints) } else { Vec::new() };
    Plan { network: true, reach, casts, look_ups: vec![unheard_of(names)], ..watched.plan() }
}

/// Check 31: what the router's user must not reach without its proxy. `neighbours`: listeners in sandboxes.
pub(super) fn outside(strangers: &[IpAddr], watched: &Watched, neighbours: &[(Ipv4Addr, u16)]) -> Plan {
    let endpoints = &watched.endpoints;
    let own = endpoints.iter().copied().filter(|(ip, _)| ip.is_ipv4());
    let special = strangers.iter().copied().filter(|ip| matches!(ip, IpAddr::V4(ip) if ip.is_private()));
    let special = special.chain([METADATA, CARRIER, MULTICAST].map(IpAddr::from));
    let mut reach = Vec::new();
    for (ip, port) in own.clone() {
        add(&mut reach, 31, true, ip, port);
    }
    for (ip, port) in own.chain(special.map(|ip| (ip, 80))) {
        add(&mut reach, 31, false, ip, port);
    }
    for (ip, port) in neighbours {
        add(&mut reach, 31, false, IpAddr::from(*ip), *port);
    }
    Plan { reach: in_order(reach), casts: casts(31, endpoints), ..watched.plan() }
}

fn add(reach: &mut Vec<Reach>, check: u8, udp: bool, ip: IpAddr, port: u16) {
    reach.push(Reach { check, udp, to: SocketAddr::new(ip, port) });
}

fn in_order(mut reach: Vec<Reach>) -> Vec<Reach> {
    reach.sort_by_key(|it| (it.check, it.udp, it.to));
    reach.dedup();
    reach
}

/// Addresses and ports of checks 10 to 13.
fn around(
    endpoints: &[Endpoint],
    gateways: &[IpAddr],
    strangers: &[IpAddr],
    neighbours: &[(Ipv4Addr, u16)],
) -> Vec<Reach> {
    let mut reach = Vec::new();
    let own = with(endpoints, gateways);
    let four = own.iter().map(|(ip, _)| *ip).filter(IpAddr::is_ipv4);
    for ip in four.chain(strangers.iter().copied()).chain([METADATA.into()]) {
        PORTS.iter().for_each(|port| add(&mut reach, 10, false, ip, *port));
    }
    // Of the machine's addresses only a gateway has a resolver that answers.
    let resolvers = endpoints.iter().map(|(ip, _)| *ip).filter(IpAddr::is_ipv4).chain(strangers.last().copied());
    let both = own.iter().map(|(ip, port)| (11, *ip, *port));
    let both = both.chain(neighbours.iter().map(|(ip, port)| (12, IpAddr::from(*ip), *port)));
    for (check, ip, port) in both.chain(resolvers.chain([METADATA.into()]).map(|ip| (13, ip, 53))) {
        add(&mut reach, check, false, ip, port);
        add(&mut reach, check, true, ip, port);
    }
    reach
}

fn unheard_of(names: &Names) -> LookUp {
    look_up(13, "a name nobody allowed", &names.denied)
}

pub(super) fn look_up(check: u8, what: &str, name: &str) -> LookUp {
    LookUp { check, what: what.to_owned(), name: name.to_owned(), reverse: false }
}

fn talk(check: u8, what: &str, host: &str, port: u16, say: Vec<u8>) -> Talk {
    Talk { check, what: what.to_owned(), host: host.to_owned(), port, say, wait_ms: PATIENCE_MS }
}

fn talks(names: &Names) -> Vec<Talk> {
    let allowed = &names.allowed;
    vec![
        talk(15, "HTTP to an allowed name", allowed, 80, get(allowed)),
        talk(15, "TLS to an allowed name", allowed, 443, hello(Some(allowed))),
        talk(16, "another Host", allowed, 80, get(&names.denied)),
        talk(16, PRIVATE, &names.private, 80, get(&names.private)),
        talk(16, "port 22 of an allowed name", allowed, 22, b"SSH-2.0-probe\r\n".to_vec()),
        talk(16, "port 8443 of an allowed name", allowed, 8443, hello(Some(allowed))),
        talk(17, "TLS for another name", allowed, 443, hello(Some(&names.denied))),
        talk(17, "TLS without a name", allowed, 443, hello(None)),
        talk(17, "SSH instead of TLS", allowed, 443, b"SSH-2.0-probe\r\n".to_vec()),
    ]
}

/// After the subnet was allocated again: earlier connections and addresses must be invalid, and no name of earlier or other users known.
pub(super) fn lent_again(names: &Names, old: Option<String>, subnets: &[Subnet; 2], second: &Inside) -> Plan {
    let reverse = |what: &str, address: &str| {
        let mut parts: Vec<&str> = address.split('.').collect();
        parts.reverse();
        let name = format!("{}.in-addr.arpa", parts.join("."));
        LookUp { check: 32, what: what.to_owned(), name, reverse: true }
    };
    let neighbour = second.address.map(|address| address.to_string()).unwrap_or_default();
    Plan {
        look_ups: vec![
            look_up(32, "an old name", &names.allowed),
            reverse("names of the gateway", &subnets[0].gateway),
            reverse("names of the neighbour", &neighbour),
        ],
        talks: vec![talk(32, "an old address", &old.unwrap_or_default(), 443, hello(Some(&names.allowed)))],
        words: vec![second.name.clone(), neighbour],
        ..Plan::default()
    }
}

/// Asks for the present address of the allowed name.
pub(super) fn asked_again(names: &Names) -> Plan {
    Plan { look_ups: vec![look_up(27, SYNTHETIC, &names.allowed)], ..Plan::default() }
}

/// Check 15 again, by its name and its former address, with the router stopped.
pub(super) fn once_more(names: &Names, address: &str) -> Plan {
    let say = || get(&names.allowed);
    let soon = |what: &str, host: &str| Talk { wait_ms: 1000, ..talk(27, what, host, 80, say()) };
    let by_name = soon("its name, the router stopped", &names.allowed);
    let by_address = soon("its address, the router stopped", address);
    Plan { talks: vec![by_name, by_address], ..Plan::default() }
}

fn get(host: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes()
}

/// A ClientHello (RFC 8446, 4.1.2) with or without a server name (RFC 6066, 3).
fn hello(name: Option<&str>) -> Vec<u8> {
    let counted = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
    let extension = |kind: u16, data: &[u8]| [&kind.to_be_bytes()[..], &counted(data)].concat();
    // TLS 1.3 among the versions; real clients send more, but a proxy that only reads the name does not need it.
    let mut extensions = extension(43, &[2, 3, 4]);
    if let Some(name) = name {
        let entry = [&[0][..], &counted(name.as_bytes())].concat();
        extensions.extend(extension(0, &counted(&entry)));
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
    body.extend(counted(&extensions));
    let message = [&[1, 0][..], &counted(&body)].concat();
    [&[22, 3, 1][..], &counted(&message)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_one_record_that_names_its_server() {
        let bytes = hello(Some("a.test"));
        assert_eq!((bytes[0], usize::from(bytes[3]) << 8 | usize::from(bytes[4])), (22, bytes.len() - 5));
        assert!(bytes.windows(6).any(|part| part == b"a.test"));
        assert!(!hello(None).windows(6).any(|part| part == b"a.test"));
    }

    #[test]
    fn what_listeners_count_is_sent_by_every_plan_that_tries_them() {
        let watched = Watched { endpoints: vec![([10, 0, 0, 5].into(), 4000)], token: "token".to_owned() };
        let own = own(&Names::new().unwrap(), &watched, Some(Ipv4Addr::new(10, 90, 0, 1)), &[]);
        for plan in [own, outside(&[], &watched, &[])] {
            assert!(plan.token == "token" && !plan.reach.is_empty() && !plan.casts.is_empty(), "{plan:?}");
        }
        assert!(!serde_json::to_string(&Plan::default()).unwrap().contains("token"));
    }

    #[test]
    fn names_are_new_each_time_and_only_two_are_allowed() {
        let (one, two) = (Names::new().unwrap(), Names::new().unwrap());
        assert_ne!(one.denied, two.denied);
        assert!(is_own(&one.denied) && !is_own(ZONE) && !is_own("a.invalid"));
        assert!(!one.rules().iter().any(|rule| rule.host == one.denied));
        assert!(Rule::parse(&one.allowed).is_ok());
    }
}
