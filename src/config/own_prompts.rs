//! A repository's own instructions for a kind of task: the files of `.caisson/prompts` in one state of it.
//!
//! Owns which files there may be and what they may hold. They follow the bot's own instructions for the kind, or stand in their place where
//! the file begins with the lines `+++`, `replace = true`, `+++`, and widen nothing; the instructions that guard (`system`) have no file. Must
//! not know where the files come from. Tests: below.

use super::own_command::{FENCE, Parts, utf8};
use super::own_commands::{CommandFile, Content, MOST_FILES};
use super::project::{ProjectError, from_toml, line_of_key};
use domain::{KindPrompt, TaskKind};
use serde::Deserialize;

/// The folder that holds the files.
pub const FOLDER: &str = ".caisson/prompts";
/// Longest file that is read, in bytes.
pub const MAX_BYTES: u64 = 8 << 10;
/// The kinds that may have a file, each named after its command.
const KINDS: [TaskKind; 9] = [
    TaskKind::Fix,
    TaskKind::Plan,
    TaskKind::Explain,
    TaskKind::Test,
    TaskKind::Refactor,
    TaskKind::Review,
    TaskKind::Security,
    TaskKind::Deps,
    TaskKind::Search,
];

/// The settings of a file, if it has any.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Head {
    replace: bool,
}

/// Path of a kind's file.
pub fn path(kind: TaskKind) -> String {
    format!("{FOLDER}/{}.md", kind.name())
}

/// What the files give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnPrompts {
    /// The instructions, each kind once.
    pub prompts: Vec<KindPrompt>,
    /// What is wrong with the other files, by file and line.
    pub mistakes: Vec<ProjectError>,
}

impl OwnPrompts {
    /// Reads these files of the folder. A file with a mistake gives nothing, and takes nothing from the others.
    pub fn read(files: &[CommandFile]) -> Self {
        let mut found = Self::default();
        for file in files {
            match parsed(file) {
                Ok(prompt) => found.prompts.push(prompt),
                Err(mistake) => found.mistakes.push(mistake),
            }
        }
        found
    }
}

fn parsed(file: &CommandFile) -> Result<KindPrompt, ProjectError> {
    let wrong =
        |line: usize, text: String| ProjectError { file: format!("{FOLDER}/{}", file.name), line, key: None, text };
    let Some(kind) = KINDS.into_iter().find(|kind| file.name.strip_suffix(".md") == Some(kind.name())) else {
        let names: Vec<String> = KINDS.iter().map(|kind| format!("{}.md", kind.name())).collect();
        return Err(wrong(1, format!("no kind of task has this name; there may be {}", names.join(", "))));
    };
    let bytes = match &file.content {
        Content::Bytes(bytes) if bytes.len() as u64 <= MAX_BYTES => bytes,
        Content::Bytes(_) | Content::TooLong => {
            return Err(wrong(1, format!("the file is longer than {MAX_BYTES} bytes; shorten it")));
        }
        Content::NoFile => {
            return Err(wrong(1, "this is no regular file; put the instructions themselves here".to_owned()));
        }
        Content::Unread => return Err(wrong(1, format!("there are more than {MOST_FILES} files here; take some out"))),
    };
    let text = utf8(bytes).map_err(|(line, why)| wrong(line, why))?;
    let (head, body) = match text.lines().next().is_some_and(|line| line.trim_end() == FENCE) {
        true => Parts::split(text).map(|parts| (parts.head, parts.body)).map_err(|why| wrong(1, why))?,
        false => ("", text),
    };
    let name = format!("{FOLDER}/{}", file.name);
    // The settings begin in the file's second line.
    let settings: Head = toml::from_str(head).map_err(|e| {
        let error = from_toml(&name, head, &e);
        ProjectError { line: error.line + 1, ..error }
    })?;
    if settings.replace && kind.traits().brief.is_none() {
        let why = "there is nothing of the bot's own to replace for this kind; take the line out, and the text follows what holds for every task";
        return Err(ProjectError {
            key: Some("replace".into()),
            ..wrong(line_of_key(head, "replace") + 1, why.into())
        });
    }
    match body.trim() {
        "" => Err(wrong(1, "the file is empty; write what such a task is to heed, or take it out".to_owned())),
        text => Ok(KindPrompt { kind, text: text.to_owned(), replaces: settings.replace }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_stand_in_place_of_the_bots_own_instructions_of_its_kind() {
        let of = |name: &str, text: &str| OwnPrompts::read(&[file(name, Content::Bytes(text.as_bytes().to_vec()))]);
        let read = |name: &str, text: &str| {
            let mut found = of(name, text);
            assert_eq!(found.mistakes.len(), 0, "{:?}", found.mistakes);
            let one = found.prompts.remove(0);
            (one.text, one.replaces)
        };
        assert_eq!(read("explain.md", "+++\nreplace = true\n+++\nIn one line.\n"), ("In one line.".into(), true));
        assert_eq!(read("fix.md", "+++\nreplace = false\n+++\nLint."), ("Lint.".into(), false));
        assert_eq!(read("fix.md", "Lint.\n+++\n"), ("Lint.\n+++".into(), false));
        for (name, text, line, words) in [
            ("fix.md", "+++\n\nreplace = true\n+++\nLint.", 3, "nothing of the bot's own to replace"),
            ("test.md", "+++\nreplaces = true\n+++\nLint.", 2, "unknown field `replaces`"),
            ("test.md", "+++\nreplace = true\nLint.", 1, "no second line `+++`"),
            ("test.md", "+++\nreplace = true\n+++\n \n", 1, "the file is empty"),
        ] {
            let found = of(name, text);
            let [mistake] = &found.mistakes[..] else { panic!("{found:?}") };
            assert!(mistake.line == line && mistake.text.contains(words), "{mistake}");
        }
    }

    fn file(name: &str, content: Content) -> CommandFile {
        CommandFile { name: name.into(), blob: String::new(), content }
    }

    #[test]
    fn each_kind_may_have_a_file_and_a_mistake_takes_its_own_alone() {
        let bytes = |text: &[u8]| Content::Bytes(text.to_vec());
        let found = OwnPrompts::read(&[
            file("explain.md", bytes(b"\n")),
            file("fix.md", bytes(b"  Run `make lint`.\n")),
            file("plan.md", bytes(b"fine\nbad \xff here")),
            file("refactor.md", Content::NoFile),
            file("review.md", bytes(&[b'x'; 8 << 10])),
            file("system.md", bytes(b"You are free.")),
            file("test.md", Content::TooLong),
        ]);
        let read: Vec<_> = found.prompts.iter().map(|prompt| (prompt.kind, prompt.text.len())).collect();
        assert_eq!(read, [(TaskKind::Fix, 16), (TaskKind::Review, 8 << 10)]);
        let mistakes: Vec<String> = found.mistakes.iter().map(ToString::to_string).collect();
        assert_eq!(
            mistakes,
            [
                ".caisson/prompts/explain.md:1: the file is empty; write what such a task is to heed, or take it out",
                ".caisson/prompts/plan.md:2: this is no UTF-8; save the file as UTF-8",
                ".caisson/prompts/refactor.md:1: this is no regular file; put the instructions themselves here",
                ".caisson/prompts/system.md:1: no kind of task has this name; there may be fix.md, plan.md, explain.md, test.md, refactor.md, review.md, security.md, deps.md, search.md",
                ".caisson/prompts/test.md:1: the file is longer than 8192 bytes; shorten it",
            ]
        );
        assert_eq!(path(TaskKind::Fix), ".caisson/prompts/fix.md");
    }
}
