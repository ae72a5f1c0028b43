//! Paths that stay in the workspace.
//!
//! A path is normalised as text, then opened by the kernel beneath the workspace's own descriptor (`openat2`). Where that call does not
//! exist or is filtered, each component is opened without following links.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::{Mode, mkdirat};

use super::shown::show;
use super::{FileError, suggest};

/// Deepest nesting that is made or deleted, because each level takes some stack of PID 1, and a descriptor while it is deleted.
pub const DEEPEST: usize = 200;

pub struct Workspace {
    root: PathBuf,
    fd: OwnedFd,
    /// Whether a walk leaves out what files of rules match.
    rules: bool,
}

impl Workspace {
    /// # Errors
    /// If `root` is no directory that can be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let fd = nix::fcntl::open(&root, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self { root, fd, rules: true })
    }

    /// A root that is no link itself and in which no files of rules apply; the directories above it must not be movable by the sandbox.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn unlinked(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.to_owned(), fd: crate::log::opened(root)?, rules: false })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn has_rules(&self) -> bool {
        self.rules
    }

    /// `path` relative to the workspace, without `.` and `..`; empty for the workspace itself.
    pub fn relative(&self, path: &str) -> Result<PathBuf, FileError> {
        let outside = || FileError::sentence(format!("{path} lies outside the workspace {}", self.root.display()));
        if path.contains('\0') {
            return FileError::sentence("a path can't hold a zero byte");
        }
        let given = Path::new(path);
        let inside = if given.is_absolute() {
            match given.strip_prefix(&self.root) {
                Ok(inside) => inside,
                Err(_) => return outside(),
            }
        } else {
            given
        };
        let mut normal = PathBuf::new();
        for part in inside.components() {
            match part {
                Component::Normal(name) => normal.push(name),
                Component::CurDir => {}
                Component::ParentDir if normal.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return outside(),
            }
        }
        Ok(normal)
    }

    /// Opens a path returned by [`Workspace::relative`]; never blocks on a pipe nor takes a controlling terminal.
    pub fn open_at(&self, relative: &Path, flags: OFlag, mode: Mode) -> io::Result<OwnedFd> {
        let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        // `O_PATH` opens nothing, and the kernel refuses these flags with it.
        let calm = if flags.contains(OFlag::O_PATH) { OFlag::empty() } else { OFlag::O_NOCTTY | OFlag::O_NONBLOCK };
        let flags = flags | OFlag::O_CLOEXEC | calm;
        // The kernel refuses a mode where nothing is created.
        let mode = if flags.contains(OFlag::O_CREAT) { mode } else { Mode::empty() };
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        match openat2(&self.fd, path, OpenHow::new().flags(flags).mode(mode).resolve(resolve)) {
            Err(Errno::ENOSYS | Errno::EPERM) => self.open_by_component(path, flags, mode),
            opened => Ok(opened?),
        }
    }

    /// Fallback without `openat2`, which follows no link at all.
    fn open_by_component(&self, path: &Path, flags: OFlag, mode: Mode) -> io::Result<OwnedFd> {
        let mut at = self.fd.as_fd().try_clone_to_owned()?;
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return Ok(openat(&at, part.as_os_str(), flags | OFlag::O_NOFOLLOW, mode)?);
            }
            let step = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            at = openat(&at, part.as_os_str(), step, Mode::empty())?;
        }
        Ok(at)
    }

    /// Opens a regular file for reading; the error names what is there instead.
    pub fn open_file(&self, relative: &Path) -> Result<File, FileError> {
        let fd =
            self.open_at(relative, OFlag::O_RDONLY, Mode::empty()).map_err(|error| self.explain(relative, error))?;
        let file = File::from(fd);
        let kind = file.metadata().map_err(FileError::io("looking at the file"))?.file_type();
        if kind.is_dir() {
            return FileError::sentence(format!("{} is a directory; list_files shows what is in it", show(relative)));
        }
        if !kind.is_file() {
            return FileError::sentence(format!("{} is no regular file", show(relative)));
        }
        Ok(file)
    }

    /// Opens the parent directory of `relative`, creating it and its parents if `make`.
    pub fn open_parent(&self, relative: &Path, make: bool) -> Result<OwnedFd, FileError> {
        let parent = relative.parent().unwrap_or(Path::new(""));
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        match self.open_at(parent, flags, Mode::empty()) {
            Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
                if parent.components().count() > DEEPEST {
                    return FileError::sentence(format!("more than {DEEPEST} directories in each other are not made"));
                }
                let above = self.open_parent(parent, true)?;
                let name = parent.file_name().unwrap_or_default();
                match mkdirat(&above, name, Mode::from_bits_truncate(0o777)) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(error) => return Err(self.explain(parent, error.into())),
                }
                self.open_at(parent, flags, Mode::empty()).map_err(|error| self.explain(parent, error))
            }
            opened => opened.map_err(|error| self.explain(parent, error)),
        }
    }

    /// A sentence about a path that could not be opened.
    pub fn explain(&self, relative: &Path, error: io::Error) -> FileError {
        let shown = show(relative);
        match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
            Errno::ENOENT => FileError::Sentence(suggest::missing(self.root(), relative, self.rules)),
            Errno::EXDEV | Errno::ELOOP => FileError::Sentence(format!(
                "{shown} leads through a symbolic link that is absolute or leaves the workspace; links are not followed out of it"
            )),
            Errno::ENOTDIR => FileError::Sentence(format!("a part of {shown} is a file and not a directory")),
            Errno::EISDIR => FileError::Sentence(format!("{shown} is a directory")),
            Errno::EACCES => FileError::Sentence(format!("{shown} may not be accessed: permission denied")),
            Errno::ENAMETOOLONG => FileError::Sentence(format!("a name in {shown} is too long")),
            _ => FileError::Io { what: shown, error },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("src")).expect("src");
        std::fs::write(dir.path().join("src/a.txt"), "inside").expect("a file");
        symlink("/etc/hostname", dir.path().join("absolute")).expect("a link");
        symlink("../../etc", dir.path().join("out")).expect("a link");
        symlink("src/a.txt", dir.path().join("in")).expect("a link");
        let workspace = Workspace::open(dir.path()).expect("a workspace");
        (dir, workspace)
    }

    #[test]
    fn paths_are_normalised_and_may_not_leave() {
        let (_dir, workspace) = workspace();
        let absolute = workspace.root().join("src/./b").display().to_string();
        for (path, wanted) in [("", ""), (".", ""), ("src/../x", "x"), ("./a//b", "a/b"), (absolute.as_str(), "src/b")]
        {
            assert_eq!(workspace.relative(path).expect(path), Path::new(wanted));
        }
        for path in ["..", "a/../../b", "/etc/passwd", "/", "a\0b"] {
            assert!(workspace.relative(path).is_err(), "{path}");
        }
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let (_dir, workspace) = workspace();
        assert!(workspace.open_file(Path::new("in")).is_ok());
        for path in ["absolute", "out/passwd"] {
            let error = workspace.open_file(Path::new(path)).expect_err(path).to_string();
            assert!(error.contains("symbolic link"), "{error}");
        }
    }

    #[test]
    fn without_openat2_no_link_is_followed() {
        let (_dir, workspace) = workspace();
        let open = |path: &str| workspace.open_by_component(Path::new(path), OFlag::O_RDONLY, Mode::empty());
        assert!(open("src/a.txt").is_ok());
        for path in ["in", "absolute", "out/passwd"] {
            assert!(open(path).is_err(), "{path}");
        }
    }

    #[test]
    fn directories_in_directories_are_not_made_without_end() {
        let (_dir, workspace) = workspace();
        let make = |levels: usize| workspace.open_parent(Path::new(&("d/".repeat(levels) + "file")), true);
        let error = make(DEEPEST + 1).expect_err("refused").to_string();
        assert!(error.contains("more than 200 directories") && !workspace.root().join("d").exists(), "{error}");
        assert!(make(DEEPEST).is_ok());
    }

    #[test]
    fn a_named_pipe_does_not_block() {
        let (dir, workspace) = workspace();
        nix::unistd::mkfifo(&dir.path().join("pipe"), Mode::S_IRWXU).expect("a pipe");
        let error = workspace.open_file(Path::new("pipe")).expect_err("no file").to_string();
        assert!(error.contains("no regular file"), "{error}");
    }
}
