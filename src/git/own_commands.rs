//! Reads a repository's own commands (`.caisson/commands`) and instructions (`.caisson/prompts`) out of a commit, without checking anything
//! out. Tests: below.

use super::read::{FILES, oid};
use super::{GitError, Repos};
use crate::config::own_command::{FOLDER, MAX_BYTES};
use crate::config::own_commands::{CommandFile, Content, MOST_FILES, OwnCommands};
use crate::config::own_prompts::{self, OwnPrompts};
use domain::Commit;
use git2::{ErrorCode, ObjectType, Repository};
use std::path::Path;

/// The most names that are listed of a folder with too many files.
const MOST_NAMES: usize = 1_000;

impl Repos {
    /// The commands at this commit; none where it has no such folder. What is no file of Markdown there is left out.
    ///
    /// # Errors
    /// When the commit is missing, or the repository cannot be read; a file that makes no command is no error here.
    pub async fn own_commands(&self, key: &str, commit: &Commit) -> Result<OwnCommands, GitError> {
        let id = oid(commit)?;
        let look = move |repo: &Repository| files(repo, id, (FOLDER, MAX_BYTES));
        Ok(OwnCommands::read(&self.read(key, look).await?))
    }

    /// The instructions for kinds of tasks at this commit, read as [`Repos::own_commands`] are.
    ///
    /// # Errors
    /// As there.
    pub async fn own_prompts(&self, key: &str, commit: &Commit) -> Result<OwnPrompts, GitError> {
        let id = oid(commit)?;
        let look = move |repo: &Repository| files(repo, id, (own_prompts::FOLDER, own_prompts::MAX_BYTES));
        Ok(OwnPrompts::read(&self.read(key, look).await?))
    }
}

/// The Markdown files of a folder, those above `most` bytes without their content.
fn files(repo: &Repository, id: git2::Oid, (folder, most): (&str, u64)) -> Result<Vec<CommandFile>, GitError> {
    let folder = match repo.find_commit(id)?.tree()?.get_path(Path::new(folder)) {
        Ok(entry) if entry.kind() == Some(ObjectType::Tree) => repo.find_tree(entry.id())?,
        Ok(_) => return Ok(Vec::new()),
        Err(e) if e.code() == ErrorCode::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    let odb = repo.odb()?;
    let mut found = Vec::new();
    for entry in &folder {
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        if !name.ends_with(".md") || found.len() >= MOST_NAMES {
            continue;
        }
        let content = if found.len() >= MOST_FILES {
            Content::Unread
        } else if !FILES.contains(&entry.filemode()) {
            Content::NoFile
        } else if odb.read_header(entry.id())?.0 as u64 > most {
            Content::TooLong
        } else {
            Content::Bytes(odb.read(entry.id())?.data().to_vec())
        };
        found.push(CommandFile { name, blob: entry.id().to_string(), content });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Branch;
    use std::fmt::Write as _;

    /// The commands of a commit with these entries: mode, path, content.
    async fn of(entries: &[(&str, &str, &str)]) -> (OwnCommands, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let repos = Repos::new(dir.path());
        let who = "A <a@example.org> 1700000000 +0000";
        let mut stream = format!("commit refs/remotes/origin/main\ncommitter {who}\ndata 1\nx\n");
        for (mode, path, content) in entries {
            let _ = writeln!(stream, "M {mode} inline {path}\ndata {}\n{content}", content.len());
        }
        repos.fast_import("shop", stream).await.unwrap();
        let commit = repos.resolve("shop", &Branch::parse("main").unwrap()).await.unwrap();
        (repos.own_commands("shop", &commit).await.unwrap(), dir)
    }

    const NOTES: &str = "+++\ndescription = \"Notes\"\nkind = \"explain\"\n+++\nWrite them.\n";

    #[tokio::test]
    async fn a_commits_files_are_read_and_nothing_that_is_no_file() {
        let long = format!("{NOTES}{}", "x".repeat(17 << 10));
        let (commands, _dir) = of(&[
            ("100644", ".caisson/commands/notes.md", NOTES),
            ("100755", ".caisson/commands/other.md", NOTES),
            ("120000", ".caisson/commands/link.md", "../../notes.md"),
            ("100644", ".caisson/commands/long.md", &long),
            ("100644", ".caisson/commands/inner.md/deep.md", NOTES),
            ("100644", ".caisson/commands/notes.txt", "x"),
            ("100644", "commands/elsewhere.md", NOTES),
        ])
        .await;
        assert_eq!(commands.usable().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["notes", "other"]);
        let notes = commands.get("notes").unwrap().as_ref().unwrap();
        assert_eq!((notes.blob.len(), notes.body.as_str()), (40, "Write them."));
        let mistakes: Vec<String> = commands.mistakes().map(|(_, error)| error.to_string()).collect();
        assert_eq!(mistakes.len(), 3, "{mistakes:#?}");
        assert!(mistakes[0].contains("inner.md:1: this is no regular file"), "{mistakes:#?}");
        assert!(mistakes[2].contains("long.md:1: the file is longer than 16384 bytes"), "{mistakes:#?}");
    }

    #[tokio::test]
    async fn instructions_of_kinds_are_read_in_the_same_way() {
        let long = "x".repeat(9 << 10);
        let entries = [
            ("100644", ".caisson/prompts/fix.md", "Lint first."),
            ("120000", ".caisson/prompts/plan.md", "fix.md"),
            ("100644", ".caisson/prompts/test.md", &long),
            ("100644", ".caisson/commands/notes.md", NOTES),
        ];
        let dir = tempfile::tempdir().unwrap();
        let repos = Repos::new(dir.path());
        let who = "A <a@example.org> 1700000000 +0000";
        let mut stream = format!("commit refs/remotes/origin/main\ncommitter {who}\ndata 1\nx\n");
        for (mode, path, content) in entries {
            let _ = writeln!(stream, "M {mode} inline {path}\ndata {}\n{content}", content.len());
        }
        repos.fast_import("shop", stream).await.unwrap();
        let commit = repos.resolve("shop", &Branch::parse("main").unwrap()).await.unwrap();
        let found = repos.own_prompts("shop", &commit).await.unwrap();
        assert_eq!(found.prompts.len(), 1);
        let mistakes: Vec<String> = found.mistakes.iter().map(ToString::to_string).collect();
        assert!(mistakes.len() == 2 && mistakes[0].contains("plan.md:1: this is no regular file"), "{mistakes:#?}");
        assert!(mistakes[1].contains("test.md:1: the file is longer than 8192 bytes"), "{mistakes:#?}");
    }

    #[tokio::test]
    async fn where_there_is_no_folder_there_are_none() {
        for entries in [
            &[("100644", "a.md", NOTES)][..],
            &[("100644", ".caisson", "x")],
            &[("100644", ".caisson/commands", NOTES)],
            &[("120000", ".caisson/commands", "../commands"), ("100644", "commands/a.md", NOTES)],
        ] {
            assert_eq!(of(entries).await.0, OwnCommands::default(), "{entries:?}");
        }
    }

    #[tokio::test]
    async fn too_many_are_counted_and_none_is_read() {
        let paths: Vec<String> = (0..=MOST_FILES).map(|n| format!(".caisson/commands/c{n:02}.md")).collect();
        let entries: Vec<_> = paths.iter().map(|path| ("100644", path.as_str(), NOTES)).collect();
        let (commands, _dir) = of(&entries).await;
        assert_eq!((commands.usable().count(), commands.mistakes().count()), (0, MOST_FILES + 1));
    }
}
