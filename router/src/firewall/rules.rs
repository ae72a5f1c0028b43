//! The packet filter's rules as text for `iptables-restore`.
//!
//! They name the subnet pool and no single subnet, so that allocating one changes no rule. Chains of the filter table and nat PREROUTING
//! belong to this program; nat OUTPUT and POSTROUTING belong to the engine and aren't changed.
//! Tests: at the end of this file, and `router/tests/lab/`.

use std::fmt::Write;

use anyhow::Result;
use protocol::router::{SPECIAL, SUBNET_CONNECTIONS, SUBNET_PREFIX, SYNTHETIC};

use crate::settings::{DNS_PORT, PROXY_PORT, Settings};

/// New connections per second and subnet; above the proxy's own caps, like [`SUBNET_CONNECTIONS`].
const SUBNET_NEW_PER_SECOND: u32 = 4000;

/// Look-ups per second and subnet. All share one socket, whose buffer holds about 200 and must not be filled by a flood.
const SUBNET_LOOK_UPS_PER_SECOND: u32 = 1000;
const SUBNET_LOOK_UPS_BURST: u32 = 120;

/// IPv6 is disabled in the kernel as well; these rules hold if it gets enabled.
pub const IPV6: &str = "*filter
:INPUT DROP [0:0]
:FORWARD DROP [0:0]
:OUTPUT DROP [0:0]
-F INPUT
-F FORWARD
-F OUTPUT
COMMIT
";

/// # Errors
/// When the upstream isn't an IPv4 address.
pub fn ipv4(settings: &Settings, limits: bool) -> Result<String> {
    let mut text = String::new();
    filter(&mut text, settings, limits)?;
    nat(&mut text, settings)?;
    Ok(text)
}

fn filter(text: &mut String, settings: &Settings, limits: bool) -> Result<()> {
    let pool = settings.pool.net();
    text.push_str("*filter\n:INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT DROP [0:0]\n");
    text.push_str(":CAISSON-BERTH - [0:0]\n:CAISSON-OUT - [0:0]\n-F INPUT\n-F FORWARD\n-F OUTPUT\n");
    text.push_str("-A INPUT -m conntrack --ctstate INVALID -j DROP\n");
    // Every question counts: those from one socket form one connection, which conntrack would let pass.
    writeln!(text, "-A INPUT -s {pool} -p udp --dport {DNS_PORT} -j CAISSON-BERTH")?;
    text.push_str("-A INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT\n");
    writeln!(text, "-A INPUT -s {pool} -j CAISSON-BERTH")?;
    if limits {
        // Answered with a reset like every denial, because a dropped packet would cost the agent a time-out.
        let reset = "-j REJECT --reject-with tcp-reset";
        writeln!(
            text,
            "-A CAISSON-BERTH -p tcp --syn -m connlimit --connlimit-above {SUBNET_CONNECTIONS} --connlimit-mask {SUBNET_PREFIX} {reset}"
        )?;
        writeln!(
            text,
            "-A CAISSON-BERTH -p tcp --syn -m hashlimit --hashlimit-above {SUBNET_NEW_PER_SECOND}/sec --hashlimit-burst {SUBNET_NEW_PER_SECOND} \
             --hashlimit-mode srcip --hashlimit-srcmask {SUBNET_PREFIX} --hashlimit-name caisson {reset}"
        )?;
        writeln!(
            text,
            "-A CAISSON-BERTH -p udp --dport {DNS_PORT} -m hashlimit --hashlimit-above {SUBNET_LOOK_UPS_PER_SECOND}/sec \
             --hashlimit-burst {SUBNET_LOOK_UPS_BURST} --hashlimit-mode srcip --hashlimit-srcmask {SUBNET_PREFIX} \
             --hashlimit-name caisson-names -j DROP"
        )?;
    }
    for protocol in ["udp", "tcp"] {
        writeln!(
            text,
            "-A CAISSON-BERTH -p {protocol} --dport {DNS_PORT} -m conntrack --ctstate DNAT --ctorigdst {pool} --ctorigdstport 53 -j ACCEPT"
        )?;
    }
    writeln!(
        text,
        "-A CAISSON-BERTH -p tcp --dport {PROXY_PORT} -m conntrack --ctstate DNAT --ctorigdst {SYNTHETIC} -j ACCEPT"
    )?;
    text.push_str("-A CAISSON-BERTH -p tcp -j REJECT --reject-with tcp-reset\n");
    text.push_str("-A CAISSON-BERTH -j REJECT --reject-with icmp-admin-prohibited\n");
    output(text, settings)?;
    text.push_str("COMMIT\n");
    Ok(())
}

/// The router's own traffic: the proxy's user may reach public addresses and the one resolver; nobody else anything.
fn output(text: &mut String, settings: &Settings) -> Result<()> {
    let (upstream, port) = (settings.upstream_v4()?, settings.upstream.port());
    let proxy = format!("-m owner --uid-owner {}", settings.proxy_uid);
    let refuse = "-j REJECT --reject-with icmp-admin-prohibited";
    text.push_str("-A OUTPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT\n-A OUTPUT -j CAISSON-OUT\n");
    for protocol in ["udp", "tcp"] {
        writeln!(text, "-A CAISSON-OUT -p {protocol} -d {upstream} --dport {port} {proxy} -j ACCEPT")?;
    }
    for net in &settings.private {
        writeln!(text, "-A CAISSON-OUT -d {net} {refuse}")?;
    }
    for net in &settings.public {
        writeln!(text, "-A CAISSON-OUT -p tcp --syn -d {net} {proxy} -j ACCEPT")?;
    }
    for net in SPECIAL {
        writeln!(text, "-A CAISSON-OUT -d {net} {refuse}")?;
    }
    writeln!(text, "-A CAISSON-OUT -p tcp --syn {proxy} -j ACCEPT")?;
    Ok(())
}

/// Redirects a sandbox's traffic to where it is judged or refused. Forwarding is off, so other traffic goes nowhere.
fn nat(text: &mut String, settings: &Settings) -> Result<()> {
    let pool = settings.pool.net();
    text.push_str("*nat\n:PREROUTING ACCEPT [0:0]\n:CAISSON-PRE - [0:0]\n-F PREROUTING\n");
    writeln!(text, "-A PREROUTING -s {pool} -j CAISSON-PRE")?;
    for protocol in ["udp", "tcp"] {
        writeln!(
            text,
            "-A CAISSON-PRE -p {protocol} -d {pool} --dport 53 -m addrtype --dst-type LOCAL -j REDIRECT --to-ports {DNS_PORT}"
        )?;
    }
    text.push_str("-A CAISSON-PRE -m addrtype --dst-type LOCAL -j RETURN\n");
    writeln!(text, "-A CAISSON-PRE -p tcp -d {SYNTHETIC} -j REDIRECT --to-ports {PROXY_PORT}")?;
    // Redirected to a port that INPUT rejects, so that the client gets an error instead of a time-out.
    for protocol in ["tcp", "udp"] {
        writeln!(text, "-A CAISSON-PRE -p {protocol} -j REDIRECT --to-ports 9")?;
    }
    text.push_str("-A CAISSON-PRE -p icmp -j REDIRECT\nCOMMIT\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_ranges_come_before_exceptions_and_those_before_special_ones() {
        let args = [
            "--pool",
            "10.90.0.0/24",
            "--upstream",
            "9.9.9.9",
            "--private",
            "198.51.100.9",
            "--public",
            "198.51.100.0/24",
        ];
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let text = ipv4(&Settings::read(&args, |_| None).unwrap(), true).unwrap();
        let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle}\n{text}"));
        assert!(at("-d 9.9.9.9 --dport 53") < at("-d 198.51.100.9/32 -j REJECT"));
        assert!(at("-d 198.51.100.9/32 -j REJECT") < at("--syn -d 198.51.100.0/24 -m owner"));
        assert!(at("--syn -d 198.51.100.0/24 -m owner") < at("-d 198.51.100.0/24 -j REJECT"));
        assert!(at("-d 224.0.0.0/3 -j REJECT") < at("--syn -m owner"));
        assert!(at("-p udp --dport 15053 -j CAISSON-BERTH") < at("--ctstate ESTABLISHED"), "questions are counted");
        assert!(text.contains(":FORWARD DROP") && text.contains(":OUTPUT DROP") && text.contains(":INPUT DROP"));
    }
}
