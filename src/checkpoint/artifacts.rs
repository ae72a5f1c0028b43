//! What a final review says of the files that were taken beside finished work. Pure. Paths are untrusted.

use super::view::CheckpointView;
use crate::text::{bytes, code, count, plain_cell, prose};
use domain::{ArtifactBar, ArtifactLeft, Artifacts, ArtifactsHang};
use std::fmt::Write as _;

/// The most characters of a reason that a sandbox may have written.
const MOST_REASON: usize = 300;

/// The archive, each file with its digest, and what was not taken; nothing where no pattern asks for any.
pub(super) fn section(out: &mut String, view: &CheckpointView) {
    let Some(held) = view.artifacts.as_ref().filter(|held| view.commit.as_deref() == Some(held.commit.as_str())) else {
        return;
    };
    let _ = writeln!(out, "\n**Artifacts** — {}", heading(held));
    if !held.files.is_empty() {
        out.push_str("\n| file | size | SHA-256 |\n|---|--:|---|\n");
        for file in &held.files {
            let _ = writeln!(out, "| {} | {} | `{}` |", plain_cell(&file.path), bytes(file.bytes), file.sha256);
        }
        out.push('\n');
    }
    if let Some(why) = &held.trouble {
        let _ = writeln!(out, "⚠️ They could not be looked for: {}.", prose(why, MOST_REASON));
    }
    if !held.left.is_empty() {
        let mut named: Vec<String> = held.left.iter().map(left).collect();
        if held.more > 0 {
            named.push(format!("and {}", count(u64::from(held.more), "more file")));
        }
        let _ = writeln!(out, "⚠️ Not taken: {}.", named.join(", "));
    }
    if !held.unmatched.is_empty() {
        let patterns: Vec<String> = held.unmatched.iter().map(|pattern| code(pattern)).collect();
        let _ = writeln!(out, "⚠️ No file matches {}.", patterns.join(", "));
    }
}

fn heading(held: &Artifacts) -> String {
    let files = count(held.files.len() as u64, "file");
    let commit = held.commit.short();
    if held.files.is_empty() {
        return "none".to_owned();
    }
    match &held.hang {
        Some(ArtifactsHang::Under { name }) => format!(
            "{} hangs on this pull request, with {files} out of the stopped sandbox that `{commit}` was made of. Code under review made them and nobody looked into them: open them only where that can do no harm.",
            code(name)
        ),
        Some(ArtifactsHang::Refused) => format!(
            "⚠️ not attached, because this forge takes no such archive: {files} out of the stopped sandbox that `{commit}` was made of."
        ),
        Some(ArtifactsHang::Failed) | None => format!(
            "⚠️ not attached, because the forge did not take the archive when this was posted: {files} out of the stopped sandbox that `{commit}` was made of."
        ),
    }
}

fn left(left: &ArtifactLeft) -> String {
    let why = match left.bar {
        ArtifactBar::Link => "a symbolic link, or below one".to_owned(),
        ArtifactBar::Unreadable => "it could not be read as a regular file".to_owned(),
        ArtifactBar::Name => "a name that other systems may misread".to_owned(),
        ArtifactBar::TooLarge { most } => format!("larger than {} MiB", most >> 20),
        ArtifactBar::Together { most } => format!("with the others more than {} MiB", most >> 20),
        ArtifactBar::TooMany { most } => format!("more than {}", count(u64::from(most), "file")),
        ArtifactBar::Credential => "it holds what looks like a credential".to_owned(),
        ArtifactBar::Unstored => "too much is stored for this task already".to_owned(),
    };
    format!("{} ({why})", code(&left.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Artifact, Commit};

    fn told(held: Artifacts) -> String {
        let mut out = String::new();
        let commit = Some(held.commit.as_str().to_owned());
        section(&mut out, &CheckpointView { commit, artifacts: Some(held), ..CheckpointView::default() });
        out
    }

    fn held(files: &[&str]) -> Artifacts {
        let file = |path: &&str| Artifact { path: (*path).to_owned(), bytes: 12_345, sha256: "ab".repeat(32) };
        let commit = Commit::parse(&"a".repeat(40)).expect("a commit");
        let hang = Some(ArtifactsHang::Under { name: "task-7-artifacts-aaaaaaaaaa.zip".to_owned() });
        let (left, unmatched) = (Vec::new(), Vec::new());
        Artifacts {
            n: 2,
            commit,
            files: files.iter().map(file).collect(),
            left,
            more: 0,
            unmatched,
            trouble: None,
            hang,
        }
    }

    #[test]
    fn what_was_taken_and_what_was_not_is_told() {
        let hostile = "a`|](http://evil.test) @all <img>.whl";
        let mib = 8 << 20;
        let bars = [
            ArtifactBar::Link,
            ArtifactBar::Unreadable,
            ArtifactBar::Name,
            ArtifactBar::TooLarge { most: mib },
            ArtifactBar::Together { most: 2 * mib },
            ArtifactBar::TooMany { most: 10 },
            ArtifactBar::Credential,
            ArtifactBar::Unstored,
        ];
        let left = bars.map(|bar| ArtifactLeft { path: hostile.to_owned(), bar }).to_vec();
        let one = held(&["dist/shop-1.0.whl"]);
        let texts = [
            told(Artifacts { left, more: 3, ..held(&["dist/shop-1.0.whl", hostile]) }),
            told(Artifacts { hang: Some(ArtifactsHang::Refused), ..one.clone() }),
            told(Artifacts { hang: Some(ArtifactsHang::Failed), ..one.clone() }),
            told(Artifacts { hang: None, unmatched: vec!["dist/*.whl".to_owned(), "*.html".to_owned()], ..held(&[]) }),
            told(Artifacts { hang: None, trouble: Some("listing took @all too long".to_owned()), ..held(&[]) }),
        ];
        insta::assert_snapshot!("artifacts", texts.join("---\n"));
    }

    #[test]
    fn those_of_another_commit_are_not_told() {
        let mut out = String::new();
        let view = CheckpointView { commit: Some("b".repeat(40)), artifacts: Some(held(&["a"])), ..Default::default() };
        section(&mut out, &view);
        assert_eq!(out, "");
    }
}
