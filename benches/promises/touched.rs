//! What it costs to report which files an action touched, in a container like ours with 50,000 files: compared with the same action where
//! there are few.

use crate::container::{IMAGE, docker, runner, spec, with_broker};
use crate::line::{Line, ms, quantile};
use broker::Settings;
use caisson::sandbox::broker::{Broker, SocketBroker};
use caisson::sandbox::link::Link;
use protocol::broker::{ContainerLimits, ContainerSpec};
use protocol::runner::{Limits, Op, Status};
use protocol::touched::Touched;
use std::time::{Duration, Instant};

const FOLDERS: usize = 5_000;
const EACH: usize = 10;
const ROUNDS: usize = 40;
const LIMITS: Limits = Limits { wall_ms: 300_000, output_bytes: 4096 };

/// Changes, creates and deletes a file in each of twenty directories.
const ACTION: &str = "for i in $(seq 20); do echo $RANDOM >> d$i/f1; echo x > d$i/new; rm -f d$((i + 20))/f2; done";
const MANY: &str =
    "for i in $(seq FOLDERS); do mkdir d$i; for j in 1 2 3 4 5 6 7 8 9 10; do echo x > d$i/f$j; done; done";

fn shell(command: &str) -> Op {
    Op::Shell { command: command.to_owned(), background: false }
}

struct Sandbox {
    name: String,
    link: Link,
    next: u64,
}

impl Sandbox {
    async fn of(broker: &SocketBroker, name: &str, folders: usize) -> Sandbox {
        let limits =
            ContainerLimits { memory_bytes: 1 << 30, workspace_bytes: 512 << 20, ..spec(String::new(), None).limits };
        broker.create(&ContainerSpec { limits, ..spec(name.to_owned(), None) }).await.expect("created");
        broker.start(name).await.expect("started");
        let stream = Box::new(broker.attach(name).await.expect("attached"));
        let link = Link::attach(stream, 1).await.expect("a runner").0;
        let mut sandbox = Sandbox { name: name.to_owned(), link, next: 1 };
        // Made by a command of the host, as a repository's files are.
        sandbox.run(Op::Bash { command: MANY.replace("FOLDERS", &folders.to_string()), whole: false }).await;
        sandbox
    }

    async fn run(&mut self, op: Op) -> (Duration, Option<Touched>) {
        let id = self.next;
        self.next += 1;
        let began = Instant::now();
        let outcome = self.link.run(id, op, LIMITS).await.expect("ran");
        let took = began.elapsed();
        self.link.ack(id).await.expect("acknowledged");
        assert_eq!(outcome.status, Status::Ok, "{}", outcome.text);
        (took, outcome.touched)
    }
}

pub async fn measure() -> Vec<Line> {
    let Some(runner) = runner().filter(|_| docker(&["image", "inspect", IMAGE])) else {
        eprintln!(
            "skipped: touched files need CAISSON_RUNNER (make bench sets it), Docker and the image {IMAGE} (make images)"
        );
        return Vec::new();
    };
    let mut settings = Settings::new("", "bench", &runner);
    settings.images = vec![IMAGE.to_owned()];
    with_broker(settings, async |broker| measured(&broker).await).await
}

async fn measured(broker: &SocketBroker) -> Vec<Line> {
    let mut large = Sandbox::of(broker, "bench-large", FOLDERS).await;
    let mut small = Sandbox::of(broker, "bench-small", 40).await;
    // The first action scans everything.
    let (first, _) = large.run(shell("true")).await;
    let (few, _) = small.run(shell("true")).await;
    let (mut ours, mut theirs, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (took, touched) = large.run(shell(ACTION)).await;
        assert!(touched.is_some_and(|all| all.changes() >= 20), "told");
        ours.push(took);
        theirs.push(small.run(shell(ACTION)).await.0);
        let look = Op::ReadFile { path: "d7/f3".to_owned(), from: 1, lines: 1 };
        reads.push(large.run(look).await.0);
    }
    broker.remove(&large.name).await.expect("removed");
    broker.remove(&small.name).await.expect("removed");
    let worst = quantile(&mut ours, 0.95).saturating_sub(quantile(&mut theirs, 0.95));
    let (ours, theirs, read) = (quantile(&mut ours, 0.5), quantile(&mut theirs, 0.5), quantile(&mut reads, 0.5));
    let beyond = ours.saturating_sub(theirs);
    let files = FOLDERS * EACH;
    vec![
        Line::promise(
            &format!("a command that touches 60 files among {files}: saying which, beyond the same among 400, p50"),
            format!("{} − {} = {} (p95 {})", ms(ours), ms(theirs), ms(beyond), ms(worst)),
            "≤ 20 ms",
            beyond <= Duration::from_millis(20),
        ),
        Line::shown("… the first action, which looks at every file once", format!("{} against {}", ms(first), ms(few))),
        Line::shown("… an action that reads a file there, p50", ms(read)),
    ]
}
