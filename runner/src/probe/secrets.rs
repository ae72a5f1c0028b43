//! Things that must not be in the sandbox: planted secrets, variables and values that look like credentials, setuid programs.

use std::fs::{File, Metadata, read_dir};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use protocol::probe::{CANARY, Finding};

use super::files::Mounts;

const NAMES: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "PRIVATE_KEY", "DOCKER_HOST", "CONTAINER_HOST"];
const BEGINNINGS: &[&str] = &["ghp_", "github_pat_", "glpat-", "sk-", "AKIA", "xoxb-", "xoxp-", "eyJ", "-----BEGIN"];
/// Directories of the image's programs and the runner.
const SKIPPED: &[&str] = &["/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt/caisson"];
/// Size in bytes above which files are not searched for secrets, and the most files that are.
const LARGEST: u64 = 256 << 10;
const MOST: u32 = 20_000;

struct Walk {
    needle: Vec<u8>,
    searched: u32,
    found: Vec<String>,
    setuid: u32,
}

pub fn look(out: &mut Vec<Finding>) {
    let mut walk = Walk { needle: CANARY.concat().into_bytes(), searched: 0, found: Vec::new(), setuid: 0 };
    for root in Mounts::read().roots() {
        match root.symlink_metadata() {
            Ok(found) if found.is_dir() => walk.below(&root, found.dev()),
            Ok(found) => walk.file(&root, &found),
            Err(_) => {}
        }
    }
    let odd: Vec<String> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .filter(|(name, value)| looks_secret(&name.to_uppercase(), value) || contains(value.as_bytes(), &walk.needle))
        .map(|(name, _)| name)
        .collect();
    out.push(Finding::new(25, "variables like credentials", some(&odd)));
    out.push(Finding::new(25, "files with a planted secret", some(&walk.found)));
    // With `no_new_privs` a setuid program gains nothing.
    let useless = walk.setuid == 0 || nix::sys::prctl::get_no_new_privs().unwrap_or(false);
    let seen = if useless { "none".to_owned() } else { format!("{} programs", walk.setuid) };
    out.push(Finding::new(26, "programs with setuid that gain something", seen));
}

fn some(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

fn looks_secret(name: &str, value: &str) -> bool {
    NAMES.iter().any(|word| name.contains(word))
        || BEGINNINGS.iter().any(|it| value.starts_with(it) && value.len() > 12)
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|window| window == needle)
}

impl Walk {
    /// Walks one file system without following links.
    fn below(&mut self, directory: &Path, device: u64) {
        let Ok(entries) = read_dir(directory) else { return };
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() && found.dev() == device {
                self.below(&entry.path(), device);
            } else if found.is_file() && found.dev() == device {
                self.file(&entry.path(), &found);
            }
        }
    }

    fn file(&mut self, path: &Path, found: &Metadata) {
        self.setuid += u32::from(found.permissions().mode() & 0o6000 != 0);
        let skipped = SKIPPED.iter().any(|it| path.starts_with(it));
        if skipped || !found.is_file() || found.len() > LARGEST || self.searched >= MOST {
            return;
        }
        self.searched += 1;
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
        if read.is_ok() && contains(&bytes, &self.needle) {
            self.found.push(path.display().to_string());
        }
    }
}
