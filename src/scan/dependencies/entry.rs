//! An entry of a table of TOML that names a package: a version, or a table with one.
//!
//! Owns how it is told that a package does not come from the registry that everybody uses: that one is not asked for it (`newest`), because what it has of
//! this name is another package, or somebody else's. Tests: below.

use toml::Value;

/// What an entry asks for: its version, and before it where the package comes from if that is not the registry named `usual`. `index` is the key that
/// names another registry.
pub(super) fn asked_of(entry: &Value, index: &str, usual: &str) -> String {
    let of = |name: &str| entry.get(name).and_then(Value::as_str);
    let version = entry.as_str().or_else(|| of("version")).unwrap_or_default();
    if let Some(git) = of("git") {
        format!("git {git}")
    } else if let Some(url) = of("url").or_else(|| of("file")) {
        format!("@ {url}")
    } else if let Some(path) = of("path") {
        format!("path {path} {version}")
    } else if let Some(other) = of(index).filter(|name| !name.eq_ignore_ascii_case(usual)) {
        format!("registry {other} {version}")
    } else {
        version.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_place_has_is_told_apart_from_what_the_usual_registry_has() {
        for (entry, asked) in [
            ("\"1\"", "1"),
            ("{ version = \"1\", index = \"PyPI\" }", "1"),
            ("{ version = \"1\", git = \"https://h/a\" }", "git https://h/a"),
            ("{ version = \"1\", path = \"../a\" }", "path ../a 1"),
            ("{ url = \"https://h/a.whl\" }", "@ https://h/a.whl"),
            ("{ version = \"1\", index = \"corp\" }", "registry corp 1"),
            ("[{ version = \"1\" }]", ""),
        ] {
            let table: toml::Table = toml::from_str(&format!("a = {entry}")).unwrap();
            assert_eq!(asked_of(&table["a"], "index", "pypi"), asked, "{entry}");
        }
    }
}
