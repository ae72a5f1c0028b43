//! Detects how a project is set up, built, linted and tested, from its files.
//!
//! Owns the ranking of what the readers beside this file find (`python.rs`, `node.rs`, `compiled.rs` for Rust, Go, Java and CMake,
//! `make.rs`, `workflow.rs` for CI workflows and devcontainers). Pure, over the names of all files and the texts of a few. Every command is
//! untrusted: for a sandbox to run and a person to read, never for a shell of this host. Verification uses the first test command
//! ([`super::detect::test_command`]); others are tried only after it. Tests: `tests.rs`.

mod compiled;
mod make;
mod node;
mod python;
#[cfg(test)]
mod tests;
mod workflow;

use super::detect;

/// The most commands kept of one kind.
const MOST: usize = 4;
/// The longest command, in bytes, as in a project file.
const LONGEST: usize = 4096;

/// Files at fixed paths whose text is read.
const FIXED: [&str; 15] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "GNUmakefile",
    "makefile",
    "CMakeLists.txt",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".pre-commit-config.yaml",
];

/// A command, and the source it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectCommand {
    /// A line for a shell, run at the project's root. Untrusted.
    pub command: String,
    /// A file and the place in it: `package.json, scripts.lint`.
    pub by: String,
}

/// Commands that set a project up, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Commands for a shell, in order. Untrusted.
    pub commands: Vec<String>,
    /// As [`ProjectCommand::by`].
    pub by: String,
}

/// The commands found; each list has the best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands {
    /// Alternative ways to set the project up.
    pub setups: Vec<Setup>,
    /// Commands that build it.
    pub builds: Vec<ProjectCommand>,
    /// Commands that find mistakes without running the code: linters, type checkers.
    pub lints: Vec<ProjectCommand>,
    /// Commands that run its tests.
    pub tests: Vec<ProjectCommand>,
}

/// A project's files, as the readers access them.
struct Project<'a> {
    files: &'a [String],
    text: &'a dyn Fn(&str) -> Option<String>,
}

impl Project<'_> {
    fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file == name)
    }

    /// Text of a file; none if it does not exist.
    fn text(&self, name: &str) -> Option<String> {
        if self.has(name) { (self.text)(name) } else { None }
    }
}

/// The files of a project whose text [`commands`] needs.
pub fn files_to_read(files: &[String]) -> Vec<&str> {
    let fixed = |file: &str| FIXED.contains(&file) || detect::WANTED.contains(&file) || workflow::is_workflow(file);
    files.iter().map(String::as_str).filter(|file| fixed(file)).collect()
}

/// The commands of a project; `text` gives the text of one of [`files_to_read`]. `toolchain` is the one that its tasks get, if that is named.
pub fn commands(files: &[String], text: &dyn Fn(&str) -> Option<String>, toolchain: Option<&str>) -> Commands {
    let project = Project { files, text };
    let mut found = Commands::default();
    // The test command that verification uses if the project file names none.
    if let Some(known) = detect::test_command(files, text, toolchain) {
        found.tests.push(ProjectCommand { command: known.command, by: known.by.to_owned() });
    }
    // Commands of the toolchain that tasks get come first.
    let first = toolchain.map(detect::unversioned);
    let first = first.or_else(|| detect::toolchain(files, text, None).map(|(toolchain, _)| toolchain));
    type Reader = fn(&Project<'_>, &mut Commands);
    let mut readers: Vec<(&str, Reader)> = vec![
        ("python", python::read),
        ("node", node::read),
        ("rust", compiled::rust),
        ("go", compiled::go),
        ("java", compiled::java),
        ("cpp", compiled::cpp),
    ];
    readers.sort_by_key(|(name, _)| Some(*name) != first);
    for (_, read) in readers {
        read(&project, &mut found);
    }
    make::read(&project, &mut found);
    workflow::read(&project, &mut found);
    found.tidy();
    found
}

impl Commands {
    /// Removes duplicates and commands that a project file could not contain, and limits the number.
    fn tidy(&mut self) {
        let fit = |command: &String| {
            let plain = !command.chars().any(char::is_control);
            !command.trim().is_empty() && command.len() <= LONGEST && plain
        };
        for list in [&mut self.builds, &mut self.lints, &mut self.tests] {
            let mut kept: Vec<ProjectCommand> = Vec::new();
            for found in list.drain(..) {
                if fit(&found.command) && !kept.iter().any(|it| it.command == found.command) {
                    kept.push(found);
                }
            }
            kept.truncate(MOST);
            *list = kept;
        }
        let mut kept: Vec<Setup> = Vec::new();
        for setup in self.setups.drain(..) {
            let whole = !setup.commands.is_empty() && setup.commands.iter().all(fit);
            if whole && !kept.iter().any(|it| it.commands == setup.commands) {
                kept.push(setup);
            }
        }
        kept.truncate(MOST);
        self.setups = kept;
    }
}

fn found(command: impl Into<String>, by: impl Into<String>) -> ProjectCommand {
    ProjectCommand { command: command.into(), by: by.into() }
}

fn setup(commands: impl IntoIterator<Item = String>, by: impl Into<String>) -> Setup {
    Setup { commands: commands.into_iter().collect(), by: by.into() }
}
