//! `caisson-router hold | walls | serve | host | version`.

use anyhow::{Result, bail};
use caisson_router::{firewall, host, serve, settings::Settings};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "usage: caisson-router hold
       caisson-router walls --pool CIDR --upstream ADDRESS[:PORT] [--berths N] [--private CIDR,…] [--public CIDR,…] [--proxy-uid N]
       caisson-router serve (the same settings)
       caisson-router host report | listen | fence | unfence
       caisson-router version";

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("caisson-router: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = args.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let settings = || Settings::read(rest, |name| std::env::var(name).ok());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(4));
    let runtime = if command == "serve" {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?
    } else {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?
    };
    match command {
        "hold" => runtime.block_on(until_told()),
        "walls" => {
            let settings = settings()?;
            firewall::raise(&settings)?;
            runtime.block_on(async {
                let watch = tokio::task::spawn_blocking(move || firewall::watch(&settings));
                tokio::select! {
                    told = until_told() => told,
                    ended = watch => ended?,
                }
            })?;
            // The watching thread sleeps in the kernel; leaving `main` ends it.
            std::process::exit(0)
        }
        "serve" => {
            let settings = settings()?;
            let served = runtime.block_on(async {
                tokio::select! {
                    told = until_told() => told,
                    ended = serve::run(settings) => ended,
                }
            });
            // A pending read of stdin can't be cancelled, so it is not waited for.
            runtime.shutdown_background();
            served
        }
        "host" => {
            let done = runtime.block_on(host::run(rest));
            // As above.
            runtime.shutdown_background();
            done
        }
        "version" | "--version" => {
            println!("caisson-router {} protocol {}", env!("CARGO_PKG_VERSION"), protocol::router::VERSION);
            Ok(())
        }
        _ => bail!("{USAGE}"),
    }
}

/// Waits for a signal to stop. Process 1 of a container has no default signal handling; without this, stopping takes ten seconds.
async fn until_told() -> Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
