//! Log lines on stderr.
//!
//! `CAISSON_LOG` is the filter (`info`, `caisson=debug,tower_http=warn`); `CAISSON_LOG_FORMAT` is `text` or `json`.

use crate::text::{json_line, visible};
use std::io::{self, Write};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// For a machine: one object a line.
    Json,
}

/// Why logging could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `CAISSON_LOG` is no filter; the text says why.
    #[error("CAISSON_LOG: {0}; write for example CAISSON_LOG=info or CAISSON_LOG=caisson=debug")]
    Filter(String),
    /// `CAISSON_LOG_FORMAT` is neither `text` nor `json`; the text is its value.
    #[error("CAISSON_LOG_FORMAT: {0:?} is no format; write text or json")]
    Format(String),
    /// This process already has a recorder of metrics.
    #[error("metrics are already being recorded in this process")]
    Recorder,
}

/// Starts logging to stderr as the environment says; a repeated call changes nothing.
pub fn start() -> Result<(), TelemetryError> {
    let environment = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let filter = filter(environment("CAISSON_LOG").as_deref())?;
    let format = format(environment("CAISSON_LOG_FORMAT").as_deref())?;
    let writer = Clean(io::stderr, format);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false);
    // An error means that a subscriber exists, from a test or an earlier call.
    let _ = match format {
        Format::Text => builder.with_target(false).try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
}

pub(super) fn filter(text: Option<&str>) -> Result<EnvFilter, TelemetryError> {
    let text = text.unwrap_or("info");
    EnvFilter::try_new(text).map_err(|why| TelemetryError::Filter(why.to_string()))
}

pub(super) fn format(text: Option<&str>) -> Result<Format, TelemetryError> {
    match text {
        None | Some("text") => Ok(Format::Text),
        Some("json") => Ok(Format::Json),
        Some(other) => Err(TelemetryError::Format(other.to_owned())),
    }
}

/// Escapes every hidden character of a line, so that a log can be shown in a terminal; in the form of its format, so that JSON stays JSON.
#[derive(Clone)]
pub(super) struct Clean<M>(pub M, pub Format);

impl<'a, M, W> MakeWriter<'a> for Clean<M>
where
    M: Fn() -> W,
    W: Write,
{
    type Writer = CleanWriter<W>;

    fn make_writer(&'a self) -> Self::Writer {
        CleanWriter(self.0(), self.1)
    }
}

pub(super) struct CleanWriter<W>(W, Format);

impl<W: Write> Write for CleanWriter<W> {
    /// A whole line comes in one call, with line feeds inside of it already escaped. One that cannot be written is lost: the subscriber would
    /// report an error with `eprintln!`, which panics where stderr itself fails.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let (body, end) = line.strip_suffix('\n').map_or((&*line, ""), |body| (body, "\n"));
        let shown = match self.1 {
            Format::Text => visible(body).replace('\n', "\\n"),
            Format::Json => json_line(body),
        };
        let _ = self.0.write_all(format!("{shown}{end}").as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}
