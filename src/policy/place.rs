//! Where a path of an action leads, from its text alone: symbolic links are not followed.

use protocol::broker::WORKSPACE;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Below the workspace; the path in the form of a tree.
    Inside(String),
    /// The workspace itself.
    Root,
    /// Elsewhere in the sandbox.
    Outside,
}

impl Place {
    /// Of a path that is absolute, or relative to the workspace.
    pub fn of(path: &str) -> Place {
        let mut parts: Vec<&str> = Vec::new();
        let base = if path.starts_with('/') { "" } else { WORKSPACE };
        for part in base.split('/').chain(path.split('/')) {
            match part {
                "" | "." => {}
                // Above the root of a file system is the root itself.
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
        let path = format!("/{}", parts.join("/"));
        match path.strip_prefix(WORKSPACE) {
            Some("") => Place::Root,
            Some(rest) => rest.strip_prefix('/').map_or(Place::Outside, |inside| Place::Inside(inside.to_owned())),
            None => Place::Outside,
        }
    }
}

/// The path in the form of a tree; none for the workspace itself and for one outside of it.
pub fn plain(path: &str) -> Option<String> {
    match Place::of(path) {
        Place::Inside(path) => Some(path),
        Place::Root | Place::Outside => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_placed_by_its_text() {
        for (path, inside) in [
            ("a/b", "a/b"),
            ("./a/../b//c", "b/c"),
            ("/workspace/a", "a"),
            ("/tmp/../workspace/a", "a"),
            ("../workspace/a", "a"),
            ("../../../workspace/a", "a"),
        ] {
            assert_eq!(Place::of(path), Place::Inside(inside.to_owned()), "{path}");
        }
        for path in [".", "", "/workspace", "/workspace/", "a/.."] {
            assert_eq!((Place::of(path), plain(path)), (Place::Root, None), "{path}");
        }
        for path in ["..", "/", "/workspaces/a", "../a", "/etc/passwd", "a/../../b"] {
            assert_eq!((Place::of(path), plain(path)), (Place::Outside, None), "{path}");
        }
    }
}
