//! Reads a repository's own commands (`.caisson/commands`) out of a commit, without checking anything out. Tests: below.

use super::read::{FILES, oid};
use super::{GitError, Repos};
use crate::config::own_command::{FOLDER, MAX_BYTES};
use crate::config::own_commands::{CommandFile, Content, MOST_FILES, OwnCommands};
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
        let look = move |repo: &Repository| files(repo, id);
        Ok(OwnCommands::read(&self.read(key, look).await?))
    }
}

fn files(repo: &Repository, id: git2::Oid) -> Result<Vec<CommandFile>, GitError> {
    let folder = match repo.find_commit(id)?.tree()?.get_path(Path::new(FOLDER)) {
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
        } else if odb.read_header(entry.id())?.0 as u64 > MAX_BYTES {
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
