//! The firewall: its order at start, and its effect without the proxy.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use crate::Lab;
use crate::internet::{ECHO, Internet, WEB};
use crate::net::{self, GOOD, LAN, METADATA, Net};
use crate::router::Router;
use crate::sandbox::Sandbox;

fn gateways(net: &Net) -> usize {
    let output = Command::new("ip").args(["-n", &net.name("r"), "-4", "-o", "addr"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ["10.90.240.1/32", "10.90.240.17/32"].iter().filter(|gateway| text.contains(**gateway)).count()
}

#[test]
fn nothing_is_claimed_before_the_rules_stand() {
    if !net::possible() {
        return;
    }
    let net = Net::new();
    let mut router = Router::new(&net);
    // A packet filter that refuses everything.
    let fake = router.program().join("bin");
    std::fs::create_dir(&fake).unwrap();
    let tool = fake.join("iptables-restore");
    std::fs::write(&tool, "#!/bin/sh\necho 'no such table' >&2\nexit 2\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", fake.display());
    let error = router.raise_firewall(Some(&path)).unwrap_err();
    assert!(error.contains("no such table"), "{error}");
    assert_eq!(gateways(&net), 0);
    router.raise_firewall(None).unwrap();
    assert_eq!(gateways(&net), 2);
}

#[test]
fn a_firewall_can_be_raised_again_and_claims_what_appears() {
    let Some(mut lab) = Lab::open(&["good.test"]) else { return };
    lab.net.set("r", &["addr", "del", "10.90.240.18/28", "dev", "subnet1"]);
    lab.net.set("r", &["addr", "del", "10.90.240.17/32", "dev", "subnet1"]);
    assert_eq!(gateways(&lab.net), 1);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    lab.net.set("r", &["addr", "add", "10.90.240.18/28", "dev", "subnet1"]);
    while gateways(&lab.net) < 2 {
        assert!(std::time::Instant::now() < until, "the gateway was not claimed");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let count = || {
        let output = Command::new("ip").args(["netns", "exec", &lab.net.name("r"), "iptables-save"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with("-A")).count()
    };
    let before = count();
    assert!(before > 20, "{before} rules");
    let mut again = Router::new(&lab.net);
    again.raise_firewall(None).unwrap();
    assert_eq!(count(), before);
    assert!(
        lab.sandbox(0).call("good.test", WEB, b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n").text().ends_with("hello")
    );
    lab.router.close(0);
}

#[test]
fn ended_connections_keep_fewer_ports_than_there_are() {
    let Some(lab) = Lab::open(&["good.test"]) else { return };
    let setting = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/{name}");
        let text = lab.net.within("r", || std::fs::read_to_string(path)).unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<u32>>()
    };
    let (kept, ports) = (setting("tcp_max_tw_buckets"), setting("ip_local_port_range"));
    // The router has as many connections at once.
    assert!(kept[0] + 4096 < ports[1] - ports[0], "{kept:?} of {ports:?}");
}

#[test]
fn as_the_proxys_user_only_public_addresses_are_reached() {
    let Some(lab) = Lab::open(&["good.test"]) else { return };
    let reach = |mut command: Command, address: &str, port: u16| {
        let script = format!("timeout 2 bash -c 'exec 3<>/dev/tcp/{address}/{port}'");
        command.args(["bash", "-c", &script]).stderr(std::process::Stdio::null()).status().unwrap().success()
    };
    assert!(reach(lab.router.as_proxy(), GOOD, ECHO));
    // The end of that connection may still be on its way.
    let mut before = lab.net.arrived();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        match lab.net.arrived() {
            now if now == before => break,
            now => before = now,
        }
    }
    for address in
        [LAN, METADATA, "10.90.240.10", "10.90.240.26", "224.0.0.1", "100.64.0.1", "172.17.0.1", "192.168.1.1"]
    {
        assert!(!reach(lab.router.as_proxy(), address, ECHO), "{address}");
    }
    // Another user in the namespace has no way out.
    let mut root = Command::new("ip");
    root.args(["netns", "exec", &lab.net.name("r")]);
    assert!(!reach(root, GOOD, ECHO));
    assert_eq!(lab.net.arrived(), before, "packets left");
}

/// Without a firewall every attack of this suite is seen, so the lab detects holes.
#[test]
fn a_hole_shows_in_the_lab() {
    if !net::possible() {
        return;
    }
    let net = Net::new();
    let internet = Internet::start(&net);
    net.set("r", &["addr", "add", "10.90.240.1/32", "dev", "subnet0"]);
    net.within("r", || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap();
    let sandbox = Sandbox { net: &net, subnet: 0 };
    let before = net.arrived();
    for address in [GOOD, LAN, METADATA] {
        let talk = sandbox.say(address.parse().unwrap(), WEB, b"GET / HTTP/1.1\r\n\r\n");
        assert!(talk.text().ends_with("hello"), "{address}: {talk:?}");
        assert_eq!(internet.hits(address, WEB).len(), 1);
    }
    assert!(net.arrived() > before);
    // With forwarding on, the firewall switches it off.
    let mut router = Router::new(&net);
    router.raise_firewall(None).unwrap();
    assert!(!sandbox.say(GOOD.parse().unwrap(), WEB, b"GET / HTTP/1.1\r\n\r\n").connected);
}
