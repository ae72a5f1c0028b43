//! `caisson-runner`: PID 1 of a sandbox, which carries out the host's orders from stdin and answers on stdout.
//!
//! Owns the processes of the sandbox, its workspace's file operations and fetching pages from inside. Must not decide what is allowed; host
//! and container do. It runs as the agent's user, so it holds no secrets, is not dumpable, and is not trusted by the host.
//! Tests: beside each module, and `tests/` drive the built binary over pipes.

mod background;
mod changes;
mod children;
mod disk;
mod done;
mod files;
mod handle;
mod harden;
mod host;
mod job;
mod kill;
mod layer;
mod log;
mod mistakes;
mod output;
mod pressure;
mod probe;
mod quiesce;
mod serve;
mod session;
mod shell;
mod shell_state;
mod streams;
mod survey;
mod table;
mod web;
mod written;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Variable with the workspace's path, if it is not `/workspace`.
const WORKSPACE: &str = "CAISSON_WORKSPACE";

const USAGE: &str = "caisson-runner: speaks with its host over stdin and stdout
  caisson-runner             serve the host
  caisson-runner hold        sleep until SIGTERM
  caisson-runner web-fetch <url>
                             print a page as Markdown
  caisson-runner changed <layer> <tree> <workspace> <commit>
                             write what a layer changed in a commit, as git fast-import reads it
  caisson-runner survey <root>
                             tell which files matter to a question on stdin
  caisson-runner mistakes    tell what is plainly wrong with files on stdin
  caisson-runner left <descriptor>
                             tell the directory and the variables that a shell leaves
  caisson-runner probe …     look at the sandbox from inside, for `caisson barrier`
  caisson-runner --version";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let command = args.next().map(OsString::into_string);
    let done = match command {
        None => serve(),
        Some(Ok(word)) if word == "--version" => {
            println!("caisson-runner {}", env!("CARGO_PKG_VERSION"));
            // Kept as one string in the binary, because it is searched for there too.
            println!("{}", std::hint::black_box(protocol::runner::MARK));
            Ok(ExitCode::SUCCESS)
        }
        Some(Ok(word)) if word == "hold" => hold(),
        Some(Ok(word)) if word == "web-fetch" => web::main(args.next().and_then(|url| url.into_string().ok())),
        Some(Ok(word)) if word == "changed" => layer::main(args),
        Some(Ok(word)) if word == "survey" => survey::main(args),
        Some(Ok(word)) if word == "mistakes" => mistakes::main(args),
        Some(Ok(word)) if word == "left" => shell_state::main(args),
        Some(Ok(word)) if word == "probe" => probe::main(args),
        Some(_) => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("caisson-runner: {error:#}");
        ExitCode::FAILURE
    })
}

/// One thread runs everything, with a few extra threads for blocking file operations.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .thread_keep_alive(std::time::Duration::from_secs(u64::from(u32::MAX)))
        .build()?;
    Ok(runtime)
}

/// Parent directory for whole outputs: the home, which nobody can move in a container; a plain process leaves its user's home alone.
fn beside(workspace: &std::path::Path) -> PathBuf {
    let home = std::env::var_os("HOME").filter(|_| harden::is_init()).map(PathBuf::from);
    home.or_else(|| workspace.parent().map(PathBuf::from)).unwrap_or_default()
}

fn serve() -> anyhow::Result<ExitCode> {
    harden::start()?;
    let workspace = std::env::var_os(WORKSPACE).map_or_else(|| PathBuf::from("/workspace"), PathBuf::from);
    let workspace = files::Workspace::open(&workspace)
        .map_err(|error| anyhow::anyhow!("can't open the workspace {}: {error}", workspace.display()))?;
    let disk = disk::Disk::from_environment(workspace.root())?;
    let logs = log::Logs::new(beside(workspace.root()));
    let host = host::Host::take_over_stdio()?;
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        // The first blocking thread must exist before a fork bomb takes the last process slot; later operations can wait for it.
        tokio::task::spawn_blocking(|| ()).await?;
        serve::serve(host, workspace, disk, logs).await
    });
    // Ends at once, without waiting for running file operations.
    runtime.shutdown_background();
    if !harden::is_init() {
        // The kernel does this when PID 1 ends.
        kill::kill_all(&mut std::collections::HashSet::new());
    }
    served.map(|()| ExitCode::SUCCESS)
}

/// Idles, to keep a container and its namespaces alive.
fn hold() -> anyhow::Result<ExitCode> {
    harden::start()?;
    runtime()?.block_on(async {
        let children = children::Children::default();
        tokio::select! {
            () = serve::terminated()? => Ok(()),
            never = children.reap() => never,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
