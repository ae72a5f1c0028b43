//! Sandboxes with a subnet on a real engine: time until ready, many at once, idle, and with their router replaced.

use crate::container::{IMAGE, bare_run, docker, runner, with_broker};
use crate::fleet::{Fleet, RouterLink, SUBNETS};
use crate::idle;
use crate::line::{Line, quantile};
use crate::replaced;
use caisson::egress::{Dial, Egress, Settings as EgressSettings};
use caisson::sandbox::broker::SocketBroker;
use protocol::broker::RouterSpec;
use protocol::router::Policy;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ROUTER: &str = "caisson-router:local";
const ROUNDS: u32 = 8;
const AT_ONCE: u32 = 20;

pub async fn measure() -> Vec<Line> {
    let Some(runner) = runner() else {
        eprintln!("skipped: subnet lines need CAISSON_RUNNER, the static runner (make bench sets it)");
        return Vec::new();
    };
    if let Some(image) = [IMAGE, ROUTER].into_iter().find(|image| !docker(&["image", "inspect", image])) {
        eprintln!("skipped: subnet lines need Docker and the image {image} (make images)");
        return Vec::new();
    }
    let installation = format!("t{}-subnets", std::process::id());
    let other = format!("caisson-router:{installation}");
    let mut settings = broker::Settings::new("", &installation, &runner);
    settings.images = vec![IMAGE.to_owned()];
    settings.router_images = vec![ROUTER.to_owned(), other.clone()];
    replaced::next_image(ROUTER, &other);
    let lines = with_broker(settings, async |broker| lines(broker, installation, &other).await).await;
    docker(&["rmi", &other]);
    lines
}

async fn lines(broker: SocketBroker, installation: String, other: &str) -> Vec<Line> {
    let spec = RouterSpec {
        subnets: SUBNETS,
        pool: None,
        image: ROUTER.to_owned(),
        // An address reserved for documentation: it is never asked, since no connection of this bench is allowed.
        upstream: Some("198.51.100.53".to_owned()),
        private: Vec::new(),
    };
    let link = Arc::new(RouterLink { broker, spec: Mutex::new(spec), dials: AtomicU64::new(0) });
    let first = link.dial().await.expect("a router");
    let egress = Egress::new(EgressSettings {
        policy: Policy::default(),
        dial: Some(link.clone()),
        on_entry: None,
        on_life: None,
        resume: None,
    });
    egress.attach(first).await.expect("introduced");
    let fleet = Fleet { link, egress, installation };
    let mut lines = vec![one(&fleet).await, many(&fleet).await];
    let mut members = Vec::new();
    for subnets in (0..SUBNETS).collect::<Vec<_>>().chunks(4) {
        let made = subnets.iter().map(|subnet| fleet.ready(*subnet));
        members.extend(futures_util::future::join_all(made).await);
    }
    lines.push(idle::memory(&fleet, &members));
    lines.extend(replaced::lines(&fleet, &members, other).await);
    for (subnet, member) in (0..).zip(members) {
        fleet.leave(subnet, member).await;
    }
    lines
}

/// Time of creating a network and a hardened container in it until its first output; removing the network is not counted.
fn bare(fleet: &Fleet, number: u32) -> Duration {
    let network = format!("{}-bare-{number}", fleet.installation);
    let cidr = format!("10.253.{}.{}/28", number / 16, number % 16 * 16);
    let began = Instant::now();
    assert!(docker(&["network", "create", "--subnet", &cidr, &network]), "docker network create");
    bare_run(&network);
    let time = began.elapsed();
    assert!(docker(&["network", "rm", &network]), "docker network rm");
    time
}

async fn one(fleet: &Fleet) -> Line {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let began = Instant::now();
        let member = fleet.ready(0).await;
        let time = began.elapsed();
        fleet.leave(0, member).await;
        // The first round fills caches on both sides.
        let other = bare(fleet, 0);
        if round > 0 {
            ours.push(time);
            theirs.push(other);
        }
    }
    let (one, other) = (quantile(&mut ours, 0.5), quantile(&mut theirs, 0.5));
    Line::at_most(
        "sandbox ready from a subnet, its way open, against `docker network create` and a hardened `docker run`, p50",
        one,
        other,
        1.2,
    )
}

async fn many(fleet: &Fleet) -> Line {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let began = Instant::now();
        let members = futures_util::future::join_all((0..AT_ONCE).map(|subnet| fleet.ready(subnet))).await;
        ours.push(began.elapsed());
        for (subnet, member) in (0..).zip(members) {
            fleet.leave(subnet, member).await;
        }
        let runs: Vec<Duration> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..AT_ONCE).map(|number| scope.spawn(move || bare(fleet, number))).collect();
            all.into_iter().map(|run| run.join().expect("ran")).collect()
        });
        theirs.push(runs.into_iter().max().unwrap_or_default());
    }
    let (one, other) = (quantile(&mut ours, 0.5), quantile(&mut theirs, 0.5));
    Line::at_most(
        "20 sandboxes with a way out started at once, until the last is ready, against the same 20 bare, median of 3",
        one,
        other,
        1.3,
    )
}
