//! State that a shell of the agent leaves to its next one: the directory and the exported variables.
//!
//! Owns the state file in which it is reported (memory of fixed size that the shell inherits), how it is filled (bash writes its variables
//! itself; a plain `sh` starts `caisson-runner left`, which costs a process) and what is accepted from it. Any process of the sandbox can
//! write to the state file, which only affects where and with what variables the agent's next shell begins. Must not touch the runner's own
//! variables or operations of the host. Tests: `tests/shell.rs`.

mod declared;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::children::high;

/// Size of a state file in bytes, which writers cannot change.
const SIZE: u64 = 256 << 10;
/// The most bytes of names and values together that differ from the runner's own.
const MOST: usize = 64 << 10;
/// Variables that shells maintain themselves, or that would change how the next shell reads what precedes its command.
const NOT_CARRIED: [&str; 6] = ["PWD", "SHLVL", "_", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT"];

/// State as it is written on a state_file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Written {
    /// None if the directory was deleted.
    cwd: Option<PathBuf>,
    env: Vec<(String, String)>,
    /// Whether variables were left out because they did not fit, so that a missing one may still be set.
    cut: bool,
}

/// State that the next shell begins with.
#[derive(Debug, Default, Clone)]
pub struct ShellState {
    /// None for the workspace.
    pub cwd: Option<PathBuf>,
    /// Variables on top of the runner's own, and those of the runner's that were unset.
    pub set: BTreeMap<String, String>,
    pub unset: BTreeSet<String>,
}

/// A state file for one shell.
pub struct StateFile(File);

impl StateFile {
    /// # Errors
    /// Where the kernel has no memory with a descriptor.
    pub fn new() -> io::Result<Self> {
        let file = memory("left")?;
        file.set_len(SIZE)?;
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL))?;
        Ok(Self(file))
    }

    /// The descriptor that the shell inherits, and its number there.
    pub fn end(&self) -> io::Result<(OwnedFd, i32)> {
        end(&self.0)
    }

    /// Whether anything was written; a bash that starts writes before its command ([`bash_begins`]).
    pub fn has_begun(&self) -> bool {
        let mut first = [0];
        // What cannot be read is taken for one that began, so that nothing is forgotten.
        self.0.read_at(&mut first, 0).map_or(true, |_| first != [0])
    }

    /// The reported state; none if nothing readable was written.
    pub fn read(mut self, root: &Path) -> Option<(ShellState, Option<String>)> {
        let mut text = Vec::new();
        self.0.seek(SeekFrom::Start(0)).ok()?;
        self.0.take(SIZE).read_to_end(&mut text).ok()?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        let told = match text.first()? {
            b'{' => serde_json::from_slice(&text[..end]).ok()?,
            _ => by_bash(&text[..end])?,
        };
        Some(taken(told, root, std::env::vars().collect()))
    }
}

/// Puts a text into a file that only a bash that inherits it can read, and gives its number there.
pub fn text(text: &str) -> io::Result<(OwnedFd, i32)> {
    let mut file = memory("prelude")?;
    let (end, number) = end(&file)?;
    file.write_all(format!("exec {number}<&-\n{text}").as_bytes())?;
    Ok((end, number))
}

fn memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?))
}

/// The number under which a shell inherits the file.
fn end(file: &File) -> io::Result<(OwnedFd, i32)> {
    let end = high(file.as_fd())?;
    let number = end.as_raw_fd();
    Ok((end, number))
}

/// The command with which bash writes its state to the state file with this number; the directory comes first because it need not be exported.
pub fn bashs_words(number: i32) -> String {
    format!("{{ builtin declare -p PWD; builtin declare -px; builtin printf '\\0'; }} 1<>/proc/self/fd/{number}")
}

/// The command with which bash tells the state file with this number that it has started.
pub fn bash_begins(number: i32) -> String {
    format!("{{ builtin printf '\\1'; }} 2>/dev/null 1<>/proc/self/fd/{number}")
}

fn by_bash(text: &[u8]) -> Option<Written> {
    let mut env = declared::declared(text);
    if env.first()?.0 != "PWD" {
        return None;
    }
    let cwd = Some(PathBuf::from(env.remove(0).1));
    Some(Written { cwd, env, cut: text.len() as u64 >= SIZE })
}

/// The accepted difference from the runner's own variables, and a sentence about what was left out.
fn taken(told: Written, root: &Path, own: BTreeMap<String, String>) -> (ShellState, Option<String>) {
    let mut state = ShellState {
        cwd: told.cwd.filter(|cwd| cwd.is_absolute() && is_clean(cwd) && cwd != root),
        ..ShellState::default()
    };
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let (mut room, mut without) = (MOST, told.cut);
    for (name, value) in told.env.iter().filter(|(name, _)| is_carried(name)) {
        names.insert(name);
        if own.get(name) == Some(value) || value.contains('\0') {
            continue;
        }
        match room.checked_sub(name.len() + value.len()) {
            Some(less) => {
                room = less;
                state.set.insert(name.clone(), value.clone());
            }
            None => without = true,
        }
    }
    if !told.cut {
        state.unset = own.into_keys().filter(|name| is_carried(name) && !names.contains(name.as_str())).collect();
    }
    (state, without.then(|| format!("variables beyond {} KiB together are not carried over", MOST >> 10)))
}

fn is_clean(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&0)
}

fn is_carried(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && name.chars().all(letters)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.starts_with("CAISSON_")
        && !NOT_CARRIED.contains(&name)
}

/// The child process: writes its own directory and variables, inherited from the shell, to the state file with this number.
pub fn main(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let number: u32 =
        args.next().and_then(|word| word.into_string().ok()?.parse().ok()).context("left needs a descriptor")?;
    ensure!(args.next().is_none(), "left takes one descriptor");
    let env =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut env: Vec<(String, String)> = env.filter(|(name, _)| is_carried(name)).collect();
    // The largest variables are left out first.
    env.sort_by_key(|(name, value)| name.len() + value.len());
    let mut told = Written { cwd: std::env::current_dir().ok(), env, cut: false };
    let mut text = serde_json::to_vec(&told)?;
    while text.len() as u64 > SIZE && told.env.pop().is_some() {
        told.cut = true;
        text = serde_json::to_vec(&told)?;
    }
    text.resize(usize::try_from(SIZE)?, 0);
    OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}"))?.write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(env: &[(&str, &str)]) -> Written {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Written { cwd: Some("/ws/sub".into()), env, cut: false }
    }

    fn own() -> BTreeMap<String, String> {
        [("PATH", "/bin"), ("HOME", "/home"), ("CAISSON_WORKSPACE", "/ws"), ("PWD", "/")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn only_what_differs_and_has_a_sane_name_is_carried() {
        let (state, note) = taken(
            told(&[
                ("PATH", "/bin"),
                ("A", "1"),
                ("BASH_FUNC_f%%", "() { x; }"),
                ("2", "x"),
                ("SHLVL", "2"),
                ("NUL", "\0"),
                ("CAISSON_DISK", "0"),
            ]),
            Path::new("/ws"),
            own(),
        );
        assert_eq!(state.set.into_iter().collect::<Vec<_>>(), [("A".to_owned(), "1".to_owned())]);
        assert_eq!(state.unset.into_iter().collect::<Vec<_>>(), ["HOME"], "the runner's other names are its own");
        assert_eq!((state.cwd, note), (Some("/ws/sub".into()), None));
        for cwd in ["/ws", "relative", "/a\0b"] {
            let (state, _) = taken(Written { cwd: Some(cwd.into()), ..told(&[]) }, Path::new("/ws"), own());
            assert_eq!(state.cwd, None, "{cwd}");
        }
    }

    #[test]
    fn what_is_carried_is_bounded() {
        let long = "x".repeat(MOST - 1);
        let (state, note) =
            taken(told(&[("A", &long), ("B", "1"), ("PATH", "/bin"), ("HOME", "/home")]), Path::new("/"), own());
        assert_eq!(state.set.keys().collect::<Vec<_>>(), ["A"]);
        assert!(note.is_some_and(|note| note.contains("64 KiB")));
        let (state, note) = taken(Written { cut: true, ..told(&[]) }, Path::new("/"), own());
        assert!(state.unset.is_empty() && note.is_some(), "what is not told of may still be set");
    }

    #[test]
    fn nonsense_on_a_sheet_is_nothing() {
        for text in [&b""[..], b"\0\0", b"{", b"[1]", &[0xff; 300 << 10]] {
            let state_file = StateFile::new().expect("a state file");
            // More than a state file holds is refused.
            let _ = (&state_file.0).write(text);
            assert!(state_file.read(Path::new("/")).is_none());
        }
        let state_file = StateFile::new().expect("a state file");
        assert!((&state_file.0).write_all(&[1; 257 << 10]).is_err(), "it never grows");
    }
}
