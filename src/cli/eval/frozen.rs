//! A hash of each set's tasks and repositories, in `frozen.sha256` beside them.
//!
//! Tuning on some tasks and measuring on others is only valid if neither changes unnoticed. Owns the hash and the file. Tests: below.

use super::tasks::{Folder, Set, files};
use crate::cli::printer::Printer;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

pub const FILE: &str = "frozen.sha256";
/// File beside it with one line for each use of held-out tasks.
const LOOKS: &str = "looks.log";

/// The folder compared with what was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Frozen {
    Unchanged,
    /// These sets have changed.
    Changed {
        sets: Vec<String>,
    },
    /// Nothing was frozen.
    Never,
}

impl Frozen {
    /// Compares the folder with its file.
    pub fn look(folder: &Folder) -> Result<Frozen> {
        let path = folder.at.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Frozen::Never),
            Err(why) => return Err(why).with_context(|| path.display().to_string()),
        };
        let now = hashes(folder)?;
        let then: BTreeMap<&str, &str> =
            text.lines().filter_map(|line| line.split_once("  ")).map(|(hash, set)| (set, hash)).collect();
        let sets: Vec<String> = now
            .iter()
            .filter(|(set, hash)| then.get(**set) != Some(&hash.as_str()))
            .map(|(set, _)| (*set).to_owned())
            .collect();
        Ok(if sets.is_empty() { Frozen::Unchanged } else { Frozen::Changed { sets } })
    }

    /// A warning for people, if there is anything to say.
    pub fn warning(&self) -> Option<String> {
        match self {
            Frozen::Unchanged => None,
            Frozen::Changed { sets } => Some(format!("CHANGED SINCE FROZEN: {}", sets.join(", "))),
            Frozen::Never => Some("these tasks were never frozen (`caisson eval --freeze`)".to_owned()),
        }
    }
}

/// Writes the file for the folder's present contents.
pub fn freeze(folder: &Folder) -> Result<BTreeMap<&'static str, String>> {
    let now = hashes(folder)?;
    let text: String = now.iter().map(|(set, hash)| format!("{hash}  {set}\n")).collect();
    std::fs::write(folder.at.join(FILE), text).context(FILE)?;
    Ok(now)
}

/// Records a use of held-out tasks: when, by whom, of what, and where the results went.
pub fn look_at(
    folder: &Folder,
    when: &str,
    who: &str,
    what: &str,
    out: Option<&Path>,
    printer: &Printer,
) -> Result<()> {
    let path = folder.at.join(LOOKS);
    let mut log = std::fs::File::options().create(true).append(true).open(&path).context(LOOKS)?;
    let out = out.map_or("no file".to_owned(), |file| file.display().to_string());
    writeln!(log, "{when}\t{who}\t{what}\t{out}").context(LOOKS)?;
    printer.warn(&format!("a look at {what}, written down in {}", path.display()));
    Ok(())
}

fn hashes(folder: &Folder) -> Result<BTreeMap<&'static str, String>> {
    Set::ALL.iter().map(|set| Ok((set.word(), hash(folder, *set)?))).collect()
}

/// Hash over path, length and bytes of each file, in the order of the paths.
fn hash(folder: &Folder, set: Set) -> Result<String> {
    let tasks: Vec<_> = folder.tasks.iter().filter(|task| set.holds(task.spec.set)).collect();
    let places: BTreeSet<String> = tasks
        .iter()
        .flat_map(|task| [format!("repositories/{}", task.spec.repository), format!("tasks/{}", task.spec.name)])
        .collect();
    let mut hash = Sha256::new();
    for place in places {
        for file in files(&folder.at.join(&place))? {
            hash.update(format!("{place}/{} {} {}\n", file.path, file.executable, file.bytes.len()));
            hash.update(&file.bytes);
        }
    }
    Ok(hex::encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::tasks::tests::write;

    #[test]
    fn a_change_of_one_set_is_named() {
        let dir = tempfile::tempdir().expect("dir");
        write(dir.path(), "a", "quick");
        write(dir.path(), "b", "held-out");
        let read = || Folder::read(dir.path()).expect("read");
        assert_eq!(Frozen::look(&read()).expect("looked"), Frozen::Never);
        freeze(&read()).expect("frozen");
        assert_eq!(Frozen::look(&read()).expect("looked"), Frozen::Unchanged);
        std::fs::write(dir.path().join("repositories/sums/__pycache__/y.pyc"), "y").expect("written");
        assert_eq!(Frozen::look(&read()).expect("looked"), Frozen::Unchanged, "what tests leave is no change");
        std::fs::write(dir.path().join("tasks/b/hidden/hidden.py"), "fail\n").expect("written");
        assert_eq!(Frozen::look(&read()).expect("looked"), Frozen::Changed { sets: vec!["held-out".into()] });
        std::fs::write(dir.path().join("repositories/sums/sums.py"), "x = 2\n").expect("written");
        let all = vec!["held-out".to_owned(), "quick".to_owned(), "tune".to_owned()];
        assert_eq!(Frozen::look(&read()).expect("looked"), Frozen::Changed { sets: all });
    }
}
