//! Commands of CI workflows and devcontainers.
//!
//! Only lines that run in a sandbox as they are: no workflow expressions (`${{ … }}`), nothing that needs root. Ranked after a project's
//! own files, because a workflow is written for another machine.

use super::super::need;
use super::{Commands, Project, found, setup};

/// The most workflows read of one project, and commands of one.
const WORKFLOWS: usize = 4;
const LINES: usize = 40;

const SETUPS: [&str; 12] = [
    "pip install",
    "pip3 install",
    "npm ci",
    "npm install",
    "yarn install",
    "pnpm install",
    "cargo fetch",
    "go mod download",
    "poetry install",
    "uv sync",
    "bundle install",
    "make install",
];
const TESTS: [&str; 14] = [
    "pytest",
    "unittest",
    "npm test",
    "npm run test",
    "yarn test",
    "pnpm test",
    "node --test",
    "cargo test",
    "go test",
    "make test",
    "make check",
    "make ci",
    "mvn ",
    "ctest",
];
const LINTS: [&str; 8] =
    ["npm run lint", "ruff check", "flake8", "mypy", "cargo clippy", "cargo fmt", "go vet", "make lint"];

pub(super) fn is_workflow(file: &str) -> bool {
    let name = file.strip_prefix(".github/workflows/").or_else(|| file.strip_prefix(".gitea/workflows/"));
    name.is_some_and(|name| !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml")))
}

pub(super) fn read(project: &Project<'_>, out: &mut Commands) {
    let mut files: Vec<&String> = project.files.iter().filter(|file| is_workflow(file)).collect();
    // Workflows named after tests come first.
    let rank = |file: &str| ["test", "ci", "check", "build"].iter().position(|word| file.contains(word)).unwrap_or(9);
    files.sort_by_key(|file| rank(file.rsplit('/').next().unwrap_or_default()));
    for file in files.into_iter().take(WORKFLOWS) {
        let lines: Vec<String> = project.text(file).map(|text| runs(&text)).unwrap_or_default();
        let begins = |line: &str, words: &[&str]| words.iter().any(|word| bare(line).starts_with(word));
        let kind = |words: &'static [&'static str]| {
            lines.iter().filter(move |line| begins(line, words)).map(|line| local(line))
        };
        let mut setups: Vec<String> = Vec::new();
        // npm commands in the workflow do not replace those from a lock file or manifest.
        let npm = out.setups.iter().any(|it| it.commands.iter().any(|command| command.starts_with("npm ")));
        for line in kind(&SETUPS).filter(|line| !(npm && line.starts_with("npm "))) {
            if !setups.contains(&line) {
                setups.push(line);
            }
        }
        setups.truncate(super::MOST);
        if !setups.is_empty() {
            out.setups.push(setup(setups, file.as_str()));
        }
        out.tests.extend(kind(&TESTS).map(|line| found(line, file.as_str())));
        out.lints.extend(kind(&LINTS).map(|line| found(line, file.as_str())));
    }
    devcontainer(project, out);
}

/// The command without Python's way to call a program.
fn bare(line: &str) -> &str {
    let python = line.strip_prefix("python3 ").or_else(|| line.strip_prefix("python "));
    python.and_then(|rest| rest.trim_start().strip_prefix("-m ")).map_or(line, str::trim_start)
}

/// Adapted to a sandbox, which installs only into the home and has no program `python`.
fn local(line: &str) -> String {
    let plain = bare(line);
    if let Some(rest) = plain.strip_prefix("pip install").or_else(|| plain.strip_prefix("pip3 install")) {
        return format!("PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user{rest}");
    }
    for module in ["pytest", "unittest", "ruff", "flake8", "mypy"] {
        if plain.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
            return format!("python3 -m {plain}");
        }
    }
    line.to_owned()
}

/// The commands of all `run:` keys in order, one per line.
fn runs(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let key = line.trim_start().trim_start_matches("- ").trim_start();
        let Some(value) = key.strip_prefix("run:").map(str::trim) else { continue };
        if !value.starts_with(['|', '>']) {
            out.push(value.trim_matches(['"', '\'']).to_owned());
            continue;
        }
        let mut block: Vec<&str> = Vec::new();
        while let Some(next) = lines.peek() {
            let blank = next.trim().is_empty();
            if !blank && next.len() - next.trim_start().len() <= indent {
                break;
            }
            block.extend(lines.next().map(str::trim).filter(|_| !blank));
        }
        if value.starts_with('>') {
            out.push(block.join(" "));
        } else {
            out.extend(block.join("\n").replace("\\\n", " ").lines().map(str::to_owned));
        }
    }
    out.retain(|line| runnable(line));
    out.truncate(LINES);
    out
}

fn runnable(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && !line.starts_with('#')
        && !line.contains("${{")
        && !line.contains("sudo ")
        && !line.contains("$GITHUB")
}

fn devcontainer(project: &Project<'_>, out: &mut Commands) {
    for file in [".devcontainer/devcontainer.json", ".devcontainer.json"] {
        let Some(text) = project.text(file) else { continue };
        let Ok(told) = serde_json::from_str::<serde_json::Value>(&need::plain_json(&text)) else { continue };
        for key in ["onCreateCommand", "updateContentCommand", "postCreateCommand"] {
            let Some(command) = told.get(key).and_then(|value| value.as_str()).filter(|it| runnable(it)) else {
                continue;
            };
            // A script in the repository need not be executable.
            let script = project.has(command.trim_start_matches("./"));
            let command = if script { format!("sh {command}") } else { local(command) };
            out.setups.push(setup([command], format!("{file}, {key}")));
        }
    }
}
