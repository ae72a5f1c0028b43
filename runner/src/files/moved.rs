//! Moving and deleting inside the workspace: never the workspace itself, git's own directory, or anything through a link.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::path::DEEPEST;
use super::shown::show;
use super::{FileError, Scope};

/// A path that may be moved or deleted, with its parent directory.
struct PathWithParent {
    relative: PathBuf,
    parent: OwnedFd,
}

impl PathWithParent {
    fn of(scope: &Scope<'_>, path: &str, make_parents: bool) -> Result<Self, FileError> {
        let relative = scope.workspace.relative(path)?;
        if relative.file_name().is_none() {
            return FileError::sentence("the workspace itself stays where it is");
        }
        if relative.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            return FileError::sentence(format!("{} belongs to git itself; it stays as it is", show(&relative)));
        }
        let parent = scope.workspace.open_parent(&relative, make_parents)?;
        Ok(Self { relative, parent })
    }

    fn name(&self) -> &OsStr {
        self.relative.file_name().unwrap_or_default()
    }

    /// Whether it is a directory; a link to a directory is none.
    fn is_directory(&self, scope: &Scope<'_>) -> Result<bool, FileError> {
        let stat = fstatat(&self.parent, self.name(), AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_err(|error| scope.workspace.explain(&self.relative, error.into()))?;
        Ok(SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFDIR)
    }
}

/// Moves a file or a directory; parents of the new path are created.
pub fn move_file(scope: &Scope<'_>, from: &str, to: &str) -> Result<String, FileError> {
    let from = PathWithParent::of(scope, from, false)?;
    let directory = from.is_directory(scope)?;
    let to = PathWithParent::of(scope, to, true)?;
    let (old, new) = (show(&from.relative), show(&to.relative));
    match renameat2(&from.parent, from.name(), &to.parent, to.name(), RenameFlags::RENAME_NOREPLACE) {
        Ok(()) => Ok(format!("moved {old} to {new}")),
        Err(Errno::EEXIST) => {
            FileError::sentence(format!("{new} is there already; name the whole new path, or delete that first"))
        }
        Err(Errno::EINVAL) if directory && to.relative.starts_with(&from.relative) => {
            FileError::sentence(format!("{old} can't be moved into itself"))
        }
        // A directory of the tree below a layered workspace can't be renamed as a whole.
        Err(Errno::EXDEV) => FileError::sentence(format!("{old} can't be renamed here as a whole; use bash: mv")),
        Err(error) => Err(scope.workspace.explain(&from.relative, error.into())),
    }
}

/// Deletes a file, or with `recursive` a directory with its contents. Of a link only the link is deleted.
pub fn delete_file(scope: &Scope<'_>, path: &str, recursive: bool) -> Result<String, FileError> {
    let place = PathWithParent::of(scope, path, false)?;
    let shown = show(&place.relative);
    if !place.is_directory(scope)? {
        unlinkat(&place.parent, place.name(), UnlinkatFlags::NoRemoveDir)
            .map_err(|error| scope.workspace.explain(&place.relative, error.into()))?;
        return Ok(format!("deleted {shown}"));
    }
    if !recursive {
        return FileError::sentence(format!(
            "{shown} is a directory; set `recursive` to delete it with all that is in it"
        ));
    }
    // Deleted relative to the parent's descriptor, so that a path changed meanwhile cannot lead elsewhere.
    empty(scope, &place.parent, place.name(), (&shown, 0))?;
    Ok(format!("deleted {shown} with all that was in it"))
}

/// Deletes a directory with its contents until it is stopped. No link is followed.
fn empty(scope: &Scope<'_>, parent: &OwnedFd, name: &OsStr, (shown, depth): (&str, usize)) -> Result<(), FileError> {
    if depth > DEEPEST {
        return FileError::sentence(format!("{shown} holds directories in directories without end; use bash: rm -r"));
    }
    let failed = |error: Errno| FileError::io(format!("deleting {shown}"))(error.into());
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let held = openat(parent, name, flags, Mode::empty()).map_err(failed)?;
    let again = held.try_clone().map_err(FileError::io(format!("deleting {shown}")))?;
    // All names are collected first, because a directory that changes while it is read may skip some.
    let names = Dir::from_fd(again).map_err(failed)?.iter().collect::<Result<Vec<_>, _>>().map_err(failed)?;
    for entry in names {
        scope.go_on()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        match unlinkat(&held, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(Errno::EISDIR | Errno::EPERM) => empty(scope, &held, name, (shown, depth + 1))?,
            Err(error) => return Err(failed(error)),
        }
    }
    unlinkat(parent, name, UnlinkatFlags::RemoveDir).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tokio_util::sync::CancellationToken;

    use super::super::Workspace;
    use super::*;

    #[test]
    fn what_is_no_tools_to_take_away_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("work");
        fs::create_dir_all(root.join(".git/refs")).expect("directories");
        fs::create_dir_all(root.join("sub/.git")).expect("directories");
        fs::create_dir_all(dir.path().join("outside/deep")).expect("directories");
        fs::write(dir.path().join("outside/kept"), "kept").expect("a file");
        fs::write(root.join("a"), "a").expect("a file");
        fs::write(root.join("b"), "b").expect("a file");
        symlink("../outside", root.join("out")).expect("a link");
        let workspace = Workspace::open(&root).expect("a workspace");
        let stop = CancellationToken::new();
        let scope = Scope { workspace: &workspace, cap: 1000, stop: &stop };
        for path in [
            "",
            ".",
            "sub/..",
            ".git",
            ".git/refs",
            ".GIT",
            "sub/.git",
            "..",
            "/etc",
            "out/deep",
            "out/kept",
            "nowhere",
        ] {
            let gone = delete_file(&scope, path, true).map_err(|error| error.to_string());
            let moved = move_file(&scope, path, "c/d").map_err(|error| error.to_string());
            assert!(gone.is_err() && moved.is_err(), "{path}: {gone:?} {moved:?}");
        }
        for to in ["", ".git/hooks/pre-commit", "../x", "out/x", "b", "sub"] {
            assert!(move_file(&scope, "a", to).is_err(), "{to}");
        }
        assert!(move_file(&scope, "sub", "sub/in").expect_err("refused").to_string().contains("into itself"));
        assert!(delete_file(&scope, "sub", false).expect_err("refused").to_string().contains("set `recursive`"));
        let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file");
        assert_eq!((read("a"), read("b"), read("out/kept")), ("a".into(), "b".into(), "kept".into()));
        assert!(root.join(".git/refs").is_dir() && dir.path().join("outside/deep").is_dir());
        // A stopped deletion, and a tree that is too deep: what is left stays.
        let deep = (0..=DEEPEST + 1).fold(root.join("deep"), |path, _| path.join("d"));
        fs::create_dir_all(&deep).expect("directories");
        let refused = delete_file(&scope, "deep", true).expect_err("refused");
        assert!(refused.to_string().contains("without end") && deep.is_dir(), "{refused}");
        let stopped = CancellationToken::new();
        stopped.cancel();
        let late = Scope { workspace: &workspace, cap: 1000, stop: &stopped };
        assert!(delete_file(&late, "sub", true).is_err() && root.join("sub/.git").is_dir());
        // A link is deleted, not its target, also inside of a deleted directory.
        symlink("../../outside", root.join("sub/out")).expect("a link");
        assert_eq!(delete_file(&scope, "sub", true).expect("deleted"), "deleted sub with all that was in it");
        assert_eq!(delete_file(&scope, "out", true).expect("deleted"), "deleted out");
        assert!(dir.path().join("outside/kept").exists() && !root.join("sub").exists());
    }
}
