//! Writes a file as a whole: to a temporary file beside it, then renamed, so that a full disk leaves the old content.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, readlinkat, renameat, renameat2};
use nix::sys::stat::{Mode, SFlag, fchmod, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::shown::show;
use super::{FileError, FileResult, Scope, read};
use crate::written::Written;

pub fn write_file(scope: &Scope<'_>, path: &str, content: &str) -> Result<FileResult, FileError> {
    let relative = scope.workspace.relative(path)?;
    // The old content is only needed to find new mistakes; anything but a regular file is refused below.
    let before = read::content(scope, &relative);
    let existed = replace(scope, &relative, content.as_bytes(), true)?;
    let what = if existed { "replaced" } else { "made" };
    let lines = content.lines().count();
    let text = format!("{what} {}: {lines} lines, {} bytes", show(&relative), content.len());
    let written = before.ok().and_then(|before| Written::new(show(&relative), before, content));
    Ok(FileResult { text, written: written.into_iter().collect(), picture: None })
}

/// Writes `content` to `relative`; true if a file was there before, whose mode is kept.
pub fn replace(scope: &Scope<'_>, relative: &Path, content: &[u8], make_parents: bool) -> Result<bool, FileError> {
    put(scope, relative, content, (make_parents, false))
}

/// Writes `content` to a new file, with its parent directories; an error where anything has its path, even if that came a moment ago.
pub fn make(scope: &Scope<'_>, relative: &Path, content: &[u8]) -> Result<(), FileError> {
    put(scope, relative, content, (true, true)).map(drop)
}

/// Whether anything has this path: a file, a directory or a link, wherever that leads.
pub fn is_there(scope: &Scope<'_>, relative: &Path) -> Result<bool, FileError> {
    match scope.workspace.open_at(relative, OFlag::O_PATH | OFlag::O_NOFOLLOW, Mode::empty()) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(scope.workspace.explain(relative, error)),
    }
}

fn put(
    scope: &Scope<'_>,
    relative: &Path,
    content: &[u8],
    (make_parents, only_new): (bool, bool),
) -> Result<bool, FileError> {
    let Some(name) = relative.file_name() else {
        return FileError::sentence("the workspace itself is a directory; name a file in it");
    };
    let parent = scope.workspace.open_parent(relative, make_parents)?;
    let mode = existing_mode(&parent, name, relative)?;
    let mut suffix = [0; 8];
    getrandom::fill(&mut suffix).map_err(|error| FileError::Sentence(format!("no random bytes: {error}")))?;
    let beside = format!(".caisson-{}.tmp", hex::encode(suffix));
    let rename = || match only_new {
        true => renameat2(&parent, beside.as_str(), &parent, name, RenameFlags::RENAME_NOREPLACE),
        false => renameat(&parent, beside.as_str(), &parent, name),
    };
    let written = write_beside(&parent, &beside, content, mode).and_then(|()| rename().map_err(std::io::Error::from));
    if let Err(error) = written {
        // The temporary file may not have been created.
        let _ = unlinkat(&parent, beside.as_str(), UnlinkatFlags::NoRemoveDir);
        return Err(match error.kind() {
            std::io::ErrorKind::StorageFull => FileError::Io { what: format!("writing {}", show(relative)), error },
            std::io::ErrorKind::AlreadyExists if only_new => FileError::Sentence(only_to_be_made(&[show(relative)])),
            _ => scope.workspace.explain(relative, error),
        });
    }
    Ok(mode.is_some())
}

/// The reason why none of the files is written, of which these are there.
pub fn only_to_be_made(there: &[String]) -> String {
    let are = if there.len() == 1 { "is" } else { "are" };
    format!("{} {are} there already and may only be made new", there.join(", "))
}

/// The mode of the file that is there, if one is. Anything but a regular file is refused.
fn existing_mode(parent: &OwnedFd, name: &OsStr, relative: &Path) -> Result<Option<Mode>, FileError> {
    let shown = show(relative);
    let stat = match fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::ENOENT) => return Ok(None),
        Err(error) => return Err(FileError::Io { what: shown, error: error.into() }),
    };
    match SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFREG => Ok(Some(Mode::from_bits_truncate(stat.st_mode))),
        SFlag::S_IFDIR => FileError::sentence(format!("{shown} is a directory")),
        SFlag::S_IFLNK => {
            let target = readlinkat(parent, name).unwrap_or_default();
            FileError::sentence(format!("{shown} is a symbolic link to {}; name that file instead", target.display()))
        }
        _ => FileError::sentence(format!("{shown} is no regular file")),
    }
}

fn write_beside(parent: &OwnedFd, name: &str, content: &[u8], mode: Option<Mode>) -> std::io::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(parent, name, flags, Mode::from_bits_truncate(0o666))?);
    file.write_all(content)?;
    if let Some(mode) = mode {
        fchmod(&file, mode)?;
    }
    Ok(())
}
