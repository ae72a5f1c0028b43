//! Replacing the router by another image's while every subnet is in use: how long it takes, the outage, what passed meanwhile, and what
//! works afterwards.

use crate::fleet::{BenchSandbox, Fleet, NAME, SUBNETS, output_of};
use crate::line::{Line, ms};
use caisson::sandbox::broker::Broker as _;
use caisson::sandbox::link::Link;
use protocol::runner::{Limits, Op, Outcome, Status};
use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Subnets in which an action runs the whole time.
const BUSY: usize = 4;
const ROUNDS: usize = 5;

/// Resolves its name repeatedly, and tries destinations that were never allowed. Ends when the file exists: prints the longest time without
/// an answer in milliseconds, and how often something else answered.
const INSIDE: &str = r#"python3 - <<'PROGRAM'
import os, socket, struct, sys, time
def gateway():
    for line in open("/proc/net/route"):
        words = line.split()
        if words[1] == "00000000": return socket.inet_ntoa(struct.pack("<L", int(words[2], 16)))
def ask(name):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.02); s.connect((gateway(), 53))
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    try:
        s.send(b"\0\1\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"); return s.recv(512)[3] & 15 == 0
    except OSError: return False
    finally: s.close()
def reaches(place):
    s = socket.socket(); s.settimeout(0.05)
    try: s.connect(place); return True
    except OSError: return False
    finally: s.close()
strangers = [(a.rsplit(":", 1)[0], int(a.rsplit(":", 1)[1])) for a in "STRANGERS".split()]
last, worst, got_out = time.time(), 0, 0
open("/workspace/going", "w").close()
while not os.path.exists("/workspace/enough"):
    if ask("NAME"): now = time.time(); worst = max(worst, now - last); last = now
    got_out += sum(reaches(it) for it in strangers)
print(round(worst * 1000), got_out)
PROGRAM"#;

/// Prints 1 when the name resolves and the router accepts, then closes, a connection to a port that no rule names.
const USABLE: &str = r#"python3 - <<'PROGRAM'
import socket
address = socket.getaddrinfo("NAME", 22, socket.AF_INET, socket.SOCK_STREAM)[0][4]
try: print(int(socket.create_connection(address, 5).recv(1) == b""))
except ConnectionResetError: print(1)
PROGRAM"#;

/// Tags the same router as another image, as an upgrade does.
pub fn next_image(from: &str, to: &str) {
    let mut child = Command::new("docker")
        .args(["build", "-q", "-t", to, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("docker build");
    let text = format!("FROM {from}\nLABEL caisson.bench={}\n", std::process::id());
    child.stdin.take().expect("stdin").write_all(text.as_bytes()).expect("sent");
    assert!(child.wait().is_ok_and(|status| status.success()), "docker build");
}

/// A listener on this machine that no sandbox may reach; counts its connections.
struct Canary {
    address: String,
    hits: Arc<AtomicU64>,
}

impl Canary {
    fn open() -> Canary {
        let listener = TcpListener::bind("0.0.0.0:0").expect("a canary");
        let port = listener.local_addr().expect("its address").port();
        let bridge = output_of("docker", &["network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"]);
        let hits = Arc::new(AtomicU64::new(0));
        let count = hits.clone();
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Canary { address: format!("{bridge}:{port}"), hits }
    }
}

async fn bash(link: &Link, id: u64, command: String) -> Outcome {
    let limits = Limits { wall_ms: 300_000, output_bytes: 4096 };
    link.run(id, Op::Bash { command, whole: false }, limits).await.expect("ran")
}

async fn quick(link: &Link, id: &AtomicU64, command: &str) -> Outcome {
    bash(link, id.fetch_add(1, Ordering::Relaxed), command.to_owned()).await
}

pub async fn lines(fleet: &Fleet, members: &[BenchSandbox], other: &str) -> Vec<Line> {
    let (canary, ids) = (Canary::open(), AtomicU64::new(1000));
    let neighbour = fleet.link.broker.inspect(&members[1].name).await.expect("asked").and_then(|it| it.address);
    let strangers = format!("{} {}:22", canary.address, neighbour.expect("an address"));
    let inside = INSIDE.replace("NAME", NAME).replace("STRANGERS", &strangers);
    let busy: Vec<&BenchSandbox> = members.iter().step_by(members.len() / BUSY).take(BUSY).collect();
    let running = busy.iter().map(|member| bash(&member.link, 1, inside.clone()));
    let replacing = async {
        for member in &busy {
            quick(&member.link, &ids, "while [ ! -e going ]; do sleep 0.01; done").await;
        }
        let times = replace(fleet, other).await;
        for member in &busy {
            quick(&member.link, &ids, "sleep 0.2; touch enough").await;
        }
        times
    };
    let (outcomes, mut times) = tokio::join!(futures_util::future::join_all(running), replacing);
    let took = crate::line::quantile(&mut times, 0.5);
    let whole = outcomes.iter().all(|outcome| outcome.status == Status::Ok);
    let told: Vec<(u64, u64)> = outcomes.iter().map(|outcome| numbers(&outcome.text)).collect();
    let felt = told.iter().map(|(gap, _)| *gap).max().unwrap_or_default();
    let leaked = told.iter().map(|(_, out)| *out).sum::<u64>() + canary.hits.load(Ordering::Relaxed);
    let usable = usable(members, &ids).await;
    vec![
        Line::promise(
            "router replaced by another image's 5 times, 64 subnets held: the longest that one of 4 sandboxes went without an answer",
            format!("{felt} ms; from the order until the new one holds policy and every subnet {}, median", ms(took)),
            "≤ 300 ms",
            felt <= 300,
        ),
        Line::promise(
            "… meanwhile: connections to this machine and to a neighbour from 4 sandboxes; their actions; subnets usable afterwards",
            format!("{leaked} got out; {}; {usable} of {SUBNETS}", if whole { "all went on" } else { "some ended" }),
            "none; all; all",
            leaked == 0 && whole && usable == SUBNETS,
        ),
    ]
}

fn numbers(text: &str) -> (u64, u64) {
    let mut words = text.split_whitespace().map(str::parse);
    match (words.next(), words.next()) {
        (Some(Ok(gap)), Some(Ok(out))) => (gap, out),
        _ => panic!("an action said: {text}"),
    }
}

/// Replaces the router by the other image and back; each is timed until the bot has sent the new one its whole state.
async fn replace(fleet: &Fleet, other: &str) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut image = other.to_owned();
    for _ in 0..ROUNDS {
        std::mem::swap(&mut fleet.link.spec.lock().expect("whole").image, &mut image);
        let (began, dials) = (Instant::now(), fleet.link.dials.load(Ordering::Relaxed));
        let told = async {
            while fleet.link.dials.load(Ordering::Relaxed) == dials || !fleet.egress.is_attached().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            began.elapsed()
        };
        let (replaced, time) = tokio::join!(fleet.link.ensure(), told);
        replaced.expect("replaced");
        times.push(time);
    }
    times
}

async fn usable(members: &[BenchSandbox], ids: &AtomicU64) -> u32 {
    let command = USABLE.replace("NAME", NAME);
    let mut usable = 0;
    for member in members {
        let outcome = quick(&member.link, ids, &command).await;
        usable += u32::from(outcome.text.trim() == "1");
        if outcome.text.trim() != "1" {
            eprintln!("{}: {}", member.name, outcome.text);
        }
    }
    usable
}
