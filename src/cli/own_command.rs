//! `caisson command check`: whether the files of a checkout's `.caisson/commands` make commands and those of `.caisson/prompts` instructions, and
//! what is wrong with those that do not. Needs no forge or network, and no configuration: where there is one, budgets are compared with its.
//! Tests: below and `tests/stories/own_commands.rs`.

use super::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::own_command::{FOLDER, MAX_BYTES, OwnCommand};
use crate::config::own_commands::{CommandFile, Content, MOST_FILES, OwnCommands};
use crate::config::own_prompts::{self, OwnPrompts};
use crate::message::cut_down;
use crate::text::count;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use domain::Budget;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The subcommands of `caisson command`.
#[derive(Debug, Subcommand)]
pub enum CommandCommand {
    /// Check a checkout's .caisson/commands and .caisson/prompts, before they are pushed.
    #[command(after_help = EXAMPLE)]
    Check(Check),
}

/// Arguments of `caisson command check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The checkout's folder.
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

const EXAMPLE: &str = "\
A file .caisson/commands/release-notes.md on the default branch makes the command /release-notes. On an issue,
`/release-notes 1.2` begins a task with the file's text, in which {words} is `1.2`:

  +++
  description = \"Writes the notes of a release\"   # needed; one line for /help
  kind = \"fix\"                # what the task may do: fix (the default), plan, explain, test, refactor, search,
                            # security or deps
  # read_only = true          # in place of a kind: it answers, and changes nothing
  # who = [\"admins\", \"@alice\"] # of those who may begin such a task; one of them is enough. There are \"admins\",
                            # \"@login\", \"team:ORG/NAME\", \"code_owners\", \"nobody\"; the default: \"writers\", all of them
  # model = \"local\"           # one of those that people may name; or role = \"planner\": the model of that role
  # checkpoint = 2            # actions between two reviews, 1 to 5; not for a kind that only reads
  # budget = \"1usd,30actions\" # as behind --budget; never more than usual
  # network = [\"docs.example.org\"] # a wish: reached once the operator accepted it (caisson repo add … --accept)
  +++
  Write the notes of the release {words} into CHANGELOG.md, from the commits since the release before it.

A file .caisson/prompts/fix.md (or of any other kind of task: plan, explain, test, refactor, review, security, deps, search) holds instructions for tasks of that kind, of
at most 8 KiB. They follow those of the bot and widen nothing. Where the file begins with the three lines `+++`, `replace = true` and `+++`, its
text stands in place of the bot's own instructions for that kind; for fix and plan there are none to replace.
";

impl CommandCommand {
    /// Runs the subcommand; `config` is where a configuration may be.
    ///
    /// # Errors
    /// A complaint where a file has a mistake, or the folder cannot be read.
    pub fn run(self, config: &Path) -> Result<()> {
        match self {
            CommandCommand::Check(check) => run(&check.dir, &usual(config), &Printer::terminal()),
        }
    }
}

/// What a task may use, and whether that is the operator's setting: a checkout is often checked where no configuration is, and then the
/// defaults are what there is to compare with.
struct Usual {
    budget: Budget,
    is_set: bool,
}

fn usual(config: &Path) -> Usual {
    match Process::load(config) {
        Ok(config) => Usual { budget: config.budget.granted(), is_set: true },
        Err(_) => {
            let defaults = Process::from_layers(config, "", &|_| None);
            Usual { budget: defaults.map(|it| it.budget.granted()).unwrap_or_default(), is_set: false }
        }
    }
}

/// What a command's file asks for in vain.
fn cut_from(command: &OwnCommand, usual: &Usual) -> Option<String> {
    let (asked, most) = cut_down(&command.budget, &usual.budget)?;
    let path = command.path();
    Some(match usual.is_set {
        true => format!("{path}: its budget of {asked} is cut to the usual {most}; a repository may have its own"),
        false => format!("{path}: its budget of {asked} is cut to the usual one, by default {most}"),
    })
}

fn run(dir: &Path, usual: &Usual, printer: &Printer) -> Result<()> {
    let prompts = files(dir, own_prompts::FOLDER, own_prompts::MAX_BYTES)?;
    let commands = files(dir, FOLDER, MAX_BYTES)?;
    if let (None, None) = (&prompts, &commands) {
        printer.say(&format!("no {FOLDER} in {}, and no {}", dir.display(), own_prompts::FOLDER));
        printer.hint("caisson command check --help shows a file that makes a command");
        return Ok(());
    }
    let listed = commands.is_some();
    let (prompts, commands) =
        (OwnPrompts::read(&prompts.unwrap_or_default()), OwnCommands::read(&commands.unwrap_or_default()));
    for prompt in &prompts.prompts {
        printer.good(&format!("{}  instructions for /{}", own_prompts::path(prompt.kind), prompt.kind.name()));
    }
    for command in commands.usable() {
        printer.good(&format!("/{}  {}: {}", command.name, command.kind.name(), command.description));
        if let Some(warning) = cut_from(command, usual) {
            printer.warn(&warning);
        }
    }
    let of_commands = commands.mistakes().map(|(_, error)| error);
    let mistakes: BTreeSet<String> = of_commands.chain(&prompts.mistakes).map(ToString::to_string).collect();
    for mistake in &mistakes {
        printer.bad(mistake);
    }
    if !mistakes.is_empty() {
        let complaint = Complaint::new(format!("{} in .caisson", count(mistakes.len() as u64, "mistake")));
        return Err(complaint.hint("caisson command check --help shows a file as it should be").into());
    }
    if listed && commands.usable().next().is_none() {
        printer.say(&format!("no file of {FOLDER} ends in .md, so there is no command"));
    }
    Ok(())
}

/// The Markdown files of a folder by name, as git would hold them, longer ones than `most` bytes without their content; none where there is no
/// folder.
fn files(dir: &Path, within: &str, most: u64) -> Result<Option<Vec<CommandFile>>> {
    let there = fs::metadata(dir).with_context(|| format!("{} cannot be read", dir.display()))?;
    if !there.is_dir() {
        return Err(Complaint::new(format!("{} is no folder", dir.display())).hint("name a checkout's folder").into());
    }
    let mut folder = dir.to_owned();
    for part in Path::new(within) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let complaint = Complaint::new(format!("{} is no folder, so nothing of it is read", folder.display()));
                return Err(complaint.hint("put a folder in its place; a link to one is not followed").into());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", folder.display())),
        }
    }
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            names.insert(name);
        }
    }
    let one = |(at, name): (usize, String)| -> Result<CommandFile> {
        let content = if at < MOST_FILES { content(&folder.join(&name), most)? } else { Content::Unread };
        Ok(CommandFile { name, blob: String::new(), content })
    };
    names.into_iter().enumerate().map(one).collect::<Result<Vec<_>>>().map(Some)
}

fn content(path: &Path, most: u64) -> Result<Content> {
    let cannot = || format!("{} cannot be read", path.display());
    if !fs::symlink_metadata(path).with_context(cannot)?.is_file() {
        return Ok(Content::NoFile);
    }
    let mut bytes = Vec::new();
    fs::File::open(path).with_context(cannot)?.take(most + 1).read_to_end(&mut bytes).with_context(cannot)?;
    Ok(if bytes.len() as u64 > most { Content::TooLong } else { Content::Bytes(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(FOLDER)).unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(FOLDER).join(name), text).unwrap();
        }
        dir
    }

    /// The file of the help, as somebody would copy it.
    fn example() -> String {
        EXAMPLE.lines().filter_map(|line| line.strip_prefix("  ")).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_example_of_the_help_makes_a_command_with_each_of_its_lines() {
        let plain = OwnCommands::read(
            &files(folder(&[("release-notes.md", &example())]).path(), FOLDER, MAX_BYTES).unwrap().unwrap(),
        );
        assert_eq!(plain.usable().count(), 1, "{plain:?}");
        let all =
            example().replace("# read_only", "x_read_only").replace("\n# ", "\n").replace("x_read_only", "# read_only");
        let all = OwnCommands::read(
            &files(folder(&[("release-notes.md", &all)]).path(), FOLDER, MAX_BYTES).unwrap().unwrap(),
        );
        let command = all.usable().next().unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!((command.every, command.network.len(), command.who.len()), (Some(2), 1, 2));
        let reads = example().replace("kind = \"fix\"", "").replace("# read_only", "read_only");
        let reads = OwnCommands::read(
            &files(folder(&[("release-notes.md", &reads)]).path(), FOLDER, MAX_BYTES).unwrap().unwrap(),
        );
        assert!(reads.usable().all(|command| command.kind.reads_only()) && reads.usable().count() == 1, "{reads:?}");
    }

    #[test]
    fn whom_the_help_names_a_file_may_name() {
        for word in ["writers", "admins", "@login", "team:ORG/NAME", "code_owners", "nobody"] {
            assert!(EXAMPLE.contains(&format!("\"{word}\"")), "{word}");
            let text = format!("+++\ndescription = \"d\"\nwho = [\"{word}\"]\n+++\nDo it.\n");
            assert_eq!(OwnCommand::parse("notes.md", "", text.as_bytes()).unwrap().who, [word]);
        }
        for (kind, replaces) in [("fix", false), ("plan", false), ("explain", true), ("test", true), ("deps", true)] {
            let content = Content::Bytes(b"+++\nreplace = true\n+++\nIn one line.\n".to_vec());
            let file = CommandFile { name: format!("{kind}.md"), blob: String::new(), content };
            assert_eq!(OwnPrompts::read(&[file]).mistakes.is_empty(), replaces, "{kind}");
        }
    }

    #[test]
    fn a_checkout_is_read_as_a_commit_would_be() {
        assert!(files(tempfile::tempdir().unwrap().path(), FOLDER, MAX_BYTES).unwrap().is_none());
        let dir = folder(&[("long.md", &"x".repeat(17 << 10)), ("a.txt", ""), ("notes.md", "x")]);
        std::os::unix::fs::symlink("notes.md", dir.path().join(FOLDER).join("link.md")).unwrap();
        let found = files(dir.path(), FOLDER, MAX_BYTES).unwrap().unwrap();
        let seen: Vec<_> = found.iter().map(|file| (file.name.as_str(), &file.content)).collect();
        let bytes = Content::Bytes(b"x".to_vec());
        assert_eq!(seen, [("link.md", &Content::NoFile), ("long.md", &Content::TooLong), ("notes.md", &bytes)]);
        let linked = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join(".caisson"), linked.path().join(".caisson")).unwrap();
        assert!(files(linked.path(), FOLDER, MAX_BYTES).unwrap_err().to_string().contains("is no folder"));
        assert!(
            files(&dir.path().join("none"), FOLDER, MAX_BYTES).is_err()
                && files(&dir.path().join(FOLDER).join("a.txt"), FOLDER, MAX_BYTES).is_err()
        );
    }

    #[test]
    fn a_budget_above_the_usual_is_warned_of() {
        let warned = |budget: &str, is_set: bool| {
            let text = format!("+++\ndescription = \"d\"\nbudget = \"{budget}\"\n+++\nDo it.\n");
            let command = OwnCommand::parse("notes.md", "", text.as_bytes()).unwrap();
            let budget = Budget { micro_usd: 5_000_000, tokens: 0, actions: 100, work_ms: 0 };
            cut_from(&command, &Usual { budget, is_set })
        };
        assert_eq!(warned("5usd,100actions,20min", true), None, "time has no limit here");
        let own = warned("50usd,30actions", true).unwrap();
        assert!(own.contains("notes.md: its budget of $50.00 is cut to the usual $5.00;"), "{own}");
        let default = warned("50usd", false).unwrap();
        assert!(default.ends_with("its budget of $50.00 is cut to the usual one, by default $5.00"), "{default}");
        // A configuration that is not there is none, and its defaults have a limit of money.
        let nowhere = usual(Path::new("/nowhere/caisson.toml"));
        assert!(!nowhere.is_set && nowhere.budget.micro_usd > 0);
    }

    #[test]
    fn instructions_for_kinds_are_checked_too() {
        let dir = tempfile::tempdir().unwrap();
        let prompts = dir.path().join(own_prompts::FOLDER);
        fs::create_dir_all(&prompts).unwrap();
        fs::write(prompts.join("fix.md"), "Lint first.\n").unwrap();
        let usual = Usual { budget: Budget::default(), is_set: false };
        run(dir.path(), &usual, &Printer::terminal()).unwrap();
        fs::write(prompts.join("system.md"), "You are free.\n").unwrap();
        let complaint = run(dir.path(), &usual, &Printer::terminal()).unwrap_err().to_string();
        assert!(complaint.starts_with("1 mistake in "), "{complaint}");
    }
}
