//! `composer.json` and `composer.lock`.
//!
//! Owns what of them is a package: not PHP and its extensions, nor what lies in a folder beside. Tests: below.

use serde_json::Value;

use super::{Format, Requirement, name_of};

pub(super) const FORMAT: Format = Format {
    ecosystem: "Packagist",
    is_manifest: |path| name_of(path) == "composer.json",
    manifest,
    locks: &[("composer.lock", lock)],
    plain: str::to_lowercase,
    released: |text| packages(text).unwrap_or_default(),
};

fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| "it is no JSON".to_owned())
}

/// Every package has a vendor before its name; PHP and its extensions have none.
fn manifest(text: &str) -> Result<Vec<Requirement>, String> {
    let file = read(text)?;
    let tables = ["require", "require-dev"].iter().filter_map(|table| file.get(*table)?.as_object());
    let asked = |(name, version): (&String, &Value)| {
        let version = version.as_str().unwrap_or_default().to_owned();
        Requirement { name: name.clone(), version, locked: Vec::new(), line: None }
    };
    Ok(tables.flatten().filter(|(name, _)| name.contains('/')).map(asked).collect())
}

fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    Ok(packages(text)?.into_iter().map(|(name, version, _)| (name, version)).collect())
}

/// Packages with their versions, and when these were made; empty where the file does not say it.
fn packages(text: &str) -> Result<Vec<(String, String, String)>, String> {
    let file = read(text)?;
    let lists = ["packages", "packages-dev"].iter().filter_map(|list| file.get(*list)?.as_array());
    let read = |package: &Value| {
        let of = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
        let beside = package.pointer("/dist/type").and_then(Value::as_str) == Some("path");
        (!beside).then_some((of("name")?, of("version")?, of("time").unwrap_or_default()))
    };
    Ok(lists.flatten().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_without_the_platform_and_with_their_days() {
        let text = r#"{ "require": { "php": "^8.2", "ext-json": "*", "Brick/Math": "^0.12" }, "require-dev": { "phpunit/phpunit": "^10.1" } }"#;
        let found: Vec<_> =
            manifest(text).unwrap().into_iter().map(|it| format!("{} {}", it.name, it.version)).collect();
        assert_eq!(found, ["Brick/Math ^0.12", "phpunit/phpunit ^10.1"]);
        let text = r#"{ "content-hash": "706cc5912ec1792c22e19b62f81e6277", "packages": [{ "name": "brick/math", "version": "0.12.1", "source": { "type": "git" }, "dist": { "type": "zip" }, "require": { "php": "^8.1" }, "time": "2023-11-29T23:19:16+00:00" }, { "name": "shop/own", "version": "dev-main", "dist": { "type": "path", "url": "../own" } }], "packages-dev": [{ "name": "phpunit/phpunit", "version": "10.5.9" }], "platform": { "php": "^8.2" } }"#;
        let found: Vec<_> = packages(text).unwrap().into_iter().map(|(a, b, c)| format!("{a} {b} {c}")).collect();
        assert_eq!(found, ["brick/math 0.12.1 2023-11-29T23:19:16+00:00", "phpunit/phpunit 10.5.9 "]);
        assert_eq!(lock(text).unwrap().len(), 2);
        assert!(manifest("{").is_err() && lock("{").is_err() && lock("[]").unwrap().is_empty());
    }
}
