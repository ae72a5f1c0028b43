//! Where a path of an action leads, from its text alone: symbolic links are not followed.

use protocol::broker::WORKSPACE;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathTarget {
    /// Below the workspace; the path in the form of a tree.
    Inside(String),
    /// The workspace itself.
    Root,
    /// Elsewhere in the sandbox.
    Outside,
}

impl PathTarget {
    /// Of a path that is absolute, or relative to the workspace.
    pub fn of(path: &str) -> PathTarget {
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
            Some("") => PathTarget::Root,
            Some(rest) => {
                rest.strip_prefix('/').map_or(PathTarget::Outside, |inside| PathTarget::Inside(inside.to_owned()))
            }
            None => PathTarget::Outside,
        }
    }
}

/// The path in the form of a tree; none for the workspace itself and for one outside of it.
pub fn plain(path: &str) -> Option<String> {
    match PathTarget::of(path) {
        PathTarget::Inside(path) => Some(path),
        PathTarget::Root | PathTarget::Outside => None,
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
            assert_eq!(PathTarget::of(path), PathTarget::Inside(inside.to_owned()), "{path}");
        }
        for path in [".", "", "/workspace", "/workspace/", "a/.."] {
            assert_eq!((PathTarget::of(path), plain(path)), (PathTarget::Root, None), "{path}");
        }
        for path in ["..", "/", "/workspaces/a", "../a", "/etc/passwd", "a/../../b"] {
            assert_eq!((PathTarget::of(path), plain(path)), (PathTarget::Outside, None), "{path}");
        }
    }
}
