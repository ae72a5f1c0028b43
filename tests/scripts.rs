//! The scripts of `make`, run with stand-ins for the programs that they start: what a person sees at the end, and what is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

#[path = "support/skipped.rs"]
mod skipped;
use skipped::skipped;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of stand-ins that come first on the PATH.
struct Stage(tempfile::TempDir);

impl Stage {
    fn new(programs: &[(&str, &str)]) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        for (name, body) in programs {
            let file = dir.path().join(name);
            fs::write(&file, format!("#!/bin/bash\nstage={}\n{body}\n", dir.path().display())).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Stage(dir)
    }

    fn run(&self, script: &str) -> (Output, String) {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(root().join(script));
        for name in ["CAISSON_REQUIRE", "CAISSON_SKIPS", "CAISSON_SKIP", "CAISSON_ADVISORIES", "DOCKER_HOST"] {
            command.env_remove(name);
        }
        let out = command.env("PATH", path).env("CAISSON_CACHE", self.0.path().join("cache")).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        (out, said)
    }

    fn has(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }
}

/// The engine answers while the stand-in for dockerd runs; images are never there and cannot be made.
const DOCKER: &str = r#"[ "$1" = version ] && [ -e "$stage/up" ]"#;
const DOCKERD: &str =
    r#"touch "$stage/up" "$stage/started"; trap 'rm "$stage/up"; exit' TERM; while :; do sleep 0.1; done"#;
const CARGO: &str = r#"[ "$1" = test ] || exit 0
[ -e "$stage/up" ] && touch "$stage/tested"
printf 'no engine\tone::a\nno engine\ttwo::b\nno gitea\tone::c\nno engine\tone::a\n' >>"$CAISSON_SKIPS"
exit 7"#;
const NO: &str = "exit 1";

#[test]
fn make_test_starts_an_installed_engine_ends_it_and_counts_what_was_skipped() {
    let programs = [
        ("docker", DOCKER),
        ("dockerd", DOCKERD),
        ("cargo", CARGO),
        ("id", "echo 0"),
        ("systemctl", NO),
        ("debootstrap", NO),
        ("mmdebstrap", NO),
    ];
    let stage = Stage::new(&programs);
    let (out, said) = stage.run("tests/support/test.sh");
    assert_eq!(out.status.code(), Some(7), "the tests' own verdict: {said}");
    assert!(stage.has("started") && stage.has("tested"), "the engine answers while the tests run: {said}");
    assert!(!stage.has("up"), "what was started here is ended: {said}");
    let end = said.split("== skipped").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(
        end.contains("2 × no engine\n      one::a, two::b\n") && end.contains("1 × no gitea\n      one::c\n"),
        "{end}"
    );
    assert!(end.contains("1 × the images could not be made") && end.contains("\n4 skipped\n"), "{end}");
}

#[test]
fn make_test_leaves_an_engine_that_answers_alone() {
    let stage = Stage::new(&[
        ("docker", DOCKER),
        ("dockerd", DOCKERD),
        ("cargo", CARGO),
        ("debootstrap", NO),
        ("mmdebstrap", NO),
    ]);
    fs::write(stage.0.path().join("up"), "").unwrap();
    let (_, said) = stage.run("tests/support/test.sh");
    assert!(stage.has("tested") && stage.has("up") && !stage.has("started"), "{said}");
}

#[test]
fn a_skip_is_counted_although_its_words_are_swallowed() {
    const AGAIN: &str = "CAISSON_TEST_SKIPS_ITSELF";
    if std::env::var_os(AGAIN).is_some() {
        return skipped("tides", "the tide\nis out");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut itself = Command::new(std::env::current_exe().unwrap());
    itself.args(["--exact", "a_skip_is_counted_although_its_words_are_swallowed", "--test-threads=2"]);
    itself.env(AGAIN, "1").env("CAISSON_SKIPS", file.path()).env_remove("CAISSON_REQUIRE");
    let out = itself.output().unwrap();
    assert!(out.status.success() && !String::from_utf8_lossy(&out.stdout).contains("the tide"), "{out:?}");
    let line = "the tide is out\tscripts::a_skip_is_counted_although_its_words_are_swallowed\n";
    assert_eq!(fs::read_to_string(file.path()).unwrap(), line);
    assert!(
        !itself.env("CAISSON_REQUIRE", "docker, tides").output().unwrap().status.success(),
        "a required part is missing"
    );
}
