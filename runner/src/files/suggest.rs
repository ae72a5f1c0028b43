//! Suggests existing paths for one that does not exist.

use std::path::Path;
use std::time::{Duration, Instant};

use super::shown::show;
use super::walker::walker;

/// Entries looked at before giving up.
const LOOKED_AT: usize = 20_000;
const SUGGESTED: usize = 3;
/// How long is looked for them.
const LONGEST: Duration = Duration::from_secs(5);

/// A sentence for a path that does not exist; with `rules` nothing is suggested that files of rules match.
pub fn missing(root: &Path, relative: &Path, rules: bool) -> String {
    let said = format!("no such file: {}", show(relative));
    match similar(root, relative, rules).as_slice() {
        [] => format!("{said} (list_files shows what is there)"),
        found => format!("{said}; did you mean {}?", found.join(" or ")),
    }
}

/// Paths with the same name elsewhere, or with a name that is nearly the same, best first.
fn similar(root: &Path, relative: &Path, rules: bool) -> Vec<String> {
    let Some(name) = relative.file_name().map(|name| name.to_string_lossy().to_lowercase()) else { return Vec::new() };
    let until = Instant::now() + LONGEST;
    let is_over = move || Instant::now() >= until;
    let Some(builder) = walker(root, rules, is_over) else { return Vec::new() };
    let wanted = show(relative).to_lowercase();
    let mut found: Vec<(usize, String)> = Vec::new();
    let entries = builder.build().flatten().take(LOOKED_AT).take_while(|_| !is_over());
    for entry in entries.filter(|entry| entry.depth() > 0) {
        let other = entry.file_name().to_string_lossy().to_lowercase();
        let close = distance(&name, &other);
        if close <= name.chars().count() / 3 {
            let inside = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let inside = show(inside);
            // The name's similarity decides, then that of the rest of the path.
            found.push((close * 1000 + distance(&wanted, &inside.to_lowercase()).min(999), inside));
        }
    }
    found.sort();
    found.into_iter().take(SUGGESTED).map(|(_, path)| path).collect()
}

/// Edit distance: letters to add, drop or change.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in other.iter().enumerate() {
            let above = row[column + 1];
            let changed = diagonal + usize::from(a != *b);
            row[column + 1] = changed.min(above + 1).min(row[column] + 1);
            diagonal = above;
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("main.rs", "main.rs"), 0);
        assert_eq!(distance("mian.rs", "main.rs"), 2);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn a_misspelt_or_misplaced_file_is_found() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("src/deep")).expect("directories");
        std::fs::write(dir.path().join("src/deep/parser.rs"), "").expect("a file");
        let said = missing(dir.path(), Path::new("src/parser.rs"), true);
        assert_eq!(said, "no such file: src/parser.rs; did you mean src/deep/parser.rs?");
        let misspelt = missing(dir.path(), Path::new("src/deep/praser.rs"), true);
        assert!(misspelt.contains("did you mean src/deep/parser.rs?"), "{misspelt}");
        assert!(missing(dir.path(), Path::new("zebra.toml"), true).contains("list_files"));
    }
}
