//! Toolchains that Debian does not have, on a real engine: copied from this machine, and pulled from a registry on loopback.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use caisson_broker::toolchain::{DEFAULT_BASE, Origin, Toolchains, find_on_host, kind};

use crate::lab::{IMAGE, absent};
use crate::skipped::skipped;

fn docker(words: &[&str]) -> String {
    let out = Command::new("docker").args(words).output().unwrap();
    assert!(out.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

fn there(tag: &str) -> bool {
    Command::new("docker").args(["image", "inspect", tag]).output().unwrap().status.success()
}

/// Builds an image from these lines.
fn built(tag: &str, lines: &str) {
    let mut child = Command::new("docker");
    let mut child =
        child.args(["build", "-q", "-t", tag, "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{lines}");
}

/// Runs a command as in a sandbox: its user, no network, only a home to write to.
fn inside(image: &str, command: &str) -> String {
    let mine = "/home/agent:exec,uid=10003,gid=10003,size=400m";
    let sealed = [
        "--rm",
        "--network=none",
        "--read-only",
        "--user=10003:10003",
        "--cap-drop=ALL",
        "--tmpfs",
        mine,
        "--tmpfs=/tmp:exec,mode=1777",
    ];
    docker(
        &[&["run"], &sealed[..], &["-e", "HOME=/home/agent", "-w", "/home/agent", image, "sh", "-c", command]].concat(),
    )
}

/// Images and programs of a test; removed when dropped, also after a failure.
#[derive(Default)]
struct TestObjects(Vec<String>, Vec<Child>);

impl TestObjects {
    fn image(&mut self, tag: String) -> String {
        self.0.push(tag.clone());
        tag
    }
}

impl Drop for TestObjects {
    fn drop(&mut self) {
        for tag in self.0.iter().rev() {
            let _ = Command::new("docker").args(["rmi", tag]).output();
        }
        for child in &mut self.1 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

async fn engine() -> Toolchains {
    Toolchains::connect("/var/run/docker.sock".as_ref()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_this_machine_has_builds_in_a_sandbox_what_it_builds_here() {
    if absent(DEFAULT_BASE) || absent(IMAGE) {
        return;
    }
    let go = kind("go").unwrap();
    let found = match find_on_host(go, None) {
        Ok(found) => found,
        Err(why) => return skipped("toolchains", &why),
    };
    let mut made = TestObjects::default();
    let tag = made.image(format!("caisson-test-brought:{}", std::process::id()));
    let (engine, origin) = (engine().await, Origin::Host(found.clone()));
    let built = engine.bring(go, &origin, (&tag, DEFAULT_BASE), false, &mut |_| {}).await.unwrap();
    assert!(!built.before && built.version.as_deref() == Some(found.version.as_str()), "{built:?}");
    let again = engine.bring(go, &origin, (&tag, DEFAULT_BASE), false, &mut |_| {}).await.unwrap();
    assert!(again.before && again.id == built.id);
    let hello = "mkdir x && cd x && go mod init x 2>/dev/null && printf 'package main\\nfunc main() { println(\"it runs\") }\\n' >main.go \
                 && go run . 2>&1; id -u; which go; go env GOTOOLCHAIN; ls -ld /opt/toolchain/bin/go | cut -c1-10";
    assert_eq!(inside(&tag, hello), "it runs\n10003\n/opt/toolchain/bin/go\nlocal\n-rwxr-xr-x");
}

/// A registry from Debian's package, with its data in a directory of its own.
fn registry(made: &mut TestObjects, dir: &std::path::Path) -> Option<String> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = dir.join("registry.yml");
    let text = format!(
        "version: 0.1\nstorage: {{ filesystem: {{ rootdirectory: {} }} }}\nhttp: {{ addr: '127.0.0.1:{port}' }}\n",
        dir.display()
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new("docker-registry");
    let child = command.arg("serve").arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    made.1.push(child);
    let until = Instant::now() + Duration::from_secs(300);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "the registry does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(format!("127.0.0.1:{port}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_official_image_is_pulled_furnished_and_tried_before_it_has_its_name() {
    if absent(DEFAULT_BASE) || absent(IMAGE) {
        return;
    }
    let (dir, mut made) = (tempfile::tempdir().unwrap(), TestObjects::default());
    let Some(registry) = registry(&mut made, dir.path()) else {
        return skipped("registry", "there is no docker-registry (Debian's package of that name)");
    };
    // Like official images: without an agent, with programs of its own; its packages need no network.
    let seed = |version: &str, npm: &str| {
        let reference = format!("{registry}/library/node:{version}-bookworm-slim");
        let program = |name: &str, says: &str| {
            format!("RUN printf '#!/bin/sh\\n{says}\\n' >/usr/local/bin/{name} && chmod 755 /usr/local/bin/{name}\n")
        };
        built(
            &reference,
            &format!(
                "FROM {DEFAULT_BASE}\n{}{}",
                program("node", &format!("echo v{version}.1.0")),
                program("npm", npm)
            ),
        );
        docker(&["push", "-q", &reference]);
        docker(&["rmi", &reference]);
        reference
    };
    let (good, bad) = (seed("20", "id -u"), seed("21", "echo no such library >&2; exit 127"));
    let (node, engine) = (kind("node").unwrap(), engine().await);
    let official = |version: &str| Origin::Official { registry: registry.clone(), version: version.to_owned() };
    let tag = made.image(format!("caisson-test-official:{}", std::process::id()));
    made.image(good.clone());
    made.image(bad.clone());
    let built = engine.bring(node, &official("20"), (&tag, DEFAULT_BASE), false, &mut |_| {}).await.unwrap();
    assert_eq!(built.version.as_deref(), Some("20.1.0"));
    assert_eq!(inside(&tag, "node; npm; command -v git; stat -c %u /workspace"), "v20.1.0\n10003\n/usr/bin/git\n0");
    let again = engine.bring(node, &official("20"), (&tag, DEFAULT_BASE), false, &mut |_| {}).await.unwrap();
    assert!(again.before && there(&good));

    let other = made.image(format!("caisson-test-official:{}-bad", std::process::id()));
    let problem = engine.bring(node, &official("21"), (&other, DEFAULT_BASE), false, &mut |_| {}).await.unwrap_err();
    assert!(problem.text.contains("npm --version: no such library"), "{problem}");
    assert!(!there(&other) && !there("caisson-sandbox:untried-node"), "what does not run has no name");
    let problem = engine.bring(node, &official("99"), (&other, DEFAULT_BASE), false, &mut |_| {}).await.unwrap_err();
    assert!(problem.text.contains("could not be pulled") && problem.text.contains("--from-host"), "{problem}");
}
