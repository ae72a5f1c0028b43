//! Loads the layers — defaults, file, environment — with errors that name file, line and key.

use super::lines::KeyLines;
use super::presets::Machine;
use super::prices::Files;
use super::problem::Problem;
use super::process::{Model, Process, Repository, UpstreamHost};
use super::renamed;
use super::rule::OperatorRule;
use crate::command::COMMANDS;
use crate::policy::Written;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The documented defaults.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// Variable with a key file that counts less than any in the file; compose sets it.
const OFFERED_KEY: &str = "CAISSON_DEFAULT_MODEL_KEY_FILE";

/// Keys of one `[[repositories]]` table.
const REPOSITORY_KEYS: [&str; 13] = [
    "key",
    "owner",
    "name",
    "id",
    "secret_files",
    "default_branch",
    "upstream",
    "upstream_id",
    "branches",
    "accepted",
    "accepted_foreign",
    "models",
    "merge",
];

/// Keys of one `[[egress.rule]]` table.
const RULE_KEYS: [&str; 6] = ["host", "reason", "deny", "example", "up", "down"];

/// Keys of one `[[upstream.hosts]]` table.
const HOST_KEYS: [&str; 4] = ["url", "api", "user", "token_file"];

/// Keys of one `[[policy]]` table.
const POLICY_KEYS: [&str; 12] =
    ["name", "then", "because", "command", "path", "reads", "host", "after_web", "after", "repeated", "hits", "misses"];

/// Tables of a `[[repositories]]`, with the keys that each may have; they override the operator's tables of the same name. Settings of the
/// whole installation (hardening, mirrors, retention of setup results, when a sandbox is put away) are excluded.
const OF_A_REPOSITORY: [(&str, &[&str]); 10] = [
    (
        "sandbox",
        &[
            "image",
            "images",
            "network",
            "memory_mib",
            "pids",
            "cpus",
            "workspace_mib",
            "disk_mib",
            "tmp_mib",
            "nofile",
            "action_wall_s",
            "action_output_kib",
            "verify_wall_s",
            "setup_wall_s",
        ],
    ),
    (
        "budget",
        &[
            "dollars",
            "day_dollars",
            "month_dollars",
            "tokens",
            "actions",
            "minutes",
            "granted_by",
            "most_dollars",
            "most_tokens",
            "most_actions",
            "most_minutes",
        ],
    ),
    ("checkpoint", &["every", "approvals"]),
    ("slots", &["per_repository"]),
    ("start", &["by", "begins"]),
    ("ci", &["wait", "timeout_min", "contexts"]),
    ("artifacts", &["files", "file_mib", "total_mib"]),
    ("upstream_issues", &["label"]),
    ("egress", &["allow", "deny"]),
    ("tests", &["hosts"]),
];

/// Tables that may be repeated, with the keys that each may have.
const REPEATED: [(&str, &[&str]); 4] = [
    ("repositories", &REPOSITORY_KEYS),
    ("egress.rule", &RULE_KEYS),
    ("policy", &POLICY_KEYS),
    ("upstream.hosts", &HOST_KEYS),
];

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    /// Path of the file, as given to load it.
    pub file: PathBuf,
    /// The problems; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}", self.file.display())?;
            if let Some(line) = problem.line {
                write!(f, ":{line}")?;
            }
            if !problem.key.is_empty() {
                write!(f, ": {}", problem.key)?;
            }
            write!(f, ": {}", problem.what)?;
        }
        Ok(())
    }
}

impl Process {
    /// Loads defaults, the file and the process's environment, and checks the whole. A preset without hosts refuses nothing here, only the
    /// router's policy.
    pub fn load(file: &Path) -> Result<Process, ConfigError> {
        let text = std::fs::read_to_string(file)
            .map_err(|why| ConfigError { file: file.to_owned(), problems: vec![unreadable(&why)] })?;
        let environment = |name: &str| std::env::var(name).ok();
        let mut process = Process::from_layers(file, &text, &environment)?;
        let home = environment("HOME").unwrap_or_else(|| "/root".to_owned());
        process.egress.read_presets(&Machine { root: Path::new("/"), home: Path::new(&home), variable: &environment });
        Ok(process)
    }

    /// Reloads the file, for a process that continues with the same state directory.
    ///
    /// # Errors
    /// What is wrong with it, for a person.
    pub fn again(&self) -> Result<Process, String> {
        let now = Process::load(&self.file).map_err(|error| error.to_string())?;
        // Settings by which tasks and containers are found must not change, because existing ones would not be found any more.
        let same = [
            ("state_dir", now.state_dir == self.state_dir),
            ("installation", now.installation == self.installation),
            ("store.url", now.store.url == self.store.url),
        ];
        match same.into_iter().find(|(_, same)| !same) {
            None => Ok(now),
            Some((key, _)) => {
                Err(format!("{key} is another one: stop `caisson serve`, bring over what there is, and start it again"))
            }
        }
    }

    /// As [`Process::load`], from given text and environment, with no preset read. Pure except for the working directory, the file that
    /// `prices.file` names, and whether the folders of `[advisories]` are there.
    pub fn from_layers(
        file: &Path,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Process, ConfigError> {
        let fail = |problems| ConfigError { file: file.to_owned(), problems };
        let mut lines = KeyLines::read(text).map_err(|problem| fail(vec![problem]))?;
        lines.0.iter_mut().for_each(|(key, _)| *key = renamed::present(key));
        let mut merged: Table = toml::from_str(DEFAULTS).map_err(|why| fail(vec![Problem::plain(why.message())]))?;
        let strangers = unknown(&lines, &merged);
        if !strangers.is_empty() {
            return Err(fail(strangers));
        }
        let mut over: Table = toml::from_str(text).map_err(|why| fail(vec![Problem::plain(why.message())]))?;
        renamed::rename(&mut over).map_err(|problem| fail(vec![problem]))?;
        let defaults = merged.clone();
        fill_models(&defaults, &mut over);
        lay_over(&mut merged, over);
        offer_key(&mut merged, environment);
        let set = apply_environment(&mut merged, &defaults, "", environment);
        let from_environment = set.map_err(|problem| fail(vec![problem]))?;
        fill_repositories(&mut merged);
        let mut process = typed(&merged).map_err(|mut problem| {
            problem.line = lines.line(&problem.key);
            fail(vec![problem])
        })?;
        note_settings(&mut process, &merged);
        let folder = std::path::absolute(file).ok().and_then(|f| f.parent().map(Path::to_owned)).unwrap_or_default();
        process.make_absolute(&folder);
        process.models.name(&process.commands);
        process.models.list(process.repositories.iter().flat_map(|entry| entry.models.clone()).collect());
        let prices = Files::read(process.prices.file.as_deref()).map_err(|what| {
            let key = "prices.file".to_owned();
            fail(vec![Problem { line: lines.line(&key), key, what }])
        })?;
        process.models.all_mut().for_each(|model| prices.fill(model));
        let mut problems = super::check::problems(&process);
        for problem in &mut problems {
            let set_outside = from_environment.contains(&problem.key);
            problem.line = if set_outside { None } else { lines.line(&problem.key) };
        }
        if !problems.is_empty() {
            return Err(fail(problems));
        }
        process.file = file.to_owned();
        // Until the store's entries are known.
        process.learn(Vec::new());
        Ok(process)
    }
}

fn unreadable(why: &io::Error) -> Problem {
    let hint = match why.kind() {
        ErrorKind::NotFound => "run `caisson setup` to make one, or name it with --config",
        ErrorKind::PermissionDenied => "run this as a user who may read it, or name another one with --config",
        ErrorKind::InvalidData => "write it as UTF-8",
        _ => "name a file with --config",
    };
    Problem::plain(&format!("can't be read: {why}; {hint}"))
}

/// Only the error's text contains the wrong key, so each table is tried alone to find it.
fn typed(merged: &Table) -> Result<Process, Problem> {
    Value::Table(merged.clone()).try_into::<Process>().map_err(|why| {
        let text = why.to_string();
        let key = text.lines().find_map(|line| line.trim().strip_prefix("in `")?.strip_suffix('`')).unwrap_or_default();
        Problem { line: None, key: numbered(merged, key), what: why.message().to_owned() }
    })
}

/// The error does not say which entry of a list is wrong, so each is tried alone.
fn numbered(merged: &Table, key: &str) -> String {
    let at = |list: &str, wrong: fn(&Value) -> bool| {
        let rest = key.strip_prefix(list).filter(|rest| rest.is_empty() || rest.starts_with('.'))?;
        let mut names = list.split('.');
        let first = merged.get(names.next()?)?;
        let at = names.try_fold(first, |table, name| table.get(name))?.as_array()?.iter().position(wrong)?;
        Some(format!("{list}.{at}{rest}"))
    };
    at("model", |entry| entry.clone().try_into::<Model>().is_err())
        .or_else(|| at("repositories", |entry| entry.clone().try_into::<Repository>().is_err()))
        .or_else(|| at("policy", |entry| entry.clone().try_into::<Written>().is_err()))
        .or_else(|| at("egress.rule", |entry| entry.clone().try_into::<OperatorRule>().is_err()))
        .or_else(|| at("upstream.hosts", |entry| entry.clone().try_into::<UpstreamHost>().is_err()))
        .unwrap_or_else(|| key.to_owned())
}

fn lay_over(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Merges each `[[model]]` with the defaults of `[model]`.
fn fill_models(defaults: &Table, over: &mut Table) {
    let Some(Value::Table(default)) = defaults.get("model") else { return };
    let Some(Value::Array(entries)) = over.get_mut("model") else { return };
    for entry in entries.iter_mut().filter_map(Value::as_table_mut) {
        let own = std::mem::replace(entry, default.clone());
        lay_over(entry, own);
    }
}

/// Merges a repository's tables with the operator's, including values from the environment.
fn fill_repositories(merged: &mut Table) {
    let tables: Vec<_> = ["sandbox", "budget"].map(|name| (name, merged.get(name).cloned())).into();
    let Some(Value::Array(entries)) = merged.get_mut("repositories") else { return };
    for entry in entries.iter_mut().filter_map(Value::as_table_mut) {
        for (name, table) in &tables {
            let (Some(Value::Table(own)), Some(Value::Table(below))) = (entry.get_mut(*name), table) else { continue };
            let over = std::mem::replace(own, below.clone());
            lay_over(own, over);
        }
    }
}

/// Notes which repositories have settings of the operator's.
fn note_settings(process: &mut Process, merged: &Table) {
    let Some(Value::Array(entries)) = merged.get("repositories") else { return };
    let is_setting = |key: &String| {
        matches!(key.as_str(), "models" | "merge" | "who") || OF_A_REPOSITORY.iter().any(|(name, _)| name == key)
    };
    for (entry, own) in process.repositories.iter_mut().zip(entries.iter().filter_map(Value::as_table)) {
        entry.has_settings = own.keys().any(is_setting);
    }
}

/// Index of the worker in a list of models, which the environment's values apply to.
fn worker(entries: &[Value]) -> Option<usize> {
    let works = |entry: &Value| {
        let roles = entry.get("roles").and_then(Value::as_array);
        roles.is_some_and(|roles| roles.iter().any(|role| role.as_str() == Some("worker")))
    };
    entries.iter().position(works).or_else(|| (entries.len() == 1).then_some(0))
}

/// Names the offered key file in the only model, or the worker, unless a model of the file names one: the key of one model's vendor must not
/// go to another model's server.
fn offer_key(merged: &mut Table, environment: &dyn Fn(&str) -> Option<String>) {
    let Some(offered) = environment(OFFERED_KEY).filter(|file| !file.is_empty()) else { return };
    let named = |model: &Table| model.get("key_file").and_then(Value::as_str).is_some_and(|file| !file.is_empty());
    let model = match merged.get_mut("model") {
        Some(Value::Table(only)) if !named(only) => Some(only),
        Some(Value::Array(entries)) if !entries.iter().filter_map(Value::as_table).any(named) => {
            let Some(at) = worker(entries) else { return };
            entries.get_mut(at).and_then(Value::as_table_mut)
        }
        _ => None,
    };
    if let Some(model) = model {
        model.insert("key_file".to_owned(), Value::String(offered));
    }
}

/// Sets every key that the environment names, with the type of its default: the file may say `2` where a fraction fits, too. Returns the keys
/// it set.
fn apply_environment(
    table: &mut Table,
    defaults: &Table,
    prefix: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Problem> {
    let (mut set, none) = (Vec::new(), Table::new());
    let below = |name: &str| defaults.get(name).and_then(Value::as_table).unwrap_or(&none);
    for (name, value) in table.iter_mut() {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if let Value::Table(inner) = value {
            set.extend(apply_environment(inner, below(name), &key, environment)?);
            continue;
        }
        if let ("model", Value::Array(entries)) = (key.as_str(), &mut *value) {
            let Some(at) = worker(entries) else { continue };
            if let Some(Value::Table(inner)) = entries.get_mut(at) {
                let keys = apply_environment(inner, below(name), "model", environment)?;
                set.extend(keys.iter().map(|key| key.replacen("model", &format!("model.{at}"), 1)));
            }
            continue;
        }
        let variable = format!("CAISSON_{}", key.replace('.', "_").to_uppercase());
        let Some(text) = renamed::variable(&variable, environment) else { continue };
        let like = defaults.get(name).unwrap_or(&*value);
        let read = read_as(like, &text).ok_or_else(|| Problem {
            line: None,
            key: key.clone(),
            what: format!("{variable} holds no {}; change or unset it", like.type_str()),
        })?;
        *value = read;
        set.push(key);
    }
    Ok(set)
}

fn read_as(like: &Value, text: &str) -> Option<Value> {
    match like {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Integer(_) => text.parse().ok().map(Value::Integer),
        Value::Float(_) => text.parse().ok().map(Value::Float),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Some(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
        }
        Value::Table(_) | Value::Datetime(_) => None,
    }
}

/// The keys of a file that no configuration has.
fn unknown(lines: &KeyLines, defaults: &Table) -> Vec<Problem> {
    let known = |key: &str| {
        // Names of toolchains are free.
        if key.starts_with("sandbox.toolchains.") {
            return true;
        }
        // Keys of a `[[model]]` are those of `[model]`.
        let entry = key.strip_prefix("model.").unwrap_or_default();
        let (entry, rest) = entry.split_once('.').unwrap_or((entry, ""));
        if entry.parse::<usize>().is_ok() {
            return rest.is_empty() || holds(defaults, &format!("model.{rest}"));
        }
        if let Some(known) = of_a_repository(key) {
            return known;
        }
        let repeated = REPEATED.iter().find_map(|(table, keys)| Some((key.strip_prefix(table)?, keys)));
        match repeated {
            Some(("", _)) => true,
            Some((rest, keys)) if rest.starts_with('.') => {
                rest.rsplit('.').next().is_some_and(|last| keys.contains(&last) || last.parse::<usize>().is_ok())
            }
            _ => holds(defaults, key),
        }
    };
    let strangers = lines.0.iter().filter(|(key, _)| !known(key));
    strangers
        .map(|(key, line)| Problem {
            line: Some(*line),
            key: key.clone(),
            what: "no such key; `caisson config --defaults` lists them all".to_owned(),
        })
        .collect()
}

/// Whether `repositories.<n>.<table>.<key>` is allowed; none for a key outside of such a table.
fn of_a_repository(key: &str) -> Option<bool> {
    let (_, rest) = key.strip_prefix("repositories.")?.split_once('.')?;
    let (table, inner) = rest.split_once('.').unwrap_or((rest, ""));
    let first = |inner: &str| inner.split('.').next().unwrap_or_default().to_owned();
    if table == "who" {
        return Some(inner.is_empty() || COMMANDS.iter().any(|spec| spec.name == first(inner)));
    }
    let (_, keys) = OF_A_REPOSITORY.iter().find(|(name, _)| *name == table)?;
    // Elements of an array are numbered below its key.
    let inner = first(inner);
    Some(inner.is_empty() || keys.contains(&inner.as_str()))
}

fn holds(table: &Table, key: &str) -> bool {
    match key.split_once('.') {
        Some((name, rest)) => table.get(name).and_then(Value::as_table).is_some_and(|inner| holds(inner, rest)),
        None => table.contains_key(key),
    }
}
