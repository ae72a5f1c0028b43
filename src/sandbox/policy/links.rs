//! Where symbolic links lead: within the tree, or outside of it.
//!
//! Owns the resolution of a target through other links of the tree, as a kernel does it; checking the target's text is not enough. What all
//! links of a tree take together is limited. Tests: `tests.rs`.

use std::collections::{HashMap, HashSet};

use super::names::{fold, shown};
use crate::git::listing::{Change, LINK};

/// Number of links that a kernel follows at most.
const HOPS: usize = 40;
/// Longest target, in bytes.
const LONGEST: usize = 1024;
/// The most steps over all links of a tree; a step is one component of a path that is looked up.
const STEPS: usize = 200_000;
/// So many more for each link, since a base may have many.
const STEPS_EACH: usize = 32;
/// So many bytes of a path count as one more step.
const STEP_BYTES: usize = 64;

/// The steps that are left for the links of a tree.
pub struct Steps(usize);

/// The links of a tree need more steps than there are.
pub struct TooManySteps;

impl Default for Steps {
    fn default() -> Self {
        Self(STEPS)
    }
}

impl Steps {
    /// Takes a step that reads so many bytes.
    fn take(&mut self, bytes: usize) -> Result<(), TooManySteps> {
        self.0 = self.0.checked_sub(1 + bytes / STEP_BYTES).ok_or(TooManySteps)?;
        Ok(())
    }
}

/// Changed paths that are links, or were: where other links lead depends on them alone.
pub fn changed_links(changes: &[Change]) -> HashSet<&[u8]> {
    let of_link = |change: &&Change| change.old_mode == LINK || change.new_mode == LINK;
    changes.iter().filter(of_link).map(|change| change.path.as_slice()).collect()
}

/// Why links are not allowed that are among the `changed` ones ([`changed_links`]), or pass a place of one of those: a link that leads through
/// another one leads elsewhere once that is gone. Where no link is changed, none is followed; where following all of them takes too many
/// steps, that is the only reason.
pub fn escapes(links: &HashMap<Vec<u8>, Vec<u8>>, changed: &HashSet<&[u8]>) -> Vec<String> {
    if changed.is_empty() {
        return Vec::new();
    }
    let (mut steps, mut reasons) = (Steps(STEPS.max(STEPS_EACH * links.len())), Vec::new());
    for (path, target) in links {
        let mut is_touched = changed.contains(path.as_slice());
        let mut pass = |place: &[u8]| is_touched |= changed.contains(place);
        let Ok(end) = walk(path, target, links, &mut pass, &mut steps) else {
            let count = links.len();
            return vec![format!(
                "the tree's symbolic links ({count}) take too many steps to follow; make their targets shorter, or let them lead through fewer other links"
            )];
        };
        if let Some(why) = end.err().filter(|_| is_touched) {
            reasons.push(format!("the link {} → {} {why}", shown(path), shown(target)));
        }
    }
    reasons
}

/// The path of the tree to which a link leads in the end, empty for the root; none if that is nowhere in the tree.
///
/// # Errors
/// When no step is left.
pub fn resolved(
    path: &[u8],
    target: &[u8],
    links: &HashMap<Vec<u8>, Vec<u8>>,
    steps: &mut Steps,
) -> Result<Option<Vec<u8>>, TooManySteps> {
    Ok(walk(path, target, links, &mut |_| {}, steps)?.ok())
}

/// Where a link leads, or why that is nowhere in the tree; `pass` gets each place that it leads through or to.
fn walk(
    path: &[u8],
    target: &[u8],
    links: &HashMap<Vec<u8>, Vec<u8>>,
    pass: &mut dyn FnMut(&[u8]),
    steps: &mut Steps,
) -> Result<Result<Vec<u8>, &'static str>, TooManySteps> {
    steps.take(path.len() + target.len())?;
    if target.is_empty() || target.len() > LONGEST || target.contains(&0) {
        return Ok(Err("has no usable target"));
    }
    if std::str::from_utf8(target).is_err() || target.iter().any(|b| b.is_ascii_control()) {
        return Ok(Err("has a target with hidden or broken characters"));
    }
    if leaves(target) {
        return Ok(Err("points to an absolute path"));
    }
    let mut here = Vec::new();
    for part in parts(path) {
        descend(&mut here, part);
    }
    ascend(&mut here);
    let mut todo: Vec<&[u8]> = parts(target).rev().collect();
    let mut hops = 0;
    while let Some(part) = todo.pop() {
        steps.take(here.len())?;
        if part == b".." {
            if !ascend(&mut here) {
                return Ok(Err("leads out of the repository"));
            }
            continue;
        }
        if fold(part) == ".git" {
            return Ok(Err("leads into .git"));
        }
        descend(&mut here, part);
        pass(&here);
        if let Some(next) = links.get(here.as_slice()) {
            steps.take(next.len())?;
            hops += 1;
            if hops > HOPS {
                return Ok(Err("goes round in circles"));
            }
            if leaves(next) {
                return Ok(Err("leads to an absolute path through another link"));
            }
            ascend(&mut here);
            todo.extend(parts(next).rev());
        }
    }
    Ok(Ok(here))
}

/// Whether a target is absolute, here or on a system with drive letters and backslashes.
fn leaves(target: &[u8]) -> bool {
    matches!(target.first(), Some(b'/' | b'\\' | b'~')) || target.get(1) == Some(&b':') || target.contains(&b'\\')
}

/// Goes from a directory to what has this name in it.
fn descend(here: &mut Vec<u8>, part: &[u8]) {
    if !here.is_empty() {
        here.push(b'/');
    }
    here.extend_from_slice(part);
}

/// Goes to the directory above; false at the root.
fn ascend(here: &mut Vec<u8>) -> bool {
    let above = here.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let below_root = !here.is_empty();
    here.truncate(above);
    below_root
}

fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|b| *b == b'/').filter(|p| !p.is_empty() && *p != b".")
}
