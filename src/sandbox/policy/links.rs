//! Where symbolic links lead: within the tree, or outside of it.
//!
//! Owns the resolution of a target through other links of the tree, as a kernel does it; checking the target's text is not enough. Tests:
//! `tests.rs`.

use std::collections::{HashMap, HashSet};

use super::names::{fold, shown};

/// Number of links that a kernel follows at most.
const HOPS: usize = 40;
/// Longest target, in bytes.
const LONGEST: usize = 1024;

/// Why this link is not allowed, if it, or a link on its way, is among the `changed` paths.
pub fn escapes(
    path: &[u8],
    target: &[u8],
    links: &HashMap<Vec<u8>, Vec<u8>>,
    changed: &HashSet<&[u8]>,
) -> Option<String> {
    let mut through = vec![path.to_vec()];
    let why = walk(path, target, links, &mut through).err()?;
    let ours = through.iter().any(|link| changed.contains(link.as_slice()));
    ours.then(|| format!("the link {} → {} {why}", shown(path), shown(target)))
}

/// The path of the tree to which a link leads in the end, empty for the root; none if that is nowhere in the tree.
pub fn resolved(path: &[u8], target: &[u8], links: &HashMap<Vec<u8>, Vec<u8>>) -> Option<Vec<u8>> {
    walk(path, target, links, &mut Vec::new()).ok()
}

/// Where a link leads, or why that is nowhere in the tree; `through` gets each further link on its way.
fn walk(
    path: &[u8],
    target: &[u8],
    links: &HashMap<Vec<u8>, Vec<u8>>,
    through: &mut Vec<Vec<u8>>,
) -> Result<Vec<u8>, &'static str> {
    if target.is_empty() || target.len() > LONGEST || target.contains(&0) {
        return Err("has no usable target");
    }
    if std::str::from_utf8(target).is_err() || target.iter().any(|b| b.is_ascii_control()) {
        return Err("has a target with hidden or broken characters");
    }
    let mut at: Vec<Vec<u8>> = parts(path);
    at.pop();
    let mut todo: Vec<Vec<u8>> = Vec::new();
    push(&mut todo, target);
    if leaves(target) {
        return Err("points to an absolute path");
    }
    let mut hops = 0;
    while let Some(part) = todo.pop() {
        if part == b".." {
            if at.pop().is_none() {
                return Err("leads out of the repository");
            }
            continue;
        }
        if fold(&part) == ".git" {
            return Err("leads into .git");
        }
        at.push(part);
        let here = at.join(&b'/');
        if let Some(next) = links.get(&here) {
            hops += 1;
            through.push(here);
            if hops > HOPS {
                return Err("goes round in circles");
            }
            if leaves(next) {
                return Err("leads to an absolute path through another link");
            }
            at.pop();
            push(&mut todo, next);
        }
    }
    Ok(at.join(&b'/'))
}

/// Whether a target is absolute, here or on a system with drive letters and backslashes.
fn leaves(target: &[u8]) -> bool {
    matches!(target.first(), Some(b'/' | b'\\' | b'~')) || target.get(1) == Some(&b':') || target.contains(&b'\\')
}

/// Pushes the parts of a path on a stack, the first on top.
fn push(todo: &mut Vec<Vec<u8>>, path: &[u8]) {
    todo.extend(parts(path).into_iter().rev());
}

fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|b| *b == b'/').filter(|p| !p.is_empty() && *p != b".").map(<[u8]>::to_vec).collect()
}
