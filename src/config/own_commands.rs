//! The commands of a repository's own, as the files of `.caisson/commands` in one state of it.
//!
//! Owns which of them can be used. A file with a mistake takes only its own name; more files than are read take all. Must not know where the
//! files come from: of a commit `git` reads them, of a checkout `caisson command check` does. Tests: below.

use super::own_command::{self, FOLDER, OwnCommand};
use super::project::{Network, ProjectError};
use crate::command::{OwnNames, is_own_name, spec};
use std::collections::BTreeMap;

/// The most files.
pub const MOST_FILES: usize = 32;

/// One file of the folder whose name ends in `.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    /// Its name in the folder.
    pub name: String,
    /// Git's id of its content in hexadecimal; empty outside of a repository.
    pub blob: String,
    /// What it holds.
    pub content: Content,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// More than is read of one.
    TooLong,
    /// It is no regular file: a link, a folder.
    NoFile,
    /// It was not read, because there are more than [`MOST_FILES`].
    Unread,
}

/// The commands of one state of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnCommands(BTreeMap<String, Result<OwnCommand, ProjectError>>);

impl OwnCommands {
    /// Reads these files of the folder.
    pub fn read(files: &[CommandFile]) -> Self {
        let too_many = files.len() > MOST_FILES;
        let one = |file: &CommandFile| {
            let read = if too_many { Err(many(files.len())) } else { parsed(file) };
            (file.name.strip_suffix(".md").unwrap_or(&file.name).to_owned(), read)
        };
        Self(files.iter().map(one).collect())
    }

    /// The command of this name, or the mistake in its file; none where there is no such file.
    pub fn get(&self, name: &str) -> Option<&Result<OwnCommand, ProjectError>> {
        self.0.get(name).filter(|_| may_be_called(name))
    }

    /// Those that can be used, by name.
    pub fn usable(&self) -> impl Iterator<Item = &OwnCommand> {
        self.0.values().filter_map(|read| read.as_ref().ok())
    }

    /// The mistakes by the names of their files without `.md`; where there are too many files, the same for each.
    pub fn mistakes(&self) -> impl Iterator<Item = (&str, &ProjectError)> {
        self.0.iter().filter_map(|(name, read)| Some((name.as_str(), read.as_ref().err()?)))
    }

    /// What they wish to reach, in the order of their names.
    pub fn networks(&self) -> Vec<Network> {
        self.usable().filter(|command| !command.network.is_empty()).map(OwnCommand::wish).collect()
    }

    /// Their names for the parser of texts: with each the kind of task, or the mistake in its file as half a sentence.
    pub fn names(&self) -> OwnNames {
        let called = self.0.iter().filter(|(name, _)| may_be_called(name));
        let kind = |read: &Result<OwnCommand, ProjectError>| match read {
            Ok(command) => Ok(command.kind),
            Err(error) => Err(broken(error)),
        };
        called.map(|(name, read)| (name.clone(), kind(read))).collect()
    }
}

/// Whether a text can mean a command of this name.
fn may_be_called(name: &str) -> bool {
    is_own_name(name) && spec(name).is_none()
}

/// Why a command whose file has this mistake is not followed, as half a sentence.
fn broken(error: &ProjectError) -> String {
    format!("its file on the default branch has a mistake: `{}:{}`: {}", error.file, error.line, error.blamed())
}

fn parsed(file: &CommandFile) -> Result<OwnCommand, ProjectError> {
    let wrong = |why: &str| own_command::mistake(&file.name, 1, None, why.to_owned());
    match &file.content {
        Content::Bytes(bytes) => OwnCommand::parse(&file.name, &file.blob, bytes),
        Content::TooLong => Err(own_command::too_long(&file.name)),
        Content::NoFile => Err(wrong("this is no regular file; put the command's text itself here")),
        Content::Unread => Err(many(MOST_FILES + 1)),
    }
}

fn many(found: usize) -> ProjectError {
    let text = format!("{found} commands or more; at most {MOST_FILES}, so none of them is read: take some out");
    ProjectError { file: FOLDER.to_owned(), line: 1, key: None, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::TaskKind;

    fn file(name: &str, text: &str) -> CommandFile {
        CommandFile { name: name.into(), blob: String::new(), content: Content::Bytes(text.as_bytes().to_vec()) }
    }

    fn simple(more: &str) -> String {
        format!("+++\ndescription = \"d\"\n{more}+++\nDo it.\n")
    }

    #[test]
    fn a_mistake_takes_its_own_name_alone() {
        let files = [
            file("notes.md", &simple("kind = \"explain\"\nnetwork = [\"a.test\"]\n")),
            file("broken.md", "no settings"),
            file("approve.md", &simple("")),
            file("README.md", "# About these"),
            CommandFile { content: Content::NoFile, ..file("link.md", "") },
            CommandFile { content: Content::TooLong, ..file("long.md", "") },
        ];
        let commands = OwnCommands::read(&files);
        assert_eq!(commands.usable().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["notes"]);
        let names = commands.names();
        assert_eq!(names.keys().collect::<Vec<_>>(), ["broken", "link", "long", "notes"], "none of the bot's own");
        assert_eq!(names["notes"], Ok(TaskKind::Explain));
        let why = names["broken"].clone().unwrap_err();
        assert!(why.contains("`.caisson/commands/broken.md:1`: begin with a line"), "{why}");
        assert!(
            commands.get("approve").is_none() && commands.get("README").is_none() && commands.get("none").is_none()
        );
        let mistakes: Vec<String> = commands.mistakes().map(|(_, error)| error.to_string()).collect();
        assert_eq!(mistakes.len(), 5, "{mistakes:#?}");
        let wish = commands.networks().pop().expect("one");
        assert_eq!(
            (wish.name.as_str(), wish.kind, wish.hosts),
            ("notes", TaskKind::Explain, vec!["a.test".to_owned()])
        );
    }

    #[test]
    fn of_too_many_files_none_is_read() {
        let mut files: Vec<CommandFile> = (0..MOST_FILES).map(|n| file(&format!("c{n:02}.md"), &simple(""))).collect();
        assert_eq!(OwnCommands::read(&files).usable().count(), MOST_FILES);
        files.push(CommandFile { content: Content::Unread, ..file("c99.md", "") });
        let commands = OwnCommands::read(&files);
        assert_eq!((commands.usable().count(), commands.mistakes().count()), (0, MOST_FILES + 1));
        assert!(commands.networks().is_empty());
        let (_, error) = commands.mistakes().next().unwrap();
        assert_eq!(
            error.to_string(),
            ".caisson/commands:1: 33 commands or more; at most 32, so none of them is read: take some out"
        );
    }
}
