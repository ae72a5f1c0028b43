//! The way out: made once, kept, closed unless opened. Most tests use a stand-in for the router's program that does nothing, to test the
//! broker alone; the last one uses the real image.

use std::io::Read;
use std::net::TcpListener;

use protocol::broker::{ProblemKind, Purpose, Request, RouterInfo, RouterSpec};
use protocol::frame::{Decoder, Message};
use protocol::router::{FromRouter, MAX_PAYLOAD, ToRouter};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::lab::{IMAGE, Lab, absent, router_image, run, spec};

/// Prints the expected lines and does nothing. Its image is removed after the installation that uses it.
const STAND_IN: &str = "#!/bin/sh\ncase $1 in\nhold) exec sleep 100000;;\nwalls) echo walls ready; exec sleep 100000;;\nserve) exec cat;;\n\
    host) case $2 in\nreport) cat <<E\n{\"addresses\":[],\"routes\":[],\"rp_filter\":{}}\nE\n;;\n*) echo ${2}d;;\nesac;;\nesac\n";

struct StandIn(String);

impl StandIn {
    fn build() -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let tag = format!("caisson-test-router-{}-{count}:local", std::process::id());
        let script = STAND_IN.replace('\n', "\\\\n");
        let file = format!(
            "FROM {IMAGE}\nRUN printf '{script}' >/usr/local/bin/caisson-router && chmod 755 /usr/local/bin/caisson-router\n"
        );
        let build = format!("printf '%b' \"$FILE\" | docker build -q -t {tag} -");
        let out = std::process::Command::new("sh").args(["-c", &build]).env("FILE", file).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Self(tag)
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = std::process::Command::new("docker").args(["rmi", "-f", &self.0]).output();
    }
}

pub fn way_out(image: &str, number: u8, subnets: u32) -> RouterSpec {
    let pool = format!("10.{}.{}.0/24", 200 + number, std::process::id() % 256);
    RouterSpec {
        subnets,
        pool: Some(pool),
        image: image.into(),
        upstream: Some("198.51.100.53".into()),
        private: vec![],
    }
}

/// Ids of holder, firewall and router.
fn ids(lab: &Lab) -> [String; 3] {
    ["holder", "walls", "router"]
        .map(|part| lab.docker(&["inspect", "-f", "{{.Id}}", &format!("caisson-{}-{part}", lab.installation)]))
}

/// Runs a test with a stand-in for the router's image, listed by the operator. Without an engine it prints that and passes.
async fn with_stand_in<F: Future<Output = ()> + Send + 'static>(test: impl FnOnce(Lab, String) -> F) {
    if absent(IMAGE) {
        return;
    }
    let stand_in = StandIn::build();
    let image = stand_in.0.clone();
    let listed = vec![image.clone()];
    run(move |settings| settings.router_images = listed, move |lab| test(lab, image)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_out_is_made_once_and_kept() {
    with_stand_in(async move |lab, image| {
        let spec = way_out(&image, 0, 2);
        let made: RouterInfo = lab.ask(&Request::RouterEnsure(spec.clone())).await.unwrap();
        assert_eq!(made.subnets.len(), 2);
        let mut before = ids(&lab);
        let again: RouterInfo = lab.ask(&Request::RouterEnsure(spec.clone())).await.unwrap();
        assert_eq!((&again, &ids(&lab)), (&made, &before), "what stands is left alone");
        assert!(lab.ask::<bool>(&Request::RouterRuns).await.unwrap());

        let (_, mut stream) = lab.exchange::<()>(&Request::RouterAttach).await.unwrap();
        stream.write_all(b"through").await.unwrap();
        let mut echo = [0; 7];
        stream.read_exact(&mut echo).await.unwrap();
        assert_eq!(&echo, b"through");

        lab.done(Request::RouterRestart).await;
        let restarted: RouterInfo = lab.ask(&Request::RouterEnsure(spec.clone())).await.unwrap();
        assert_ne!(restarted.boot, made.boot);
        assert_eq!(ids(&lab), before, "only the router's process is another");

        lab.done(Request::RouterStop).await;
        assert_eq!(lab.docker(&["inspect", "-f", "{{.State.Running}}", &before[2]]), "false");
        assert!(!lab.ask::<bool>(&Request::RouterRuns).await.unwrap(), "a look makes nothing");
        lab.done(Request::RouterStop).await;
        lab.ask::<RouterInfo>(&Request::RouterEnsure(spec.clone())).await.unwrap();
        let stopped = std::mem::replace(&mut before, ids(&lab));
        assert_eq!(before[..2], stopped[..2], "a stopped router is made anew, beside what stands");
        assert_ne!(before[2], stopped[2]);

        let mut other = spec.clone();
        other.upstream = Some("9.9.9.9:5353".to_owned());
        lab.ask::<RouterInfo>(&Request::RouterEnsure(other)).await.unwrap();
        let replaced = std::mem::replace(&mut before, ids(&lab));
        assert_eq!(before[0], replaced[0], "whoever holds the networks stays");
        assert!(before[1] != replaced[1] && before[2] != replaced[2], "the others are told of another resolver");
        let named = format!("name=caisson-{}-", lab.installation);
        let all = lab.docker(&["ps", "-a", "--filter", &named, "--format", "{{.Names}}"]);
        assert_eq!(all.lines().filter(|name| name.contains("-next") || name.contains("-walls")).count(), 1, "{all}");
        lab.ask::<RouterInfo>(&Request::RouterEnsure(spec.clone())).await.unwrap();
        before = ids(&lab);

        let mut more = spec.clone();
        more.subnets = 3;
        lab.ask::<RouterInfo>(&Request::RouterEnsure(more)).await.unwrap();
        assert_eq!(ids(&lab), before, "a subnet more disturbs nobody");

        lab.docker(&["restart", "-t", "0", &before[0]]);
        lab.ask::<RouterInfo>(&Request::RouterEnsure(spec.clone())).await.unwrap();
        let after = ids(&lab);
        assert_eq!(after[0], before[0]);
        assert!(after[1] != before[1] && after[2] != before[2], "who stood in the dead namespace is made anew");

        let mut elsewhere = spec;
        elsewhere.pool = Some("10.199.0.0/24".into());
        let problem = lab.ask::<RouterInfo>(&Request::RouterEnsure(elsewhere)).await.unwrap_err();
        assert!(problem.kind == ProblemKind::Conflict && problem.text.contains("10.199.0.0/24"), "{problem}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_firewall_and_router_have_what_they_need_and_nothing_else() {
    with_stand_in(async move |lab, image| {
        lab.ask::<RouterInfo>(&Request::RouterEnsure(way_out(&image, 1, 1))).await.unwrap();
        let [holder, firewall, router] = ids(&lab);
        let caps = |id: &str| lab.docker(&["exec", id, "grep", "-E", "^(CapEff|CapBnd|NoNewPrivs)", "/proc/1/status"]);
        let none = "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1";
        assert_eq!(caps(&holder), none);
        assert_eq!(caps(&router), none);
        assert_eq!(caps(&firewall), none.replace("0000000000000000", "0000000000001000"), "NET_ADMIN alone");
        let read = |path: &str| lab.docker(&["exec", &router, "cat", &format!("/proc/sys/net/{path}")]);
        assert_eq!(read("ipv4/ip_forward"), "0");
        assert_eq!(read("ipv4/conf/all/rp_filter"), "1");
        assert_eq!(read("ipv4/icmp_ratelimit"), "0");
        assert_eq!(read("ipv4/tcp_max_tw_buckets"), "16384");
        assert_eq!(
            read("ipv6/conf/all/disable_ipv6").trim_start_matches("cat:"),
            read("ipv6/conf/default/disable_ipv6")
        );
        let routes = lab.docker(&["exec", &router, "ip", "-o", "route", "show", "default"]);
        assert!(routes.contains(".129 "), "the way out is the outer network's: {routes}");
        let said = lab.docker(&["exec", "-u", "0", &router, "sh", "-c", "touch /x 2>&1; echo $?"]);
        assert!(said.contains("Read-only"), "{said}");
    })
    .await;
}

/// Tries all addresses given, and a name; prints which answered.
fn reach(addresses: &[String]) -> String {
    let list: Vec<String> = addresses.iter().map(|it| format!("'{it}'")).collect();
    format!(
        "python3 - <<'PROGRAM'
import socket, concurrent.futures as f
def tcp(it):
    host, port = it.rsplit(':', 1)
    try:
        socket.create_connection((host, int(port)), 3).close(); return it + ' OPEN'
    except OSError as error: return None
def name(it):
    try: return it + ' ' + socket.gethostbyname(it)
    except OSError: return None
def udp(it):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
    try:
        s.sendto(bytes.fromhex('000101000001000000000000016100000100 01'.replace(' ', '')), (it, 53)); return it + ' ' + repr(s.recv(100))
    except OSError: return None
with f.ThreadPoolExecutor(40) as pool:
    jobs = [pool.submit(tcp, it) for it in [{list}]] + [pool.submit(name, 'example.com')] + [pool.submit(udp, it) for it in ['9.9.9.9', '172.17.0.1']]
    print([job.result() for job in jobs if job.result()])
PROGRAM",
        list = list.join(", ")
    )
}

/// This machine's IPv4 addresses, each with the port.
fn own_addresses(port: u16) -> Vec<String> {
    let out = std::process::Command::new("hostname").arg("-I").output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace().filter(|it| it.contains('.')).map(|it| format!("{it}:{port}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_gets_out_of_a_subnet_that_nobody_opened() {
    with_stand_in(async move |lab, image| {
        let made: RouterInfo = lab.ask(&Request::RouterEnsure(way_out(&image, 2, 2))).await.unwrap();
        let canary = TcpListener::bind("0.0.0.0:0").unwrap();
        canary.set_nonblocking(true).unwrap();
        let port = canary.local_addr().unwrap().port();
        let mut other = spec("other");
        other.subnet = Some(1);
        let mut other = lab.inside(&other).await;
        other.sh("python3 -m http.server 8000 >/dev/null 2>&1 & sleep 1").await;
        let neighbour = lab.docker(&[
            "inspect",
            "-f",
            "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
            &lab.box_name("other"),
        ]);
        let mut first = spec("first");
        first.subnet = Some(0);
        let mut inside = lab.inside(&first).await;
        assert_eq!(inside.sh("ls /sys/class/net").await.split_whitespace().collect::<Vec<_>>(), ["eth0", "lo"]);

        let mut targets = own_addresses(port);
        targets.extend([
            format!("172.17.0.1:{port}"),
            format!("{neighbour}:8000"),
            "169.254.169.254:80".into(),
            "9.9.9.9:443".into(),
        ]);
        targets.extend(made.subnets.iter().map(|subnet| format!("{}:{port}", subnet.gateway)));
        assert_eq!(inside.sh(&reach(&targets)).await, "[]", "with a router that claimed nothing");
        let dns = inside.sh("cat /etc/resolv.conf; grep -c . /proc/net/if_inet6 2>/dev/null").await;
        assert!(!dns.contains("10.255"), "{dns}");

        for part in ["router", "walls", "holder"] {
            lab.docker(&["kill", &format!("caisson-{}-{part}", lab.installation)]);
        }
        assert_eq!(inside.sh(&reach(&targets)).await, "[]", "with the router dead");
        let mut buffer = [0; 1];
        assert!(canary.accept().map(|(mut it, _)| it.read(&mut buffer)).is_err(), "the host's listener heard somebody");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subnet_holds_one_container_and_dies_with_its_way_out() {
    with_stand_in(async move |lab, image| {
        lab.ask::<RouterInfo>(&Request::RouterEnsure(way_out(&image, 3, 1))).await.unwrap();
        let mut first = spec("first");
        first.subnet = Some(0);
        lab.inside(&first).await;
        let mut second = spec("second");
        second.subnet = Some(0);
        lab.done(Request::Create(second)).await;
        let problem = lab.ask::<()>(&Request::Start { name: "second".into() }).await.unwrap_err();
        assert!(problem.kind == ProblemKind::Conflict && problem.text.contains("subnet"), "{problem}");
        let mut third = spec("third");
        third.subnet = Some(1);
        assert_eq!(lab.ask::<()>(&Request::Create(third)).await.unwrap_err().kind, ProblemKind::NotFound);

        let removed: Vec<String> =
            lab.ask(&Request::Reap { keep: vec!["first".into()], mirrors: vec![] }).await.unwrap();
        assert_eq!(removed, ["second"], "networks stay while their holder lives");
        lab.docker(&["rm", "-f", &format!("caisson-{}-holder", lab.installation)]);
        let removed: Vec<String> = lab.ask(&Request::Reap { keep: vec![], mirrors: vec![] }).await.unwrap();
        let named = |part: &str| format!("caisson-{}-{part}", lab.installation);
        assert_eq!(
            removed,
            [
                "first".to_owned(),
                named("walls"),
                named("router"),
                named("a-outer"),
                named("berth-000"),
                format!("table caisson-{}", lab.installation)
            ]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_of_one_serve_takes_the_way_out_along_unless_a_task_needs_it() {
    with_stand_in(async move |lab, image| {
        let spec_of = |image: &str| way_out(image, 5, 1);
        let named = format!("name=caisson-{}-", lab.installation);
        let standing = |kind: &[&str]| lab.docker(&[kind, &["-q", "--filter", &named]].concat());
        let all = || [standing(&["ps", "-a"]), standing(&["network", "ls"])].concat();
        lab.short_life(async |own| {
            own.ask::<RouterInfo>(&Request::RouterEnsure(spec_of(&image))).await.unwrap();
            own.inside(&spec("barrier-1")).await;
            assert_ne!(all(), "");
        })
        .await;
        assert_eq!(all(), "", "nobody needs it");
        let mut task = spec("t1");
        (task.purpose, task.user, task.subnet) = (Purpose::Task, 10_003, Some(0));
        lab.short_life(async |own| {
            own.ask::<RouterInfo>(&Request::RouterEnsure(spec_of(&image))).await.unwrap();
            own.inside(&task).await;
        })
        .await;
        let kept = [ids(&lab).as_slice(), &[lab.docker(&["inspect", "-f", "{{.Id}}", &lab.box_name("t1")])]].concat();
        assert!(kept.iter().all(|id| id.len() == 64), "a task goes on where it was: {kept:?}");
        lab.done(Request::Remove { name: "t1".into() }).await;
        // A broker that did nothing removes nothing at its end, whoever started it.
        lab.short_life(async |own| drop(own.ask::<serde_json::Value>(&Request::List).await.unwrap())).await;
        assert_eq!(ids(&lab).as_slice(), &kept[..3]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_taken_is_refused_by_name() {
    with_stand_in(async move |lab, image| {
        let spec = way_out(&image, 4, 1);
        let foreign = format!("caisson-test-net-{}", std::process::id());
        lab.docker(&["network", "create", "--subnet", spec.pool.as_deref().unwrap(), &foreign]);
        let problem = lab.ask::<RouterInfo>(&Request::RouterEnsure(spec)).await;
        lab.docker(&["network", "rm", &foreign]);
        let problem = problem.unwrap_err();
        assert!(problem.kind == ProblemKind::Conflict && problem.text.contains(&foreign), "{problem}");
        for change in [
            (|spec| spec.subnets = 0) as fn(&mut RouterSpec),
            |spec| spec.subnets = 9,
            |spec| spec.pool = Some("8.8.8.0/24".into()),
            |spec| spec.upstream = Some("127.0.0.1".into()),
            |spec| spec.image = IMAGE.into(),
            |spec| spec.private = vec!["everything".into()],
        ] {
            let mut spec = way_out(&image, 4, 1);
            change(&mut spec);
            let problem = lab.ask::<RouterInfo>(&Request::RouterEnsure(spec)).await.unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_firewall_that_fails_leaves_nothing_open_and_says_why() {
    if absent(IMAGE) {
        return;
    }
    // An image without such a program.
    run(
        |settings| settings.router_images = vec![IMAGE.into()],
        async |lab| {
            let problem = lab.ask::<RouterInfo>(&Request::RouterEnsure(way_out(IMAGE, 5, 1))).await.unwrap_err();
            assert!(problem.text.contains("caisson-router"), "{problem}");
            let running = lab.docker(&["ps", "-q", "-f", &format!("label=caisson.installation={}", lab.installation)]);
            assert_eq!(running, "");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_router_stands_and_denies() {
    let image = router_image();
    if absent(IMAGE) || absent(&image) {
        return;
    }
    run(
        |_| {},
        async move |lab| {
            let made: RouterInfo = lab.ask(&Request::RouterEnsure(way_out(&image, 6, 1))).await.unwrap();
            assert!(made.boot.is_some());
            let mut spec = spec("denied");
            spec.subnet = Some(0);
            let mut inside = lab.inside(&spec).await;
            let targets = ["172.17.0.1:22", "9.9.9.9:443", "169.254.169.254:80"].map(str::to_owned);
            assert_eq!(inside.sh(&reach(&targets)).await, "[]");
            let (_, mut stream) = lab.exchange::<()>(&Request::RouterAttach).await.unwrap();
            let hello = ToRouter::Hello { version: protocol::router::VERSION, nonce: 1, keep: vec![] };
            let frame = Message { head: hello, body: Default::default() }.to_frame(MAX_PAYLOAD).unwrap();
            stream.write_all(&frame).await.unwrap();
            let (mut decoder, mut bytes) = (Decoder::new(MAX_PAYLOAD), [0; 4096]);
            let payload = loop {
                let length = stream.read(&mut bytes).await.unwrap();
                assert_ne!(length, 0, "the router ended");
                if let Some(payload) = decoder.push(&bytes[..length]).into_iter().flatten().next() {
                    break payload;
                }
            };
            let answer = Message::<FromRouter>::from_payload(payload).unwrap().head;
            assert!(matches!(answer, FromRouter::Hello { generation: 0, .. }), "{answer:?}");
        },
    )
    .await;
}
