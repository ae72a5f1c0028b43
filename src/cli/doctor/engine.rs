//! Broker, container engine, images, router.

use super::report::Report;
use crate::barrier::Outdated;
use crate::cli::{broker_child, image};
use crate::config::Process;
use crate::config::process::{Network, Sandbox};
use crate::sandbox::broker::{Broker, SocketBroker};
use protocol::broker::EngineInfo;
use std::collections::BTreeSet;
use std::time::Instant;

const BUILD: &str = "`make images` builds it here; or pull it, and name it in the configuration";

const ANEW: &str = "docker logs of the router's container say more; then start `caisson serve` anew";

pub(super) async fn look(report: &mut Report, config: &Process, running: bool) {
    let broker = SocketBroker::new(&config.broker.socket);
    match broker_child::greeting(&broker, Instant::now() + broker_child::GREETS_WITHIN).await {
        Ok(info) => {
            report.good("broker", format!("answers on {}", config.broker.socket.display()));
            parts(report, config, &broker, &info).await;
            router(report, config, &broker, running).await;
            super::barrier::look(report, config, &broker).await;
        }
        // In its place none is started, by `serve` neither.
        Err(error) if !config.broker.start => report.fault("broker", error.to_string(), broker_child::ELSEWHERE),
        Err(error) if running => {
            let hint =
                "read broker.log in the state directory; `caisson serve` starts a broker when it is started anew";
            report.fault("broker", error.to_string(), hint);
        }
        Err(_) => match broker_child::TemporaryBroker::start(config).await {
            Ok(temporary) => {
                report.note("broker", "none runs; looked with one that is gone again (`caisson serve` starts its own)");
                parts(report, config, temporary.broker.as_ref(), &temporary.info).await;
            }
            Err(error) => report.fault(
                "broker",
                format!("{error:#}"),
                "where it says nothing else to do: install Docker Engine and start it; `docker version` must answer",
            ),
        },
    }
}

async fn parts(report: &mut Report, config: &Process, broker: &SocketBroker, info: &EngineInfo) {
    report.good("engine", format!("{}, kernel {}, cgroup v{}", info.engine, info.kernel, info.cgroup));
    report.good("engine", format!("seccomp profile {}, runner {}", short(&info.seccomp), short(&info.runner)));
    if let Some(Outdated { what, hint }) = Outdated::of(info) {
        report.fault("runner", what, hint);
    }
    asked(report, config, info);
    if info.installation != config.installation {
        let text = format!("the broker serves installation {}, not {}", info.installation, config.installation);
        report.fault("broker", text, "give each installation its own broker.socket");
    }
    // The broker warns if no such module is enabled.
    if std::fs::read_to_string("/sys/module/apparmor/parameters/enabled").is_ok_and(|text| text.trim() == "Y") {
        report.good("engine", "AppArmor is on");
    }
    for warning in &info.warnings {
        report.note("engine", warning);
    }
    toolchains(report, config, broker).await;
    let listed = config.listed_images();
    let mut wanted: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    if config.sandbox.network == Network::Router {
        wanted.insert(&config.router.image);
    }
    for reference in wanted {
        match broker.image(reference).await {
            Ok(Some(image)) => report.good("images", format!("{reference}, {} MB", image.size / 1_000_000)),
            Ok(None) => report.fault("images", format!("{reference} is not there"), BUILD),
            Err(error) => report.fault("images", format!("{reference}: {error}"), BUILD),
        }
    }
}

/// Settings that differ from the engine's defaults; the broker itself refuses what the engine lacks.
fn asked(report: &mut Report, config: &Process, info: &EngineInfo) {
    let (runtime, gpus) = (info.runtime.as_deref().unwrap_or_default(), info.gpus.as_str());
    if !runtime.is_empty() {
        report.good("engine", format!("runtime {runtime}"));
    }
    if gpus != "none" {
        report.note("engine", format!("tasks' sandboxes get GPUs ({gpus}): SECURITY.md says what that opens"));
    }
    let plain = info.plain_workspaces;
    let (bounded, text) = bounds(&config.sandbox);
    if bounded {
        report.good("workspaces", text)
    } else {
        report.note("workspaces", text)
    }
    let wanted = (config.broker.runtime.as_str(), config.broker.gpus.as_str(), config.broker.plain_workspaces);
    if (runtime, gpus, plain) != wanted {
        let text = format!(
            "the broker runs with runtime {runtime:?}, GPUs {gpus:?} and plain_workspaces = {plain}, not as [broker] in \
             caisson.toml says"
        );
        report.fault("broker", text, "start the broker anew, or write there what it was started with");
    }
}

/// What limits workspaces, homes and the results of setup, and whether these are real limits.
fn bounds(sandbox: &Sandbox) -> (bool, String) {
    let Sandbox { workspace_mib, memory_mib, tmp_mib, disk_mib, disk_floor_mib, setup_mib, setup_total_mib, .. } =
        sandbox;
    let setup = format!(
        "setup may leave twice {setup_mib} MiB for one state of a repository and {setup_total_mib} MiB in all (sandbox.setup_mib, \
         sandbox.setup_total_mib)"
    );
    if *workspace_mib > 0 {
        let text = format!(
            "in memory: {workspace_mib} MiB for the workspace and {tmp_mib} MiB for the home, within the sandbox's {memory_mib} MiB \
             (sandbox.memory_mib); {setup}"
        );
        return (true, text);
    }
    let each = match disk_mib {
        0 => "each as much as it wants (sandbox.disk_mib = 0)".to_owned(),
        most => format!("each sandbox at most {most} MiB of workspace and home (sandbox.disk_mib)"),
    };
    let text = format!(
        "on the engine's disk: {each}, as long as {disk_floor_mib} MiB and a fiftieth of it stay free (sandbox.disk_floor_mib); no quota, the \
         watchdog in each sandbox holds both; {setup}"
    );
    (*disk_mib > 0 && *disk_floor_mib > 0, text)
}

/// A toolchain without an image is not a fault until a repository needs it; its task then says the same.
async fn toolchains(report: &mut Report, config: &Process, broker: &dyn Broker) {
    let mut missing = Vec::new();
    for (name, reference) in config.sandbox.offered() {
        match broker.image(reference).await {
            Ok(Some(image)) => report.good("toolchains", format!("{name}: {reference}, {} MB", image.size / 1_000_000)),
            Ok(None) => missing.push((name, reference)),
            Err(error) => report.note("toolchains", format!("{name}: {error}")),
        }
    }
    if let Some(text) = image::unbuilt(&missing) {
        report.note("toolchains", text);
    }
}

async fn router(report: &mut Report, config: &Process, broker: &SocketBroker, running: bool) {
    match config.sandbox.network {
        Network::None => report.note("router", "sandboxes have no network at all (sandbox.network = \"none\")"),
        Network::Router if !running => report.note("router", "made when `caisson serve` starts"),
        // The router belongs to the running bot: made anew by this configuration, it would cut the connections of all sandboxes.
        Network::Router => match broker.router_runs().await {
            Ok(true) => report.good("router", format!("runs; {} names allowed", config.egress.allowed_words().len())),
            Ok(false) => report.fault("router", "its containers do not all run", ANEW),
            Err(error) => report.fault("router", error.to_string(), ANEW),
        },
    }
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::broker::{BrokerAnswer, Request};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::UnixListener;

    #[tokio::test]
    async fn the_router_of_a_running_bot_is_looked_at_and_not_made_anew() {
        for (runs, faults) in [(true, 0), (false, 1)] {
            let dir = tempfile::tempdir().unwrap();
            let socket = dir.path().join("broker.sock");
            let listener = UnixListener::bind(&socket).unwrap();
            let asked = tokio::spawn(async move {
                let mut stream = BufReader::new(listener.accept().await.unwrap().0);
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                let answer = serde_json::to_string(&BrokerAnswer::Ok(runs)).unwrap() + "\n";
                stream.write_all(answer.as_bytes()).await.unwrap();
                serde_json::from_str::<Request>(&line).unwrap()
            });
            let config = Process::from_layers(std::path::Path::new("x"), "", &|_| None).unwrap();
            let mut report = Report::default();
            router(&mut report, &config, &SocketBroker::new(&socket), true).await;
            assert_eq!((asked.await.unwrap(), report.faults()), (Request::RouterRuns, faults), "{:?}", report.findings);
        }
    }

    #[tokio::test]
    async fn a_broker_that_is_started_elsewhere_is_not_said_to_come_with_the_bot() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("state_dir = \"{}\"\n[broker]\nstart = false\n", dir.path().display());
        let config = Process::from_layers(std::path::Path::new("x"), &text, &|_| None).unwrap();
        for running in [false, true] {
            let mut report = Report::default();
            look(&mut report, &config, running).await;
            let [fault] = &report.findings[..] else { panic!("{:?}", report.findings) };
            assert!(fault.part == "broker" && fault.hint == broker_child::ELSEWHERE, "{fault:?}");
        }
    }

    #[test]
    fn what_bounds_a_workspace_is_told_wherever_it_lies() {
        let told = |text: &str| {
            let config = Process::from_layers(std::path::Path::new("x"), text, &|_| None).unwrap();
            bounds(&config.sandbox)
        };
        let (bounded, usual) = told("");
        assert!(
            bounded && usual.contains("8192 MiB") && usual.contains("2048 MiB") && usual.contains("6144 MiB"),
            "{usual}"
        );
        let (bounded, endless) = told("[sandbox]\ndisk_mib = 0\n");
        assert!(!bounded && endless.contains("sandbox.disk_mib = 0"), "{endless}");
        let (bounded, memory) = told("[sandbox]\nworkspace_mib = 512\n");
        assert!(bounded && memory.contains("512 MiB for the workspace"), "{memory}");
    }
}
