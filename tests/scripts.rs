//! The scripts of `make`, run with replacements for the programs that they start: their final output, and what they leave behind.

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

/// A folder of replacement programs that come first on the PATH.
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
        self.run_with(&root().join(script), &[])
    }

    fn run_with(&self, script: &Path, more: &[(&str, &str)]) -> (Output, String) {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(script);
        for name in ["CAISSON_REQUIRE", "CAISSON_SKIPS", "CAISSON_SKIP", "CAISSON_ADVISORIES", "DOCKER_HOST"] {
            command.env_remove(name);
        }
        let out = command
            .envs(more.iter().copied())
            .env("PATH", path)
            .env("CAISSON_CACHE", self.0.path().join("cache"))
            .output()
            .unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        (out, said)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }
}

/// The engine answers while the replacement of dockerd runs; images never exist and cannot be made.
const DOCKER: &str = r#"[ "$1" = version ] && [ -e "$stage/up" ]"#;
const DOCKERD: &str =
    r#"touch "$stage/up" "$stage/started"; trap 'rm "$stage/up"; exit' TERM; while :; do sleep 0.1; done"#;
const CARGO: &str = r#"[ "$1" = test ] || exit 0
case "$*" in *--no-run*) exit 0 ;; esac
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

/// Replacements that record how they were called.
const NOTED: &str = r#"echo "$(basename "$0") $*" >>"$stage/calls""#;
const PASSED: &str = "advisories.toml advisories";

#[test]
fn make_check_never_says_that_nothing_is_known_of_advisories_it_did_not_read() {
    let stage = Stage::new(&[("cargo", NOTED), ("shellcheck", NOTED)]);
    let (out, said) = stage.run("tests/support/check.sh");
    assert!(out.status.success() && said.contains("advisories: not checked"), "{said}");
    assert!(stage.read("calls").contains("shellcheck -x") && stage.read("calls").contains("compose/up.sh"), "{said}");
    assert!(!stage.read("calls").contains(PASSED), "{said}");

    let copies = tempfile::tempdir().unwrap();
    let named = [("CAISSON_ADVISORIES", copies.path().to_str().unwrap())];
    let check = root().join("tests/support/check.sh");
    let (out, said) = stage.run_with(&check, &named);
    assert!(!out.status.success() && said.contains("holds no clone"), "a folder without a date: {said}");
    let copy = copies.path().join("advisory-db-1");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(words);
        command.env("GIT_COMMITTER_DATE", "2026-02-03T12:00:00Z").env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.status().unwrap().success());
    };
    let place = copy.to_str().unwrap();
    git(&["init", "-q", place]);
    git(&["-C", place, "commit", "-q", "--allow-empty", "-m", "advisories"]);
    let (out, said) = stage.run_with(&check, &named);
    assert!(out.status.success() && said.contains("advisories: as of 2026-02-03"), "{said}");
    assert!(stage.read("calls").contains(PASSED) && !said.contains("not checked"), "{said}");
}

#[test]
fn make_check_fails_where_a_script_is_not_clean_and_says_what_it_passed_over() {
    let stage = Stage::new(&[("cargo", NOTED), ("shellcheck", NO)]);
    let (out, said) = stage.run("tests/support/check.sh");
    assert!(!out.status.success() && said.contains("failed:\n  shellcheck -x"), "{said}");
    let (out, said) = stage.run_with(&root().join("tests/support/check.sh"), &[("CAISSON_SKIP", "shellcheck,deny")]);
    assert!(out.status.success() && said.contains("shellcheck (not installed)"), "{said}");
    assert!(said.contains("advisories: not checked (cargo deny is not installed)"), "{said}");
}

/// An engine with a Gitea that is set up for the first time; `no-setup` makes `caisson setup` fail.
const COMPOSE: &str = r#"echo "$*" >>"$stage/calls"
case "$*" in
    *RepoDigests*) echo "gitea/gitea@sha256:0123" ;;
    *"--entrypoint test caisson"*) exit 1 ;;
    *"admin user create"*) echo "generated random password is 'pass word'"; echo "Access token was successfully created... 0123456789012345678901234567890123456789" ;;
    *"--entrypoint sh caisson"*) cat >"$stage/setup"; [ ! -e "$stage/no-setup" ] ;;
    *curl*) cat >"$stage/curl" ;;
    *"repo list"*) echo "no repository yet: caisson repo add <git-url>" ;;
esac"#;

#[test]
fn make_up_leaves_no_token_that_may_do_everything_and_pins_what_came_from_a_registry() {
    let stage = Stage::new(&[("docker", COMPOSE), ("id", "echo 0"), ("chown", "")]);
    let copied = Command::new("cp").arg("-r").arg(root().join("compose")).arg(stage.0.path()).status().unwrap();
    assert!(copied.success());
    let place = stage.0.path().join("compose");
    let _ = fs::remove_file(place.join(".env"));
    fs::write(place.join("images/build.sh"), "#!/bin/sh\n").unwrap();
    let (up, group) = (place.join("up.sh"), [("CAISSON_DOCKER_GID", "0"), ("CAISSON_MODEL_KIND", "scripted")]);
    let (out, said) = stage.run_with(&up, &group);
    assert!(out.status.success() && said.contains("password pass word"), "{said}");
    assert!(said.contains("Next: compose/caisson.sh repo add"), "{said}");
    assert_eq!(stage.read("setup").trim(), "0123456789012345678901234567890123456789", "given by standard input");
    assert_eq!(stage.read("curl").trim(), r#"user = "admin:pass word""#, "given by standard input");
    let calls = stage.read("calls");
    assert!(calls.contains("-X DELETE") && calls.contains("/users/admin/tokens/caisson-setup"), "{calls}");
    assert!(!calls.contains("pass word") && !calls.contains("01234567890123456789"), "{calls}");

    fs::remove_file(stage.0.path().join("curl")).unwrap();
    fs::write(stage.0.path().join("no-setup"), "").unwrap();
    let (out, said) = stage.run_with(&up, &group);
    assert!(!out.status.success() && said.contains("caisson setup failed"), "{said}");
    assert!(stage.has("curl"), "also where the rest failed: {said}");
    let pinned = fs::read_to_string(place.join(".env")).unwrap();
    assert_eq!(pinned.matches("CAISSON_GITEA_IMAGE=gitea/gitea@sha256:0123").count(), 1, "{pinned}");
}
