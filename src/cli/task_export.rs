//! The exported file of a task: its whole log and the pictures that its conversation shows, as JSON lines. Owns the format, `caisson task export`,
//! and reading a file back in place of the store.
//!
//! The first line says what follows; then one line per event, in order; then one per picture that the log names, whose bytes are checked against
//! their digest. Version 1 had no pictures, and is still read.

use super::printer::Printer;
use crate::store::{MOST_OF_A_TASK, Store};
use crate::text::count;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use domain::{Event, Picture, TaskId};
use protocol::picture::MOST_BYTES;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Version of the exported format.
const VERSION: u32 = 2;

/// The log to read.
#[derive(Debug, Args)]
pub struct Source {
    /// The task's number.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    id: Option<i64>,
    /// A file that `caisson task export` wrote, in place of the store.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// The first line of an exported file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// Version of the format.
    caisson_task: u32,
    /// The task's number.
    id: i64,
    /// Number of following lines with an event.
    events: usize,
    /// Number of lines with a picture behind them.
    #[serde(default)]
    pictures: usize,
}

/// One line per event.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Number of the event in the log, counted from 1.
    pub seq: u32,
    /// Unix milliseconds at which it was stored.
    pub at_ms: i64,
    /// The event itself.
    pub event: Event,
}

/// One line per picture that the log names.
#[derive(Debug, Serialize, Deserialize)]
struct PictureLine {
    /// SHA-256 of its bytes, in lower-case hex.
    picture: String,
    /// Its media type, as in the log.
    media: String,
    /// Its bytes in base64; none where the store no longer holds them.
    data: Option<String>,
}

type Log = (TaskId, Vec<(i64, Event)>);

/// The pictures that a log names, each once.
fn pictures(log: &[(i64, Event)]) -> Vec<&Picture> {
    let mut all: Vec<&Picture> = Vec::new();
    for (_, event) in log {
        let named: Vec<&Picture> = match event {
            Event::Prepared { pictures, .. } => pictures.iter().collect(),
            Event::ActionFinished { outcome, .. } => outcome.picture.as_deref().into_iter().collect(),
            _ => Vec::new(),
        };
        for picture in named {
            if all.iter().all(|known| known.digest != picture.digest) {
                all.push(picture);
            }
        }
    }
    all
}

/// Writes the whole log with its pictures to a new file or to stdout, one JSON object per line. It contains texts of the agent and of people.
///
/// # Errors
/// When there is no such task, the file exists, or something cannot be read or written.
pub async fn export(store: Option<&Store>, id: TaskId, into: Option<&Path>) -> Result<()> {
    let (_, log) = load(store, &Source { id: Some(id.0), file: None }).await?;
    let store = store.ok_or_else(|| super::order::unknown(id))?;
    let printer = Printer::terminal();
    let Some(into) = into else {
        return write(store, id, &log, |value| {
            printer.json(&value);
            Ok(())
        })
        .await;
    };
    let options =
        std::os::unix::fs::OpenOptionsExt::mode(std::fs::OpenOptions::new().write(true).create_new(true), 0o600)
            .open(into);
    let mut file = BufWriter::new(options.with_context(|| format!("cannot make {}", into.display()))?);
    let mut written = write(store, id, &log, |value| Ok(writeln!(file, "{value}")?)).await;
    if written.is_ok() {
        written = file.flush().and_then(|()| file.get_ref().sync_all()).map_err(Into::into);
    }
    if written.is_err() {
        // An incomplete file is useless, and would block the next attempt.
        let _ = std::fs::remove_file(into);
    }
    written.with_context(|| format!("cannot write {}", into.display()))?;
    let shown = match pictures(&log).len() as u64 {
        0 => String::new(),
        some => format!(" and {}", count(some, "picture")),
    };
    printer.good(&format!("{}{shown} of task {id} in {}", count(log.len() as u64, "event"), into.display()));
    Ok(())
}

/// Passes each line on, one at a time, since pictures are large.
async fn write(
    store: &Store,
    id: TaskId,
    log: &[(i64, Event)],
    mut line: impl FnMut(serde_json::Value) -> Result<()>,
) -> Result<()> {
    let pictures = pictures(log);
    let head = Head { caisson_task: VERSION, id: id.0, events: log.len(), pictures: pictures.len() };
    line(serde_json::to_value(&head)?)?;
    for event in lines(log) {
        line(serde_json::to_value(&event)?)?;
    }
    for Picture { digest, media, .. } in pictures {
        let data = store.kept_file(id, digest).await?.map(|bytes| STANDARD.encode(bytes));
        line(serde_json::to_value(&PictureLine { picture: digest.clone(), media: media.clone(), data })?)?;
    }
    Ok(())
}

/// Each event with its number and time.
pub(super) fn lines(log: &[(i64, Event)]) -> impl Iterator<Item = Line> {
    log.iter().zip(1..).map(|((at_ms, event), seq)| Line { seq, at_ms: *at_ms, event: event.clone() })
}

/// The log of a task, from the store or from an exported file.
///
/// # Errors
/// When there is no such task, or the file is no export.
pub(super) async fn load(store: Option<&Store>, source: &Source) -> Result<Log> {
    if let Some(file) = &source.file {
        let opened = std::fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
        return read(BufReader::new(opened)).with_context(|| format!("{} is no export of a task", file.display()));
    }
    let id = TaskId(source.id.unwrap_or_default());
    let store = store.ok_or_else(|| super::order::unknown(id))?;
    store.task_row(id).await?.ok_or_else(|| super::order::unknown(id))?;
    Ok((id, store.log(id).await?))
}

/// Parses what [`export`] wrote.
fn read(from: impl BufRead) -> Result<Log> {
    let mut lines = from.lines();
    let head: Head = serde_json::from_str(&lines.next().context("it is empty")??).context("line 1")?;
    anyhow::ensure!(
        (1..=VERSION).contains(&head.caisson_task),
        "it has the shape {}; this version knows 1 to {VERSION}",
        head.caisson_task
    );
    let (mut log, mut pictures, mut bytes) = (Vec::new(), 0, 0);
    for (at, line) in lines.enumerate() {
        let (line, number) = (line?, at + 2);
        if at >= head.events {
            bytes += checked(&line).with_context(|| format!("line {number}"))?;
            anyhow::ensure!(bytes <= MOST_OF_A_TASK, "its pictures are larger than a task's may be");
            pictures += 1;
            continue;
        }
        let line: Line = serde_json::from_str(&line).with_context(|| format!("line {number}"))?;
        anyhow::ensure!(
            line.seq as usize == at + 1,
            "line {number}: event {} stands where {} should",
            line.seq,
            at + 1
        );
        log.push((line.at_ms, line.event));
    }
    anyhow::ensure!(log.len() == head.events, "it has {} of {} events: was it cut off?", log.len(), head.events);
    anyhow::ensure!(pictures == head.pictures, "it has {pictures} of {} pictures: was it cut off?", head.pictures);
    Ok((TaskId(head.id), log))
}

/// The length of a line's picture in bytes, whose digest is that of the line.
fn checked(line: &str) -> Result<u64> {
    let line: PictureLine = serde_json::from_str(line)?;
    let Some(data) = line.data else { return Ok(0) };
    let too_large = || format!("picture {} is larger than {MOST_BYTES} bytes", line.picture);
    // Four characters stand for three bytes.
    anyhow::ensure!(data.len() as u64 / 4 * 3 <= MOST_BYTES + 3, too_large());
    let bytes = STANDARD.decode(data).with_context(|| format!("picture {}", line.picture))?;
    anyhow::ensure!(bytes.len() as u64 <= MOST_BYTES, too_large());
    anyhow::ensure!(hex::encode(Sha256::digest(&bytes)) == line.picture, "picture {} has other bytes", line.picture);
    Ok(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_export_is_refused_with_its_line() {
        let head = "{\"caisson_task\":1,\"id\":7,\"events\":2}\n";
        let event = |seq: u32| format!("{{\"seq\":{seq},\"at_ms\":5,\"event\":{{\"event\":\"place_granted\"}}}}\n");
        let (id, log) = read(format!("{head}{}{}", event(1), event(2)).as_bytes()).expect("read");
        assert_eq!((id, log.len()), (TaskId(7), 2));
        let wrong = |text: String| format!("{:#}", read(text.as_bytes()).expect_err("refused"));
        assert!(wrong(String::new()).contains("empty"));
        assert!(wrong("{}\n".into()).contains("line 1"));
        assert!(wrong("{\"caisson_task\":9,\"id\":7,\"events\":0}\n".into()).contains("shape 9"));
        assert!(wrong(format!("{head}{}", event(1))).contains("1 of 2 events"));
        assert!(wrong(format!("{head}{}", event(2))).contains("line 2: event 2 stands where 1 should"));
        assert!(wrong(format!("{head}{}{}{}", event(1), event(2), event(3))).contains("line 4"));
        assert!(wrong(format!("{head}{}nonsense\n", event(1))).contains("line 3"));
    }

    #[test]
    fn the_pictures_of_an_export_are_counted_and_checked() {
        let head = "{\"caisson_task\":2,\"id\":7,\"events\":1,\"pictures\":2}\n\
                    {\"seq\":1,\"at_ms\":5,\"event\":{\"event\":\"place_granted\"}}\n";
        let line = |bytes: &[u8], digest: &str| {
            let (picture, media) = (digest.to_owned(), "image/png".to_owned());
            let data = Some(STANDARD.encode(bytes));
            serde_json::to_string(&PictureLine { picture, media, data }).expect("JSON") + "\n"
        };
        let digest = hex::encode(Sha256::digest(b"one"));
        let gone = "{\"picture\":\"x\",\"media\":\"image/png\",\"data\":null}\n";
        let (_, log) = read(format!("{head}{}{gone}", line(b"one", &digest)).as_bytes()).expect("read");
        assert_eq!(log.len(), 1);
        let wrong = |text: String| format!("{:#}", read(text.as_bytes()).expect_err("refused"));
        assert!(wrong(format!("{head}{gone}")).contains("1 of 2 pictures"));
        assert!(wrong(format!("{head}{gone}{gone}{gone}")).contains("3 of 2 pictures"));
        assert!(wrong(format!("{head}{gone}{}", line(b"two", &digest))).contains("line 4: picture"));
        let large = vec![0; MOST_BYTES as usize + 1];
        assert!(wrong(format!("{head}{gone}{}", line(&large, "x"))).contains("is larger than"));
    }
}
