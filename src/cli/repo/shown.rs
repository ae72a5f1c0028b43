//! What `caisson repo add` shows of a repository before it is set up: its commands, its image, and secrets in its files and history.

use crate::cli::printer::Printer;
use crate::config::Process;
use crate::config::own_commands::OwnCommands;
use crate::config::project::{self, Granted, Pick, Project};
use crate::effect::FromFiles;
use crate::git::Leaks;
use crate::text::{one_line, shell_word};

/// The arguments of `caisson repo add` that accept these parts of a repository on the forge, each after a space. Whoever may write on the forge
/// chose their names, so they are quoted for a shell.
pub(super) fn accepting(foreign: &[String]) -> String {
    foreign.iter().map(|name| format!(" --accept-foreign {}", shell_word(name))).collect()
}

/// Shows the repository's own commands, and the mistakes in their files, which take nothing else.
pub(super) fn show_commands(printer: &Printer, commands: &OwnCommands) {
    let names: Vec<String> = commands.usable().map(|command| format!("/{}", command.name)).collect();
    if !names.is_empty() {
        printer.good(&format!("commands of its own: {}", names.join(", ")));
    }
    for (_, error) in commands.mistakes() {
        printer.warn(&one_line(&error.to_string()));
    }
}

/// Shows the image of its tasks. An unavailable one is shown among its wishes.
pub(super) fn show_image(printer: &Printer, config: &Process, key: &str, project: &Project, told: &FromFiles) {
    let (image, why) = match (project.pick(&Granted::of(config, key)), told) {
        (Pick::Refused(_), _) => return,
        (Pick::Asked { image, .. }, _) => (image, format!("as {} asks", project::FILE)),
        (Pick::Open, FromFiles::Image { image, by }) => (image.clone(), format!("its {by} names it")),
        (Pick::Open, FromFiles::Toolchain { need, images }) => {
            let images: Vec<_> = images.iter().map(|(_, image)| image.as_str()).collect();
            let version = need.version.as_ref().map(|it| format!(", {} {}", it.by, it.text)).unwrap_or_default();
            (images.join(" or "), format!("its {} tells the toolchain {}{version}", need.by, need.toolchain))
        }
        (Pick::Open, FromFiles::Nothing) => (
            config.sandbox_of(key).image.clone(),
            "it names no toolchain, and no file tells one that is offered".to_owned(),
        ),
    };
    printer.good(&format!("its tasks run in {image}: {why}"));
}

/// Warns about secrets in files and history, which agents can read, so that models will know them.
pub(super) fn tell_of_leaks(leaks: &Leaks, printer: &Printer) {
    for leak in &leaks.found {
        let path = one_line(&leak.path);
        printer.warn(&format!("{path} holds what looks like {}, since commit {}", leak.what, leak.commit.short()));
    }
    if !leaks.found.is_empty() {
        printer.hint("sandboxes get the files and up to 50 commits of history: make such secrets invalid first");
    }
    if !leaks.whole {
        printer.warn(&format!("the history was looked through for secrets only in part ({} commits)", leaks.commits));
    }
}
