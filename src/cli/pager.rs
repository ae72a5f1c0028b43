//! A terminal's pager for long output: `PAGER`, or `less`.

use super::printer::Printer;
use std::io::{self, IsTerminal};
use std::ops::Deref;
use std::process::{Child, Command, Stdio};

/// A printer whose stdout goes through a pager if it is a terminal; waits for the pager when dropped.
pub struct Paged {
    printer: Option<Printer>,
    pager: Option<Child>,
}

impl Paged {
    /// Uses `PAGER` (`cat` or an empty value switches it off), otherwise `less`, which ends by itself if all fits on the screen. Without a
    /// pager that can be started, prints directly.
    pub fn terminal() -> Paged {
        let plain = || Paged { printer: Some(Printer::terminal()), pager: None };
        if !io::stdout().is_terminal() {
            return plain();
        }
        let wanted = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        Paged::through(&wanted, Stdio::inherit()).unwrap_or_else(plain)
    }

    /// `to` is the pager's stdout. None if it is switched off or cannot be started.
    fn through(pager: &str, to: Stdio) -> Option<Paged> {
        if matches!(pager.trim(), "" | "cat") {
            return None;
        }
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {pager}")]).stdin(Stdio::piped()).stdout(to);
        if std::env::var_os("LESS").is_none() {
            // Quit if it fits on one screen, pass colours, keep the screen.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        let stdin = child.stdin.take()?;
        Some(Paged { printer: Some(Printer::paging(Box::new(stdin))), pager: Some(child) })
    }
}

impl Deref for Paged {
    type Target = Printer;

    fn deref(&self) -> &Printer {
        self.printer.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        // Closes the pager's input, so that it ends at the end of the text.
        self.printer = None;
        if let Some(pager) = &mut self.pager {
            let _ = pager.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_goes_through_the_pager_and_its_end_is_awaited() {
        let dir = tempfile::tempdir().expect("a directory");
        let shown = dir.path().join("shown");
        let paged = Paged::through(&format!("sed 's/^/> /' > '{}'", shown.display()), Stdio::null()).expect("a pager");
        paged.say("one");
        paged.say("two\u{1b}[31m");
        drop(paged);
        assert_eq!(std::fs::read_to_string(&shown).expect("written"), "> one\n> two\\u{1b}[31m\n");
        assert!(Paged::through("cat", Stdio::null()).is_none() && Paged::through(" ", Stdio::null()).is_none());
    }

    #[test]
    fn a_pager_that_ends_early_is_no_error() {
        let paged = Paged::through("true", Stdio::null()).expect("a shell");
        for _ in 0..1000 {
            paged.say(&"x".repeat(1000));
        }
    }
}
