//! The one table of ours in this machine's packet filter: what comes from a subnet's bridge goes to no program of this machine, and
//! through it to no other network.
//!
//! A table of its own: what another one accepts is dropped here all the same, and nobody else's rules are read or changed. It is
//! replaced as a whole in one transaction, so that it may be loaded again at any time without a gap. Tests: below, and
//! `broker/tests/docker/host.rs`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::net::if_::if_nametoindex;
use protocol::host::{FENCED, UNFENCED};

/// Loads the table for these bridges, and says so.
///
/// # Errors
/// When a bridge is not there or the kernel does not take the table: the one before stands.
pub fn raise(table: &str, bridges: &[String]) -> Result<()> {
    let rules = rules(table, bridges)?;
    for bridge in bridges {
        // A rule for a name that nothing has would hold nobody.
        if_nametoindex(bridge.as_str()).with_context(|| format!("this machine has no bridge {bridge}"))?;
    }
    nft(&rules)?;
    println!("{FENCED}");
    Ok(())
}

/// Says when it is gone; one that was never there is.
///
/// # Errors
/// When the kernel does not take it away.
pub fn remove(table: &str) -> Result<()> {
    nft(&emptied(table)?)?;
    println!("{UNFENCED}");
    Ok(())
}

/// Deleting one that is not there would be an error: it is made first.
fn emptied(table: &str) -> Result<String> {
    if !plain(table, 64) {
        bail!("{table:?} is no name of a table");
    }
    Ok(format!("table inet {table}\ndelete table inet {table}\n"))
}

fn rules(table: &str, bridges: &[String]) -> Result<String> {
    let mut text = emptied(table)?;
    let (mut input, mut forward) = (String::new(), String::new());
    for bridge in bridges {
        // IFNAMSIZ, with its end (linux/if.h).
        if !plain(bridge, 15) {
            bail!("{bridge:?} is no name of a bridge");
        }
        writeln!(input, "    iifname \"{bridge}\" drop")?;
        // From one port of a bridge to another: that is seen here, too, where the kernel filters bridges.
        writeln!(forward, "    iifname \"{bridge}\" oifname != \"{bridge}\" drop")?;
    }
    writeln!(text, "table inet {table} {{")?;
    // Before any other table's chains (raw is -300); a verdict of theirs could not undo a drop.
    for (chain, rules) in [("input", input), ("forward", forward)] {
        writeln!(text, "  chain {chain} {{\n    type filter hook {chain} priority -310; policy accept;\n{rules}  }}")?;
    }
    text.push_str("}\n");
    Ok(text)
}

/// What can stand in a rule without being read as more than a name.
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
    // One that gives up before it has read everything says why on stderr.
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
    fn each_bridge_is_dropped_to_this_machine_and_through_it() {
        let text = rules("caisson-one", &["br-0123456789ab".to_owned(), "br-1".to_owned()]).unwrap();
        assert!(text.starts_with("table inet caisson-one\ndelete table inet caisson-one\ntable inet caisson-one {"));
        for line in ["iifname \"br-1\" drop", "iifname \"br-0123456789ab\" oifname != \"br-0123456789ab\" drop"] {
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
