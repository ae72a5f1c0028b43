//! Python: installs the project and its tests' dependencies, from whichever of its files lists them.
//!
//! Uses `pip install --user`, because a sandbox cannot write to the image's packages and the home directory is kept; the variable in front
//! overrides Debian's pip. No other tool (uv, poetry, hatch, tox) needs to be in the image.

use super::{Commands, Project, found, setup};
use crate::text::shell_word;
use std::collections::BTreeSet;
use toml::{Table, Value};

const PIP: &str = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user --upgrade";
/// Names of groups and extras for tests, most specific first.
const GROUPS: [&str; 5] = ["tests", "test", "testing", "unittest", "pytest"];
/// Groups for development as a whole, used where none is for tests alone.
const WIDE: [&str; 3] = ["dev", "develop", "development"];
/// Files with the requirements of tests.
const REQUIREMENTS: [&str; 16] = [
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements-testing.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "tests/requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements/dev.txt",
    "requirements/development.txt",
    "requirements-ci.txt",
];
/// The most requirements taken of one group.
const MOST: usize = 60;

/// What an installation consists of.
#[derive(Default)]
struct Needs {
    /// Extras of the project itself.
    extras: Vec<String>,
    requirements: Vec<String>,
    /// Files with requirements.
    files: Vec<String>,
    by: Vec<String>,
}

pub(super) fn read(project: &Project<'_>, out: &mut Commands) {
    let table: Table = project.text("pyproject.toml").and_then(|text| text.parse().ok()).unwrap_or_default();
    let is_project = table.contains_key("project")
        || table.contains_key("build-system")
        || at(&table, "tool.poetry.name").is_some()
        || project.has("setup.py")
        || project.text("setup.cfg").is_some_and(|text| text.contains("[metadata]"));
    let plain = project.has("requirements.txt");
    let tests_by_pytest = out.tests.iter().any(|test| test.command.contains("pytest"));
    tox_tests(project, &table, out);
    if !is_project && !plain && !REQUIREMENTS.iter().any(|file| project.has(file)) {
        return;
    }
    let declared = declared(project, &table);
    let listed = Needs {
        files: REQUIREMENTS.iter().filter(|file| project.has(file)).take(1).map(|&file| file.to_owned()).collect(),
        ..Needs::default()
    };
    let bare = Needs::default();
    for mut needs in [declared, listed, bare] {
        if plain && (!is_project || needs.by.is_empty()) && needs.files.is_empty() {
            needs.files.push("requirements.txt".to_owned());
        }
        if tests_by_pytest && needs.files.is_empty() && !needs.requirements.iter().any(|it| name(it) == "pytest") {
            needs.requirements.push("pytest".to_owned());
        }
        if let Some(command) = command(&needs, is_project) {
            needs.by.extend(needs.files.iter().cloned());
            let by = if needs.by.is_empty() { manifest(project).to_owned() } else { needs.by.join(", ") };
            out.setups.push(setup([command], by));
        }
    }
    for (tool, lint) in
        [("ruff", "python3 -m ruff check ."), ("flake8", "python3 -m flake8"), ("mypy", "python3 -m mypy")]
    {
        if at(&table, &format!("tool.{tool}")).is_some() {
            out.lints.push(found(lint, format!("pyproject.toml, [tool.{tool}]")));
        }
    }
}

fn manifest(project: &Project<'_>) -> &'static str {
    ["pyproject.toml", "setup.py", "setup.cfg"].into_iter().find(|file| project.has(file)).unwrap_or("requirements.txt")
}

fn command(needs: &Needs, is_project: bool) -> Option<String> {
    let mut words = vec![PIP.to_owned()];
    if is_project {
        let extras = needs.extras.join(",");
        let itself = if extras.is_empty() { ".".to_owned() } else { format!(".[{extras}]") };
        words.extend(["-e".to_owned(), shell_word(&itself)]);
    }
    for file in &needs.files {
        words.extend(["-r".to_owned(), shell_word(file)]);
    }
    words.extend(needs.requirements.iter().map(|it| shell_word(it)));
    (words.len() > 1).then(|| words.join(" "))
}

/// The test requirements in the project's own tables, from the first place that has some.
fn declared(project: &Project<'_>, table: &Table) -> Needs {
    let mut needs = Needs::default();
    let own = at(table, "project.name").and_then(Value::as_str).map(normal);
    for group in GROUPS.iter().chain(&WIDE) {
        if let Some(all) = group_of(table, group) {
            needs.by.push(format!("pyproject.toml, [dependency-groups] {group}"));
            needs.take(all, own.as_deref());
            break;
        }
    }
    if let Some(extras) = at(table, "project.optional-dependencies").and_then(Value::as_table) {
        let tests: Vec<&str> = GROUPS.into_iter().filter(|name| extras.contains_key(*name)).collect();
        let nothing_yet = needs.by.is_empty() && tests.is_empty();
        let wide = WIDE.into_iter().filter(|name| nothing_yet && extras.contains_key(*name));
        for extra in tests.into_iter().chain(wide) {
            needs.by.push(format!("pyproject.toml, [project.optional-dependencies] {extra}"));
            needs.extras.push(extra.to_owned());
        }
    }
    if needs.by.is_empty() {
        tools(table, own.as_deref(), &mut needs);
    }
    if needs.by.is_empty() {
        tox(project, &mut needs);
    }
    if needs.by.is_empty() {
        nox(project, &mut needs);
    }
    needs
}

impl Needs {
    /// Adds requirements of a group; the project's own name stands for its extras.
    fn take(&mut self, all: Vec<String>, own: Option<&str>) {
        for requirement in all {
            if own.is_some_and(|own| name(&requirement) == own) {
                let inside = requirement.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(it, _)| it);
                let extras = inside.unwrap_or_default().split(',').map(str::trim).filter(|it| !it.is_empty());
                self.extras.extend(extras.map(str::to_owned));
            } else {
                self.requirements.push(requirement);
            }
        }
        self.requirements.truncate(MOST);
    }
}

/// A dependency group (PEP 735) with its includes, each once.
fn group_of(table: &Table, group: &str) -> Option<Vec<String>> {
    let groups = table.get("dependency-groups")?.as_table()?;
    let named = |group: &str| groups.iter().find(|(name, _)| normal(name) == group).and_then(|(_, it)| it.as_array());
    named(&normal(group))?;
    let (mut all, mut seen, mut ahead) = (Vec::new(), BTreeSet::new(), vec![normal(group)]);
    while let Some(next) = ahead.pop() {
        let fresh = seen.insert(next.clone());
        for entry in named(&next).filter(|_| fresh).into_iter().flatten() {
            match (entry.as_str(), entry.get("include-group").and_then(Value::as_str)) {
                (Some(requirement), _) => all.push(requirement.to_owned()),
                (None, Some(other)) => ahead.push(normal(other)),
                (None, None) => {}
            }
        }
    }
    Some(all)
}

/// Test requirements in the tables of uv, pdm, hatch and poetry.
fn tools(table: &Table, own: Option<&str>, needs: &mut Needs) {
    let lists = [
        "tool.uv.dev-dependencies",
        "tool.pdm.dev-dependencies.test",
        "tool.pdm.dev-dependencies.tests",
        "tool.pdm.dev-dependencies.dev",
        "tool.hatch.envs.test.dependencies",
        "tool.hatch.envs.hatch-test.extra-dependencies",
        "tool.hatch.envs.default.dependencies",
    ];
    for path in lists {
        if let Some(list) = at(table, path).and_then(Value::as_array) {
            needs.by.push(format!("pyproject.toml, {path}"));
            return needs.take(list.iter().filter_map(Value::as_str).map(str::to_owned).collect(), own);
        }
    }
    let groups = ["group.tests", "group.test", "group.dev"].map(|group| format!("tool.poetry.{group}.dependencies"));
    for path in groups.into_iter().chain(["tool.poetry.dev-dependencies".to_owned()]) {
        if let Some(all) = at(table, &path).and_then(Value::as_table) {
            let requirement = |(name, value): (&String, &Value)| poetry(name, value);
            needs.requirements = all.iter().filter_map(requirement).take(MOST).collect();
            needs.by.push(format!("pyproject.toml, {path}"));
            return;
        }
    }
}

/// A requirement in Poetry's syntax, reduced to its lower bound; none for a path or URL.
fn poetry(name: &str, value: &Value) -> Option<String> {
    let version = value.as_str().or_else(|| value.get("version").and_then(Value::as_str))?;
    let bound = version.trim_start_matches(['^', '~', '=', '>']).split([',', '|', ' ']).next().unwrap_or_default();
    let numbers = !bound.is_empty() && bound.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    Some(if numbers { format!("{name}>={bound}") } else { name.to_owned() })
}

/// `deps`, `extras` and `dependency_groups` of tox's `testenv`.
fn tox(project: &Project<'_>, needs: &mut Needs) {
    let Some(text) = project.text("tox.ini") else { return };
    for line in values(&text, "[testenv]", "deps") {
        // Lines of `deps` may be for other environments (`py39: …`) or use variables.
        if line.contains('{') || line.contains(": ") {
            continue;
        }
        match line.strip_prefix("-r") {
            Some(file) if project.has(file.trim()) => needs.files.push(file.trim().to_owned()),
            Some(_) => {}
            None if line.starts_with('-') => {}
            None => needs.requirements.push(line),
        }
    }
    needs.extras.extend(values(&text, "[testenv]", "extras").into_iter().filter(|it| !it.contains(['{', ':'])));
    needs.requirements.truncate(MOST);
    if !needs.files.is_empty() || !needs.requirements.is_empty() || !needs.extras.is_empty() {
        needs.by.push("tox.ini, [testenv]".to_owned());
    }
}

/// Adds tox's commands as tests, which work once the environment has tox's dependencies.
fn tox_tests(project: &Project<'_>, table: &Table, out: &mut Commands) {
    let written = project
        .text("tox.ini")
        .or_else(|| at(table, "tool.tox.legacy_tox_ini").and_then(Value::as_str).map(str::to_owned));
    for line in written.map(|text| values(&text, "[testenv]", "commands")).unwrap_or_default() {
        let bare = without_braces(&line);
        if let Some(rest) = bare.strip_prefix("pytest").or_else(|| bare.strip_prefix("python -m pytest")) {
            out.tests.push(found(format!("python3 -m pytest -rA{}", rest.trim_end()), "tox.ini, [testenv] commands"));
        }
    }
}

/// Replaces `{posargs:tests}` by `tests` and drops other braces.
fn without_braces(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, behind) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(inside.strip_prefix("posargs:").unwrap_or_default());
        rest = behind;
    }
    out + rest
}

/// The literal arguments of `session.install(…)` in a nox file.
fn nox(project: &Project<'_>, needs: &mut Needs) {
    let Some(text) = project.text("noxfile.py") else { return };
    let Some((_, rest)) = text.split_once("session.install(") else { return };
    let inside = rest.split(')').next().unwrap_or_default();
    let mut words = inside.split(['"', '\'']).skip(1).step_by(2).map(str::trim).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word {
            "-r" => needs.files.extend(words.next().filter(|file| project.has(file)).map(str::to_owned)),
            _ if word.starts_with('-') => {}
            _ if word.starts_with('.') => {
                let extras = word.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(it, _)| it);
                needs.extras.extend(extras.into_iter().flat_map(|it| it.split(',')).map(|it| it.trim().to_owned()));
            }
            _ => needs.requirements.push(word.to_owned()),
        }
    }
    needs.requirements.truncate(MOST);
    needs.by.push("noxfile.py, session.install".to_owned());
}

/// The lines of one value of an INI file: after the `=`, and indented ones below.
fn values(text: &str, section: &str, key: &str) -> Vec<String> {
    let (mut inside, mut taking, mut out) = (false, false, Vec::new());
    for line in text.lines() {
        let (bare, further) = (line.trim(), line.starts_with([' ', '\t']));
        if bare.starts_with('[') && !further {
            (inside, taking) = (bare == section, false);
        } else if inside && !further && !bare.is_empty() && !bare.starts_with(['#', ';']) {
            let value = bare.split_once('=').filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
            taking = value.is_some();
            out.extend(value.filter(|it| !it.is_empty()).map(str::to_owned));
        } else if taking && further && !bare.is_empty() && !bare.starts_with(['#', ';']) {
            out.push(bare.to_owned());
        }
    }
    out
}

/// The value at a dotted path.
fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// The name at the beginning of a requirement.
fn name(requirement: &str) -> String {
    let end =
        requirement.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(requirement.len());
    normal(&requirement[..end])
}

/// Normalizes a name: case and `-`, `_`, `.` do not matter (PEP 503).
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}
