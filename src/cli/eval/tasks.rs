//! Tasks on disk: `tasks/<name>/` and `repositories/<name>/`, in the format of `docs/evaluation.md`.
//!
//! Owns reading and choosing them. A task that cannot be read counts as not run; the others continue. Tests: below.

use crate::cli::printer::Complaint;
use crate::git::PlainFile;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What running a repository's tests leaves on disk, which never belongs to the repository.
const LEFT_OVER: [&str; 4] = [".git", "__pycache__", "target", "node_modules"];
/// The most bytes of one file of a task or repository, and of a folder.
const MAX_FILE: u64 = 8 << 20;
const MAX_FOLDER: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Feature,
    Fix,
    Refactor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Python,
    Rust,
    Javascript,
}

/// The set of a task; tasks of `quick` also belong to `tune`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    Quick,
    Tune,
    HeldOut,
}

impl Set {
    pub const ALL: [Set; 3] = [Set::Quick, Set::Tune, Set::HeldOut];

    pub fn word(self) -> &'static str {
        match self {
            Set::Quick => "quick",
            Set::Tune => "tune",
            Set::HeldOut => "held-out",
        }
    }

    /// Whether `self` includes tasks of this set.
    pub fn holds(self, of_task: Set) -> bool {
        of_task == self || (self == Set::Tune && of_task == Set::Quick)
    }
}

/// `task.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub name: String,
    pub family: Family,
    pub language: Language,
    pub repository: String,
    pub set: Set,
    pub names_file: bool,
    pub large: bool,
    pub checks: Vec<String>,
    pub hidden: String,
    #[serde(default)]
    pub skip_base: Vec<String>,
}

/// A task with all of its files.
#[derive(Debug, Clone)]
pub struct TaskDir {
    pub spec: Spec,
    pub title: String,
    pub body: String,
    pub hidden: Vec<PlainFile>,
    pub base_patch: Option<Vec<u8>>,
    pub reference: Option<Vec<u8>>,
    pub repository: PathBuf,
}

/// The contents of a folder.
pub struct Folder {
    pub at: PathBuf,
    /// In order of their names.
    pub tasks: Vec<TaskDir>,
    /// Tasks that cannot be read, with the reason.
    pub broken: Vec<(String, String)>,
}

impl Folder {
    /// # Errors
    /// A [`Complaint`] when there is no folder `tasks`.
    pub fn read(at: &Path) -> Result<Folder> {
        let tasks = at.join("tasks");
        let listed = std::fs::read_dir(&tasks).map_err(|why| {
            let complaint = Complaint::new(format!("{} holds no tasks", at.display())).because(why.to_string());
            complaint.hint("name their folder with --tasks DIR; docs/evaluation.md says what is in it")
        })?;
        let mut names: Vec<String> = listed
            .filter_map(|entry| entry.ok().filter(|it| it.path().is_dir()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut folder = Folder { at: at.to_owned(), tasks: Vec::new(), broken: Vec::new() };
        for name in names {
            match TaskDir::read(at, &name) {
                Ok(task) => folder.tasks.push(task),
                Err(why) => folder.broken.push((name, format!("{why:#}"))),
            }
        }
        Ok(folder)
    }
}

impl TaskDir {
    fn read(at: &Path, name: &str) -> Result<TaskDir> {
        let dir = at.join("tasks").join(name);
        let text = std::fs::read_to_string(dir.join("task.toml")).context("task.toml")?;
        let spec: Spec = toml::from_str(&text).context("task.toml")?;
        anyhow::ensure!(spec.name == name, "task.toml names it {:?}, its folder {name:?}", spec.name);
        anyhow::ensure!(
            !spec.checks.is_empty() && !spec.hidden.trim().is_empty(),
            "it names no checks or no hidden test"
        );
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        anyhow::ensure!(spec.repository.chars().all(plain), "its repository is named {:?}", spec.repository);
        let issue = std::fs::read_to_string(dir.join("issue.md")).context("issue.md")?;
        let (title, body) = issue.split_once('\n').unwrap_or((&issue, ""));
        anyhow::ensure!(!title.trim().is_empty(), "issue.md has no title in its first line");
        let hidden = files(&dir.join("hidden")).context("hidden")?;
        anyhow::ensure!(!hidden.is_empty(), "its folder hidden is empty");
        let repository = at.join("repositories").join(&spec.repository);
        anyhow::ensure!(repository.is_dir(), "there is no repository {}", repository.display());
        let optional = |file: &str| match std::fs::read(dir.join(file)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(anyhow::Error::new(why).context(file.to_owned())),
        };
        Ok(TaskDir {
            title: title.trim_start_matches('#').trim().to_owned(),
            body: body.trim().to_owned(),
            hidden,
            base_patch: optional("base.patch")?,
            reference: optional("reference.patch")?,
            repository,
            spec,
        })
    }

    /// The project's own suite, as one command.
    pub fn suite(&self) -> String {
        self.spec.checks.join(" && ")
    }
}

/// Every file below a folder, by path, without what tests leave behind; a link is refused.
pub fn files(folder: &Path) -> Result<Vec<PlainFile>> {
    let (mut out, mut bytes) = (Vec::new(), 0);
    gather(folder, "", &mut out, &mut bytes)?;
    out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(out)
}

fn gather(folder: &Path, prefix: &str, out: &mut Vec<PlainFile>, total: &mut usize) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|name| anyhow::anyhow!("{name:?} is no UTF-8"))?;
        if LEFT_OVER.contains(&name.as_str()) {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let about = std::fs::symlink_metadata(entry.path())?;
        if about.is_dir() {
            gather(&entry.path(), &path, out, total)?;
            continue;
        }
        anyhow::ensure!(about.is_file(), "{path} is no plain file");
        anyhow::ensure!(about.len() <= MAX_FILE, "{path} is larger than {} MiB", MAX_FILE >> 20);
        let bytes = std::fs::read(entry.path()).with_context(|| path.clone())?;
        *total += bytes.len();
        anyhow::ensure!(*total <= MAX_FOLDER, "{} is larger than {} MiB", folder.display(), MAX_FOLDER >> 20);
        out.push(PlainFile { path, bytes, executable: about.permissions().mode() & 0o100 != 0 });
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes a small task into `at`.
    pub fn write(at: &Path, name: &str, set: &str) {
        let dir = at.join("tasks").join(name);
        std::fs::create_dir_all(dir.join("hidden")).expect("made");
        std::fs::create_dir_all(at.join("repositories/sums/__pycache__")).expect("made");
        let toml = format!(
            "name = \"{name}\"\nfamily = \"fix\"\nlanguage = \"python\"\nrepository = \"sums\"\nset = \"{set}\"\n\
             names_file = true\nlarge = false\nchecks = [\"python3 -m unittest -q\"]\nhidden = \"python3 hidden.py\"\n"
        );
        std::fs::write(dir.join("task.toml"), toml).expect("written");
        std::fs::write(dir.join("issue.md"), "# Title\n\nBody\n").expect("written");
        std::fs::write(dir.join("hidden/hidden.py"), "pass\n").expect("written");
        std::fs::write(at.join("repositories/sums/sums.py"), "x = 1\n").expect("written");
        std::fs::write(at.join("repositories/sums/__pycache__/x.pyc"), "x").expect("written");
    }

    #[test]
    fn tasks_are_read_and_broken_ones_named() {
        let dir = tempfile::tempdir().expect("dir");
        write(dir.path(), "b", "tune");
        write(dir.path(), "a", "quick");
        write(dir.path(), "c", "nothing");
        let folder = Folder::read(dir.path()).expect("read");
        let names: Vec<_> = folder.tasks.iter().map(|task| task.spec.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((folder.tasks[0].title.as_str(), folder.tasks[0].body.as_str()), ("Title", "Body"));
        assert!(folder.broken[0].0 == "c" && folder.broken[0].1.contains("held-out"), "{:?}", folder.broken);
        let held: Vec<_> = files(&dir.path().join("repositories/sums")).expect("read");
        assert_eq!(held.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["sums.py"]);
    }

    #[test]
    fn quick_tasks_are_tuned_on_too() {
        assert!(Set::Tune.holds(Set::Quick) && !Set::Quick.holds(Set::Tune) && !Set::HeldOut.holds(Set::Tune));
    }
}
