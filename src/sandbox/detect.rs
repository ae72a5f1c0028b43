//! The toolchain and test command of a project, and the files that affect tests.
//!
//! Owns pure functions over file names (and a few files' text): toolchain and test command of a project that names none, the one order of
//! languages that both follow, and whether a path defines or steers tests (by its folders and name in `test_names.rs`, and `risks/`, or by the command that names it). Must not read a
//! repository itself. Tests: below.

use std::collections::{BTreeSet, HashSet};

use super::risks::configures_tests;
use super::test_names::{holds_tests, is_hyphened, names_a_test};
use crate::text::shell_word;

/// A test command, and the file it was detected by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// Command for a shell, run at the project's root.
    pub command: String,
    /// File that decided.
    pub by: &'static str,
}

/// Files whose text [`test_command`] and [`toolchain`] need, if they exist.
pub const WANTED: &[&str] = &["Cargo.toml", "pyproject.toml", "package.json", "Makefile", "setup.cfg", "tox.ini"];

/// Languages in the order in which they count where a project has several: the toolchain of each, files at the root that tell of it, and the
/// programs by which a command uses it. Image and test command both follow this order.
const LANGUAGES: [(&str, &[&str], &[&str]); 6] = [
    ("rust", &["Cargo.toml"], &["cargo"]),
    ("python", &["pyproject.toml", "setup.py", "requirements.txt"], &["python", "python3", "pytest", "tox", "nox"]),
    ("node", &["package.json"], &["node", "npm", "npx", "yarn", "pnpm", "bun"]),
    ("go", &["go.mod"], &["go"]),
    ("java", &["pom.xml", "build.gradle", "build.gradle.kts"], &["mvn", "mvnw", "gradle", "gradlew"]),
    ("cpp", &["CMakeLists.txt", "configure.ac", "meson.build"], &["cmake", "ctest", "meson", "ninja"]),
];

/// A language of a project.
struct Language {
    toolchain: &'static str,
    /// File that tells of it.
    by: &'static str,
    programs: &'static [&'static str],
    test: Option<Detected>,
}

/// The languages of a project, those with tests first.
fn languages(files: &[String], text: &dyn Fn(&str) -> Option<String>) -> Vec<Language> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let mut all = Vec::new();
    for (toolchain, signs, programs) in LANGUAGES {
        let sign = signs.iter().copied().find(|&sign| has(sign));
        let test = tests_in(toolchain, (files, sign.is_some()), text);
        let by = sign.or(test.as_ref().map(|test| test.by));
        all.extend(by.map(|by| Language { toolchain, by, programs, test }));
    }
    all.sort_by_key(|language| language.test.is_none());
    all
}

/// The test command of one language in a project with these files; `is_there`: whether a file at the root tells of the language.
fn tests_in(
    toolchain: &str,
    (files, is_there): (&[String], bool),
    text: &dyn Fn(&str) -> Option<String>,
) -> Option<Detected> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let by = |by: &'static str, command: &str| has(by).then(|| Detected { command: command.to_owned(), by });
    match toolchain {
        "rust" => {
            let is_left_out = text("Cargo.toml").is_some_and(|manifest| leaves_members_out(&manifest));
            by("Cargo.toml", if is_left_out { "cargo test --workspace" } else { "cargo test" })
        }
        "python" => match pytest(&has, text) {
            Some(by) => Some(Detected { command: "python3 -m pytest -q -rA".to_owned(), by }),
            // Tests in Python may lie in a project of another language.
            None => unittest(files).filter(|_| is_there),
        },
        "node" => by("package.json", "npm test").filter(|_| text("package.json").is_some_and(|it| npm_test(&it))),
        "go" => by("go.mod", "go test -v ./..."),
        "java" => by("pom.xml", "mvn -B -o test").or_else(|| by("gradlew", "sh ./gradlew --offline test")),
        _ => None,
    }
}

/// The command for a project with these `files`; `text` gives a root file of [`WANTED`]. `toolchain` is the one that its tasks get if that is
/// named, such as `rust` or `rust@1.95`: tests of another language would not run there.
pub fn test_command(
    files: &[String],
    text: &dyn Fn(&str) -> Option<String>,
    toolchain: Option<&str>,
) -> Option<Detected> {
    let languages = languages(files, text);
    let named = toolchain.map(unversioned);
    let of_it = languages.iter().find(|language| Some(language.toolchain) == named);
    if let Some(test) = of_it.or(languages.first()).and_then(|language| language.test.clone()) {
        return Some(test);
    }
    let by_make = || {
        let has_target = text("Makefile").is_some_and(|make| make.lines().any(is_test_target));
        has_target.then(|| Detected { command: "make test".to_owned(), by: "Makefile" })
    };
    // Every image has Python, so its tests run there, too.
    if languages.is_empty() { unittest(files).or_else(by_make) } else { by_make().or_else(|| unittest(files)) }
}

/// A toolchain's name without a version: `rust` of `rust@1.95`.
pub fn unversioned(name: &str) -> &str {
    name.split_once('@').map_or(name, |(plain, _)| plain)
}

/// The toolchain of a project with these files, and the file that decided; `None` = the base suffices. `test` is its test command, if that is
/// named: of several languages that which it uses counts.
pub fn toolchain(
    files: &[String],
    text: &dyn Fn(&str) -> Option<String>,
    test: Option<&str>,
) -> Option<(&'static str, &'static str)> {
    let languages = languages(files, text);
    let is_used = |language: &&Language| words(test.unwrap_or_default()).any(|word| language.programs.contains(&word));
    let chosen = languages.iter().find(is_used).or(languages.first());
    chosen.map(|language| (language.toolchain, language.by))
}

/// Whether cargo, at the root of a workspace with this `Cargo.toml`, works on the package there alone unless it is told otherwise.
pub(super) fn leaves_members_out(manifest: &str) -> bool {
    let Ok(table) = manifest.parse::<toml::Table>() else { return false };
    let workspace = table.get("workspace").and_then(toml::Value::as_table);
    workspace.is_some_and(|workspace| table.contains_key("package") && !workspace.contains_key("default-members"))
}

/// The file by which pytest runs a project's tests.
fn pytest(has: &impl Fn(&str) -> bool, text: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    let says_pytest = |name: &str| text(name).is_some_and(|body| body.contains("pytest"));
    let mut signs = [("pytest.ini", has("pytest.ini")), ("conftest.py", has("conftest.py"))]
        .into_iter()
        .chain(["pyproject.toml", "setup.cfg", "tox.ini"].map(|name| (name, says_pytest(name))));
    signs.find_map(|(by, is_there)| is_there.then_some(by))
}

/// Folders in which unittest's discovery begins, at most: with more of them a person has to name the command.
const MOST_STARTS: usize = 8;

/// Discovery by unittest, where it loads a test: it enters packages alone, so a folder of tests without `__init__.py` is named. Elsewhere it
/// would run nothing, which is no error before Python 3.12.
fn unittest(files: &[String]) -> Option<Detected> {
    let packages: HashSet<&str> = files.iter().filter_map(|file| file.strip_suffix("/__init__.py")).collect();
    let is_test = |file: &&String| {
        let name = file.rsplit('/').next().unwrap_or_default();
        name.starts_with("test") && name.ends_with(".py")
    };
    let starts = files.iter().filter(is_test).map(|file| {
        let mut folders = file.match_indices('/').map(move |(at, _)| &file[..at]);
        folders.rfind(|folder| !packages.contains(folder)).unwrap_or_default()
    });
    let of_tests = |start: &&str| ["", "tests", "test"].contains(&start.split('/').next().unwrap_or_default());
    let starts: BTreeSet<(usize, &str)> =
        starts.filter(of_tests).map(|start| (start.matches('/').count(), start)).collect();
    let (depth, _) = *starts.first()?;
    let command = |start: &str| match start {
        "" => "python3 -m unittest -v".to_owned(),
        folder => format!("python3 -m unittest discover -v -s {}", shell_word(folder)),
    };
    // Below the nearest lie data of tests, too; of those equally near none is left out, or the verdict would be of a part.
    let nearest: Vec<String> = starts.iter().filter(|(at, _)| *at == depth).map(|(_, start)| command(start)).collect();
    (nearest.len() <= MOST_STARTS).then(|| Detected { command: nearest.join(" && "), by: "test*.py" })
}

/// Whether `scripts.test` is real; npm's placeholder always fails.
fn npm_test(package: &str) -> bool {
    let parsed: Option<serde_json::Value> = serde_json::from_str(package).ok();
    let script = parsed.as_ref().and_then(|p| p.pointer("/scripts/test")).and_then(|s| s.as_str());
    script.is_some_and(|script| !script.trim().is_empty() && !script.contains("no test specified"))
}

fn is_test_target(line: &str) -> bool {
    line.strip_prefix("test")
        .is_some_and(|rest| rest.trim_start().starts_with(':') && !rest.trim_start().starts_with(":="))
}

/// Whether a changed path defines or steers tests: a test, its configuration, or what builds and runs it.
pub fn steers_tests(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let mut dirs = lower.split('/').rev().skip(1);
    dirs.any(|dir| holds_tests(dir) || ["spec", "specs", ".cargo", ".config"].contains(&dir))
        || names_a_test(name)
        || is_hyphened(name)
        || name.contains(".snap")
        || configures_tests(path)
}

/// Whether a command may run scripts of a `package.json`, by the name of such a tool.
pub fn runs_scripts(command: &str) -> bool {
    words(command).any(|word| ["npm", "yarn", "pnpm", "bun"].contains(&word))
}

/// The scripts of a `package.json` that testing it runs.
pub fn test_scripts(package: &str) -> Vec<String> {
    let parsed: serde_json::Value = serde_json::from_str(package).unwrap_or_default();
    let script = |name: &str| parsed["scripts"][name].as_str().map(str::to_owned);
    ["pretest", "test", "posttest"].into_iter().filter_map(script).collect()
}

/// Tells whether one of these commands runs a path, seen from the root or from a directory that is named too. What a linter or a compiler is
/// given is a source, which the tests are about.
pub fn run_by(commands: &[String]) -> impl Fn(&str) -> bool {
    let named: HashSet<&str> = commands.iter().flat_map(|command| words(command)).collect();
    let parts = commands.iter().flat_map(|command| command.split([';', '&', '|', '(', ')', '`', '\n']));
    let mut run: HashSet<&str> = parts.filter_map(first_run).collect();
    run.extend(named.iter().filter(|word| SCRIPTS.iter().any(|end| word.ends_with(end))));
    move |path: &str| {
        let above = |word: &str| path.strip_suffix(word)?.strip_suffix('/');
        run.contains(path) || run.iter().any(|word| above(word).is_some_and(|folder| named.contains(folder)))
    }
}

/// Ends of names of files that are only there to be run.
const SCRIPTS: [&str; 6] = [".sh", ".bash", ".mk", ".bat", ".cmd", ".ps1"];
/// Words of a simple command that may stand before the program that it runs.
const BEFORE: [&str; 13] =
    ["env", "time", "timeout", "nice", "exec", "!", "{", "if", "then", "else", "do", "while", "until"];
/// Programs whose first argument that is no option is what they run.
const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "source", ".", "python", "python3", "node", "ruby", "perl", "php"];

/// What a simple command runs: its first word, or the first argument of an interpreter.
fn first_run(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    let is_before = |word: &&str| {
        let is_duration = word.chars().all(|c| c.is_ascii_digit() || "smhd.".contains(c)) && *word != ".";
        word.contains('=')
            || word.starts_with('-')
            || is_duration
            || BEFORE.contains(word)
            || INTERPRETERS.contains(word)
    };
    words.find(|word| !is_before(word)).map(|word| word.trim_start_matches("./"))
}

/// The words of a command, as paths from where it runs.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let apart = |c: char| c.is_whitespace() || "'\"`;&|()<>=,$".contains(c);
    let words = command.split(apart).map(|word| word.trim_start_matches("./").trim_end_matches('/'));
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(files: &[(&str, &str)]) -> Option<String> {
        tested(files, None).map(|d| format!("{} by {}", d.command, d.by))
    }

    fn tested(files: &[(&str, &str)], toolchain: Option<&str>) -> Option<Detected> {
        test_command(&names(files), &|name| text_of(files, name), toolchain)
    }

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        files.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn text_of(files: &[(&str, &str)], name: &str) -> Option<String> {
        files.iter().find(|(it, _)| *it == name).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn commands() {
        assert_eq!(detect(&[("Cargo.toml", "")]).unwrap(), "cargo test by Cargo.toml");
        for (manifest, command) in [
            ("[package]\nname = \"a\"\n[workspace]\nmembers = [\"b\"]\n", "cargo test --workspace"),
            ("[package]\nname = \"a\"\n[workspace]\ndefault-members = [\".\"]\n", "cargo test"),
            ("[package]\nname = \"a\"\n", "cargo test"),
            ("[workspace]\nmembers = [\"b\"]\n", "cargo test"),
            ("[package", "cargo test"),
        ] {
            assert_eq!(detect(&[("Cargo.toml", manifest)]).unwrap(), format!("{command} by Cargo.toml"));
        }
        assert_eq!(
            detect(&[("pyproject.toml", "[tool.pytest]"), ("a.py", "")]).unwrap(),
            "python3 -m pytest -q -rA by pyproject.toml"
        );
        assert_eq!(detect(&[("test_sum.py", ""), ("sum.py", "")]).unwrap(), "python3 -m unittest -v by test*.py");
        assert_eq!(detect(&[("tests/test_a.py", "")]).unwrap(), "python3 -m unittest discover -v -s tests by test*.py");
        assert_eq!(
            detect(&[("tests/test_a.py", ""), ("tests/__init__.py", "")]).unwrap(),
            "python3 -m unittest -v by test*.py"
        );
        assert_eq!(
            detect(&[("package.json", r#"{"scripts":{"test":"node t.js"}}"#)]).unwrap(),
            "npm test by package.json"
        );
        assert_eq!(detect(&[("go.mod", "")]).unwrap(), "go test -v ./... by go.mod");
        assert_eq!(detect(&[("pom.xml", "")]).unwrap(), "mvn -B -o test by pom.xml");
        assert_eq!(detect(&[("build.gradle", ""), ("gradlew", "")]).unwrap(), "sh ./gradlew --offline test by gradlew");
        assert_eq!(detect(&[("Makefile", "all:\ntest: all\n\ttrue\n")]).unwrap(), "make test by Makefile");
    }

    #[test]
    fn tests_in_python_count_where_discovery_loads_them_and_no_other_toolchain_has_tests() {
        let go = [("go.mod", ""), ("scripts/test_links.py", ""), ("test_all.py", "")];
        assert_eq!(detect(&go).unwrap(), "go test -v ./... by go.mod");
        let node = r#"{"scripts":{"test":"node t.js"}}"#;
        assert_eq!(detect(&[("package.json", node), ("test_all.py", "")]).unwrap(), "npm test by package.json");
        let of_another = [("package.json", "{}"), ("test_all.py", "")];
        assert_eq!(detect(&of_another).unwrap(), "python3 -m unittest -v by test*.py");
        assert_eq!(detect(&[("build.gradle", ""), ("tools/test_links.py", "")]), None, "discovery would run nothing");
        let in_folders = [("tests/unit/test_a.py", ""), ("pyproject.toml", "")];
        assert_eq!(detect(&in_folders).unwrap(), "python3 -m unittest discover -v -s tests/unit by test*.py");
        let with_data = [("tests/data/test_case.py", ""), ("tests/test_a.py", "")];
        assert_eq!(detect(&with_data).unwrap(), "python3 -m unittest discover -v -s tests by test*.py");
        let both = [("tests/b/test_b.py", ""), ("tests/a/test_a.py", ""), ("tests/a/data/test_case.py", "")];
        let each =
            "python3 -m unittest discover -v -s tests/a && python3 -m unittest discover -v -s tests/b by test*.py";
        assert_eq!(detect(&both).unwrap(), each, "a verdict is of all tests");
        let inner = [("shop/__init__.py", ""), ("shop/test/__init__.py", ""), ("shop/test/test_a.py", "")];
        assert_eq!(detect(&inner).unwrap(), "python3 -m unittest -v by test*.py");
        assert_eq!(detect(&[("examples/test_a.py", ""), ("setup.py", "")]), None);
    }

    #[test]
    fn the_files_at_the_root_tell_the_toolchain() {
        let told = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            toolchain(&names, &|_| None, None)
        };
        for (wanted, files, _) in LANGUAGES {
            assert!(broker::toolchain::profiles().any(|profile| profile.name == wanted), "{wanted} is no profile");
            for &file in files {
                assert_eq!(told(&["README.md", file]), Some((wanted, file)));
            }
        }
        assert_eq!(told(&["package.json", "Cargo.toml"]), Some(("rust", "Cargo.toml")), "the order is ours, not git's");
        assert_eq!(told(&["README.md", "main.c", "Makefile"]), None);
        assert_eq!(told(&["cargo.toml", "docs/Cargo.toml"]), None);
    }

    #[test]
    fn every_toolchain_that_is_told_is_offered() {
        let offered = crate::config::Process::from_layers(std::path::Path::new("x"), "", &|_| None).unwrap().sandbox;
        for (toolchain, ..) in LANGUAGES {
            assert!(offered.offered().any(|(name, _)| name == toolchain), "{toolchain}");
        }
    }

    #[test]
    fn of_several_languages_image_and_test_command_follow_the_same_one() {
        let npm = r#"{"scripts":{"test":"node t.js"}}"#;
        type Files<'a> = &'a [(&'a str, &'a str)];
        let pairs: [(Files<'_>, &str, &str); 12] = [
            (&[("pyproject.toml", ""), ("go.mod", "")], "go", "go test -v ./..."),
            (&[("pyproject.toml", "[tool.pytest]"), ("go.mod", "")], "python", "python3 -m pytest -q -rA"),
            (&[("pyproject.toml", ""), ("test_a.py", ""), ("go.mod", "")], "python", "python3 -m unittest -v"),
            (&[("conftest.py", ""), ("go.mod", "")], "python", "python3 -m pytest -q -rA"),
            (&[("requirements.txt", ""), ("package.json", npm)], "node", "npm test"),
            (&[("package.json", npm), ("Cargo.toml", "")], "rust", "cargo test"),
            (&[("pyproject.toml", ""), ("Cargo.toml", "")], "rust", "cargo test"),
            (&[("package.json", "{}"), ("go.mod", "")], "go", "go test -v ./..."),
            (&[("package.json", npm), ("go.mod", "")], "node", "npm test"),
            (&[("package.json", "{}"), ("pom.xml", "")], "java", "mvn -B -o test"),
            (&[("package.json", "{}"), ("gradlew", ""), ("build.gradle", "")], "java", "sh ./gradlew --offline test"),
            (&[("package.json", "{}"), ("CMakeLists.txt", ""), ("Makefile", "test:\n")], "node", "make test"),
        ];
        for (files, wanted, command) in pairs {
            let chosen = toolchain(&names(files), &|name| text_of(files, name), None).map(|(name, _)| name);
            let test = tested(files, None).map(|test| test.command);
            assert_eq!((chosen, test.as_deref()), (Some(wanted), Some(command)), "{files:?}");
        }
    }

    #[test]
    fn where_one_of_the_two_is_named_the_other_follows() {
        let npm = r#"{"scripts":{"test":"node t.js"}}"#;
        let files =
            [("pyproject.toml", "[tool.pytest]"), ("package.json", npm), ("go.mod", ""), ("Makefile", "test:\n")];
        let by = |toolchain| tested(&files, Some(toolchain)).map(|test| test.command);
        for (named, command) in [
            ("go", "go test -v ./..."),
            ("go@1.22", "go test -v ./..."),
            ("node", "npm test"),
            ("python", "python3 -m pytest -q -rA"),
            ("base", "python3 -m pytest -q -rA"),
            ("rust", "python3 -m pytest -q -rA"),
        ] {
            assert_eq!(by(named).as_deref(), Some(command), "{named}");
        }
        let untested = [("package.json", "{}"), ("go.mod", ""), ("Makefile", "test:\n")];
        assert_eq!(tested(&untested, Some("node")).unwrap().command, "make test", "not Go's, which is not there");
        let image = |test| toolchain(&names(&files), &|name| text_of(&files, name), Some(test)).unwrap();
        for (test, wanted) in [
            ("go test ./...", ("go", "go.mod")),
            ("cd web && npm ci", ("node", "package.json")),
            ("make test", ("python", "pyproject.toml")),
            ("cargo test", ("python", "pyproject.toml")),
        ] {
            assert_eq!(image(test), wanted, "{test}");
        }
    }

    #[test]
    fn no_command_is_no_command() {
        assert_eq!(detect(&[("README.md", "")]), None);
        assert_eq!(
            detect(&[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)]),
            None
        );
        assert_eq!(detect(&[("Makefile", "tests := a b\ntest := x\n")]), None);
        assert_eq!(detect(&[("sub/Cargo.toml", "")]), None);
    }

    #[test]
    fn steering() {
        for yes in [
            "tests/a.rs",
            "src/sum_test.go",
            "test_sum.py",
            "Cargo.toml",
            "web/jest.config.js",
            "x.spec.ts",
            "Makefile",
            ".cargo/config.toml",
            "gradlew",
            "mvnw",
            ".mvn/jvm.config",
            "gradle/wrapper/gradle-wrapper.properties",
            "gradle.properties",
            "settings.gradle.kts",
            ".pytest.ini",
            "pytest.toml",
            ".pytest.toml",
            "test.js",
            "test-sum.mjs",
            "sum-test.js",
            "scripts/test.sh",
        ] {
            assert!(steers_tests(yes), "{yes}");
        }
        for no in ["src/main.rs", "README.md", "latest/attest.rs", "contest.c", "latest.js", "scripts/check.sh"] {
            assert!(!steers_tests(no), "{no}");
        }
    }

    #[test]
    fn what_a_test_command_runs_is_told_by_its_words() {
        let named = |command: &str, path: &str| run_by(&[command.to_owned()])(path);
        for (command, path) in [
            ("sh scripts/check.sh", "scripts/check.sh"),
            ("./check.sh --all", "check.sh"),
            ("cd web && './ci/check.sh'", "web/ci/check.sh"),
            ("make -C web/ -f=check.mk", "web/check.mk"),
            ("FAST=1 timeout 60 python3 -u tools/run.py --all", "tools/run.py"),
            ("bash -c 'node run.js; true'", "run.js"),
            ("if ./lint; then ./all; fi", "all"),
        ] {
            assert!(named(command, path), "{command}: {path}");
        }
        for (command, path) in [
            ("sh scripts/check.sh", "check.sh"),
            ("sh scripts/check.sh", "other/scripts/check.sh"),
            ("sh scripts/check.sh", "scripts"),
            ("cargo test", "src/test.rs"),
            ("eslint index.js && mocha", "index.js"),
            ("mypy app.py && pytest -q", "app.py"),
            ("cc -o t sum.c check.c && ./t", "sum.c"),
            ("", ""),
        ] {
            assert!(!named(command, path), "{command}: {path}");
        }
        let package = r#"{"scripts":{"test":"node run.js","pretest":"sh lint.sh","start":"node app.js"}}"#;
        assert_eq!(test_scripts(package), ["sh lint.sh", "node run.js"]);
        assert!(test_scripts("no JSON").is_empty());
        assert!(runs_scripts("cd web && npm test") && !runs_scripts("sh npm.sh"));
    }
}
