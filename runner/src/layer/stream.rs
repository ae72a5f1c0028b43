//! Writes the stream for `git fast-import`: one commit of the named files of the workspace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::attributes::Attributes;
use super::entry::{entry_at, is_content};
use super::names::Names;
use super::opened;

/// The branch that the stream makes.
const BRANCH: &str = "refs/heads/taken";

/// Writes the stream; it ends with `done`, or with an error before that.
///
/// # Errors
/// What cannot be read, and what git might store differently.
pub fn write(workspace: &Path, base: &str, names: &Names, out: &mut dyn Write) -> anyhow::Result<()> {
    let attributes =
        names.known.iter().chain(&names.new).find(|path| path.file_name().is_some_and(|name| name == ".gitattributes"));
    ensure!(attributes.is_none(), "attributes changed");
    write!(out, "commit {BRANCH}\ncommitter x <x> 0 +0000\ndata 0\nfrom {base}\n")?;
    let mut there = Vec::new();
    // Deletions first, so that a directory may replace a file.
    for path in &names.known {
        match entry_at(workspace, path)?.filter(|found| !found.is_dir()) {
            Some(found) if is_content(&found) => there.push((path, found)),
            Some(_) => bail!("{}: neither a file nor a link", path.display()),
            None => {
                out.write_all(b"D ")?;
                out.write_all(&quoted(path))?;
                out.write_all(b"\n")?;
            }
        }
    }
    for path in &names.new {
        // Git ignores new entries of any other kind.
        there.extend(entry_at(workspace, path)?.filter(is_content).map(|found| (path, found)));
    }
    let mut attributes = Attributes::new(workspace);
    for (path, found) in there {
        write_content(workspace, path, &found, &mut attributes, out)?;
    }
    out.write_all(b"\ndone\n")?;
    Ok(())
}

fn write_content(
    workspace: &Path,
    path: &Path,
    found: &Metadata,
    attributes: &mut Attributes<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let at = workspace.join(path);
    let mode = match (found.is_symlink(), found.mode() & 0o100 != 0) {
        (true, _) => "120000",
        (_, true) => "100755",
        (_, false) => "100644",
    };
    write!(out, "M {mode} inline ")?;
    out.write_all(&quoted(path))?;
    if found.is_symlink() {
        let target = std::fs::read_link(&at).with_context(|| at.display().to_string())?;
        let target = target.as_os_str().as_bytes();
        write!(out, "\ndata {}\n", target.len())?;
        out.write_all(target)?;
    } else {
        write!(out, "\ndata {}\n", found.len())?;
        let turned = attributes.speak_about(path)?;
        copy(&at, found.len(), turned, out)?;
    }
    out.write_all(b"\n")?;
    Ok(())
}

/// Copies exactly `length` bytes of a file; `turned` tells that git may convert carriage returns in it, which is an error.
fn copy(path: &Path, length: u64, turned: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut file = opened(path)?.take(length);
    let (mut part, mut copied) = (vec![0; 1 << 16], 0_u64);
    loop {
        let count = file.read(&mut part).with_context(|| path.display().to_string())?;
        if count == 0 {
            break;
        }
        ensure!(!(turned && part[..count].contains(&b'\r')), "{}: ends of lines that git may turn", path.display());
        out.write_all(&part[..count])?;
        copied += count as u64;
    }
    ensure!(copied == length, "{} became shorter", path.display());
    Ok(())
}

/// The names, one per line; a name that would break the line is quoted.
pub fn lines(names: &BTreeSet<OsString>) -> Vec<u8> {
    let odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'"' | b'\\');
    let mut out = Vec::new();
    for name in names {
        let plain = name.as_bytes();
        out.extend(if plain.iter().any(odd) { quoted(Path::new(name)) } else { plain.to_vec() });
        out.push(b'\n');
    }
    out
}

/// A path quoted for `git fast-import`, whatever bytes it has.
fn quoted(path: &Path) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => out.push(byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    out
}
