//! Which folders of a repository hold other people's packages. Tests: below.

/// Their names, wherever they lie.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "target", ".venv", "site-packages"];

/// Whether the file of this path lies in such a folder.
pub fn is_foreign(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(folders, _)| folders.split('/').any(|name| FOREIGN.contains(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_packages_is_known_by_its_whole_name() {
        for path in ["node_modules/a/AGENTS.md", "web/vendor/CLAUDE.md"] {
            assert!(is_foreign(path), "{path}");
        }
        for path in ["vendor", "src/vendor", "src/vendors/AGENTS.md", "AGENTS.md"] {
            assert!(!is_foreign(path), "{path}");
        }
    }
}
