//! How soon an agent's tools give up on a refused name: this machine's tools, in the test bed's sandbox, with the environment of the
//! sandbox's image.

use crate::bench_client::resolving;
use crate::line::Line;
use crate::test_bed::TestBed;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
const PROMISED: Duration = Duration::from_secs(1);
/// The Dockerfile sets which retries are off.
const IMAGE: &str = include_str!("../../compose/images/sandbox.Dockerfile");

/// The Dockerfile's `ENV` lines: words of the form `name=value`.
fn environment() -> Vec<(String, String)> {
    let joined = IMAGE.replace("\\\n", " ");
    let line = joined.lines().find_map(|line| line.strip_prefix("ENV ")).expect("ENV of the image");
    let pairs = line.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The path of a program.
fn found(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn python() -> Option<PathBuf> {
    let out = Command::new(found("python3")?).args(["-c", "import pip, sys; print(sys.executable)"]).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().into())
}

/// A name for each tool, so that the router's log shows which one asked.
fn name_for(tool: &str) -> String {
    format!("{tool}.refused.test")
}

/// Program and arguments of each tool (`NAME` stands for the refused name); none for a tool that is not installed.
fn tools(dir: &Path) -> Vec<(&'static str, Option<PathBuf>, String)> {
    let at = |name: &str| dir.join(name).display().to_string();
    std::fs::create_dir_all(dir.join("crate/src")).expect("a crate");
    let manifest = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nb = { version = \"1\", registry = \"r\" }\n";
    std::fs::write(dir.join("crate/Cargo.toml"), manifest).expect("a manifest");
    std::fs::write(dir.join("crate/src/lib.rs"), "").expect("a crate");
    std::fs::write(
        dir.join("sources.list"),
        format!("deb [trusted=yes] http://{}/debian stable main\n", name_for("apt")),
    )
    .expect("sources");
    for sub in ["apt/state/lists/partial", "apt/cache/archives/partial"] {
        std::fs::create_dir_all(dir.join(sub)).expect("a directory");
    }
    let apt = format!(
        "update -o Dir::Etc::sourcelist={} -o Dir::Etc::sourceparts=- -o Dir::State={} -o Dir::Cache={} \
         -o APT::Sandbox::User=root -o Acquire::Retries=0 -o APT::Update::Error-Mode=any",
        at("sources.list"),
        at("apt/state"),
        at("apt/cache")
    );
    let cargo = format!(
        "fetch --manifest-path {} --config registries.r.index=\"sparse+https://NAME/\"",
        at("crate/Cargo.toml")
    );
    let pip = format!("-m pip download --no-deps --no-cache-dir -d {} --index-url https://NAME/simple b", at("pip"));
    vec![
        ("curl", found("curl"), "-sS https://NAME/".to_owned()),
        ("git", found("git"), "ls-remote https://NAME/a.git".to_owned()),
        ("pip", python(), pip),
        ("cargo", std::env::var_os("CARGO").map(PathBuf::from), cargo),
        ("npm", found("npm"), "view b --registry https://NAME/".to_owned()),
        ("apt", found("apt-get"), apt),
    ]
}

/// The median of a few tries, each of which must fail and appear in the router's log.
fn tried(bed: &mut TestBed, tool: &str, program: &Path, words: &str) -> Duration {
    let name = name_for(tool);
    let words: Vec<String> = words.split_whitespace().map(|word| word.replace("NAME", &name)).collect();
    let home = bed.dir.path().join("home");
    std::fs::create_dir_all(&home).expect("a home");
    let gateway = bed.net.gateway(0).to_string();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let mut command = resolving(&bed.net, "s0", &gateway, bed.dir.path());
        command.arg(program).args(&words).env_clear().envs(environment());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", &home);
        // The one next to cargo, because another one would first look for a version manager's home, which does not exist here.
        command.env("RUSTC", program.with_file_name("rustc"));
        let began = Instant::now();
        let out = command.stdin(Stdio::null()).output().expect(tool);
        times.push(began.elapsed());
        let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
        assert!(!out.status.success() && said.contains(&name), "{tool} did not fail by that name: {said}");
    }
    bed.router.logged(tool, |entry| entry.host == name);
    crate::line::quantile(&mut times, 0.5)
}

pub fn denied(bed: &mut TestBed) -> Vec<Line> {
    let dir = bed.dir.path().to_owned();
    let (mut felt, mut missing, mut kept) = (Vec::new(), Vec::new(), true);
    for (tool, program, words) in tools(&dir) {
        let Some(program) = program else {
            missing.push(tool);
            continue;
        };
        let time = tried(bed, tool, &program, &words);
        kept &= time <= PROMISED;
        felt.push(format!("{tool} {:.2} s", time.as_secs_f64()));
    }
    let mut measured = felt.join(", ");
    if !missing.is_empty() {
        measured.push_str(&format!("; not here: {}", missing.join(", ")));
    }
    vec![Line::promise("a refused name, until the tool gives up, median of 3", measured, "≤ 1 s each", kept)]
}
