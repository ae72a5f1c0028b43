//! Kernel settings the design rests on. In a container `/proc/sys` is read-only and the broker set them; then they are
//! checked. Elsewhere they are set here. Tests: `router/tests/lab/`.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

/// Without these nothing may start: (path under /proc/sys, value).
const REQUIRED: [(&str, &str); 4] = [
    // Never forward: a missing rule then can't leak.
    ("net/ipv4/ip_forward", "0"),
    // A sandbox's packets come in where the sandbox is.
    ("net/ipv4/conf/all/rp_filter", "1"),
    // The host has a link-local address on every bridge.
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
];

/// Worth having; their absence costs speed or memory, not safety.
const WISHED: [(&str, &str); 6] = [
    // Otherwise rejects fall silent after a few, and clients wait for their own time-out.
    ("net/ipv4/icmp_ratelimit", "0"),
    ("net/ipv4/conf/all/accept_redirects", "0"),
    ("net/ipv4/conf/all/send_redirects", "0"),
    ("net/ipv4/conf/all/accept_source_route", "0"),
    // Stalled downloads hold these queues, and no container's memory limit counts them.
    ("net/ipv4/tcp_rmem", "4096 131072 1048576"),
    ("net/ipv4/tcp_wmem", "4096 65536 524288"),
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

/// True when the setting has the value in the end, or the kernel doesn't have what it is about.
fn apply(name: &str, value: &str) -> bool {
    let path = Path::new("/proc/sys").join(name);
    let is = || fs::read_to_string(&path).is_ok_and(|now| now.split_whitespace().eq(value.split_whitespace()));
    !path.exists() || is() || (fs::write(&path, value).is_ok() && is())
}
