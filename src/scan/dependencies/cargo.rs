//! `Cargo.toml` and `Cargo.lock`.
//!
//! Owns what of them is a dependency: not one by path alone, nor one that the workspace's own table asks for. Tests: below.

use toml::{Table, Value};

use super::entry::asked_of;
use super::{Format, Requirement, name_of};

pub(super) const FORMAT: Format = Format {
    ecosystem: "crates.io",
    is_manifest: |path| name_of(path) == "Cargo.toml",
    manifest,
    locks: &[("Cargo.lock", lock)],
    plain: str::to_owned,
    released: |_| Vec::new(),
};

const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn manifest(text: &str) -> Result<Vec<Requirement>, String> {
    let file: Table = toml::from_str(text).map_err(|_| "it is no TOML".to_owned())?;
    let mut found = Vec::new();
    let mut holders: Vec<&Table> = vec![&file];
    holders.extend(file.get("workspace").and_then(Value::as_table));
    let targets = file.get("target").and_then(Value::as_table);
    holders.extend(targets.into_iter().flat_map(|of| of.values()).filter_map(Value::as_table));
    for holder in holders {
        for table in TABLES.iter().filter_map(|name| holder.get(*name)?.as_table()) {
            found.extend(table.iter().filter_map(|(key, value)| asked(key, value)));
        }
    }
    Ok(found)
}

fn asked(key: &str, value: &Value) -> Option<Requirement> {
    let of = |name: &str| value.get(name).and_then(Value::as_str);
    // By path alone, or as the workspace asks for it.
    value.as_str().or_else(|| of("version")).or_else(|| of("git"))?;
    let (name, version) = (of("package").unwrap_or(key).to_owned(), asked_of(value, "registry", "crates-io"));
    Some(Requirement { name, version, locked: Vec::new(), line: None })
}

/// Packages from a registry or a git repository; those without a source are the workspace's own.
fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    let file: Table = toml::from_str(text).map_err(|_| "it is no TOML".to_owned())?;
    let packages = file.get("package").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |package: &Value| {
        let of = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
        of("source").and(of("name").zip(of("version")))
    };
    Ok(packages.iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_dependencies_is_read_and_a_rename_is_undone() {
        let text = "[dependencies]\na = \"1\"\nb = { path = \"../b\" }\nc = { workspace = true }\nd = { package = \"e\", version = \"2\", path = \"x\" }\n[dev-dependencies.f]\ngit = \"https://h/f\"\n[target.'cfg(unix)'.build-dependencies]\ng = \"3\"\n[workspace.dependencies]\nc = \"4\"\nh = { git = \"https://h/h\", version = \"5\" }\ni = { version = \"6\", registry = \"corp\" }\n";
        let mut found: Vec<_> = manifest(text).unwrap().into_iter().map(|it| (it.name, it.version)).collect();
        found.sort();
        let wanted = [
            ("a", "1"),
            ("c", "4"),
            ("e", "path x 2"),
            ("f", "git https://h/f"),
            ("g", "3"),
            ("h", "git https://h/h"),
            ("i", "registry corp 6"),
        ];
        assert_eq!(found, wanted.map(|(name, version)| (name.to_owned(), version.to_owned())));
        assert!(manifest("[x").is_err() && lock("[x").is_err() && manifest("").unwrap().is_empty());
    }
}
