//! Memory of the router under load: its own with many connections, the kernel's with stalled ones.

use crate::bench_client::HOST;
use crate::line::Line;
use crate::test_bed::{BULK, ECHO, TestBed};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Open connections over two subnets: one subnet may have fewer.
const OPEN: usize = 1000;
const STALLED: usize = 200;
/// Most MiB of a stalled download: what the router received from upstream, what it has yet to send to the sandbox (both bounded by the
/// router's sysctls), and the pipe between the two.
const EACH_MIB: u64 = 1 + 1 + 1;

/// Opens connections, each of which has carried a byte both ways.
fn open(bed: &TestBed, subnet: u32, count: usize) -> Vec<TcpStream> {
    let address = bed.sandbox(subnet).address(HOST);
    bed.sandbox(subnet).inside(|| {
        let connect = |_| {
            let mut stream = TcpStream::connect((address, ECHO)).expect("connected");
            let mut heard = [0; 4];
            stream.write_all(b"ping").expect("said");
            stream.read_exact(&mut heard).expect("heard");
            stream
        };
        (0..count).map(connect).collect()
    })
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

pub fn at_once(bed: &mut TestBed) -> Line {
    let pid = bed.router.serve_pid();
    let look = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("the proxy's memory");
        (field(&text, "Rss:"), field(&text, "Pss:"))
    };
    let before = look().0;
    let held = [open(bed, 0, OPEN / 2), open(bed, 1, OPEN / 2)];
    let (rss, pss) = look();
    drop(held);
    let mib = |kilobytes: u64| kilobytes as f64 / 1024.0;
    Line::promise(
        "memory of the proxy with 1,000 connections at once, RSS",
        format!("{:.1} MiB (PSS {:.1} MiB; {:.1} MiB before them)", mib(rss), mib(pss), mib(before)),
        "≤ 16 MiB",
        rss <= 16 << 10,
    )
}

/// Bytes in the socket buffers of the router's namespace, as the kernel counts them.
fn queued(bed: &TestBed) -> u64 {
    let out = Command::new("ip").args(["netns", "exec", &bed.net.name("r"), "ss", "-tmn"]).output().expect("ss");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let memory = text.split("skmem:(").skip(1).filter_map(|rest| rest.split(')').next());
    let held = |fields: &str| {
        let of = |name: &str| fields.split(',').filter_map(|it| it.strip_prefix(name)?.parse::<u64>().ok()).next();
        // r: received and not read; w: written and not acknowledged.
        of("r").unwrap_or_default() + of("w").unwrap_or_default()
    };
    memory.map(held).sum()
}

/// Downloads whose client does not read.
pub fn stalled(bed: &TestBed) -> Line {
    let address = bed.sandbox(0).address(HOST);
    let held: Vec<TcpStream> = bed.sandbox(0).inside(|| {
        let ask = |_| {
            let mut stream = TcpStream::connect((address, BULK)).expect("connected");
            stream.write_all(b"67108864\n").expect("asked");
            stream
        };
        (0..STALLED).map(ask).collect()
    });
    let mut sizes = vec![queued(bed)];
    // Until the amount stops growing.
    for _ in 0..60 {
        std::thread::sleep(Duration::from_millis(500));
        sizes.push(queued(bed));
        if sizes[sizes.len() - 1] <= sizes[sizes.len() - 2] {
            break;
        }
    }
    drop(held);
    let (most, bound) = (sizes.into_iter().max().unwrap_or_default() >> 20, STALLED as u64 * EACH_MIB);
    Line::promise(
        "200 stalled downloads: what the kernel holds for the router's sockets",
        format!("{most} MiB; bounded by its `tcp_rmem` (1 MiB) and `tcp_wmem` (0.5 MiB) for each socket"),
        &format!("≤ {bound} MiB"),
        most <= bound,
    )
}
