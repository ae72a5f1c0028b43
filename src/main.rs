//! Flags in, an exit code out. Everything else is in the library.

use caisson::cli::Cli;
use caisson::cli::printer::{Complaint, Printer, written};
use clap::Parser;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.run().await.and_then(|()| Ok(written()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Printer::terminal().error(&Complaint::from(&error));
            ExitCode::FAILURE
        }
    }
}
