//! The machine's own side of a subnet: what is reported about its network, and that nothing that a container sends around its routes
//! arrives.
//!
//! With the real router's image. A socket of the test on 0.0.0.0 receives what arrives.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use protocol::broker::{ProblemKind, Request, RouterInfo};
use protocol::host::{HEARD, Network, TOLD};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

use crate::lab::{IMAGE, Inside, Lab, absent, router_image, run, spec};
use crate::way_out::way_out;

/// nft in the machine's own network namespace, through the engine's program.
const IN_THE_MACHINE: [&str; 12] = [
    "run",
    "--rm",
    "--network",
    "host",
    "--cap-drop",
    "ALL",
    "--cap-add",
    "NET_ADMIN",
    "--user",
    "0",
    "--entrypoint",
    "nft",
];

fn nft(lab: &Lab, words: &[&str]) -> String {
    lab.docker(&[&IN_THE_MACHINE[..], &[&router_image()], words].concat())
}

fn table(lab: &Lab) -> String {
    format!("caisson-{}", lab.installation)
}

/// Sends datagrams to these addresses around the routes in every way, several times; prints a word for each that its own kernel sent.
fn sends(addresses: &[String], port: u16) -> String {
    format!(
        "python3 - <<'PROGRAM'
import socket, time
DONTROUTE = getattr(socket, 'SO_DONTROUTE', 5)
def send(to, options, flags=0, device=None):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if device: s.setsockopt(socket.SOL_SOCKET, 25, device.encode() + b'\\0')
        for option in options: s.setsockopt(socket.SOL_SOCKET, option, 1)
        s.sendto(b'past', flags, (to, {port}))
        return 1
    except OSError: return 0
sent = 0
for _ in range(3):
    for device in [None, 'eth0']:
        sent += send('255.255.255.255', [socket.SO_BROADCAST], device=device)
        sent += send('224.0.0.1', [], device=device)
    for to in {addresses:?}:
        sent += send(to, [DONTROUTE], device='eth0') + send(to, [], socket.MSG_DONTROUTE, device='eth0')
    time.sleep(0.1)
print(sent)
PROGRAM"
    )
}

/// A socket of this machine on 0.0.0.0 that records senders.
struct Canary {
    socket: UdpSocket,
    port: u16,
}

impl Canary {
    fn new() -> Self {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let port = socket.local_addr().unwrap().port();
        Self { socket, port }
    }

    /// The senders received before a datagram of this machine, which is sent now.
    fn heard(&self) -> Vec<SocketAddr> {
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"own", (Ipv4Addr::LOCALHOST, self.port)).unwrap();
        let mut all = Vec::new();
        loop {
            let (length, from) = self.socket.recv_from(&mut [0; 16]).expect("the control arrives");
            if length == 3 && from.ip().is_loopback() {
                return all;
            }
            all.push(from);
        }
    }
}

async fn network(lab: &Lab) -> Network {
    lab.ask(&Request::Host { image: router_image() }).await.unwrap()
}

async fn in_a_subnet(lab: &Lab, number: u8) -> Inside {
    lab.ask::<RouterInfo>(&Request::RouterEnsure(way_out(&router_image(), number, 1))).await.unwrap();
    let mut spec = spec("first");
    spec.subnet = Some(0);
    lab.inside(&spec).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_container_sends_past_its_routes_reaches_no_program_of_this_machine() {
    if absent(IMAGE) || absent(&router_image()) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let mut inside = in_a_subnet(&lab, 20).await;
            let network = network(&lab).await;
            let canary = Canary::new();
            let addresses: Vec<String> =
                network.addresses.iter().filter(|ip| ip.is_ipv4()).map(ToString::to_string).collect();
            let sends = sends(&addresses, canary.port);
            let sent: u32 = inside.sh(&sends).await.parse().unwrap();
            assert!(sent >= 3, "nothing was sent at all");
            assert_eq!(canary.heard(), [], "with the table");

            // Without the table the same datagrams arrive, unless the kernel itself checks their source address.
            nft(&lab, &["delete", "table", "inet", &table(&lab)]);
            inside.sh(&sends).await;
            let strict = network.rp_filter.values().all(|value| *value == 1);
            let heard = canary.heard();
            assert_eq!(heard.is_empty(), strict, "without the table, rp_filter {:?}: {heard:?}", network.rp_filter);

            // A start restores the table, also beside a running container.
            lab.done(Request::Stop { name: "first".into() }).await;
            lab.done(Request::Start { name: "first".into() }).await;
            let mut again = lab.attach("first").await;
            again.sh(&sends).await;
            assert_eq!(canary.heard(), [], "started again");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_is_one_of_its_own_and_goes_with_the_last_subnet() {
    if absent(IMAGE) || absent(&router_image()) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let foreign = Foreign::add(&lab);
            let tables = || nft(&lab, &["list", "tables"]);
            let _inside = in_a_subnet(&lab, 21).await;
            let own = nft(&lab, &["list", "table", "inet", &table(&lab)]);
            let network = lab.docker(&[
                "network",
                "inspect",
                "-f",
                "{{.Id}}",
                &format!("caisson-{}-berth-000", lab.installation),
            ]);
            let bridge = format!("br-{}", &network[..12]);
            assert!(own.contains(&format!("iifname \"{bridge}\" drop")), "{own}");
            assert!(own.contains(&format!("iifname \"{bridge}\" oifname != \"{bridge}\" drop")), "{own}");
            assert!(own.contains(&format!("iifname \"{bridge}\" notrack")), "{own}");
            assert_eq!(own.matches("iifname").count(), 3, "subnets alone, once however often it is loaded: {own}");
            let rules = nft(&lab, &["list", "ruleset"]);
            assert!(rules.contains("DOCKER") && tables().contains(&foreign.0), "nobody else's is touched: {rules}");

            lab.done(Request::Remove { name: "first".into() }).await;
            lab.docker(&["rm", "-f", &format!("caisson-{}-holder", lab.installation)]);
            let removed: Vec<String> = lab.ask(&Request::Reap { keep: vec![], mirrors: vec![] }).await.unwrap();
            assert_eq!(removed.last(), Some(&format!("table {}", table(&lab))));
            let after = tables();
            let own = format!("table inet {}", table(&lab));
            assert!(!after.lines().any(|line| line == own) && after.contains(&foreign.0), "{after}");
        },
    )
    .await;
}

/// A foreign table; removed when dropped.
struct Foreign(String);

impl Foreign {
    fn add(lab: &Lab) -> Self {
        let name = format!("foreign-{}", lab.installation);
        nft(lab, &["add", "table", "inet", &name]);
        Self(name)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = Command::new("docker")
            .args(IN_THE_MACHINE)
            .arg(router_image())
            .args(["delete", "table", "inet", &self.0])
            .output();
    }
}

/// The real router's image without the program that loads the table.
struct ImageWithoutNft(String);

impl ImageWithoutNft {
    fn build() -> Self {
        let tag = format!("caisson-test-toothless-{}:local", std::process::id());
        // It has no shell that could remove anything.
        let file = format!(
            "FROM {IMAGE} AS parts\nCOPY --from={} / /image/\nRUN rm /image/usr/sbin/nft\nFROM scratch\n\
             COPY --from=parts /image /\nENTRYPOINT [\"/usr/local/bin/caisson-router\"]\n",
            router_image()
        );
        let build = format!("printf '%s' \"$FILE\" | docker build -q -t {tag} -");
        let out = Command::new("sh").args(["-c", &build]).env("FILE", file).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Self(tag)
    }
}

impl Drop for ImageWithoutNft {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rmi", "-f", &self.0]).output();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_table_cannot_be_loaded_no_container_with_a_subnet_is_started() {
    if absent(IMAGE) || absent(&router_image()) {
        return;
    }
    let toothless = ImageWithoutNft::build();
    let image = toothless.0.clone();
    run(
        {
            let listed = vec![router_image(), image.clone()];
            move |settings| settings.router_images = listed
        },
        async move |lab| {
            let problem = lab.ask::<RouterInfo>(&Request::RouterEnsure(way_out(&image, 22, 1))).await.unwrap_err();
            assert!(problem.text.contains("no sandbox is started") && problem.text.contains("nft"), "{problem}");
            let mut networked = spec("networked");
            networked.subnet = Some(0);
            lab.done(Request::Create(networked)).await;
            let problem = lab.ask::<()>(&Request::Start { name: "networked".into() }).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Unavailable, "{problem}");
            assert_eq!(lab.docker(&["inspect", "-f", "{{.State.Running}}", &lab.box_name("networked")]), "false");
            // A container without a network needs no table.
            lab.inside(&spec("bare")).await;
            // Only the operator decides what runs in the machine's own namespace.
            for request in [Request::Host { image: IMAGE.into() }, Request::HostListen { image: IMAGE.into() }] {
                let problem = lab.ask::<serde_json::Value>(&request).await.unwrap_err();
                assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
            }
        },
    )
    .await;
    drop(toothless);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_tells_of_its_network_and_hears_who_comes() {
    if absent(IMAGE) || absent(&router_image()) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let _inside = in_a_subnet(&lab, 23).await;
            let told = network(&lab).await;
            // An address of the outer network of this installation, which exists as long as the test.
            let own =
                told.addresses.iter().copied().find(|ip| ip.to_string().starts_with("10.223.")).expect("an address");
            let outer =
                lab.docker(&["network", "inspect", "-f", "{{.Id}}", &format!("caisson-{}-a-outer", lab.installation)]);
            let outer = format!("br-{}", &outer[..12]);
            assert!(told.routes.iter().any(|(_, device)| *device == outer), "{told:?}");
            assert_eq!(
                told.rp_filter.keys().collect::<Vec<_>>(),
                [&format!("caisson-{}-berth-000", lab.installation)],
                "each subnet's bridge by its network"
            );
            let (_, mut stream) = lab.exchange::<()>(&Request::HostListen { image: router_image() }).await.unwrap();
            let mut first = String::new();
            stream.read_line(&mut first).await.unwrap();
            let port = serde_json::from_str::<Network>(&first).unwrap().port.unwrap();
            let helpers =
                || lab.docker(&["ps", "-q", "--filter", &format!("name=caisson-{}-helper", lab.installation)]);
            let id = helpers();
            // Read from outside, because its image has no program to print it.
            let pid = lab.docker(&["inspect", "-f", "{{.State.Pid}}", &id]);
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let wanted = |line: &&str| ["CapEff", "CapBnd", "NoNewPrivs"].iter().any(|name| line.starts_with(name));
            let caps = status.lines().filter(wanted).collect::<Vec<_>>().join("\n");
            assert_eq!(caps, "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1");
            let stranger = UdpSocket::bind((own, 0)).unwrap();
            stranger.send_to(b"x", (own, port)).unwrap();
            stream.write_all(b"\n").await.unwrap();
            let mut heard = Vec::new();
            loop {
                let mut line = String::new();
                assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "it ended after {heard:?}");
                if line.trim_end() == TOLD {
                    break;
                }
                heard.push(line.trim_end().to_owned());
            }
            // The engine's masquerading decides which of its addresses it is.
            let strangers: Vec<&String> = heard.iter().filter(|it| **it != format!("{HEARD}127.0.0.1")).collect();
            assert!(strangers.len() == 1 && strangers[0].starts_with(HEARD), "{heard:?}");
            drop(stream);
            // It ends with its stream, and the engine removes it.
            let gone = async {
                while !lab.docker(&["ps", "-aq", "--no-trunc", "--filter", &format!("id={id}")]).is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), gone).await.expect("it ends");
        },
    )
    .await;
}

/// A route of this machine without a destination; removed when dropped.
struct Route(String);

impl Route {
    fn add(net: &str) -> Self {
        let added = Command::new("ip").args(["route", "add", net, "dev", "lo"]).output();
        assert!(added.is_ok_and(|out| out.status.success()), "as root");
        Self(net.to_owned())
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["route", "del", &self.0]).output();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn from_its_own_container_a_broker_sees_the_machine() {
    if absent(IMAGE) || absent(&router_image()) {
        return;
    }
    run(
        |_| {},
        async |lab| {
            let spec = way_out(&router_image(), 24, 1);
            let route = Route::add(spec.pool.as_deref().unwrap());
            let here = network(&lab).await;
            lab.in_a_container(async |apart| {
                let there = network(&apart).await.addresses;
                assert!(there.iter().any(|ip| here.addresses.contains(ip)), "{there:?}");
                let problem = apart.ask::<RouterInfo>(&Request::RouterEnsure(spec.clone())).await.unwrap_err();
                let wanted = "a route of this machine by lo";
                assert!(problem.kind == ProblemKind::Conflict && problem.text.contains(wanted), "{problem}");
                drop(route);
                apart.ask::<RouterInfo>(&Request::RouterEnsure(spec)).await.unwrap();
                let mut networked = crate::lab::spec("networked");
                networked.subnet = Some(0);
                apart.inside(&networked).await;
                assert!(nft(&apart, &["list", "tables"]).contains(&table(&apart)), "the machine's side is closed");
            })
            .await;
        },
    )
    .await;
}

/// The container in the machine's network with NET_ADMIN has no shell, no interpreter and no other program.
#[tokio::test(flavor = "multi_thread")]
async fn the_routers_image_holds_the_router_and_what_loads_its_filters_and_nothing_else_that_runs() {
    let image = router_image();
    if absent(&image) {
        return;
    }
    let check = async move |lab: Lab| {
        let made = lab.docker(&["create", "--network", "none", &image]);
        let list = std::process::Command::new("sh")
            .args(["-c", "docker export \"$0\" | tar -tvf -", &made])
            .output()
            .expect("docker and tar");
        lab.docker(&["rm", &made]);
        let all = String::from_utf8_lossy(&list.stdout);
        let filters = ["ip6tables", "ip6tables-restore", "iptables", "iptables-restore", "nft", "xtables-nft-multi"];
        let programs = filters.map(|name| format!("usr/sbin/{name}"));
        // "-rwxr-xr-x 0/0 9 2026-11-24 16:00 usr/sbin/nft", "… name -> target": mode, size and name.
        let runs = all.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (rights, size, name) = (words[0], words[2], words[5]);
            let is_library = name.ends_with(".so") || name.contains(".so.");
            // What the engine adds during an export is empty or not a regular file.
            let is_own = rights.starts_with('l') && !name.starts_with("etc/") && !name.starts_with("dev/");
            let is_file = rights.starts_with('-') && rights.contains('x') && size != "0";
            ((is_file || is_own) && !is_library).then(|| name.to_owned())
        });
        let odd: Vec<String> = runs.filter(|name| !programs.contains(name)).collect();
        assert_eq!(odd, ["usr/local/bin/caisson-router"], "{all}");
        let sizes = all.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
        let bytes: u64 = sizes.sum();
        assert!((1..=60_000_000).contains(&bytes), "{bytes} bytes: {all}");
    };
    run(|_| {}, check).await;
}
