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

/// The parts, in their order; `visits` (of `router`) and `year` run only by name.
const PARTS: [&str; 18] = [
    "intake",
    "fold",
    "items",
    "engine",
    "container",
    "touched",
    "router",
    "subnets",
    "asleep",
    "large",
    "upstream",
    "commands",
    "repositories",
    "parked",
    "waits",
    "crowd",
    "kill",
    "stories",
];

/// The lines of one part.
async fn measured(part: &str) -> Vec<Line> {
    match part {
        "intake" => intake::measure().await,
        "fold" => fold::measure().await,
        "items" => items::measure(),
        "engine" => engine::measure().await,
        "container" => container::measure().await,
        "touched" => touched::measure().await,
        "router" | "visits" => routed::measure(part == "router"),
        "subnets" => subnets::measure().await,
        "asleep" => asleep::measure().await,
        "large" => large::measure().await,
        "upstream" => upstream::measure().await,
        "commands" => vec![commands::measure()],
        "repositories" => repositories::measure().await,
        "parked" => parked::measure().await,
        "waits" => waits::measure().await,
        "crowd" => crowd::measure().await,
        "kill" => kill::measure().await,
        "stories" => stories::measure(),
        "year" => year::measure().await,
        _ => unreachable!("no part is called {part}"),
    }
}

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
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let unknown = chosen.iter().find(|word| !PARTS.contains(&word.as_str()) && *word != "visits" && *word != "year");
    if let Some(word) = unknown {
        eprintln!("there is no part {word}: {}, visits, year", PARTS.join(", "));
        return std::process::ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let parts = PARTS.into_iter().filter(|_| chosen.is_empty()).chain(chosen.iter().map(String::as_str));
    let lines: Vec<Line> = parts.flat_map(|part| runtime.block_on(measured(part))).collect();
    println!("| what | measured | promised | |\n|---|---|---|---|");
    lines.iter().for_each(|line| println!("{line}"));
    let broken = lines.iter().filter(|line| line.broken()).count();
    if broken > 0 {
        eprintln!("{broken} promise(s) broken");
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}
