//! Measures what `docs/spec.md` promises, on this machine: `make bench`. A line fails only on a ratio whose two sides were measured in the
//! same run; absolute times depend on the machine and are only printed. Parts that need Docker say when they skip.

mod asleep;
mod commands;
mod container;
mod crowd;
mod subnets;
/// The parts of `make demo`: a forge, the bot's processes, a person.
#[path = "../../tests/support/demo"]
#[allow(dead_code, reason = "the demo uses what the bench does not")]
mod demo {
    use super::skipped;

    pub mod bot;
    pub mod forge;
    #[path = "../gitea.rs"]
    pub mod gitea;
    pub use caisson::cli::eval::own::{person, process};
}
mod doorbell;
mod engine;
mod fleet;
mod fold;
mod idle;
mod intake;
mod items;
mod kill;
/// The router's test bed: namespaces, servers in them, the real programs.
#[path = "../../router/tests/lab"]
#[allow(dead_code, reason = "the router's tests use what the bench does not")]
mod lab {
    use super::skipped;

    pub mod internet;
    pub mod net;
    pub mod router;
    pub mod sandbox;

    /// The static program that is shipped.
    pub fn program() -> std::path::PathBuf {
        std::env::var_os("CAISSON_ROUTER").unwrap_or_default().into()
    }
}
mod bench_client;
mod large;
mod line;
mod load;
mod parked;
mod replaced;
mod repositories;
mod routed;
#[path = "../../tests/support/postgres.rs"]
#[allow(dead_code, reason = "tests use what the bench does not")]
mod server;
#[path = "../../tests/support/skipped.rs"]
mod skipped;
mod stage;
mod stories;
mod test_bed;
mod tools;
mod touched;
mod upstream;
mod waits;
mod year;

// The lab's files use this name.
extern crate router as caisson_router;

use line::Line;

fn main() -> std::process::ExitCode {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(bench_client::WORD) {
        bench_client::run(words.next());
        return std::process::ExitCode::SUCCESS;
    }
    if std::env::args().nth(1).as_deref() == Some(parked::WORD) {
        parked::run(std::env::args().nth(2).expect("a directory"));
    }
    // `cargo bench` passes `--bench`; other arguments choose parts.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut lines: Vec<Line> = Vec::new();
    let chosen = |part: &str| wanted.is_empty() || wanted.iter().any(|word| word == part);
    runtime.block_on(async {
        if chosen("intake") {
            lines.extend(intake::measure().await);
        }
        if chosen("fold") {
            lines.extend(fold::measure().await);
        }
        if chosen("items") {
            lines.extend(items::measure());
        }
        if chosen("engine") {
            lines.extend(engine::measure().await);
        }
        if chosen("container") {
            lines.extend(container::measure().await);
        }
        if chosen("touched") {
            lines.extend(touched::measure().await);
        }
        if chosen("router") || chosen("visits") {
            lines.extend(routed::measure(chosen("router")));
        }
        if chosen("subnets") {
            lines.extend(subnets::measure().await);
        }
        if chosen("asleep") {
            lines.extend(asleep::measure().await);
        }
        if chosen("large") {
            lines.extend(large::measure().await);
        }
        if chosen("upstream") {
            lines.extend(upstream::measure().await);
        }
        if chosen("commands") {
            lines.push(commands::measure());
        }
        if chosen("repositories") {
            lines.extend(repositories::measure().await);
        }
        if chosen("parked") {
            lines.extend(parked::measure().await);
        }
        if chosen("waits") {
            lines.extend(waits::measure().await);
        }
        if chosen("crowd") {
            lines.extend(crowd::measure().await);
        }
        if chosen("kill") {
            lines.extend(kill::measure().await);
        }
        if wanted.iter().any(|word| word == "year") {
            lines.extend(year::measure().await);
        }
    });
    if chosen("stories") {
        lines.extend(stories::measure());
    }
    println!("| what | measured | promised | |\n|---|---|---|---|");
    lines.iter().for_each(|line| println!("{line}"));
    let broken = lines.iter().filter(|line| line.broken()).count();
    if broken > 0 {
        eprintln!("{broken} promise(s) broken");
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}
