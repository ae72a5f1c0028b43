//! Reading a file with line numbers.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use protocol::picture;
use protocol::runner::{MAX_FILE, Picture};
use ring::digest::{SHA256, digest};

use super::shown::show;
use super::{FileError, FileResult, Scope};

/// Lines shown unless the caller says how many.
const LINES: u64 = 2000;
/// Longest line that is shown whole, in bytes.
const LINE: usize = 2000;

/// All bytes of a file, if it is not too long.
pub fn bytes(scope: &Scope<'_>, relative: &Path) -> Result<Vec<u8>, FileError> {
    let file = scope.workspace.open_file(relative)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(FileError::io(format!("reading {}", show(relative))))?;
    if bytes.len() as u64 > MAX_FILE {
        return FileError::sentence(format!(
            "{} is longer than {} MiB; look at parts of it with bash (head, tail, sed -n)",
            show(relative),
            MAX_FILE >> 20
        ));
    }
    Ok(bytes)
}

/// The present content; none where nothing or no regular file is there, which the write itself refuses.
pub fn content(scope: &Scope<'_>, place: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match scope.workspace.open_at(place, OFlag::O_PATH | OFlag::O_NOFOLLOW, Mode::empty()) {
        Ok(there) => match std::fs::File::from(there).metadata() {
            Ok(meta) if meta.is_file() => bytes(scope, place).map(Some),
            Ok(_) | Err(_) => Ok(None),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(scope.workspace.explain(place, error)),
    }
}

/// Whether these are the bytes of something that is not text.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8192)].contains(&0)
}

/// Shows a picture as such, and every other file by its lines.
pub fn shown(scope: &Scope<'_>, path: &str, from: u64, lines: u64) -> Result<FileResult, FileError> {
    let relative = scope.workspace.relative(path)?;
    let bytes = bytes(scope, &relative)?;
    let Some(seen) = picture::recognise(&bytes) else {
        return lines_of(scope, &relative, &bytes, from, lines).map(FileResult::from);
    };
    let size = format!(
        "{} is a picture: {}, {}\u{d7}{} pixels, {} bytes",
        show(&relative),
        seen.form.name(),
        seen.width,
        seen.height,
        bytes.len()
    );
    if bytes.len() as u64 > picture::MOST_BYTES || seen.width.max(seen.height) > picture::MOST_SIDE {
        let (most, side) = (picture::MOST_BYTES >> 20, picture::MOST_SIDE);
        let text = format!("[{size}; it is not shown, for that is more than {most} MiB or {side} pixels on a side]");
        return Ok(text.into());
    }
    let digest = hex::encode(digest(&SHA256, &bytes));
    let picture = Some(Picture { digest, bytes: bytes.len() as u64 });
    Ok(FileResult { text: format!("[{size}]"), picture, ..FileResult::default() })
}

/// `from`: the first line, counted from 1. `lines`: at most so many; 0 for the default. Fails only where that line is past the end.
fn lines_of(scope: &Scope<'_>, relative: &Path, bytes: &[u8], from: u64, lines: u64) -> Result<String, FileError> {
    let shown = show(relative);
    if is_binary(bytes) {
        return Ok(format!("[{shown} is binary: {} bytes]", bytes.len()));
    }
    let text = String::from_utf8_lossy(bytes);
    let total = text.lines().count() as u64;
    if total == 0 {
        return Ok(format!("[{shown} is empty]"));
    }
    let from = from.max(1);
    if from > total {
        return FileError::sentence(format!("{shown} has {total} lines; line {from} does not exist"));
    }
    let wanted = if lines == 0 { LINES } else { lines };
    let (mut out, mut next) = (String::new(), from);
    let window = text.split_inclusive('\n').skip(usize::try_from(from - 1).unwrap_or(usize::MAX));
    for line in window.take(usize::try_from(wanted).unwrap_or(usize::MAX)) {
        // A carriage return stays, so that who reads it learns how the file's lines end.
        let line = shorten(line.strip_suffix('\n').unwrap_or(line));
        if out.len() + line.len() > scope.cap.saturating_sub(200) && next > from {
            break;
        }
        // Writing to a string can't fail.
        let _ = writeln!(out, "{next:>6}\t{line}");
        next += 1;
    }
    if next <= total {
        let _ = write!(out, "[lines {from}-{} of {total}; read on with from={next}]", next - 1);
    } else if from > 1 {
        let _ = write!(out, "[lines {from}-{total} of {total}]");
    }
    Ok(out)
}

/// Shows each of the ranges in the given order, each within an equal share of the limit. One past the end is named; it fails only if all are.
pub fn read_ranges(scope: &Scope<'_>, path: &str, ranges: &[(u64, u64)]) -> Result<String, FileError> {
    let part = Scope { cap: scope.cap / ranges.len().max(1), ..*scope };
    let relative = scope.workspace.relative(path)?;
    let bytes = bytes(scope, &relative)?;
    let parts = ranges.iter().map(|&(from, lines)| lines_of(&part, &relative, &bytes, from, lines));
    let mut parts: Vec<Result<String, FileError>> = parts.collect();
    if !parts.is_empty() && parts.iter().all(Result::is_err) {
        return parts.swap_remove(0);
    }
    let texts = parts.iter().map(|shown| match shown {
        Ok(text) => text.trim_end().to_owned(),
        Err(error) => format!("[{error}]"),
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

/// A line cut to the longest that is shown, with a note about the cut.
pub fn shorten(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(LINE);
    format!("{} [... {} bytes more in this line]", &line[..end], line.len() - end)
}
