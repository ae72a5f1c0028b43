//! The bot's one table in this machine's packet filter: traffic from a subnet's bridge reaches no program of this machine, and is not
//! forwarded to another network; nor does it fill the machine's table of connections.
//!
//! A separate table: what others accept is still dropped here, and nobody else's rules are read or changed. It is replaced as a whole in
//! one transaction, so that it can be reloaded without a gap. Tests: below, and
//! `broker/tests/docker/host.rs`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::net::if_::if_nametoindex;
use protocol::host::{FENCED, UNFENCED};

/// Loads the table for these bridges and prints the confirmation.
///
/// # Errors
/// When a bridge does not exist or the kernel rejects the table: the previous one stays.
pub fn raise(table: &str, bridges: &[String]) -> Result<()> {
    let rules = rules(table, bridges)?;
    for bridge in bridges {
        // A rule for a missing interface would match nothing.
        if_nametoindex(bridge.as_str()).with_context(|| format!("this machine has no bridge {bridge}"))?;
    }
    nft(&rules)?;
    println!("{FENCED}");
    Ok(())
}

/// Removes the table and prints the confirmation, also if there was none.
///
/// # Errors
/// When the kernel does not remove it.
pub fn remove(table: &str) -> Result<()> {
    nft(&emptied(table)?)?;
    println!("{UNFENCED}");
    Ok(())
}

/// Rules that create and delete the table, because deleting a missing one is an error.
fn emptied(table: &str) -> Result<String> {
    if !plain(table, 64) {
        bail!("{table:?} is no name of a table");
    }
    Ok(format!("table inet {table}\ndelete table inet {table}\n"))
}

fn rules(table: &str, bridges: &[String]) -> Result<String> {
    let mut text = emptied(table)?;
    let (mut untracked, mut input, mut forward) = (String::new(), String::new(), String::new());
    for bridge in bridges {
        // IFNAMSIZ, with its terminating zero (linux/if.h).
        if !plain(bridge, 15) {
            bail!("{bridge:?} is no name of a bridge");
        }
        // Where the kernel filters bridges, each new address within a subnet would take an entry of the machine's table of connections.
        writeln!(untracked, "    iifname \"{bridge}\" notrack")?;
        writeln!(input, "    iifname \"{bridge}\" drop")?;
        // Traffic between ports of one bridge is seen here too, where the kernel filters bridges.
        writeln!(forward, "    iifname \"{bridge}\" oifname != \"{bridge}\" drop")?;
    }
    writeln!(text, "table inet {table} {{")?;
    // Before the chains of any other table (raw is -300, connections are tracked at -200); no verdict of theirs can undo a drop.
    for (chain, rules) in [("prerouting", untracked), ("input", input), ("forward", forward)] {
        writeln!(text, "  chain {chain} {{\n    type filter hook {chain} priority -310; policy accept;\n{rules}  }}")?;
    }
    text.push_str("}\n");
    Ok(text)
}

/// Whether the text is safe in a rule as nothing but a name.
fn plain(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn nft(rules: &str) -> Result<()> {
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("nft can't be run: it belongs in the router's image")?;
    // A program that exits before reading everything explains itself on stderr.
    let written = child.stdin.take().context("no stdin")?.write_all(rules.as_bytes());
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("nft refused the table: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    written.context("nft did not read the table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bridge_is_dropped_to_this_machine_and_through_it_and_not_tracked() {
        let text = rules("caisson-one", &["br-0123456789ab".to_owned(), "br-1".to_owned()]).unwrap();
        assert!(text.starts_with("table inet caisson-one\ndelete table inet caisson-one\ntable inet caisson-one {"));
        let first = "chain prerouting {\n    type filter hook prerouting priority -310;";
        assert!(text.contains(first), "before connections are tracked: {text}");
        for line in [
            "iifname \"br-1\" notrack",
            "iifname \"br-1\" drop",
            "iifname \"br-0123456789ab\" oifname != \"br-0123456789ab\" drop",
        ] {
            assert_eq!(text.matches(line).count(), 1, "{text}");
        }
    }

    #[test]
    fn a_name_is_a_name() {
        for bad in ["", "br 1", "br\"; drop", "-x", "a234567890123456", "br\n1", "*"] {
            assert!(rules("caisson-one", &[bad.to_owned()]).is_err(), "{bad:?}");
        }
        assert!(rules("a b", &[]).is_err() && emptied("x; flush ruleset").is_err());
        assert!(raise("caisson-none", &["no-such-bridge".to_owned()]).is_err(), "before anything is loaded");
    }
}
