//! A repository's existing rules for work in it (`AGENTS.md` and the like) and its instructions for kinds of tasks, from the task's base.
//!
//! Owns: which files these are, how much of each is kept, and the sentence about them in the first review. They are read at the base, so
//! the agent's branch cannot change them. Must not: say how the model is told (`engine`). Tests: below and `tests/stories/rules.rs`.

use super::repository::Repositories;
use super::style::Styles;
use crate::config::own_prompts::{OwnPrompts, path};
use crate::engine::style::Style;
use crate::git::GitError;
use crate::redact;
use crate::scan::is_foreign;
use crate::text::code;
use crate::trouble::Trouble;
use domain::{Commit, Rules, RulesFile, TaskKind};

/// Files at the root, in order of precedence.
const NAMES: [&str; 4] = [".caisson/rules.md", "AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md"];
/// Files that apply to the folder that contains them.
const NESTED: [&str; 2] = ["/AGENTS.md", "/CLAUDE.md"];
/// Bytes kept of one file, and the size above which it is not read.
const KEPT: usize = 16 << 10;
const MOST: u64 = 4 << 20;
/// Bytes kept of a file for one folder, and of all of these together: they stay in the conversation.
const KEPT_OF_FOLDER: usize = 4 << 10;
const KEPT_OF_FOLDERS: usize = 16 << 10;
/// The most further files that are named, and the most bytes of file names read.
const MOST_NESTED: usize = 20;
const NAMES_READ: u64 = 8 << 20;
const MOST_PATH: usize = 200;
/// The most mistakes in instructions that are named, cut files of folders, and those of folders that are left out.
const MOST_MISTAKES: usize = 4;
const MOST_CUT: usize = 4;
const MOST_LEFT: usize = 4;

impl Repositories {
    /// The rules at a commit, and sentences about them for the first review of a task of this kind.
    pub(super) async fn rules(
        &self,
        key: &str,
        base: &Commit,
        (kind, goes_on): (TaskKind, bool),
        styles: Styles,
    ) -> Result<(Rules, Option<String>), Trouble> {
        let mut rules = Rules::default();
        let mut unread = Vec::new();
        for name in NAMES {
            match self.repos.show(key, base, name, MOST).await {
                Ok(Some(bytes)) => add(&mut rules, name, &bytes),
                Ok(None) => {}
                Err(GitError::TooLarge { .. }) => unread.push(name.to_owned()),
                Err(other) => return Err(other.into()),
            }
        }
        let (nested, left) = match self.repos.files(key, base, NAMES_READ).await {
            Ok(files) => of_folders(files),
            Err(GitError::TooLarge { .. }) => (Vec::new(), vec![TOO_MANY.to_owned()]),
            Err(other) => return Err(other.into()),
        };
        rules.nested = nested;
        for path in rules.nested.clone() {
            match self.repos.show(key, base, &path, MOST).await {
                Ok(Some(bytes)) => add_of_folder(&mut rules, &path, &bytes),
                Ok(None) => {}
                Err(GitError::TooLarge { .. }) => unread.push(path),
                Err(other) => return Err(other.into()),
            }
        }
        let prompts = self.repos.own_prompts(key, base).await?;
        let of_prompts = of_prompts(&prompts, (kind, goes_on), styles);
        let told = sentence(&rules, &unread, styles.now).into_iter().chain(left).chain(of_prompts);
        let told = told.collect::<Vec<_>>().join(" ");
        rules.prompts = prompts.prompts;
        for prompt in &mut rules.prompts {
            prompt.text = redact::without(std::mem::take(&mut prompt.text));
        }
        Ok((rules, Some(told).filter(|told| !told.is_empty())))
    }
}

/// Why no rules for folders were looked for.
const TOO_MANY: &str = "Rules for folders were not looked for, because the repository has too many files.";

/// Of the files of a commit those with rules for single folders that are read, the nearest to the root first, and sentences about the others.
fn of_folders(files: Vec<String>) -> (Vec<String>, Vec<String>) {
    // Long paths and those with control characters are not rules.
    let plain = |path: &str| path.len() <= MOST_PATH && !path.contains(char::is_control);
    let nested = |path: &String| NESTED.iter().any(|name| path.ends_with(name)) && plain(path);
    let (foreign, mut own): (Vec<String>, Vec<String>) =
        files.into_iter().filter(nested).partition(|path| is_foreign(path));
    own.sort_by_key(|path| path.matches('/').count());
    let more = own.split_off(own.len().min(MOST_NESTED));
    let mut left = Vec::new();
    if !foreign.is_empty() {
        left.push(format!("Rules in folders of other people's packages were not read: {}.", named(&foreign)));
    }
    if !more.is_empty() {
        left.push(format!(
            "Of the rules for folders the {MOST_NESTED} nearest to the root were read, and these were not: {}.",
            named(&more)
        ));
    }
    (own, left)
}

/// These paths, as far as they are named.
fn named(paths: &[String]) -> String {
    let shown: Vec<String> = paths.iter().take(MOST_LEFT).map(|path| code(path)).collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A file of which at most so many bytes are kept, without what looks like a credential.
fn read(path: &str, bytes: &[u8], most: usize) -> RulesFile {
    let text = redact::without(String::from_utf8_lossy(bytes).into_owned());
    let text = text.trim();
    let end = text.floor_char_boundary(most);
    RulesFile { path: path.to_owned(), text: text[..end].to_owned(), cut: (text.len() - end) as u64 }
}

/// Adds a file, unless its text repeats another's.
fn add(rules: &mut Rules, path: &str, bytes: &[u8]) {
    let file = read(path, bytes, KEPT);
    if !file.text.is_empty() && rules.files.iter().all(|known| known.text != file.text) {
        rules.files.push(file);
    }
}

/// Adds a file for one folder as far as there is room, unless its text repeats that of the root or of the same folder.
fn add_of_folder(rules: &mut Rules, path: &str, bytes: &[u8]) {
    let kept: usize = rules.folders.iter().map(|file| file.text.len()).sum();
    let file = read(path, bytes, KEPT_OF_FOLDER.min(KEPT_OF_FOLDERS.saturating_sub(kept)));
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let beside = rules.folders.iter().filter(|known| folder(&known.path) == folder(path));
    let known = rules.files.iter().chain(beside).any(|known| known.text == file.text);
    if !file.text.is_empty() && !known {
        rules.folders.push(file);
    }
}

/// Why a model is given neither rules nor instructions.
const FILES_ALONE: &str = "style `files`, which shows it files alone";

/// Whether the model is given `what`: it is not in the style `files`.
fn given(what: &str, style: Option<Style>) -> String {
    match style {
        Some(Style::Tools | Style::Text) => format!("It was given {what}."),
        Some(Style::Files) => format!("The model was not given {what}: it is asked in {FILES_ALONE}."),
        None => format!("It is given {what}, unless its model turns out to be asked in {FILES_ALONE}."),
    }
}

fn sentence(rules: &Rules, unread: &[String], style: Option<Style>) -> Option<String> {
    let whole = |file: &RulesFile| (file.text.len() as u64 + file.cut).div_ceil(1 << 10);
    let name = |file: &RulesFile| match file.cut {
        0 => code(&file.path),
        _ => format!("{} (its first {} KiB of {})", code(&file.path), KEPT >> 10, whole(file)),
    };
    let read: Vec<String> = rules.files.iter().map(name).collect();
    let mut out = Vec::new();
    if !read.is_empty() {
        out.push(given(&format!("the rules of {}", read.join(", ")), style));
    }
    if !matches!(style, Some(Style::Files)) {
        out.extend(of_long_files(rules));
    }
    let too_large =
        |path: &String| format!("{} is larger than {} MiB and was not read: shorten it.", code(path), MOST >> 20);
    out.extend(unread.iter().map(too_large));
    (!out.is_empty()).then(|| out.join(" "))
}

/// What a model is not shown of files that are too long, and what to do.
fn of_long_files(rules: &Rules) -> Vec<String> {
    let mut out = Vec::new();
    let kept: usize = rules.files.iter().map(|file| file.text.len()).sum();
    if kept > KEPT || rules.files.iter().any(|file| file.cut > 0) {
        out.push(format!(
            "It is shown at most {} KiB of them in all, less where its window is small, and reads the rest only if it opens the files: shorten them.",
            KEPT >> 10
        ));
    }
    let cut = rules.folders.iter().filter(|file| file.cut > 0).map(|file| code(&file.path));
    let cut: Vec<String> = cut.take(MOST_CUT).collect();
    if !cut.is_empty() {
        out.push(format!(
            "Of {} it is given only the beginning, once it works there: {} KiB at most of each file for a folder, {} of all.",
            cut.join(", "),
            KEPT_OF_FOLDER >> 10,
            KEPT_OF_FOLDERS >> 10
        ));
    }
    out
}

/// Which instructions for its kind the task was given, and which files give none.
fn of_prompts(found: &OwnPrompts, (kind, goes_on): (TaskKind, bool), styles: Styles) -> Option<String> {
    let mut out = Vec::new();
    let of = |kind: TaskKind| found.prompts.iter().find(|prompt| prompt.kind == kind);
    if let Some(own) = of(kind) {
        let place = if own.replaces { "in place of" } else { "after" };
        out.push(given(&format!("the instructions of {} {place} the bot's own", code(&path(kind))), styles.now));
    }
    if goes_on && matches!(kind, TaskKind::Plan | TaskKind::Explain) && of(TaskKind::Fix).is_some() {
        let fix = code(&path(TaskKind::Fix));
        out.push(match styles.of_a_fix {
            Some(Style::Tools | Style::Text) => format!("Those of {fix} follow if it goes on as a `/fix`."),
            Some(Style::Files) => {
                format!("Those of {fix} do not follow if it goes on as a `/fix`: its model is asked in {FILES_ALONE}.")
            }
            None => format!(
                "Those of {fix} follow if it goes on as a `/fix`, unless its model turns out to be asked in {FILES_ALONE}."
            ),
        });
    }
    let wrong = |mistake: &crate::config::project::ProjectError| {
        format!("{} was not used: {}.", code(&format!("{}:{}", mistake.file, mistake.line)), mistake.blamed())
    };
    out.extend(found.mistakes.iter().take(MOST_MISTAKES).map(wrong));
    (!out.is_empty()).then(|| out.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_other_peoples_packages_are_left_out_and_the_nearest_to_the_root_come_first() {
        let deep = (0..MOST_NESTED + 4).map(|at| format!("a/b{at:02}/AGENTS.md"));
        let more = ["AGENTS.md", "node_modules/x/AGENTS.md", "web/CLAUDE.md", "README.md", "web/vendor/y/CLAUDE.md"];
        let (read, left) = of_folders(deep.chain(more.map(str::to_owned)).collect());
        assert_eq!((read.len(), read[0].as_str(), read[1].as_str()), (MOST_NESTED, "web/CLAUDE.md", "a/b00/AGENTS.md"));
        assert_eq!(
            left.join(" "),
            "Rules in folders of other people's packages were not read: `node_modules/x/AGENTS.md`, `web/vendor/y/CLAUDE.md`. Of the rules for folders the 20 nearest to the root were read, and these were not: `a/b19/AGENTS.md`, `a/b20/AGENTS.md`, `a/b21/AGENTS.md`, `a/b22/AGENTS.md` and 1 more."
        );
        assert_eq!(of_folders(vec!["web/AGENTS.md".to_owned()]), (vec!["web/AGENTS.md".to_owned()], Vec::new()));
    }

    #[test]
    fn what_is_kept_of_folders_is_bounded_and_nothing_is_kept_twice() {
        let mut rules = Rules::default();
        add(&mut rules, "AGENTS.md", b"Use tabs.");
        add_of_folder(&mut rules, "web/AGENTS.md", b"Use spaces.\n");
        for (path, text) in [("web/CLAUDE.md", "Use spaces."), ("docs/AGENTS.md", "Use tabs."), ("x/AGENTS.md", " ")] {
            add_of_folder(&mut rules, path, text.as_bytes());
        }
        add_of_folder(&mut rules, "docs/AGENTS.md", b"Use spaces.");
        for at in 0..9 {
            add_of_folder(&mut rules, &format!("{at}/AGENTS.md"), format!("{at}{}", "x".repeat(9_000)).as_bytes());
        }
        let kept: Vec<_> = rules.folders.iter().map(|file| (file.path.as_str(), file.text.len())).collect();
        assert_eq!(kept[..3], [("web/AGENTS.md", 11), ("docs/AGENTS.md", 11), ("0/AGENTS.md", KEPT_OF_FOLDER)]);
        let all: usize = kept.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!((kept.len(), all), (6, KEPT_OF_FOLDERS));
        assert_eq!(rules.folders[2].cut, 9_001 - KEPT_OF_FOLDER as u64);
        let told = sentence(&rules, &[], Some(Style::Tools)).unwrap();
        let cut = "Of `0/AGENTS.md`, `1/AGENTS.md`, `2/AGENTS.md`, `3/AGENTS.md` it is given only the beginning";
        assert!(told.starts_with("It was given the rules of `AGENTS.md`. Of ") && told.contains(cut), "{told}");
        assert!(!sentence(&rules, &[], Some(Style::Files)).unwrap().contains("beginning"));
    }

    #[test]
    fn a_long_file_is_cut_a_repeated_one_left_out_and_both_are_told() {
        let mut rules = Rules::default();
        add(&mut rules, "AGENTS.md", b"  Use tabs.\n");
        add(&mut rules, "CLAUDE.md", b"Use tabs.");
        add(&mut rules, "EMPTY.md", b"\n");
        add(&mut rules, "CONTRIBUTING.md", "é".repeat(KEPT).as_bytes());
        let seen: Vec<_> = rules.files.iter().map(|file| (file.path.as_str(), file.text.len(), file.cut)).collect();
        assert_eq!(seen, [("AGENTS.md", 9, 0), ("CONTRIBUTING.md", KEPT, KEPT as u64)]);
        let told = sentence(&rules, &["CLAUDE.md".to_owned()], Some(Style::Tools)).unwrap();
        assert_eq!(
            told,
            "It was given the rules of `AGENTS.md`, `CONTRIBUTING.md` (its first 16 KiB of 32). It is shown at most 16 KiB of them in all, less where its window is small, and reads the rest only if it opens the files: shorten them. `CLAUDE.md` is larger than 4 MiB and was not read: shorten it."
        );
        assert_eq!(sentence(&Rules::default(), &[], Some(Style::Files)), None);
    }

    #[test]
    fn what_is_said_to_be_given_depends_on_how_the_model_is_asked() {
        let mut rules = Rules::default();
        add(&mut rules, "AGENTS.md", b"Use tabs.");
        let of = |style| sentence(&rules, &[], style).unwrap();
        assert_eq!(of(Some(Style::Text)), "It was given the rules of `AGENTS.md`.");
        let files = "The model was not given the rules of `AGENTS.md`: it is asked in style `files`, which shows it files alone.";
        assert_eq!(of(Some(Style::Files)), files);
        assert!(of(None).contains("unless its model turns out to be asked in style `files`"), "{}", of(None));
        let instructions = OwnPrompts {
            prompts: vec![domain::KindPrompt { kind: TaskKind::Fix, text: "Lint.".into(), replaces: false }],
            ..OwnPrompts::default()
        };
        let of = |kind, now, of_a_fix| of_prompts(&instructions, (kind, true), Styles { now, of_a_fix }).unwrap();
        let (files, tools) = (Some(Style::Files), Some(Style::Tools));
        let fix = of(TaskKind::Fix, files, files);
        assert!(fix.starts_with("The model was not given the instructions of `.caisson/prompts/fix.md`"), "{fix}");
        let plan = of(TaskKind::Plan, tools, files);
        assert!(plan.starts_with("Those of `.caisson/prompts/fix.md` do not follow"), "{plan}");
        assert!(of(TaskKind::Plan, tools, tools).ends_with("follow if it goes on as a `/fix`."));
        assert!(of(TaskKind::Plan, tools, None).contains("unless its model turns out"));
    }
}
