//! Addresses, routes and `rp_filter`, as the kernel lists them. Tests: below.

use std::fs::read_to_string;
use std::net::IpAddr;

use anyhow::{Context, Result};
use nix::ifaddrs::getifaddrs;
use protocol::host::Network;
use protocol::router::Net;

const SETTINGS: &str = "/proc/sys/net/ipv4/conf";

/// # Errors
/// When the kernel does not answer, or a bridge does not exist.
pub fn network(bridges: &[String]) -> Result<Network> {
    let table = read_to_string("/proc/net/route").context("read /proc/net/route")?;
    let rp_filter = bridges.iter().map(|bridge| Ok((bridge.clone(), rp_filter(bridge)?))).collect::<Result<_>>()?;
    Ok(Network { addresses: addresses()?, routes: routes(&table), rp_filter, port: None, upstream: None })
}

/// Addresses without loopback and link-local ones.
fn addresses() -> Result<Vec<IpAddr>> {
    let interfaces = getifaddrs().context("list addresses")?;
    let addresses = interfaces.filter_map(|interface| {
        let at = interface.address?;
        let four = at.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
        four.or_else(|| at.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
    });
    let mut all: Vec<IpAddr> = addresses
        .filter(|ip| match ip {
            IpAddr::V4(ip) => !ip.is_loopback(),
            IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
        })
        .collect();
    all.sort();
    all.dedup();
    Ok(all)
}

/// `rp_filter` of an interface; the kernel applies the larger of the two (Documentation/networking/ip-sysctl.rst).
fn rp_filter(bridge: &str) -> Result<u8> {
    let read = |of: &str| -> Result<u8> {
        let path = format!("{SETTINGS}/{of}/rp_filter");
        let text = read_to_string(&path).with_context(|| format!("read {path}"))?;
        text.trim().parse().with_context(|| format!("{path} is {text:?}"))
    };
    Ok(read("all")?.max(read(bridge)?))
}

/// Routes from `/proc/net/route` without default routes; destinations and masks are hexadecimal in the machine's byte order.
fn routes(table: &str) -> Vec<(Net, String)> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let address = |at: usize| Some(u32::from_be(u32::from_str_radix(words.get(at)?, 16).ok()?));
        let (destination, mask) = (address(1)?, address(7)?);
        let net = Net::new(destination.into(), mask.count_ones() as u8).ok()?;
        (net.prefix > 0).then(|| (net, words[0].to_owned()))
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
        vpn0\t00005A0A\t00000000\t0001\t0\t0\t0\t00F0FFFF\t0\t0\t0\n";

    #[test]
    fn routes_are_read_and_the_default_one_left_out() {
        let read = routes(TABLE);
        let shown: Vec<String> = read.iter().map(|(net, device)| format!("{net} {device}")).collect();
        assert_eq!(shown, ["172.17.0.0/16 docker0", "10.90.0.0/20 vpn0"]);
    }

    #[test]
    fn a_bridge_that_is_not_there_is_no_report() {
        let told = network(&["lo".to_owned()]).unwrap();
        assert!(told.rp_filter.contains_key("lo") && !told.addresses.iter().any(IpAddr::is_loopback), "{told:?}");
        assert!(network(&["no-such-bridge".to_owned()]).is_err());
    }
}
