//! `go.mod`, which says both what is asked for and, since Go 1.17, every version that is used.
//!
//! Owns how its `require` lines are read; `replace` and `exclude` are not followed. Tests: below.

use super::{Format, Requirement, name_of};

pub(super) const FORMAT: Format = Format {
    ecosystem: "Go",
    is_manifest: |path| name_of(path) == "go.mod",
    manifest,
    locks: &[("go.mod", lock)],
    plain: str::to_owned,
    released,
};

/// Module, version without its `v`, and whether the module's own code asks for it.
fn required(text: &str) -> Vec<(String, String, bool)> {
    let (mut found, mut within) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        let rest = match line.strip_prefix("require") {
            Some(rest) if rest.trim_start().starts_with('(') => {
                within = true;
                continue;
            }
            Some(rest) if rest.starts_with([' ', '\t']) => rest,
            _ if line == ")" => {
                within = false;
                continue;
            }
            _ if within => line,
            _ => continue,
        };
        let (code, comment) = rest.split_once("//").unwrap_or((rest, ""));
        let mut words = code.split_whitespace();
        if let (Some(module), Some(version)) = (words.next(), words.next()) {
            let direct = !comment.trim_start().starts_with("indirect");
            found.push((module.trim_matches('"').to_owned(), version.trim_start_matches('v').to_owned(), direct));
        }
    }
    found
}

fn manifest(text: &str) -> Result<Vec<Requirement>, String> {
    let direct = required(text).into_iter().filter(|(_, _, direct)| *direct);
    Ok(direct.map(|(name, version, _)| Requirement { name, version, locked: Vec::new(), line: None }).collect())
}

fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    Ok(required(text).into_iter().map(|(name, version, _)| (name, version)).collect())
}

/// The times of versions that were made of a commit, which name its time (go.dev/ref/mod, *pseudo-versions*).
fn released(text: &str) -> Vec<(String, String, String)> {
    let time = |version: &str| {
        let mut parts = version.trim_end_matches("+incompatible").rsplit('-');
        let (commit, before) = (parts.next()?, parts.next()?);
        let digits = before.rsplit('.').next().filter(|it| it.len() == 14 && it.bytes().all(|b| b.is_ascii_digit()))?;
        (commit.len() == 12).then(|| format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..8]))
    };
    required(text).into_iter().filter_map(|(name, version, _)| Some((name, version.clone(), time(&version)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_modules_are_read_in_both_forms() {
        let text = "module h/shop\n\ngo 1.24\n\nrequire h/one v1.2.3\n\nrequire (\n\th/two v0.1.0\n\th/three/v2 v2.0.0+incompatible // indirect\n)\n\nreplace h/one => ../one\n";
        let found: Vec<_> = manifest(text).unwrap().into_iter().map(|it| (it.name, it.version)).collect();
        assert_eq!(found, [("h/one".to_owned(), "1.2.3".to_owned()), ("h/two".to_owned(), "0.1.0".to_owned())]);
        assert_eq!(lock(text).unwrap().len(), 3);
    }

    #[test]
    fn a_version_that_was_made_of_a_commit_names_its_day() {
        let text = "require (\n\th/a v0.0.0-20210203140506-0123456789ab\n\th/b v1.2.4-0.20220304000000-0123456789ab+incompatible\n\th/c v1.2.3\n\th/d v1.0.0-rc1-x\n)\n";
        let found: Vec<_> = released(text).into_iter().map(|(name, _, day)| (name, day)).collect();
        assert_eq!(found, [("h/a".to_owned(), "2021-02-03".to_owned()), ("h/b".to_owned(), "2022-03-04".to_owned())]);
    }
}
