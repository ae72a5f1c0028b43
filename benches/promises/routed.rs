//! What the router costs and how soon it applies a change, in its test bed. Each comparison is with the same client without the router.

use crate::bench_client::HOST;
use crate::line::{Line, ms, quantile, ratio};
use crate::test_bed::{BULK, TestBed, missing};
use crate::{load, tools};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const VISITS: u32 = 1000;
/// Fills both sides' caches, and assigns the first synthetic address.
const WARM: u32 = 20;
const STREAM: usize = 512 << 20;
const CLIENTS: u32 = 32;
const RUSH: Duration = Duration::from_secs(2);
const GRANTS: u32 = 30;

/// Without `all`, only the lines of single visits, which are repeated most often.
pub fn measure(all: bool) -> Vec<Line> {
    if let Some(why) = missing() {
        eprintln!("skipped: router lines: {why}");
        return Vec::new();
    }
    let mut bed = TestBed::new();
    let mut lines = vec![
        visits(&bed, true, "TLS connect + GET through the router", 1.6),
        visits(&bed, false, "HTTP GET through the router", 1.9),
    ];
    if !all {
        return lines;
    }
    lines.extend([stream(&bed), rush(&bed), allow(&mut bed)]);
    lines.extend(tools::denied(&mut bed));
    lines.push(load::at_once(&mut bed));
    lines.push(load::stalled(&bed));
    lines
}

fn visits(bed: &TestBed, tls: bool, what: &str, promise: f64) -> Line {
    let (mut behind, mut beside) = bed.clients(tls);
    let (mut ours, mut direct) = (Vec::new(), Vec::new());
    for visit in 0..WARM + VISITS {
        let (one, other) = (behind.visit(), beside.visit());
        if visit >= WARM {
            ours.push(one);
            direct.push(other);
        }
    }
    let (one, other) = (quantile(&mut ours, 0.5), quantile(&mut direct, 0.5));
    let times = ratio(one, other);
    let name = format!("{what}, with its look-up, against the same without one, p50");
    Line::promise(
        &name,
        format!("{} against {}: {times:.2} ×", ms(one), ms(other)),
        &format!("≤ {promise} ×"),
        times <= promise,
    )
}

/// The place and address of the server, through the router and without it.
fn paths(bed: &TestBed) -> [(String, Ipv4Addr); 2] {
    let real = crate::lab::net::GOOD.parse().expect("an address");
    [("s0".to_owned(), bed.sandbox(0).address(HOST)), (bed.beside.to_owned(), real)]
}

fn stream(bed: &TestBed) -> Line {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..5 {
        for (path, times) in paths(bed).iter().zip(&mut times) {
            times.push(bed.net.within(&path.0, || download(path.1)));
        }
    }
    let [ours, direct] = times.each_mut().map(|times| quantile(times, 0.5));
    let share = ratio(direct, ours);
    let rate = |time: Duration| (STREAM >> 20) as f64 / time.as_secs_f64();
    Line::promise(
        "one download of 512 MiB through the router, against direct, median of 5",
        format!("{:.0} MiB/s against {:.0} MiB/s: {share:.2} ×", rate(ours), rate(direct)),
        "≥ 0.6 ×",
        share >= 0.6,
    )
}

fn download(address: Ipv4Addr) -> Duration {
    let began = Instant::now();
    let mut stream = TcpStream::connect((address, BULK)).expect("connected");
    stream.write_all(format!("{STREAM}\n").as_bytes()).expect("asked");
    let (mut buffer, mut all) = (vec![0; 256 << 10], 0);
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        all += len;
    }
    assert_eq!(all, STREAM);
    began.elapsed()
}

/// Connections with one small page each, from many clients at once.
fn rush(bed: &TestBed) -> Line {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (path, rates) in paths(bed).iter().zip(&mut rates) {
            rates.push(bed.net.within(&path.0, || pages(path.1)));
        }
    }
    let [ours, direct] = rates.map(|mut rates| {
        rates.sort_unstable();
        rates[rates.len() / 2]
    });
    Line::promise(
        "new connections a second through the router, a page each, 32 clients",
        format!("{ours}/s against {direct}/s direct: {:.2} ×", ours as f64 / direct.max(1) as f64),
        "≥ 2000/s",
        ours >= 2000,
    )
}

/// Whole pages per second.
fn pages(address: Ipv4Addr) -> u64 {
    let (done, began) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while began.elapsed() < RUSH {
                    done.fetch_add(u64::from(page((address, 80).into())), Ordering::Relaxed);
                }
            });
        }
    });
    (done.into_inner() as f64 / began.elapsed().as_secs_f64()) as u64
}

/// Whether the page arrived.
pub fn page(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
    let mut body = Vec::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_end(&mut body).is_ok()
        && body.ends_with(crate::bench_client::PAGE)
}

/// Time from sending the grant until the first page from a host that was refused before.
fn allow(bed: &mut TestBed) -> Line {
    let mut times = Vec::new();
    for _ in 0..GRANTS {
        bed.router.close(1);
        bed.router.grant(1, &["other.test"]);
        assert_eq!(bed.sandbox(1).look_up(HOST).1, None, "refused before");
        let began = Instant::now();
        bed.router.grant(1, &["other.test", HOST]);
        let came = |sandbox: crate::lab::sandbox::Sandbox<'_>| {
            let address = sandbox.look_up(HOST).1;
            address.is_some_and(|address| sandbox.inside(|| page((address, 80).into())))
        };
        while !came(bed.sandbox(1)) {
            assert!(began.elapsed() < Duration::from_secs(30), "the grant has no effect");
        }
        times.push(began.elapsed());
    }
    bed.router.grant(1, &crate::test_bed::RULES);
    let (half, worst) = (quantile(&mut times, 0.5), quantile(&mut times, 1.0));
    Line::promise(
        "`/allow`: policy frame to the router → first page from that host, p50 and worst of 30",
        format!("{}, {}", ms(half), ms(worst)),
        "≤ 100 ms",
        worst <= Duration::from_millis(100),
    )
}
