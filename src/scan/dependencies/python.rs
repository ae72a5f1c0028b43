//! `pyproject.toml`, `requirements*.txt` and `requirements/*.txt`, and the lock files of uv, Poetry and PDM.
//!
//! Owns how a requirement is split into name and version (PEP 508), and when two names are the same. The files of Pipenv: `pipfile.rs`. Tests: below.

use std::collections::HashMap;

use toml::{Table, Value};

use super::entry::asked_of;
use super::{Format, Requirement, folder_of, name_of, pipfile};

pub(super) const FORMAT: Format = Format {
    ecosystem: "PyPI",
    is_manifest: |path| matches!(name_of(path), "pyproject.toml" | "Pipfile") || is_requirements(path),
    manifest,
    locks: &[("uv.lock", lock), ("poetry.lock", lock), ("pdm.lock", lock), ("Pipfile.lock", pipfile::lock)],
    plain,
    released,
};

fn is_requirements(path: &str) -> bool {
    let (name, folder) = (name_of(path), name_of(folder_of(path)));
    name.ends_with(".txt") && (name.starts_with("requirements") || folder == "requirements")
}

/// As PyPI compares names: in lower case, with one hyphen for each run of `-`, `_` and `.`.
pub(in crate::scan) fn plain(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

/// A project's table, or else lines of requirements: no such line is TOML with one of these tables.
fn manifest(text: &str) -> Result<Vec<Requirement>, String> {
    match toml::from_str::<Table>(text) {
        Ok(file) => Ok(of_project(&file)),
        Err(_) if text.lines().any(|line| line.trim_start().starts_with('[') && line.trim_end().ends_with(']')) => {
            Err("it is no TOML".to_owned())
        }
        Err(_) => Ok(text.lines().filter_map(requirement).collect()),
    }
}

fn of_project(file: &Table) -> Vec<Requirement> {
    let mut found = pipfile::asked(file);
    let table = |of: &Table, name: &str| of.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
    let project = table(file, "project");
    let mut lists: Vec<Value> = project.get("dependencies").cloned().into_iter().collect();
    lists.extend(table(&project, "optional-dependencies").into_iter().map(|(_, list)| list));
    lists.extend(table(file, "dependency-groups").into_iter().map(|(_, list)| list));
    for list in lists.iter().filter_map(Value::as_array) {
        found.extend(list.iter().filter_map(Value::as_str).filter_map(requirement));
    }
    let tool = table(file, "tool");
    let sources = table(&table(&tool, "uv"), "sources");
    let sources: HashMap<String, Value> = sources.into_iter().map(|(name, source)| (plain(&name), source)).collect();
    found.retain_mut(|it| sources.get(&plain(&it.name)).is_none_or(|source| with_source(it, source)));
    let poetry = table(&tool, "poetry");
    let mut tables = vec![table(&poetry, "dependencies"), table(&poetry, "dev-dependencies")];
    let groups = table(&poetry, "group");
    tables.extend(groups.values().filter_map(Value::as_table).map(|group| table(group, "dependencies")));
    let packages = tables.into_iter().flatten().filter(|(name, value)| name != "python" && value.get("path").is_none());
    for (name, value) in packages {
        let version = asked_of(&value, "source", "pypi");
        found.push(Requirement { name, version, locked: Vec::new(), line: None });
    }
    found
}

/// Puts before a version where uv takes the package from; false where that is a folder beside.
fn with_source(it: &mut Requirement, source: &Value) -> bool {
    let elsewhere = asked_of(source, "index", "pypi");
    if !elsewhere.is_empty() {
        it.version = format!("{} {}", elsewhere.trim_end(), it.version);
    }
    source.get("path").or_else(|| source.get("workspace")).is_none()
}

/// `name[extra] >=1,<2 ; marker`, `name @ https://…`; none for an option, a comment or a path. One that names a single version settles it.
fn requirement(line: &str) -> Option<Requirement> {
    let line = line.split(" #").next().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1.trim_start(),
        None => rest,
    };
    let version = rest.split(" --").next().unwrap_or_default().trim_end_matches('\\').trim();
    if !version.is_empty() && !version.starts_with(['=', '<', '>', '~', '!', '@', '(']) {
        return None;
    }
    let one =
        version.strip_prefix("==").map(str::trim).filter(|it| !it.is_empty() && !it.contains([',', '*', '=', ' ']));
    Some(Requirement {
        name: name.to_owned(),
        version: version.to_owned(),
        locked: one.map(str::to_owned).into_iter().collect(),
        line: None,
    })
}

/// Packages of a lock file; those of the project itself, and of a folder or a file beside it, have no registry.
fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    let file: Table = toml::from_str(text).map_err(|_| "it is no TOML".to_owned())?;
    let packages = file.get("package").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let own = |package: &Value| {
        let source = package.get("source");
        let kinds = ["editable", "virtual", "directory", "path"];
        // As uv, Poetry and PDM write it.
        source.is_some_and(|it| kinds.iter().any(|kind| it.get(kind).is_some()))
            || source.and_then(|it| it.get("type")?.as_str()).is_some_and(|kind| matches!(kind, "directory" | "file"))
            || package.get("path").is_some()
    };
    let read = |package: &Value| {
        let of = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
        of("name").zip(of("version"))
    };
    Ok(packages.iter().filter(|package| !own(package)).filter_map(read).collect())
}

/// When the first file of each version was uploaded, as uv writes it (`upload-time` of `sdist` and `wheels`).
fn released(text: &str) -> Vec<(String, String, String)> {
    let Ok(file) = toml::from_str::<Table>(text) else { return Vec::new() };
    let packages = file.get("package").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |package: &Value| {
        let of = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
        let wheels = package.get("wheels").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let files = package.get("sdist").into_iter().chain(wheels);
        let first = files.filter_map(|file| file.get("upload-time")?.as_str()).min()?.to_owned();
        Some((of("name")?, of("version")?, first))
    };
    packages.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String, String)> {
        manifest(text).unwrap().into_iter().map(|it| (it.name, it.version, it.locked.join(" "))).collect()
    }

    fn of(all: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        all.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
    }

    #[test]
    fn requirements_are_split_and_one_version_is_settled() {
        let text = "# a comment\n-r other.txt\nDjango==4.2.1 \\\n    --hash=sha256:aa\nrequests[socks] >=2, <3 ; python_version > '3'\nlib @ https://h/lib.whl\n./own\nplain\nany==1.*\n";
        assert_eq!(
            found(text),
            of(&[
                ("Django", "==4.2.1", "4.2.1"),
                ("requests", ">=2, <3", ""),
                ("lib", "@ https://h/lib.whl", ""),
                ("plain", "", ""),
                ("any", "==1.*", ""),
            ])
        );
    }

    #[test]
    fn projects_of_both_forms_are_read() {
        let text = "[project]\ndependencies = [\"httpx>=0.27\"]\n[project.optional-dependencies]\nx = [\"rich\"]\n[dependency-groups]\ndev = [\"pytest==8.0\", { include-group = \"x\" }]\n[tool.poetry.dependencies]\npython = \"^3.12\"\nattrs = { version = \"^23\" }\nown = { path = \"../own\" }\n[tool.poetry.group.t.dependencies]\nmypy = \"1.0\"\nfork = { git = \"https://h/fork\" }\nours = { version = \"2\", source = \"corp\" }\n";
        let mut all = found(text);
        all.sort();
        let wanted = [
            ("attrs", "^23", ""),
            ("fork", "git https://h/fork", ""),
            ("httpx", ">=0.27", ""),
            ("mypy", "1.0", ""),
            ("ours", "registry corp 2", ""),
            ("pytest", "==8.0", "8.0"),
            ("rich", "", ""),
        ];
        assert_eq!(all, of(&wanted));
        assert!(manifest("[project]\nname = \n").is_err());
    }

    #[test]
    fn uv_names_apart_where_a_requirement_comes_from() {
        let text = "[project]\ndependencies = [\"a\", \"Fork_One>=1\", \"ours>=2\", \"member\", \"beside\"]\n[tool.uv.sources]\nfork-one = { git = \"https://h/f\" }\nours = { index = \"corp\" }\nmember = { workspace = true }\nbeside = { path = \"../beside\" }\n";
        let wanted = [("a", "", ""), ("Fork_One", "git https://h/f >=1", ""), ("ours", "registry corp >=2", "")];
        assert_eq!(found(text), of(&wanted));
    }

    #[test]
    fn the_first_upload_of_a_version_is_its_day() {
        let text = "[[package]]\nname = \"a\"\nversion = \"1.0\"\nsdist = { url = \"h\", upload-time = \"2021-03-02T10:00:00Z\" }\nwheels = [{ url = \"h\", upload-time = \"2021-03-01T10:00:00.5Z\" }]\n[[package]]\nname = \"b\"\nversion = \"2\"\n";
        let found = released(text);
        assert_eq!(found, [("a".to_owned(), "1.0".to_owned(), "2021-03-01T10:00:00.5Z".to_owned())]);
        assert_eq!(released("[x"), []);
    }

    #[test]
    fn lock_files_leave_out_the_project_itself() {
        let text = "[[package]]\nname = \"a\"\nversion = \"1.0\"\nsource = { registry = \"https://pypi.org/simple\" }\n[[package]]\nname = \"own\"\nversion = \"0.1\"\nsource = { editable = \".\" }\n";
        assert_eq!(lock(text).unwrap(), [("a".to_owned(), "1.0".to_owned())]);
        for beside in [
            "source = { path = \"lib.whl\" }",
            "[package.source]\ntype = \"directory\"\nurl = \"lib\"",
            "[package.source]\ntype = \"file\"\nurl = \"lib.whl\"",
            "path = \"./lib\"",
        ] {
            let text = format!("[[package]]\nname = \"own\"\nversion = \"0.1\"\n{beside}\n");
            assert_eq!(lock(&text).unwrap(), [], "{beside}");
        }
        assert_eq!((plain("Foo._Bar"), plain("a")), ("foo-bar".to_owned(), "a".to_owned()));
    }
}
