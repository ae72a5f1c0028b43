//! The firewall: sets kernel settings, then the packet filter, and only then takes over the subnets' gateway addresses.
//!
//! Owns everything that needs NET_ADMIN, and reads no bytes of sandboxes. No gateway address is taken before the rules are installed, so
//! that without them a sandbox reaches nobody. Tests: `router/tests/lab/`.

mod netlink;
mod rules;
mod sysctl;

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::settings::Settings;
use netlink::Netlink;

/// Applies settings and rules, in that order.
///
/// # Errors
/// When a kernel setting is wrong and can't be set, or a rule isn't accepted: the caller must not claim anything.
pub fn raise(settings: &Settings) -> Result<()> {
    sysctl::enforce()?;
    let limited = rules::ipv4(settings, true)?;
    if let Err(error) = restore("iptables-restore", &limited) {
        // Some kernels lack these two matches; the proxy's own caps remain. Everything else must load.
        eprintln!("firewall: no connection limits in the packet filter ({error:#})");
        restore("iptables-restore", &rules::ipv4(settings, false)?)?;
    }
    if std::path::Path::new("/proc/sys/net/ipv6").exists() {
        restore("ip6tables-restore", rules::IPV6)?;
    }
    Ok(())
}

/// Adds each subnet's gateway address when its interface appears. Prints `walls ready` once the present ones have theirs.
///
/// # Errors
/// When the kernel's link messages can't be read any more.
pub fn watch(settings: &Settings) -> Result<()> {
    let changes = Netlink::listening().context("listen for interfaces")?;
    let mut ready = false;
    loop {
        if let Err(error) = claim(settings) {
            eprintln!("firewall: {error:#}");
        } else if !ready {
            ready = true;
            let mut out = std::io::stdout();
            writeln!(out, "walls ready").and_then(|()| out.flush())?;
        }
        changes.wait()?;
    }
}

/// Adds the missing gateways: an interface belongs to a subnet when it has an address of the subnet's network.
fn claim(settings: &Settings) -> Result<()> {
    let mut netlink = Netlink::open().context("open netlink")?;
    let addresses = netlink.addresses().context("list addresses")?;
    for (index, address) in &addresses {
        let Some(subnet) = settings.pool.subnet_of(*address).filter(|subnet| *subnet < settings.subnets) else {
            continue;
        };
        let Some(gateway) = settings.pool.gateway(subnet) else { continue };
        if addresses.iter().all(|(_, other)| *other != gateway) {
            netlink.add(*index, gateway).with_context(|| format!("claim {gateway} for subnet {subnet}"))?;
        }
    }
    Ok(())
}

fn restore(program: &str, rules: &str) -> Result<()> {
    let mut child = Command::new(program)
        .args(["--noflush", "-w", "10"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{program} can't be run: it belongs in the router's image"))?;
    // A program that exits before reading everything explains itself on stderr.
    let written = child.stdin.take().context("no stdin")?.write_all(rules.as_bytes());
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{program} refused the rules: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    written.with_context(|| format!("{program} did not read the rules"))
}
