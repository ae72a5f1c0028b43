//! Computes one hash over the sources of the runner, this crate and `locate`, from which a runner of another build is recognised. Owns
//! nothing else. Tests: `src/runner.rs`.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// FNV-1a, which is enough because nobody attacks this hash.
fn hash(so_far: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(so_far, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn main() {
    let mut found = Vec::new();
    for folder in ["src", "../runner/src", "../locate/src"] {
        println!("cargo::rerun-if-changed={folder}");
        sources(Path::new(folder), &mut found);
    }
    found.sort();
    let build = found.iter().fold(0xcbf2_9ce4_8422_2325, |so_far, path| {
        let named = hash(so_far, path.to_string_lossy().as_bytes());
        hash(named, &std::fs::read(path).unwrap_or_default())
    });
    println!("cargo::rustc-env=CAISSON_RUNNER_BUILD={build:016x}");
}
