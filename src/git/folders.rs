//! The folders of a tree that still wait to be looked through.
//!
//! Owns how long a path may be, how deep a folder, and how much may wait: trees that name each other make paths without an end from a few objects.
//! Tests: below.

use git2::Oid;

/// The longest path in bytes, and the most folders above a file.
const PATH: usize = 4_096;
const DEEP: usize = 200;
/// The most bytes of paths that wait at a time.
const WAITING: usize = 64 << 20;

/// A folder of a tree.
pub(super) struct Folder {
    /// Its path with a slash at its end; empty for the root.
    path: String,
    deep: usize,
    pub id: Oid,
}

impl Folder {
    /// The path of an entry of this name in it; none where it is too long.
    pub(super) fn path_of(&self, name: &str) -> Option<String> {
        (self.path.len() + name.len() <= PATH).then(|| format!("{}{name}", self.path))
    }
}

/// Those that wait; the last comes first.
pub(super) struct Folders {
    waiting: Vec<Folder>,
    bytes: usize,
}

impl Folders {
    pub(super) fn of(root: Oid) -> Self {
        Self { waiting: vec![Folder { path: String::new(), deep: 0, id: root }], bytes: 0 }
    }

    pub(super) fn next(&mut self) -> Option<Folder> {
        let folder = self.waiting.pop()?;
        self.bytes -= folder.path.len();
        Some(folder)
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Lets a folder within `above` wait; false where a limit leaves it out.
    pub(super) fn add(&mut self, above: &Folder, path: &str, id: Oid) -> bool {
        let (path, deep) = (format!("{path}/"), above.deep + 1);
        let room = deep <= DEEP && self.bytes + path.len() <= WAITING;
        if room {
            self.bytes += path.len();
            self.waiting.push(Folder { path, deep, id });
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_deep_folders_and_too_many_that_wait_are_left_out() {
        let mut folders = Folders::of(Oid::ZERO_SHA1);
        let mut above = folders.next().expect("the root");
        assert!(above.path_of(&"n".repeat(PATH)).is_some() && above.path_of(&"n".repeat(PATH + 1)).is_none());
        for _ in 0..DEEP {
            let path = above.path_of("d").expect("short");
            assert!(folders.add(&above, &path, Oid::ZERO_SHA1));
            above = folders.next().expect("added");
        }
        assert!(!folders.add(&above, &above.path_of("d").expect("short"), Oid::ZERO_SHA1), "too deep");
        assert_eq!(folders.bytes, 0);
        let root = Folder { path: String::new(), deep: 0, id: Oid::ZERO_SHA1 };
        let long = "n".repeat(PATH);
        let added = (0..50_000).filter(|_| folders.add(&root, &long, Oid::ZERO_SHA1)).count();
        assert!(added * PATH <= WAITING && added > 10_000, "{added}");
    }
}
