//! `Pipfile` and `Pipfile.lock`.
//!
//! Owns which of their tables hold packages. What lies in a folder beside has no version, and is left out. Tests: below.

use serde_json::Value;
use toml::Table;

use super::Requirement;
use super::entry::asked_of;

/// The packages that a `Pipfile` asks for; none where it is another file.
pub(super) fn asked(file: &Table) -> Vec<Requirement> {
    let tables = ["packages", "dev-packages"].iter().filter_map(|name| file.get(*name)?.as_table());
    let packages = tables.flatten().filter(|(_, value)| value.get("path").is_none());
    let read = |(name, value): (&String, &toml::Value)| {
        let version = asked_of(value, "index", "pypi");
        Requirement { name: name.clone(), version, locked: Vec::new(), line: None }
    };
    packages.map(read).collect()
}

/// Every table holds packages but the one about the file itself.
pub(super) fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    let file: Value = serde_json::from_str(text).map_err(|_| "it is no JSON".to_owned())?;
    let tables = file.as_object().into_iter().flatten().filter(|(name, _)| *name != "_meta");
    let read = |(name, package): (&String, &Value)| {
        let version = package.get("version")?.as_str()?.trim_start_matches('=');
        Some((name.clone(), version.to_owned()))
    };
    Ok(tables.filter_map(|(_, table)| table.as_object()).flatten().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_without_what_lies_beside() {
        let file = "[[source]]\nurl = \"https://pypi.org/simple\"\nverify_ssl = true\nname = \"pypi\"\n[packages]\nrequests = \"*\"\nown = { path = \".\", editable = true }\nours = { version = \"*\", index = \"corp\" }\ndjango = { version = \"~=4.2\", extras = [\"argon2\"] }\n[dev-packages]\npytest = \">=8\"\n[requires]\npython_version = \"3.12\"\n";
        let mut found: Vec<_> =
            asked(&toml::from_str(file).unwrap()).into_iter().map(|it| (it.name, it.version)).collect();
        found.sort();
        let wanted = [("django", "~=4.2"), ("ours", "registry corp *"), ("pytest", ">=8"), ("requests", "*")];
        assert_eq!(found, wanted.map(|(name, version)| (name.to_owned(), version.to_owned())));
        let text = r#"{ "_meta": { "hash": { "sha256": "a" }, "pipfile-spec": 6, "requires": { "version": "==3" } }, "default": { "requests": { "hashes": ["sha256:a"], "index": "pypi", "markers": "python_version >= '3.7'", "version": "==2.31.0" }, "own": { "editable": true, "path": "." } }, "develop": { "pytest": { "version": "==8.0.0" } } }"#;
        let mut found = lock(text).unwrap();
        found.sort();
        let wanted = [("pytest", "8.0.0"), ("requests", "2.31.0")];
        assert_eq!(found, wanted.map(|(name, version)| (name.to_owned(), version.to_owned())));
        assert!(lock("{").is_err() && lock("[]").unwrap().is_empty());
    }
}
