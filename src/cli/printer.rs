//! All output to terminals.
//!
//! Owns colours, tables and the form of errors. Nothing else writes to stdout or stderr of a subcommand. Control, bidirectional and
//! invisible characters are escaped; the only escape sequences printed are the colours of this file, and only on a terminal and without
//! `NO_COLOR`. Tests: below.

use crate::text::{json_line, one_line, visible};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, OnceLock};

/// An error for people: what, why, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Complaint {
    /// The text after `error:`.
    pub what: String,
    /// Causes, outermost first.
    pub why: Vec<String>,
    /// A command or a sentence; empty if `what` is enough.
    pub hint: String,
}

impl Complaint {
    /// A complaint without causes and advice.
    pub fn new(what: impl Into<String>) -> Complaint {
        Complaint { what: what.into(), ..Complaint::default() }
    }

    /// Adds a cause below the present ones.
    pub fn because(mut self, why: impl Into<String>) -> Complaint {
        self.why.push(why.into());
        self
    }

    /// Sets the advice, replacing an earlier one.
    pub fn hint(mut self, hint: impl Into<String>) -> Complaint {
        self.hint = hint.into();
        self
    }
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Complaint {}

impl From<&anyhow::Error> for Complaint {
    /// A complaint wrapped in an error is returned as it is; any other chain becomes `what` and `why`.
    fn from(error: &anyhow::Error) -> Complaint {
        if let Some(complaint) = error.downcast_ref::<Complaint>() {
            return complaint.clone();
        }
        let mut chain = error.chain().map(ToString::to_string);
        let what = chain.next().unwrap_or_default();
        // Many errors already repeat their cause.
        let why = chain.filter(|cause| !what.contains(cause.as_str())).collect();
        Complaint { what, why, hint: String::new() }
    }
}

#[derive(Clone, Copy)]
enum Colour {
    Red,
    Green,
    Yellow,
    Dim,
    Bold,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Colour::Red => "31",
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Dim => "2",
            Colour::Bold => "1",
        }
    }
}

/// The first error of this process's stdout that is more than a closed pipe.
static STDOUT_ERROR: OnceLock<String> = OnceLock::new();

/// The process's stdout, whose errors [`written`] tells.
pub(super) struct Stdout;

impl Stdout {
    fn noted<T>(result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            // A closed pipe (`caisson task list | head`) is no failure, and an interrupted call is repeated.
            if !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted) {
                let _ = STDOUT_ERROR.set(error.to_string());
            }
        })
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::noted(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::noted(io::stdout().flush())
    }
}

/// Whether everything that was printed to stdout was written, unless its reader went away.
///
/// # Errors
/// Why something was not, such as a full disk.
pub fn written() -> Result<(), Complaint> {
    match STDOUT_ERROR.get() {
        None => Ok(()),
        Some(why) => Err(Complaint::new("stdout could not be written, so what was printed is not whole").because(why)),
    }
}

struct Stream {
    to: Mutex<Box<dyn Write + Send>>,
    colours: bool,
}

impl Stream {
    fn put(&self, text: &str) {
        if let Ok(mut to) = self.to.lock() {
            // Errors of stdout are told at the end, by `written`.
            let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
        }
    }

    fn paint(&self, colour: Colour, text: &str) -> String {
        if self.colours { format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()) } else { text.to_owned() }
    }
}

fn wants_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Colour of a table's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not coloured.
    Plain,
    /// Correct.
    Good,
    /// Needs attention.
    Warn,
    /// Faulty.
    Bad,
}

impl Mark {
    fn colour(self) -> Option<Colour> {
        match self {
            Mark::Plain => None,
            Mark::Good => Some(Colour::Green),
            Mark::Warn => Some(Colour::Yellow),
            Mark::Bad => Some(Colour::Red),
        }
    }
}

/// Prints results to stdout, and errors and progress to stderr.
pub struct Printer {
    out: Stream,
    err: Stream,
}

impl Printer {
    /// The process's terminal. Coloured only if it is one, `NO_COLOR` is unset or empty and `TERM` is not `dumb`.
    pub fn terminal() -> Printer {
        let wanted = wants_colours();
        Printer::to(
            Box::new(Stdout),
            wanted && io::stdout().is_terminal(),
            Box::new(io::stderr()),
            wanted && io::stderr().is_terminal(),
        )
    }

    /// A terminal behind a pager.
    pub fn paging(pager: Box<dyn Write + Send>) -> Printer {
        let Printer { err, .. } = Printer::terminal();
        Printer { out: Stream { to: Mutex::new(pager), colours: wants_colours() }, err }
    }

    /// A printer to anything, for tests.
    pub fn to(out: Box<dyn Write + Send>, out_colours: bool, err: Box<dyn Write + Send>, err_colours: bool) -> Printer {
        let stream = |to, colours| Stream { to: Mutex::new(to), colours };
        Printer { out: stream(out, out_colours), err: stream(err, err_colours) }
    }

    /// Prints lines without colour.
    pub fn say(&self, text: &str) {
        self.out.put(&format!("{}\n", visible(text)));
    }

    /// Prints a heading.
    pub fn heading(&self, text: &str) {
        self.out.put(&format!("{}\n", self.out.paint(Colour::Bold, &one_line(text))));
    }

    /// Reports something correct.
    pub fn good(&self, text: &str) {
        self.signed(Colour::Green, "✓", text);
    }

    /// Reports something that needs attention.
    pub fn warn(&self, text: &str) {
        self.signed(Colour::Yellow, "!", text);
    }

    /// Reports a fault; the command continues.
    pub fn bad(&self, text: &str) {
        self.signed(Colour::Red, "✗", text);
    }

    /// Says what to do next.
    pub fn hint(&self, text: &str) {
        self.signed(Colour::Dim, "→", text);
    }

    fn signed(&self, colour: Colour, sign: &str, text: &str) {
        // Further lines are aligned below the first.
        let text = visible(text).replace('\n', "\n  ");
        self.out.put(&format!("{} {text}\n", self.out.paint(colour, sign)));
    }

    /// Reports progress to stderr, so that a pipe from stdout does not contain it.
    pub fn step(&self, text: &str) {
        self.err.put(&format!("{} {}\n", self.err.paint(Colour::Dim, "·"), visible(text)));
    }

    /// Prints names with their values, aligned.
    pub fn fields(&self, fields: &[(&str, String)]) {
        let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in fields {
            let padded = format!("{name:width$}");
            let _ = writeln!(text, "{}  {}", self.out.paint(Colour::Dim, &padded), one_line(value));
        }
        self.out.put(&text);
    }

    /// Prints a table; a row may be shorter than the head.
    pub fn table(&self, head: &[&str], rows: &[Vec<String>]) {
        self.marked_table(head, rows, &[]);
    }

    /// As [`Printer::table`], each row with its mark; rows without one are plain.
    pub fn marked_table(&self, head: &[&str], rows: &[Vec<String>], marks: &[Mark]) {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
        let mut widths: Vec<usize> = head.iter().map(|name| name.chars().count()).collect();
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut text = format!("{}\n", self.out.paint(Colour::Bold, &line(&mut head.iter().copied())));
        for (at, row) in rows.iter().enumerate() {
            let row = line(&mut row.iter().map(String::as_str));
            let colour = marks.get(at).and_then(|mark| mark.colour());
            let _ = writeln!(text, "{}", colour.map_or(row.clone(), |colour| self.out.paint(colour, &row)));
        }
        self.out.put(&text);
    }

    /// Prints a value as one JSON line.
    pub fn json(&self, value: &serde_json::Value) {
        self.out.put(&format!("{}\n", json_line(&value.to_string())));
    }

    /// Prints an error to stderr: what, why, what to try.
    pub fn error(&self, complaint: &Complaint) {
        let mut text = format!("{} {}\n", self.err.paint(Colour::Red, "error:"), indent(&complaint.what));
        for why in &complaint.why {
            let _ = writeln!(text, "  {} {}", self.err.paint(Colour::Dim, "why:"), indent(why));
        }
        if !complaint.hint.is_empty() {
            let _ = writeln!(text, "  {} {}", self.err.paint(Colour::Green, "try:"), indent(&complaint.hint));
        }
        self.err.put(&text);
    }
}

fn indent(text: &str) -> String {
    visible(text.trim_end()).replace('\n', "\n       ")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is printed, to both outputs in one.
    pub fn printed(colours: bool, act: impl Fn(&Printer)) -> String {
        let buffer = Buffer::default();
        act(&Printer::to(Box::new(buffer.clone()), colours, Box::new(buffer.clone()), colours));
        let bytes = buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn no_control_sequence_of_others_leaves() {
        let evil = "a\u{1b}]0;title\u{7}\u{1b}[2Jb\u{202e}c\u{9b}31m\r";
        let act = |p: &Printer| {
            p.say(evil);
            p.good(evil);
            p.fields(&[("name", evil.to_owned())]);
            p.table(&["h"], &[vec![evil.to_owned()]]);
            p.error(&Complaint::new(evil).because(evil).hint(evil));
            p.step(evil);
            p.json(&serde_json::json!({ "x": evil }));
        };
        let plain = printed(false, act);
        assert!(!plain.chars().any(|c| crate::text::is_hidden(c) && c != '\n'), "{plain:?}");
        let coloured = printed(true, act);
        let foreign = coloured
            .split("\u{1b}[")
            .skip(1)
            .any(|rest| !["0m", "1m", "2m", "31m", "32m", "33m"].iter().any(|own| rest.starts_with(own)));
        assert!(!foreign && !coloured.contains('\u{7}') && !coloured.contains('\u{202e}'), "{coloured:?}");
    }

    #[test]
    fn an_error_says_what_why_and_what_to_try() {
        let source = io::Error::other("connection refused");
        let error = anyhow::Error::new(source).context("the forge at http://127.0.0.1:3000 can't be reached");
        let complaint = Complaint::from(&error).hint("caisson doctor");
        insta::assert_snapshot!(printed(false, |p| p.error(&complaint)), @"
        error: the forge at http://127.0.0.1:3000 can't be reached
          why: connection refused
          try: caisson doctor
        ");
        let kept = anyhow::Error::new(complaint.clone());
        assert_eq!(Complaint::from(&kept), complaint);
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["1".to_owned(), "running".to_owned()], vec!["12".to_owned(), "paused".to_owned()]];
        insta::assert_snapshot!(printed(false, |p| p.table(&["task", "state"], &rows)), @"
        task  state
        1     running
        12    paused
        ");
        insta::assert_snapshot!(printed(false, |p| p.fields(&[("a", "1".into()), ("long", "2".into())])), @"
        a     1
        long  2
        ");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "x": "\u{202e}\u{e0041}\u{1b}" });
        let text = printed(false, |p| p.json(&value));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains("\\u202e\\udb40\\udc41\\u001b"), "{text}");
    }
}
