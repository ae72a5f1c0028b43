//! Kernel settings that the firewall depends on. In a container `/proc/sys` is read-only and the broker has set them, so they are checked;
//! elsewhere they are set here. Tests: `router/tests/lab/`.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

/// Required settings: (path under /proc/sys, value).
const REQUIRED: [(&str, &str); 4] = [
    // No forwarding, so that a missing rule can't leak packets.
    ("net/ipv4/ip_forward", "0"),
    // Packets are accepted only on the interface that leads to their source.
    ("net/ipv4/conf/all/rp_filter", "1"),
    // The host has a link-local address on every bridge.
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
];

/// Useful settings, whose absence costs speed or memory but no safety.
const WISHED: [(&str, &str); 7] = [
    // Otherwise the kernel sends only a few rejects, and clients wait for their own time-out.
    ("net/ipv4/icmp_ratelimit", "0"),
    ("net/ipv4/conf/all/accept_redirects", "0"),
    ("net/ipv4/conf/all/send_redirects", "0"),
    ("net/ipv4/conf/all/accept_source_route", "0"),
    // Stalled downloads fill these buffers, which no container's memory limit counts.
    ("net/ipv4/tcp_rmem", "4096 131072 1048576"),
    ("net/ipv4/tcp_wmem", "4096 65536 524288"),
    // Ended connections that keep their local port for a minute: fewer than the 28,232 ports, so that some are left to every neighbour.
    ("net/ipv4/tcp_max_tw_buckets", "16384"),
];

/// Sets what can be set and checks the rest.
///
/// # Errors
/// Names the required setting that is wrong, and the engine's flag that sets it.
pub fn enforce() -> Result<()> {
    for (name, value) in REQUIRED {
        if !apply(name, value) {
            let dotted = name.replace('/', ".");
            bail!("{dotted} is not {value} and can't be set here: start the holder with --sysctl {dotted}={value}");
        }
    }
    for (name, value) in WISHED {
        if !apply(name, value) {
            eprintln!("firewall: {} is not {value}; the router works, but less well", name.replace('/', "."));
        }
    }
    Ok(())
}

/// Whether the setting has the value in the end, or does not exist in this kernel.
fn apply(name: &str, value: &str) -> bool {
    let path = Path::new("/proc/sys").join(name);
    let is = || fs::read_to_string(&path).is_ok_and(|now| now.split_whitespace().eq(value.split_whitespace()));
    !path.exists() || is() || (fs::write(&path, value).is_ok() && is())
}
