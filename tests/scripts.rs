//! The scripts of `make`, run with replacements for the programs that they start: their final output, and what they leave behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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
        self.run_words(script, &[], more)
    }

    fn run_words(&self, script: &Path, words: &[&str], more: &[(&str, &str)]) -> (Output, String) {
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(script);
        for name in ["CAISSON_REQUIRE", "CAISSON_SKIPS", "CAISSON_SKIP", "CAISSON_ADVISORIES", "DOCKER_HOST"] {
            command.env_remove(name);
        }
        for name in [
            "CAISSON_PUBLIC_URL",
            "CAISSON_PORT",
            "CAISSON_GITEA_IMAGE",
            "CAISSON_MODEL_NAME",
            "CAISSON_PROGRAMS",
            "SUDO_USER",
        ] {
            command.env_remove(name);
        }
        let out = command
            .args(words)
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

/// A run of all has three parts, two of them beside each other, and a failure of one is a failure; what is named runs by itself.
#[test]
fn make_test_runs_each_program_once() {
    const PARTS: &str = r#"[ "$1" = test ] || exit 0
case "$*" in *--no-run*) exit 0 ;; esac
echo "$*" >>"$stage/calls"
case "$*" in *--test=barrier*) echo "test door ... FAILED"; exit 7 ;; esac"#;
    let stage = Stage::new(&[
        ("docker", DOCKER),
        ("dockerd", DOCKERD),
        ("cargo", PARTS),
        ("debootstrap", NO),
        ("mmdebstrap", NO),
    ]);
    fs::write(stage.0.path().join("up"), "").unwrap();
    let script = root().join("tests/support/test.sh");
    let (out, said) = stage.run_words(&script, &[], &[]);
    assert!(out.status.code() == Some(7) && said.contains("== failed\ntest door ... FAILED"), "{said}");
    let calls = stage.read("calls");
    let mut named: Vec<&str> = calls.split_whitespace().filter_map(|word| word.strip_prefix("--test=")).collect();
    named.sort_unstable();
    let (all, mut there) = (named.len(), programs_of_tests());
    there.sort();
    there.dedup();
    assert_eq!((calls.lines().count(), all), (3, there.len()), "{calls}");
    assert_eq!(named, there);
    // The addresses of `tests/support/home.rs` are counted within one program, so these may not run beside each other.
    let with_home = calls.lines().find(|line| line.contains("--test=setup")).unwrap();
    for name in there {
        let uses = fs::read_to_string(root().join(format!("tests/{name}.rs")))
            .is_ok_and(|text| text.contains("\nmod support;"));
        assert!(
            !uses || with_home.contains(&format!("--test={name}")),
            "{name} is not in the list of tests/support/test.sh"
        );
    }
    let (_, said) = stage.run_words(&script, &["-p", "caisson", "--test", "house"], &[]);
    assert!(stage.read("calls").lines().count() == 4 && !said.contains("ran beside"), "{said}");
}

/// The names of the programs of tests of every crate.
fn programs_of_tests() -> Vec<String> {
    let words = ["ls-files", "--cached", "--others", "--exclude-standard", "tests", "*/tests/*"];
    let out = Command::new("git").args(words).current_dir(root()).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    let listed = String::from_utf8(out.stdout).unwrap();
    let of = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["tests", file] | [_, "tests", file] => file.strip_suffix(".rs").map(str::to_owned),
            ["tests", folder, "main.rs"] | [_, "tests", folder, "main.rs"] => Some(folder.to_owned()),
            _ => None,
        }
    };
    listed.lines().filter_map(of).collect()
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
const COMPOSE: &str = r#"echo "$*" >>"$stage/calls"; env | grep '^CAISSON_' >"$stage/env"
case "$*" in
    *RepoDigests*) echo "gitea/gitea@sha256:0123" ;;
    *"--entrypoint test caisson"*) exit 1 ;;
    *"admin user create"*) [ ! -e "$stage/admin" ] || exit 1; touch "$stage/admin"; echo "generated random password is 'pass word'" ;;
    *generate-access-token*) [ ! -e "$stage/token" ] || exit 1; touch "$stage/token"; echo 0123456789012345678901234567890123456789 ;;
    *"--entrypoint sh caisson"*) cat >"$stage/setup"; [ ! -e "$stage/no-setup" ] ;;
    *curl*-X\ DELETE*/users/admin/tokens/caisson-setup) cat >"$stage/curl"; [ ! -e "$stage/no-curl" ] || { printf 401; exit; }
        if rm "$stage/token" 2>/dev/null; then printf 204; else printf 404; fi ;;
    *"repo list"*) echo "no repository yet: caisson repo add <git-url>" ;;
esac"#;

/// A copy of `compose/` on the stage, without what an installation keeps there.
fn copy_of_compose(stage: &Stage) -> PathBuf {
    let copied = Command::new("cp").arg("-r").arg(root().join("compose")).arg(stage.0.path()).status().unwrap();
    assert!(copied.success());
    let place = stage.0.path().join("compose");
    let _ = fs::remove_file(place.join(".env"));
    let _ = fs::remove_dir_all(place.join("secrets"));
    place
}

/// What `make up` runs, where the images are there already.
fn installation() -> (Stage, PathBuf) {
    let write = r#"echo "[model]" >"$1""#;
    let stage = Stage::new(&[("docker", COMPOSE), ("id", "echo 0"), ("chown", ""), ("write", write)]);
    let place = copy_of_compose(&stage);
    fs::write(place.join("images/build.sh"), "#!/bin/sh\n").unwrap();
    (stage, place)
}

#[test]
fn make_up_leaves_no_token_that_may_do_everything_and_pins_what_came_from_a_registry() {
    let (stage, place) = installation();
    fs::write(place.join(".env"), "CAISSON_MODEL_NAME=one").unwrap();
    let (up, group) = (place.join("up.sh"), [("CAISSON_DOCKER_GID", "0"), ("CAISSON_MODEL_KIND", "scripted")]);
    let (out, said) = stage.run_with(&up, &group);
    assert!(out.status.success() && said.contains("password pass word"), "{said}");
    assert!(said.contains("Next: compose/caisson.sh repo add"), "{said}");
    assert_eq!(stage.read("setup").trim(), "0123456789012345678901234567890123456789", "given by standard input");
    assert_eq!(stage.read("curl").trim(), r#"user = "admin:pass word""#, "given by standard input");
    let calls = stage.read("calls");
    assert!(!stage.has("token"), "taken back: {calls}");
    assert!(!calls.contains("pass word") && !calls.contains("01234567890123456789"), "{calls}");
    let pinned = fs::read_to_string(place.join(".env")).unwrap();
    assert_eq!(pinned.matches("\nCAISSON_GITEA_IMAGE=gitea/gitea@sha256:0123\n").count(), 1, "{pinned}");
    assert!(pinned.starts_with("CAISSON_MODEL_NAME=one\n# gitea/gitea:1.25, "), "a last line without an end: {pinned}");
}

#[test]
fn make_up_that_failed_in_setup_can_be_repeated_with_the_same_admin() {
    let (stage, place) = installation();
    let (up, kept) = (place.join("up.sh"), place.join("secrets/gitea-admin"));
    let group = ("CAISSON_DOCKER_GID", "0");
    let (out, said) = stage.run_with(&up, &[group, ("CAISSON_PUBLIC_URL", "git.example.org")]);
    assert!(!out.status.success() && said.contains("begins with http:// or https://"), "{said}");
    assert!(!stage.has("admin"), "before anything is made: {said}");

    fs::write(stage.0.path().join("no-setup"), "").unwrap();
    let (out, said) = stage.run_with(&up, &[group]);
    assert!(!out.status.success() && said.contains("caisson setup failed"), "{said}");
    assert!(stage.has("admin") && !stage.has("token"), "also where the rest failed: {said}");
    let mode = fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the password is nobody else's");

    // As after Ctrl-C in setup: nobody took the token back.
    fs::write(stage.0.path().join("token"), "").unwrap();
    fs::remove_file(stage.0.path().join("no-setup")).unwrap();
    // The password was changed meanwhile: it stays where it is until somebody has looked.
    fs::write(stage.0.path().join("no-curl"), "").unwrap();
    let (out, said) = stage.run_with(&up, &[group]);
    assert!(!out.status.success() && said.contains("write that one into"), "{said}");
    assert!(kept.exists() && stage.has("token"), "{said}");
    fs::remove_file(stage.0.path().join("no-curl")).unwrap();
    let (out, said) = stage.run_with(&up, &[group, ("CAISSON_PORT", "4000")]);
    assert!(out.status.success() && said.contains("password pass word"), "{said}");
    assert!(!stage.has("token") && !kept.exists(), "{said}");
    let calls = stage.read("calls");
    assert!(calls.contains("setup --adopt") && calls.contains(" http://localhost:4000\n"), "{calls}");
    assert!(said.contains("Open http://localhost:4000."), "{said}");
}

/// The start that follows migrates it.
#[test]
fn make_up_goes_on_over_the_store_of_an_older_version() {
    const SET_UP: &str = r#"echo "$*" >>"$stage/calls"
case "$*" in *"repo list"*) cat "$stage/why"; exit 1 ;; esac"#;
    let stage = Stage::new(&[("docker", SET_UP), ("id", "echo 0"), ("chown", "")]);
    let place = copy_of_compose(&stage);
    fs::write(place.join("images/build.sh"), "#!/bin/sh\n").unwrap();
    let up = |why: &str| {
        fs::write(stage.0.path().join("why"), why).unwrap();
        stage.run_with(&place.join("up.sh"), &[("CAISSON_DOCKER_GID", "0")])
    };
    let (out, said) = up("error: the store failed\n");
    assert!(!out.status.success() && said.contains("could not be listed: error: the store failed"), "{said}");
    assert!(!stage.read("calls").contains("restart caisson"), "{said}");
    let (out, said) = up("error: the store has the shape of an older version of caisson (1; this one knows 2): …\n");
    assert!(out.status.success() && said.contains("write an issue with /fix"), "{said}");
    assert!(stage.read("calls").contains("restart caisson\n"), "{}", stage.read("calls"));
}

#[test]
fn a_setting_of_one_command_counts_more_than_the_file_of_settings() {
    let (stage, place) = installation();
    fs::write(place.join(".env"), "CAISSON_GITEA_IMAGE=old\nCAISSON_MODEL_NAME=one\nCAISSON_PORT=4000\n").unwrap();
    let more = [("CAISSON_DOCKER_GID", "0"), ("CAISSON_GITEA_IMAGE", "it's \"new\"")];
    let (out, said) = stage.run_words(&place.join("caisson.sh"), &["task", "list"], &more);
    assert!(out.status.success(), "{said}");
    let given = stage.read("env");
    for line in
        ["CAISSON_GITEA_IMAGE=it's \"new\"", "CAISSON_MODEL_NAME=one", "CAISSON_PUBLIC_URL=http://localhost:4000"]
    {
        assert!(given.lines().any(|known| known == line), "{line}: {given}");
    }
}

#[test]
fn in_containers_what_cannot_work_is_refused_and_the_configuration_can_be_edited() {
    let (stage, place) = installation();
    let (script, folder) = (place.join("caisson.sh"), stage.0.path().to_str().unwrap());
    let more = [("CAISSON_DOCKER_GID", "0"), ("EDITOR", "write"), ("TMPDIR", folder)];
    for words in [
        "image build rust",
        "barrier",
        "repo try shop",
        "repo add ./shop",
        "repo add /srv/shop --name shop",
        "repo add --no-try --name=shop /srv/shop",
        "command check .",
        "task export 3 --into file",
        "task log --file=file",
        "fetch . agent/1-x --open-pr --token-file file",
        "dashboard",
        "serve",
    ] {
        let (out, said) = stage.run_words(&script, &words.split(' ').collect::<Vec<_>>(), &more);
        assert!(out.status.code() == Some(1) && said.starts_with("caisson.sh: "), "{words}: {said}");
    }
    assert!(!stage.read("calls").contains("caisson.toml"), "nothing was begun: {}", stage.read("calls"));
    stage.run_words(&script, &["repo", "add", "https://a.test/team/.github", "--name", ".github", "--no-try"], &more);
    assert!(stage.read("calls").contains("--name .github --no-try\n"), "{}", stage.read("calls"));
    stage.run_words(&script, &["repo", "add", "team/shop", "--writer", "alice"], &more);
    assert!(stage.read("calls").contains("repo add team/shop --writer alice --no-try\n"), "{}", stage.read("calls"));

    let (out, said) = stage.run_words(&script, &["edit"], &more);
    assert!(out.status.success() && said.contains("make up"), "{said}");
    assert_eq!(stage.read("setup"), "[model]\n");
    fs::write(stage.0.path().join("no-setup"), "").unwrap();
    let (out, said) = stage.run_words(&script, &["edit"], &more);
    assert!(!out.status.success() && said.contains("it stays as it was"), "{said}");
    let kept = said.trim().rsplit(' ').next().unwrap_or_default();
    assert_eq!(fs::read_to_string(kept).unwrap(), "[model]\n", "what was written is not lost");
}

#[test]
fn images_under_sudo_take_the_programs_that_their_owner_built() {
    let stage = Stage::new(&[("docker", NOTED), ("cargo", NO), ("rustc", "echo host: x")]);
    let script = copy_of_compose(&stage).join("images/build.sh");
    for (folder, file) in [("router", "Dockerfile"), ("target/release", "caisson-router")] {
        let folder = stage.0.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), "").unwrap();
        fs::set_permissions(folder.join(file), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let base = ("CAISSON_BASE", "base");
    let (out, said) = stage.run_words(&script, &["router"], &[base]);
    assert!(!out.status.success() && !stage.read("calls").contains("docker build"), "cargo builds them: {said}");
    let (out, said) = stage.run_words(&script, &["router"], &[base, ("SUDO_USER", "alice")]);
    assert!(out.status.success() && stage.read("calls").contains("docker build"), "{said}");
}

#[test]
fn an_engine_that_may_not_be_used_is_no_engine_that_is_down() {
    let stage = Stage::new(&[("docker", r#"cat "$stage/why" >&2; exit 1"#)]);
    for script in ["compose/down.sh", "compose/clean.sh"] {
        fs::write(stage.0.path().join("why"), "permission denied while trying to connect to the docker API\n").unwrap();
        let (out, said) = stage.run(script);
        assert!(!out.status.success() && said.contains("run it as root"), "{script}: {said}");
        fs::write(stage.0.path().join("why"), "Cannot connect to the Docker daemon\n").unwrap();
        let (out, said) = stage.run(script);
        assert!(out.status.success() && said.contains("does not answer"), "{script}: {said}");
    }
}

#[test]
fn make_clean_docker_takes_what_trials_left_and_no_installation_in_use() {
    const LEFT: &str = r#"case "$1" in
        ps) printf 'a t12-x\nb main-try12\nc main-barrier3\nd compose\ne main\nf retry-1\n'
            printf 'g demo-7\nh eval-8-bot\ni demo\nj demo-team\nk eval-2026\n' ;;
        image) exit 1 ;;
    esac"#;
    let (out, said) = Stage::new(&[("docker", LEFT)]).run("compose/clean.sh");
    assert!(out.status.success(), "{said}");
    assert_eq!(said, "container a\ncontainer b\ncontainer c\ncontainer g\ncontainer h\n");
}

#[test]
fn make_demo_keeps_the_proxy_that_a_machine_needs() {
    let id = r#"[ "$1" = -u ] && echo 1000 || echo alice"#;
    let sudo = r#"printf '%s\n' "$@" >"$stage/words"; exit 3"#;
    let stage = Stage::new(&[("cargo", "echo cargo 1.99.0"), ("id", id), ("sudo", sudo)]);
    let (out, said) = stage.run("compose/demo.sh");
    assert_eq!(out.status.code(), Some(3), "{said}");
    let words = stage.read("words");
    let kept = words.lines().find_map(|word| word.strip_prefix("--preserve-env=")).expect("what is kept");
    for name in ["https_proxy", "no_proxy", "DEMO_AUTO"] {
        assert!(kept.split(',').any(|it| it == name), "{name}: {words}");
    }
}
