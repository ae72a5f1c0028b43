//! `package.json` and `package-lock.json`.
//!
//! Owns how both forms of the lock file are read. Those of Yarn and pnpm: `yarn.rs`, `pnpm.rs`. Tests: below.

use std::collections::HashSet;

use serde_json::Value;

use super::{Format, Requirement, name_of, pnpm, yarn};

pub(super) const FORMAT: Format = Format {
    ecosystem: "npm",
    is_manifest: |path| name_of(path) == "package.json",
    manifest,
    locks: &[
        ("package-lock.json", lock),
        ("npm-shrinkwrap.json", lock),
        ("yarn.lock", yarn::lock),
        ("pnpm-lock.yaml", pnpm::lock),
    ],
    plain: str::to_owned,
    released: |_| Vec::new(),
};

const TABLES: [&str; 4] = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
const FOLDER: &str = "node_modules/";

fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| "it is no JSON".to_owned())
}

fn manifest(text: &str) -> Result<Vec<Requirement>, String> {
    let file = read(text)?;
    let (mut found, mut known): (Vec<Requirement>, HashSet<&str>) = (Vec::new(), HashSet::new());
    for (name, version) in TABLES.iter().filter_map(|table| file.get(*table)?.as_object()).flatten() {
        let version = version.as_str().unwrap_or_default();
        let own = ["file:", "link:", "workspace:"].iter().any(|scheme| version.starts_with(scheme));
        if !own && known.insert(name) {
            let (name, version) = yarn::real(name, version);
            let (name, version) = (name.to_owned(), version.to_owned());
            found.push(Requirement { name, version, locked: Vec::new(), line: None });
        }
    }
    Ok(found)
}

fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    let file = read(text)?;
    let mut found = Vec::new();
    match file.get("packages").and_then(Value::as_object) {
        Some(packages) => {
            for (place, package) in packages {
                let installed = place.rsplit_once(FOLDER).map(|(_, name)| name);
                // An alias names what it stands for.
                let name = package.get("name").and_then(Value::as_str).or(installed);
                let version = package.get("version").and_then(Value::as_str);
                if let Some((name, version)) = name.filter(|_| installed.is_some()).zip(version) {
                    found.push((name.to_owned(), version.to_owned()));
                }
            }
        }
        None => below(&file, &mut found),
    }
    Ok(found)
}

/// The form of the first version: packages within packages. The parser limits the depth.
fn below(of: &Value, found: &mut Vec<(String, String)>) {
    for (name, package) in of.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
        if let Some(version) = package.get("version").and_then(Value::as_str) {
            let (name, version) = yarn::real(name, version);
            found.push((name.to_owned(), version.to_owned()));
        }
        below(package, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
        found.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect()
    }

    #[test]
    fn both_forms_of_a_lock_file_are_read() {
        let new = r#"{ "lockfileVersion": 3, "packages": { "": { "name": "shop", "version": "1.0.0" }, "node_modules/@a/b": { "version": "1.2.3" }, "node_modules/c/node_modules/d": { "version": "2.0.0" }, "node_modules/e": { "name": "real", "version": "3.0.0" }, "lib": { "version": "9.0.0" } } }"#;
        let mut found = lock(new).unwrap();
        found.sort();
        assert_eq!(pairs(&found), [("@a/b", "1.2.3"), ("d", "2.0.0"), ("real", "3.0.0")]);
        let old = r#"{ "dependencies": { "a": { "version": "1.0.0", "dependencies": { "b": { "version": "2.0.0" } } }, "e": { "version": "npm:@s/real@3.0.0" } } }"#;
        assert_eq!(pairs(&lock(old).unwrap()), [("a", "1.0.0"), ("b", "2.0.0"), ("@s/real", "3.0.0")]);
        assert!(lock("{").is_err() && lock("[]").unwrap().is_empty());
    }

    #[test]
    fn an_alias_stands_for_the_package_that_it_names() {
        let text =
            r#"{ "dependencies": { "e": "npm:real@^3", "f": "npm:@s/real@1 - 2", "g": "npm:plain", "h": "npm:^4" } }"#;
        let found: Vec<_> =
            manifest(text).unwrap().into_iter().map(|it| format!("{} {}", it.name, it.version)).collect();
        assert_eq!(found, ["real ^3", "@s/real 1 - 2", "plain ", "h npm:^4"]);
    }

    #[test]
    fn every_table_of_a_manifest_is_read_once() {
        let text = r#"{ "dependencies": { "a": "^1", "own": "file:../own" }, "devDependencies": { "b": "~2" }, "peerDependencies": { "a": "*" } }"#;
        let found: Vec<_> = manifest(text).unwrap().into_iter().map(|it| (it.name, it.version)).collect();
        assert_eq!(found, [("a".to_owned(), "^1".to_owned()), ("b".to_owned(), "~2".to_owned())]);
    }
}
