//! A branch's rule while it is taken away: kept in the state directory before, so that the next run puts it back where
//! `caisson repo sync --rewritten` was killed in between. Tests: below, and `tests/setup/mend.rs`.

use crate::config::process::Repository as Entry;
use crate::config::replace_whole;
use crate::forge::gitea::keep::RuleMade;
use crate::forge::{Gitea, RepoRef};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// A rule that was taken away, or is about to be.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SetAside {
    /// The forge's id of its repository: another one may have the key by now.
    repository: i64,
    branch: String,
    /// As the forge wrote it.
    rule: Value,
}

fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("rules")
}

fn path(state_dir: &Path, entry: &Entry) -> PathBuf {
    folder(state_dir).join(format!("{}.json", entry.key))
}

/// Keeps the rule of this branch, so that it outlasts this process and the machine's next start.
pub(super) fn keep(state_dir: &Path, entry: &Entry, branch: &str, rule: &Value) -> Result<()> {
    let path = path(state_dir, entry);
    let kept = SetAside { repository: entry.id, branch: branch.to_owned(), rule: rule.clone() };
    let text = serde_json::to_vec(&kept)?;
    let put = replace_whole(&path, |file| file.write_all(&text)).and_then(|()| File::open(state_dir)?.sync_all());
    put.with_context(|| format!("the rule of {branch} stays, because it cannot be kept in {}", path.display()))
}

fn read(path: &Path) -> Result<Option<SetAside>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let kept = serde_json::from_slice(&text);
    kept.map(Some).with_context(|| format!("{} holds no rule of a branch: move it away", path.display()))
}

/// Whether two rules set the same.
fn is_same(one: &Value, other: &Value) -> bool {
    let plain = |rule: &Value| {
        let mut rule = rule.clone();
        if let Some(all) = rule.as_object_mut() {
            all.retain(|key, _| !matches!(key.as_str(), "created_at" | "updated_at" | "priority"));
        }
        rule
    };
    plain(one) == plain(other)
}

/// Puts the rule back that is kept of this repository, where its branch has none now; says whose it is. Where another one stands, or the forge
/// does not take it as it wrote it, the rule is kept beside, which is an error.
pub(super) async fn put_back(state_dir: &Path, forge: &Gitea, repo: &RepoRef, entry: &Entry) -> Result<Option<String>> {
    let path = path(state_dir, entry);
    let Some(kept) = read(&path)? else { return Ok(None) };
    let mut back = None;
    if kept.repository == entry.id {
        let made = forge.make_rule(repo, &kept.branch, &kept.rule).await?;
        let why = match made {
            RuleMade::Stands(now) if is_same(&now, &kept.rule) => None,
            RuleMade::Stands(_) => Some("another one stands by now".to_owned()),
            RuleMade::Refused(why) => Some(format!("the forge does not take it as it wrote it ({why})")),
            RuleMade::New => {
                back = Some(kept.branch.clone());
                None
            }
        };
        if let Some(why) = why {
            let (mut beside, mut n) = (path.with_extension("refused.json"), 1);
            // An earlier one keeps its name.
            while beside.exists() {
                n += 1;
                beside = path.with_extension(format!("refused-{n}.json"));
            }
            fs::rename(&path, &beside).with_context(|| format!("cannot rename {}", path.display()))?;
            anyhow::bail!(
                "the rule of {} is not put back: {why}. What was set in it is in {}; repeat this to go on with the one that stands, or a plain one",
                kept.branch,
                beside.display()
            );
        }
    }
    // Last: what is cut before finds the rule and is done with it.
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    Ok(back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_is_read_as_it_was_kept_and_the_newest_counts() {
        let dir = tempfile::tempdir().unwrap();
        let entry = Entry { key: "shop".to_owned(), id: 7, ..Entry::default() };
        let path = path(dir.path(), &entry);
        assert_eq!(read(&path).unwrap(), None);
        for approvals in [1, 2] {
            let rule = json!({ "rule_name": "main", "required_approvals": approvals });
            keep(dir.path(), &entry, "main", &rule).unwrap();
            let kept = SetAside { repository: 7, branch: "main".to_owned(), rule };
            assert_eq!(read(&path).unwrap(), Some(kept));
        }
        fs::write(&path, "{").unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("move it away"));
    }
}
