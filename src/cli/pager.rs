//! A terminal's pager for long output: `PAGER`, or `less`.

use super::printer::{Printer, Stdout};
use std::io::{self, IsTerminal, Write};
use std::ops::Deref;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Exit codes of a shell that could not run the program.
const NOT_RUN: [i32; 2] = [126, 127];

/// A printer whose stdout goes through a pager if it is a terminal; waits for the pager when dropped.
pub struct Paged {
    printer: Option<Printer>,
    pager: Option<Pager>,
}

struct Pager {
    child: Child,
    text: Arc<Mutex<Vec<u8>>>,
    /// Takes the text if there is no such program.
    instead: Box<dyn Write + Send>,
}

/// The pager's input, and a copy of what went there.
struct Copied {
    input: ChildStdin,
    text: Arc<Mutex<Vec<u8>>>,
}

impl Write for Copied {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        // One that has ended reads no more.
        let _ = self.input.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paged {
    /// Uses `PAGER` (`cat` or an empty value switches it off), otherwise `less`, which ends by itself if all fits on the screen. Without a
    /// pager that can be run, prints directly.
    pub fn terminal() -> Paged {
        let plain = || Paged { printer: Some(Printer::terminal()), pager: None };
        if !io::stdout().is_terminal() {
            return plain();
        }
        let wanted = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        Paged::through(&wanted, Stdio::inherit(), Box::new(Stdout)).unwrap_or_else(plain)
    }

    /// `to` is the pager's stdout; `instead` takes the text if there is no such program. None if it is switched off, or without a shell.
    fn through(pager: &str, to: Stdio, instead: Box<dyn Write + Send>) -> Option<Paged> {
        let program = pager.split_whitespace().next().filter(|_| pager.trim() != "cat")?;
        let mut command = Command::new("sh");
        // Looked up first, because the shell's own message would stand before the text; not a word that the shell reads only with others.
        let is_alone = !program.contains(['"', '\'', '\\', '`', '(', '{']);
        let look = if is_alone { format!("command -v {program} >/dev/null 2>&1 || exit 127; ") } else { String::new() };
        let script = format!("{look}exec {pager}");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(to);
        if std::env::var_os("LESS").is_none() {
            // Quit if it fits on one screen, pass colours, keep the screen.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        let (input, text) = (child.stdin.take()?, Arc::new(Mutex::new(Vec::new())));
        let printer = Printer::paging(Box::new(Copied { input, text: text.clone() }));
        Some(Paged { printer: Some(printer), pager: Some(Pager { child, text, instead }) })
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
        let Some(Pager { mut child, text, mut instead }) = self.pager.take() else { return };
        let code = child.wait().ok().and_then(|ended| ended.code());
        if code.is_some_and(|code| NOT_RUN.contains(&code)) {
            let text = std::mem::take(&mut *text.lock().unwrap_or_else(PoisonError::into_inner));
            let _ = instead.write_all(&text).and_then(|()| instead.flush());
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
        let pager = format!("sed 's/^/> /' > '{}'", shown.display());
        let paged = Paged::through(&pager, Stdio::null(), Box::new(io::sink())).expect("a pager");
        paged.say("one");
        paged.say("two\u{1b}[31m");
        drop(paged);
        assert_eq!(std::fs::read_to_string(&shown).expect("written"), "> one\n> two\\u{1b}[31m\n");
        let quoted = format!("$(echo sed) 's/^/> /' > '{}'", shown.display());
        let paged = Paged::through(&quoted, Stdio::null(), Box::new(io::sink())).expect("a pager");
        paged.say("three");
        drop(paged);
        assert_eq!(std::fs::read_to_string(&shown).expect("written"), "> three\n");
        let off = |pager: &str| Paged::through(pager, Stdio::null(), Box::new(io::sink())).is_none();
        assert!(off("cat") && off(" ") && !off("true"));
    }

    #[test]
    fn without_the_pager_the_text_is_printed_all_the_same() {
        for (pager, printed) in [("no-such-pager-here -R", "one\ntwo\n"), ("/ -R", "one\ntwo\n"), ("true", "")] {
            let file = tempfile::NamedTempFile::new().expect("a file");
            let instead = Box::new(file.reopen().expect("opened"));
            let paged = Paged::through(pager, Stdio::null(), instead).expect("a shell");
            paged.say("one");
            paged.say("two");
            drop(paged);
            assert_eq!(std::fs::read_to_string(file.path()).expect("read"), printed, "{pager}");
        }
    }

    #[test]
    fn a_pager_that_ends_early_is_no_error() {
        let paged = Paged::through("true", Stdio::null(), Box::new(io::sink())).expect("a shell");
        for _ in 0..1000 {
            paged.say(&"x".repeat(1000));
        }
    }
}
