//! Values that the broker would refuse for each container or for the router, found where they are written. Tests: below.

use super::process::{Process, Sandbox};
use protocol::broker::ContainerLimits;
use protocol::router::{Net, Pool};
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;

/// More memory than a machine has, in MiB.
const MOST_MIB: u64 = 1 << 24;

/// Subnets that the barrier's self-test takes besides those of tasks.
const OF_BARRIER: u32 = 2;

/// Values of `[sandbox]`, or of one repository's, that no container can have: each key with what to set.
pub(super) fn of_sandbox(sandbox: &Sandbox) -> Vec<(&'static str, String)> {
    let Sandbox { memory_mib, workspace_mib, tmp_mib, pids, nofile, cpus, .. } = sandbox;
    let most_pids = *ContainerLimits::PIDS.end();
    let all = [
        ("memory_mib", *memory_mib > MOST_MIB, format!("set at most {MOST_MIB}")),
        ("workspace_mib", *workspace_mib > MOST_MIB, format!("set at most {MOST_MIB}")),
        ("tmp_mib", !(1..=MOST_MIB).contains(tmp_mib), format!("set 1 to {MOST_MIB}")),
        ("pids", u64::from(*pids) > most_pids, format!("set at most {most_pids}")),
        ("nofile", !ContainerLimits::NOFILE.contains(nofile), between(&ContainerLimits::NOFILE)),
        ("cpus", !ContainerLimits::CPUS.contains(cpus), between(&ContainerLimits::CPUS)),
    ];
    all.into_iter().filter_map(|(key, wrong, what)| wrong.then_some((key, what))).collect()
}

fn between<T: Display>(taken: &RangeInclusive<T>) -> String {
    format!("set {} to {}", taken.start(), taken.end())
}

/// Values of `[router]` and `[broker]` with which no router or no broker starts: each key with what to set.
pub(super) fn of_installation(config: &Process) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let room = room(&config.router.pool);
    if room.is_none() {
        let what = "is no private network of IPv4 from /16 to /27, such as 10.213.0.0/20";
        wrong.push(("router.pool", what.to_owned()));
    }
    let taken = config.router.subnets.saturating_add(OF_BARRIER);
    if let Some(room) = room.filter(|room| config.sandbox.networked() && *room < taken) {
        let what = format!(
            "router.pool has room for {room} subnets, and {OF_BARRIER} are the barrier's; set fewer, or a larger pool"
        );
        wrong.push(("router.subnets", what));
    }
    let upstream = &config.router.upstream;
    if !upstream.is_empty() && !is_name_server(upstream) {
        let what = "is no IPv4 address of a name server outside this machine's loopback, such as 9.9.9.9 or 9.9.9.9:53; write one, or \
                    \"\" for the machine's own";
        wrong.push(("router.upstream", what.to_owned()));
    }
    if let Err(why) = config.broker.gpus.parse::<::broker::Gpus>() {
        wrong.push(("broker.gpus", why));
    }
    wrong
}

/// How many networks of sandboxes can be cut from it, whose lower half they get; none where it is no pool.
fn room(text: &str) -> Option<u32> {
    let net = text.parse::<Net>().ok().filter(|net| (16..=27).contains(&net.prefix))?;
    Some(Pool::new(Net { prefix: net.prefix + 1, ..net }).ok()?.subnets())
}

/// Whether the router can ask it, with a port or without one.
fn is_name_server(text: &str) -> bool {
    let ip = text.parse::<SocketAddrV4>().map(|at| *at.ip()).or_else(|_| text.parse::<Ipv4Addr>());
    ip.is_ok_and(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::super::Process;
    use std::path::Path;

    fn refused(text: &str) -> Option<String> {
        Process::from_layers(Path::new("/x/c.toml"), text, &|_| None).err().map(|error| error.to_string())
    }

    #[test]
    fn what_the_broker_would_refuse_for_each_container_is_refused_when_it_is_loaded() {
        for (key, wrong) in [
            ("memory_mib", "17592186044416"),
            ("tmp_mib", "0"),
            ("tmp_mib", "16777217"),
            ("pids", "32769"),
            ("nofile", "0"),
            ("nofile", "63"),
            ("nofile", "1048577"),
            ("cpus", "0"),
            ("cpus", "0.001"),
            ("cpus", "nan"),
            ("cpus", "2000"),
        ] {
            for table in ["[sandbox]\n", "[[repositories]]\nkey = \"a\"\n[repositories.sandbox]\n"] {
                let why = refused(&format!("{table}{key} = {wrong}\n")).expect(key);
                assert!(why.contains(&format!("sandbox.{key}: set ")) && why.lines().count() == 1, "{wrong}: {why}");
            }
        }
        let most = "[sandbox]\nmemory_mib = 65536\ntmp_mib = 1\npids = 32768\nnofile = 1048576\ncpus = 0.01\n";
        assert_eq!(refused(most), None);
    }

    #[test]
    fn so_is_that_with_which_no_router_and_no_broker_starts() {
        for (table, key, wrong) in [
            ("router", "pool", "10.0.0.0/8"),
            ("router", "pool", "10.0.0.0/28"),
            ("router", "pool", "8.8.0.0/16"),
            ("router", "pool", "fd00::/64"),
            ("router", "upstream", "127.0.0.53"),
            ("router", "upstream", "0.0.0.0"),
            ("router", "upstream", "::1"),
            ("broker", "gpus", "some gpu"),
            ("broker", "gpus", ""),
        ] {
            let why = refused(&format!("[{table}]\n{key} = \"{wrong}\"\n")).expect(wrong);
            assert!(why.starts_with(&format!("/x/c.toml:2: {table}.{key}: ")) && why.lines().count() == 1, "{why}");
        }
        let small = |subnets: u32| refused(&format!("[router]\npool = \"10.90.0.0/24\"\nsubnets = {subnets}\n"));
        assert_eq!(small(6), None);
        let why = small(7).expect("the barrier takes two");
        assert!(why.starts_with("/x/c.toml:3: router.subnets: router.pool has room for 8 subnets"), "{why}");
        let right = "[router]\npool = \"172.29.240.0/20\"\nupstream = \"9.9.9.9:5353\"\n[broker]\ngpus = \"0,1\"\n";
        assert_eq!(refused(right), None);
    }
}
