//! IPv4 networks, the pool of subnets, and the destinations that are never public.
//!
//! Owns the address arithmetic that the broker (creates a subnet's network), the router (finds a subnet by source address) and its firewall
//! (takes over a subnet's gateway) must agree on. Does no I/O. Tests: at the end of this file.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Addresses that the resolver gives out in place of real ones (RFC 2544's benchmark range, never routed on the internet).
pub const SYNTHETIC: Net = Net { addr: Ipv4Addr::new(198, 18, 0, 0), prefix: 15 };

/// Prefix length of a subnet: gateway `.1`, router `.2`, sandboxes in the upper half.
pub const SUBNET_PREFIX: u8 = 28;

/// Networks that are never public: IANA's IPv4 Special-Purpose Address Registry and Multicast Address Space as of 2025-10-09 (the rows it
/// calls globally reachable serve anycast protocols, not hosts), and 168.63.129.16, where Azure answers its own machines. IPv6 needs no
/// list: the resolver never asks for such addresses, and the firewall blocks them.
pub const SPECIAL: [&str; 18] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
];

/// An IPv4 network in CIDR form; host bits are always zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Net {
    /// The network's lowest address.
    pub addr: Ipv4Addr,
    /// Length of the prefix in bits, 0 to 32.
    pub prefix: u8,
}

/// Why a text, or an address with a prefix, is no network or no [`Pool`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// It is not an IPv4 address with a prefix of 0 to 32; the text as given, cut at 64 characters.
    #[error("`{0}` is no IPv4 network; write address/prefix, such as 10.90.0.0/20")]
    Syntax(String),
    /// Host bits are set; the text as given, and the network that has them cleared.
    #[error("`{0}` has bits set beyond its prefix; did you mean {1}?")]
    HostBits(String, Net),
    /// This network can't be a [`Pool`].
    #[error("the subnet pool `{0}` must be between /12 and /28 and lie in private address space")]
    Pool(Net),
}

impl Net {
    /// # Errors
    /// When the prefix is above 32 or host bits are set.
    pub fn new(addr: Ipv4Addr, prefix: u8) -> Result<Net, NetError> {
        let text = || format!("{addr}/{prefix}");
        if prefix > 32 {
            return Err(NetError::Syntax(text()));
        }
        let net = Net { addr: Ipv4Addr::from(u32::from(addr) & mask(prefix)), prefix };
        if net.addr == addr { Ok(net) } else { Err(NetError::HostBits(text(), net)) }
    }

    /// Whether the address lies in this network.
    #[must_use]
    pub fn contains(&self, addr: Ipv4Addr) -> bool {
        u32::from(addr) & mask(self.prefix) == u32::from(self.addr)
    }

    /// Number of its addresses.
    #[must_use]
    pub fn size(&self) -> u64 {
        1u64 << (32 - u32::from(self.prefix))
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

impl FromStr for Net {
    type Err = NetError;

    /// `address/prefix`, or one address alone (a /32).
    fn from_str(text: &str) -> Result<Net, NetError> {
        let bad = || NetError::Syntax(text.chars().take(64).collect());
        let (addr, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let prefix = if prefix.bytes().all(|b| b.is_ascii_digit()) { prefix.parse().map_err(|_| bad())? } else { 33 };
        Net::new(addr.parse().map_err(|_| bad())?, prefix).map_err(|error| match error {
            NetError::Syntax(_) => bad(),
            other => other,
        })
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.prefix)
    }
}

impl Serialize for Net {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Net {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Net, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The network that subnets are cut from; subnet `n` is its n-th `/28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool(Net);

impl Pool {
    /// # Errors
    /// When the pool is too small, too large or public: a subnet on public addresses would hide a part of the internet.
    pub fn new(net: Net) -> Result<Pool, NetError> {
        let private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
        let inside = private.iter().filter_map(|p| p.parse::<Net>().ok()).any(|p| p.contains(net.addr));
        if inside && (12..=SUBNET_PREFIX).contains(&net.prefix) { Ok(Pool(net)) } else { Err(NetError::Pool(net)) }
    }

    /// The network that subnets are cut from.
    #[must_use]
    pub fn net(&self) -> Net {
        self.0
    }

    /// Number of subnets that fit.
    #[must_use]
    pub fn subnets(&self) -> u32 {
        1 << (SUBNET_PREFIX - self.0.prefix)
    }

    /// The subnet's `/28`; `None` if the pool has no such subnet.
    #[must_use]
    pub fn subnet(&self, subnet: u32) -> Option<Net> {
        (subnet < self.subnets()).then(|| Net { addr: self.nth(subnet, 0), prefix: SUBNET_PREFIX })
    }

    /// `.1`: default route and resolver of sandboxes; the firewall takes this address once its rules are installed.
    #[must_use]
    pub fn gateway(&self, subnet: u32) -> Option<Ipv4Addr> {
        (subnet < self.subnets()).then(|| self.nth(subnet, 1))
    }

    /// `.2`: the fixed address of the router's holder in the subnet.
    #[must_use]
    pub fn router(&self, subnet: u32) -> Option<Ipv4Addr> {
        (subnet < self.subnets()).then(|| self.nth(subnet, 2))
    }

    /// The upper half, from which sandboxes get addresses (the engine's `--ip-range`).
    #[must_use]
    pub fn sandboxes(&self, subnet: u32) -> Option<Net> {
        (subnet < self.subnets()).then(|| Net { addr: self.nth(subnet, 8), prefix: SUBNET_PREFIX + 1 })
    }

    /// Number of the subnet that an address belongs to.
    #[must_use]
    pub fn subnet_of(&self, addr: Ipv4Addr) -> Option<u32> {
        self.0.contains(addr).then(|| (u32::from(addr) - u32::from(self.0.addr)) >> (32 - SUBNET_PREFIX))
    }

    fn nth(&self, subnet: u32, host: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.0.addr) + (subnet << (32 - SUBNET_PREFIX)) + host)
    }
}

impl FromStr for Pool {
    type Err = NetError;
    fn from_str(text: &str) -> Result<Pool, NetError> {
        Pool::new(text.parse()?)
    }
}

/// Decides which resolved addresses may be connected to.
#[derive(Clone, Debug)]
pub struct Bogons {
    refused: Vec<Net>,
    /// Exceptions from [`SPECIAL`] only, never from what the operator added.
    public: Vec<Net>,
    special: Vec<Net>,
}

impl Bogons {
    /// `private`: the operator's own networks, refused too. `public`: parts of [`SPECIAL`] that this installation may reach (documentation
    /// ranges in a test lab).
    #[must_use]
    pub fn new(private: &[Net], public: &[Net]) -> Bogons {
        let special = SPECIAL.iter().filter_map(|net| net.parse().ok()).collect();
        Bogons { refused: private.to_vec(), public: public.to_vec(), special }
    }

    /// Whether the address is private, local, special or the operator's own.
    #[must_use]
    pub fn refuses(&self, addr: Ipv4Addr) -> bool {
        let within = |nets: &[Net]| nets.iter().any(|net| net.contains(addr));
        within(&self.refused) || (within(&self.special) && !within(&self.public))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_parse_and_say_what_is_wrong() {
        assert_eq!("10.90.0.0/20".parse::<Net>().unwrap().size(), 4096);
        assert_eq!("192.0.2.7".parse::<Net>().unwrap().prefix, 32);
        assert!("10.0.0.1/8".parse::<Net>().unwrap_err().to_string().contains("10.0.0.0/8"));
        for bad in ["", "10.0.0.0/33", "10.0.0/8", "::1/128", "10.0.0.0/+8", "10.0.0.0/", "10.0.0.0/8/8"] {
            assert!(bad.parse::<Net>().is_err(), "{bad}");
        }
        assert!("0.0.0.0/0".parse::<Net>().unwrap().contains(Ipv4Addr::new(8, 8, 8, 8)));
        assert!(SPECIAL.iter().all(|net| net.parse::<Net>().is_ok()));
    }

    #[test]
    fn subnets_are_cut_from_the_pool() {
        let pool: Pool = "10.90.0.0/20".parse().unwrap();
        assert_eq!(pool.subnets(), 256);
        assert_eq!(pool.subnet(3).unwrap().to_string(), "10.90.0.48/28");
        assert_eq!(pool.gateway(3), Some(Ipv4Addr::new(10, 90, 0, 49)));
        assert_eq!(pool.sandboxes(3).unwrap().to_string(), "10.90.0.56/29");
        assert_eq!(pool.subnet_of(Ipv4Addr::new(10, 90, 0, 58)), Some(3));
        assert_eq!(pool.subnet_of(Ipv4Addr::new(10, 91, 0, 58)), None);
        assert_eq!(pool.subnet(256), None);
        assert!("8.8.0.0/16".parse::<Pool>().is_err());
    }

    /// Every row of the two registries that [`SPECIAL`] names, as they are published.
    const REGISTERED: &str = "0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 \
        192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 \
        192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 \
        198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 224.0.0.0/4";
    /// Metadata services of clouds: the first four are in special ranges, the last is a public address.
    const PLATFORM: [&str; 5] =
        ["169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"];

    #[test]
    fn special_ranges_are_refused_and_exceptions_stay_narrow() {
        let doc: Net = "198.51.100.0/24".parse().unwrap();
        let own: Net = "198.51.100.7/32".parse().unwrap();
        let open = Bogons::new(&[], &[]);
        for addr in
            ["127.0.0.1", "169.254.169.254", "100.64.0.1", "172.17.0.1", "224.0.0.1", "255.255.255.255", "198.51.100.1"]
        {
            assert!(open.refuses(addr.parse().unwrap()), "{addr}");
        }
        assert!(!open.refuses(Ipv4Addr::new(9, 9, 9, 9)));
        for at in REGISTERED.split_whitespace().chain(PLATFORM) {
            let net: Net = at.parse().unwrap();
            let last = Ipv4Addr::from(u32::from(net.addr) | !mask(net.prefix));
            assert!(open.refuses(net.addr) && open.refuses(last), "{at}");
        }
        for around in
            ["168.63.129.15", "168.63.129.17", "192.175.47.255", "192.175.49.0", "192.0.1.0", "223.255.255.255"]
        {
            assert!(!open.refuses(around.parse().unwrap()), "{around} is the internet");
        }
        let lab = Bogons::new(&[own], &[doc]);
        assert!(!lab.refuses(Ipv4Addr::new(198, 51, 100, 1)));
        assert!(lab.refuses(Ipv4Addr::new(198, 51, 100, 7)));
    }
}
