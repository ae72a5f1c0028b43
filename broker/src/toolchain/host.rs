//! Finds the toolchains of the machine that `caisson image build --from-host` runs on, and the parts that go into an image.
//!
//! Runs the programs found by the caller's `PATH`. Must not take parts of `/usr` that Debian's packages own, which would not run elsewhere.
//! Tests: below and `tests/docker/brought.rs`.

use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::kept;
use super::kind::{OfficialToolchain, suits, version_in};

/// A toolchain of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostToolchain {
    /// Absolute path of its directory, without symbolic links.
    pub dir: PathBuf,
    /// Version that its compiler or interpreter reports, such as `1.95.0`.
    pub version: String,
    /// Parts of the directory that are copied, relative to it.
    parts: Vec<&'static str>,
    /// Whether links are replaced by their targets, because the toolchain is spread over several places.
    follow: bool,
}

/// The toolchain of that version, otherwise the default one here; `Err` lists what was tried.
pub fn find(kind: OfficialToolchain, wanted: Option<&str>) -> Result<HostToolchain, String> {
    let mut seen = Vec::new();
    for dir in places(kind.name) {
        let Ok(dir) = dir.canonicalize() else { continue };
        let Some(found) = look(kind.name, &dir) else { continue };
        let fits = wanted.is_none_or(|wanted| suits(wanted, &found.version));
        let system = kind.name != "node" && [Path::new("/usr"), Path::new("/usr/local")].contains(&dir.as_path());
        if fits && !system {
            return Ok(found);
        }
        let why = if system { ", a part of the system" } else { "" };
        seen.push(format!("{} in {}{why}", found.version, dir.display()));
    }
    seen.dedup();
    let wanted = wanted.map(|it| format!(" {it}")).unwrap_or_default();
    let there = if seen.is_empty() { "none was found".to_owned() } else { format!("there is {}", seen.join(", ")) };
    Err(format!("this machine has no {}{wanted} that can be copied: {there}", kind.name))
}

/// Possible directories of a toolchain, the default one first.
fn places(name: &str) -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let of = |variable: &str, usual: &str| std::env::var_os(variable).map_or_else(|| home.join(usual), PathBuf::from);
    let path = |said: Option<String>| said.map(PathBuf::from);
    let (used, more) = match name {
        "rust" => {
            (path(says("rustc", &["--print", "sysroot"])), below(&of("RUSTUP_HOME", ".rustup").join("toolchains")))
        }
        "go" => {
            let more = [below(&home.join("sdk")), vec![PathBuf::from("/usr/local/go")]].concat();
            (path(says("go", &["env", "GOROOT"])), more)
        }
        "node" => {
            let program = path(says("node", &["-p", "process.execPath"]));
            let prefix = program.and_then(|it| Some(it.parent()?.parent()?.to_owned()));
            (prefix, below(&of("NVM_DIR", ".nvm").join("versions/node")))
        }
        "python" => {
            let used = says("python3", &["-c", "import sys; print(sys.base_prefix)"]);
            (path(used), below(&of("PYENV_ROOT", ".pyenv").join("versions")))
        }
        "java" => {
            let told = says("java", &["-XshowSettings:properties", "-version"]).unwrap_or_default();
            let home = told.lines().find_map(|line| line.trim().strip_prefix("java.home = ").map(PathBuf::from));
            (std::env::var_os("JAVA_HOME").map(PathBuf::from).or(home), below(Path::new("/usr/lib/jvm")))
        }
        _ => (None, Vec::new()),
    };
    used.into_iter().chain(more).collect()
}

fn look(name: &str, dir: &Path) -> Option<HostToolchain> {
    let (program, word, parts, follow): (_, _, &[&str], _) = match name {
        "rust" => ("bin/rustc", "--version", &["."], false),
        "go" => ("bin/go", "version", &["."], true),
        "node" => {
            let parts: &[&str] = &[
                "bin/node",
                "bin/npm",
                "bin/npx",
                "bin/corepack",
                "lib/node_modules/npm",
                "lib/node_modules/corepack",
                "include/node",
            ];
            ("bin/node", "--version", parts, false)
        }
        "python" => ("bin/python3", "--version", &["."], false),
        // A runtime without a compiler is not enough.
        "java" => ("bin/javac", "-version", &["."], true),
        _ => return None,
    };
    let version = version_in(&says(dir.join(program).to_str()?, &[word])?)
        // Java prints `javac 17` for a first release.
        .filter(|it| !it.is_empty())?;
    let parts = parts.iter().copied().filter(|part| dir.join(part).symlink_metadata().is_ok()).collect();
    Some(HostToolchain { dir: dir.to_owned(), version, parts, follow })
}

impl HostToolchain {
    /// The command that writes its files as an archive, under the name `toolchain` and owned by root.
    pub fn archive(&self) -> std::io::Result<Command> {
        let mut names = tempfile::tempfile()?;
        names.write_all(&kept::list(&self.dir, &self.parts, self.follow))?;
        names.rewind()?;
        let mut tar = Command::new("tar");
        tar.args([
            "-c",
            "-f",
            "-",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mode=a+rX,u+w,go-w",
            "--ignore-failed-read",
        ]);
        tar.args(["--transform=flags=rh;s,^,toolchain/,", "-C"]).arg(&self.dir);
        if self.follow {
            tar.arg("-h");
        }
        tar.args(["--no-recursion", "--null", "--files-from=-"]).stdin(names);
        Ok(tar)
    }
}

/// Subdirectories, sorted by name in descending order.
fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    all.sort();
    all.reverse();
    all
}

/// Output of a program that succeeds; run in `/`, where no project's file chooses another version.
fn says(program: &str, words: &[&str]) -> Option<String> {
    let out = Command::new(program)
        .args(words)
        .current_dir("/")
        .env("GOTOOLCHAIN", "local")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let both = [out.stdout, out.stderr].concat();
    out.status.success().then(|| String::from_utf8_lossy(&both).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::kind;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_runs_is_found_with_its_version_and_what_does_not_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let made = |part: &str, text: &str| {
            let path = dir.path().join(part);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        assert_eq!(look("node", dir.path()), None);
        made("bin/node", "#!/bin/sh\necho v20.1.0\n");
        made("bin/npm", "");
        made("share/private", "");
        let found = look("node", dir.path()).unwrap();
        assert_eq!((found.version.as_str(), &found.parts[..]), ("20.1.0", &["bin/node", "bin/npm"][..]));
        let listed = found.archive().unwrap().output().unwrap();
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        assert!(names.contains("toolchain/bin/npm") && !names.contains("private"), "what is beside it stays here");
        std::fs::set_permissions(dir.path().join("bin/npm"), PermissionsExt::from_mode(0o700)).unwrap();
        let listed = look("node", dir.path()).unwrap().archive().unwrap().output().unwrap();
        assert!(!String::from_utf8_lossy(&listed.stdout).contains("bin/npm"), "its owner alone may read it");
        made("bin/node", "#!/bin/sh\nexit 1\n");
        assert_eq!(look("node", dir.path()), None);
    }

    #[test]
    fn a_version_nobody_has_is_refused_with_what_there_is() {
        let said = find(kind("python").unwrap(), Some("1.4")).unwrap_err();
        assert!(said.contains("no python 1.4 that can be copied"), "{said}");
    }
}
