//! Addresses of the router's networks: the pool of subnets, and the places within a subnet. Pure. Tests: below.
//!
//! The arithmetic of a subnet is that of `protocol::router`, because the router identifies subnets by the same numbers. The operator's
//! network is halved: subnets from the lower half, the holder's outer network at the start of the upper one, so that no address of the
//! outer network looks like a subnet's.

use std::net::Ipv4Addr;

use protocol::broker::Problem;
use protocol::router::{Net, Pool};

use crate::name::{MAX_SUBNETS, Names};

/// Networks that are tried if the operator names none.
pub const CANDIDATES: [&str; 5] =
    ["10.90.0.0/20", "10.213.0.0/20", "10.171.80.0/20", "172.29.240.0/20", "192.168.224.0/20"];

/// Network and addresses of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerNetwork {
    /// The engine's name of the subnet's network.
    pub network: String,
    pub cidr: Net,
    /// Range from which the engine may choose addresses; router and gateway are outside of it.
    pub range: Net,
    /// Taken by the firewall.
    pub gateway: Ipv4Addr,
    pub holder: Ipv4Addr,
    /// The container's own address.
    pub address: Ipv4Addr,
}

/// Division of the operator's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    whole: Net,
    subnets: Pool,
    outer: Net,
}

impl Layout {
    /// A private IPv4 network of /16 to /27.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = |why: String| Problem::refused(format!("pool {text:?}: {why}; write for example 10.90.0.0/20"));
        let whole: Net = text.parse().map_err(|error: protocol::router::NetError| wrong(error.to_string()))?;
        if !(16..=27).contains(&whole.prefix) {
            return Err(wrong("it must be between /16 and /27".into()));
        }
        let lower = Net { addr: whole.addr, prefix: whole.prefix + 1 };
        let upper = u32::from(whole.addr) + (1 << (31 - u32::from(whole.prefix)));
        let subnets = Pool::new(lower).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { whole, subnets, outer: Net { addr: Ipv4Addr::from(upper), prefix: 28 } })
    }

    pub fn whole(&self) -> Net {
        self.whole
    }

    /// The pool of subnets: any source address in it belongs to a subnet.
    pub fn subnets(&self) -> Net {
        self.subnets.net()
    }

    /// The holder's outer network.
    pub fn outer(&self) -> Net {
        self.outer
    }

    /// How many subnets are possible.
    pub fn room(&self) -> u32 {
        self.subnets.subnets().min(MAX_SUBNETS)
    }

    /// Subnet `number`, counted from 0.
    pub fn subnet(&self, names: &Names, number: u32) -> Result<ContainerNetwork, Problem> {
        let pool = &self.subnets;
        let found = (number < self.room()).then_some(()).and_then(|()| {
            let range = pool.sandboxes(number)?;
            Some(ContainerNetwork {
                network: names.subnet(number),
                cidr: pool.subnet(number)?,
                range,
                gateway: pool.gateway(number)?,
                holder: pool.router(number)?,
                address: Ipv4Addr::from(u32::from(range.addr) + 2),
            })
        });
        found.ok_or_else(|| {
            Problem::refused(format!("{} has room for {} subnets, not for subnet {number}", self.whole, self.room()))
        })
    }
}

/// Whether two networks share an address.
pub fn overlap(one: Net, other: Net) -> bool {
    one.contains(other.addr) || other.contains(one.addr)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new("one").unwrap()
    }

    #[test]
    fn subnets_lie_side_by_side_and_the_outer_network_apart() {
        let layout = Layout::parse("10.90.0.0/20").unwrap();
        assert_eq!(layout.outer().to_string(), "10.90.8.0/28");
        assert_eq!(layout.subnets().to_string(), "10.90.0.0/21");
        let all: Vec<Net> = (0..MAX_SUBNETS).map(|number| layout.subnet(&names(), number).unwrap().cidr).collect();
        for (place, net) in all.iter().enumerate() {
            assert!(overlap(*net, layout.subnets()) && !overlap(*net, layout.outer()));
            assert!(all[place + 1..].iter().all(|other| !overlap(*other, *net)), "{net}");
        }
    }

    #[test]
    fn what_the_engine_may_hand_out_is_neither_gateway_nor_holder() {
        let place = Layout::parse("10.90.0.0/20").unwrap().subnet(&names(), 0).unwrap();
        assert_eq!(place.address, Ipv4Addr::new(10, 90, 0, 10));
        assert!(!place.range.contains(place.gateway) && !place.range.contains(place.holder));
        assert!(place.range.contains(place.address));
    }

    #[test]
    fn a_small_pool_says_how_much_fits() {
        let layout = Layout::parse("192.168.7.0/27").unwrap();
        assert_eq!(layout.room(), 1);
        assert!(layout.subnet(&names(), 0).is_ok());
        assert!(layout.subnet(&names(), 1).unwrap_err().text.contains("room for 1"));
    }

    #[test]
    fn only_private_networks_of_a_sane_size_are_taken() {
        for bad in ["8.8.8.0/24", "10.0.0.0/8", "10.0.0.0/28", "10.0.0.1/24", "172.32.0.0/20", "fd00::/64", "x/20", ""]
        {
            assert!(Layout::parse(bad).is_err(), "{bad}");
        }
        for pool in CANDIDATES {
            assert_eq!(Layout::parse(pool).unwrap().room(), MAX_SUBNETS, "{pool}");
        }
    }

    #[test]
    fn overlap_is_seen_both_ways() {
        let net = |text: &str| text.parse::<Net>().unwrap();
        assert!(overlap(net("10.0.0.0/8"), net("10.90.0.0/20")) && overlap(net("10.90.0.0/20"), net("10.0.0.0/8")));
        assert!(!overlap(net("10.90.0.0/20"), net("10.90.16.0/20")));
        assert!(overlap(net("0.0.0.0/0"), net("10.90.0.0/20")));
    }
}
