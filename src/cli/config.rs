//! `caisson config`: checks the configuration and prints what is in effect; `--defaults` prints every key with its meaning, `--prices` the
//! file of models' prices and windows.

use super::printer::Printer;
use crate::config::process::Model;
use crate::config::{DEFAULTS, PRICES, Process};
use crate::egress;
use anyhow::{Context, Result};
use clap::Args;
use std::path::Path;

#[derive(Debug, Args)]
pub struct Config {
    /// Print the documented defaults: every key there is.
    #[arg(long)]
    defaults: bool,
    /// Print the file of prices and windows that is compiled in: the form of `[prices] file`.
    #[arg(long, conflicts_with = "defaults")]
    prices: bool,
}

impl Config {
    pub fn run(self, file: &Path) -> Result<()> {
        let printer = Printer::terminal();
        if self.defaults {
            printer.say(DEFAULTS.trim_end());
            return Ok(());
        }
        if self.prices {
            printer.say(PRICES.trim_end());
            return Ok(());
        }
        let config = Process::load(file)?;
        // A preset without hosts on this machine refuses no file that is loaded.
        egress::policy(&config.egress).with_context(|| format!("{} cannot be used", file.display()))?;
        printer.good(&format!("{} can be used", file.display()));
        printer.fields(&summary(&config));
        if config.forge.url.is_none() {
            printer
                .hint("no forge yet: caisson setup --forge-url http://localhost:3000 --admin-token-file admin.token");
        } else {
            printer.hint("the repositories of the store: caisson repo list");
        }
        Ok(())
    }
}

fn summary(config: &Process) -> Vec<(&'static str, String)> {
    let none = || "none".to_owned();
    let list = |items: &[String]| if items.is_empty() { none() } else { items.join(", ") };
    vec![
        ("state", config.state_dir.display().to_string()),
        ("forge", config.forge.url.as_ref().map_or_else(none, ToString::to_string)),
        ("hooks", config.listen.webhooks.to_string()),
        ("health", config.listen.ops.to_string()),
        ("model", config.models.all().iter().map(Model::shown).collect::<Vec<_>>().join(", ")),
        ("image", config.sandbox.image.clone()),
        ("hosts", list(&config.egress.allowed_words())),
        ("repositories", list(&config.keys())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_told_without_a_secret() {
        let text = "[forge]\nurl = \"http://127.0.0.1:3000\"\ntoken_file = \"secrets/bot\"\n";
        let config = Process::from_layers(Path::new("/etc/caisson/caisson.toml"), text, &|_| None).unwrap();
        let fields = summary(&config);
        assert!(fields.contains(&("forge", "http://127.0.0.1:3000/".to_owned())));
        assert!(fields.contains(&("hosts", "none".to_owned())));
        assert!(!format!("{fields:?}").contains("secrets"));
    }

    #[test]
    fn a_preset_that_the_bot_cannot_start_with_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("caisson.toml");
        std::fs::write(&path, "[egress]\nallow = [\"preset:crago\"]\n").unwrap();
        let error = Config { defaults: false, prices: false }.run(&path).unwrap_err();
        assert!(format!("{error:#}").contains("[egress] allow: there is no preset `crago`"), "{error:#}");
    }
}
