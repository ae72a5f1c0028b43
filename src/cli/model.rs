//! `caisson model check`: three tries with the configured model, and the style that follows from them.

use super::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::ModelStyle;
use crate::engine::probe;
use crate::llm;
use anyhow::Result;
use clap::Subcommand;
use std::path::Path;
use std::time::Instant;

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Try the model at reading, editing and checking with tools, and say how it will be talked to.
    Check,
}

impl ModelCommand {
    pub async fn run(self, file: &Path) -> Result<()> {
        let ModelCommand::Check = self;
        let config = Process::load(file)?;
        let printer = Printer::terminal();
        let model =
            llm::configured(&config.model).map_err(|why| Complaint::new("the model is not set up").because(why))?;
        if model.scripted() {
            printer.hint(&format!("{}: a recording; there is no model to be tried", model.label()));
            return Ok(());
        }
        let began = Instant::now();
        let tries = probe::probe(model.as_ref(), config.model.is_own_server()).await.map_err(|error| {
            let attempt = "check model.base_url, model.name and the key; `caisson doctor --model` asks it one word";
            Complaint::new("the model could not be tried out").because(error.to_string()).attempt(attempt)
        })?;
        let word = |passed: bool| if passed { "passed".to_owned() } else { "not passed".to_owned() };
        printer.fields(&[
            ("model", model.label()),
            ("read", word(tries.read)),
            ("edit", word(tries.edit)),
            ("check", word(tries.check)),
            ("took", format!("{} ms", began.elapsed().as_millis())),
            ("style", tries.style().word().to_owned()),
        ]);
        let configured = match config.model.style {
            ModelStyle::Auto if config.model.is_own_server() => return Ok(()),
            ModelStyle::Auto => "model.style is auto, and a vendor's own server is talked to with tools",
            ModelStyle::Tools => "model.style says tools, whatever was found here",
            ModelStyle::Files => "model.style says files, whatever was found here",
        };
        printer.hint(configured);
        Ok(())
    }
}
