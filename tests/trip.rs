//! A whole task on real parts, as in `make demo`: a forge (a real Gitea if there is one), the installed program, the broker, the engine's
//! containers, the router; from `/fix` to a clone whose tests pass. The demo's driver does and judges each step; this test requires that it
//! succeeds unattended and leaves nothing in the engine. Needs Docker, the images and the static runner (`make test`).

#[path = "support/skipped.rs"]
mod skipped;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use skipped::skipped;

/// It takes 20 s on two idle cores.
const PATIENCE: Duration = Duration::from_secs(420);

fn docker(words: &[&str]) -> Option<String> {
    let out = Command::new("docker").args(words).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// What is missing to run it.
fn missing() -> Option<String> {
    if std::env::var_os("CAISSON_RUNNER").is_none_or(|path| !PathBuf::from(path).is_file()) {
        return Some("CAISSON_RUNNER does not name the static runner (`make test` builds it)".to_owned());
    }
    for image in ["caisson-sandbox:local", "caisson-router:local"] {
        if docker(&["image", "inspect", image]).is_none() {
            return Some(format!("the engine does not answer, or has no image {image} (`make images`)"));
        }
    }
    None
}

fn driver() -> PathBuf {
    let own = std::env::current_exe().expect("our own path");
    let driver = own.ancestors().nth(2).expect("target/<profile>/deps").join("examples/demo");
    // `cargo test` builds examples; `cargo test --test trip` does not.
    if !driver.is_file() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo).args(["build", "--quiet", "-p", "caisson", "--example", "demo"]).status();
        assert!(built.is_ok_and(|status| status.success()), "cargo build --example demo");
    }
    driver
}

#[test]
fn an_issue_becomes_a_tested_branch_at_home() {
    if let Some(why) = missing() {
        return skipped("docker", &why);
    }
    let installation = format!("t{}-trip", std::process::id());
    let mut command = Command::new(driver());
    command.env("DEMO_AUTO", "1").env_remove("DEMO_KEEP").env("CAISSON_DEMO_INSTALLATION", &installation);
    command.env("CAISSON_DEMO_PROGRAM", env!("CARGO_BIN_EXE_caisson")).stdin(Stdio::null());
    let mut trip = command.spawn().expect("the driver starts");
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match trip.try_wait().expect("asked") {
            Some(status) => break status,
            None if Instant::now() > end => {
                // Only its own process; what it started ends with it.
                let _ = Command::new("kill").arg(trip.id().to_string()).status();
                let _ = trip.wait();
                panic!("the trip took longer than {} s", PATIENCE.as_secs());
            }
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    };
    assert!(status.success(), "{status}");
    let filter = format!("name=caisson-{installation}");
    for kind in ["ps -aq", "network ls -q", "volume ls -q"] {
        let words: Vec<&str> = kind.split(' ').chain(["--filter", &filter]).collect();
        let listed = docker(&words).expect("listed");
        assert_eq!(listed.trim(), "", "left behind, says `docker {kind}`");
    }
}
