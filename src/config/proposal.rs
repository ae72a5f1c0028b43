//! A proposed `.caisson.toml`: the present one with keys that were found to work.
//!
//! Owns only the text. Must not grant anything: the text is for a person to adopt, and what exceeds the grants has no effect until the
//! operator accepts the file (`project.rs`). Tests: below.

use super::project::{FILE, Project, ProjectError};
use crate::text::one_line;
use toml_edit::{Array, DocumentMut, Item, Value};

/// Proposed keys with their sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the toolchain and its source; none = the key is unchanged, as for the others.
    pub toolchain: Option<(String, String)>,
    /// Setup commands in order, and their source.
    pub setup: Option<(Vec<String>, String)>,
    /// Test command of verification, and its source.
    pub test: Option<(String, String)>,
}

impl Proposal {
    /// Whether it changes no key.
    pub fn is_empty(&self) -> bool {
        self.toolchain.is_none() && self.setup.is_none() && self.test.is_none()
    }

    /// The whole file. `before` is the one that is there: its other keys and its comments stay.
    ///
    /// # Errors
    /// When `before` is no project file, or the result would be none.
    pub fn over(&self, before: Option<&str>) -> Result<String, ProjectError> {
        let not_toml = |why: String| ProjectError { file: FILE.to_owned(), line: 1, key: None, text: why };
        let mut document: DocumentMut =
            before.unwrap_or_default().parse().map_err(|e: toml_edit::TomlError| not_toml(e.message().to_owned()))?;
        if let Some((name, by)) = &self.toolchain {
            document.remove("profile");
            put(&mut document, "toolchain", name.as_str().into(), by);
        }
        if let Some((commands, by)) = &self.setup {
            put(&mut document, "setup", Value::Array(Array::from_iter(commands.iter().map(String::as_str))), by);
        }
        if let Some((command, by)) = &self.test {
            put(&mut document, "test", command.as_str().into(), by);
        }
        let text = document.to_string();
        Project::parse(FILE, &text)?;
        Ok(text)
    }
}

/// Sets a key; a new one gets a comment line with its source, an existing one keeps its surroundings.
fn put(document: &mut DocumentMut, key: &str, value: Value, by: &str) {
    if let Some(Item::Value(there)) = document.get_mut(key) {
        let decor = there.decor().clone();
        *there = value;
        *there.decor_mut() = decor;
        return;
    }
    document.insert(key, Item::Value(value));
    if let Some(mut key) = document.key_mut(key) {
        key.leaf_decor_mut().set_prefix(format!("# {}\n", one_line(by)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal() -> Proposal {
        Proposal {
            toolchain: Some(("python".into(), "pyproject.toml tells it".into())),
            setup: Some((vec!["pip install -e . 'a; b > \"3\"'".into()], "tests\nof it".into())),
            test: Some(("python3 -m pytest -q -rA".into(), "pyproject.toml".into())),
        }
    }

    #[test]
    fn a_new_file_says_where_each_key_is_from() {
        insta::assert_snapshot!(proposal().over(None).unwrap(), @r#"
        # pyproject.toml tells it
        toolchain = "python"
        # tests\nof it
        setup = ["""pip install -e . 'a; b > "3"'"""]
        # pyproject.toml
        test = "python3 -m pytest -q -rA"
        "#);
    }

    #[test]
    fn what_was_there_stays() {
        let before = "# ours\nprofile = \"base\"\ntest = \"make check\" # slow\nprotected = [\"deploy/**\"]\n\n[checkpoint]\nevery = 3\n";
        let text = proposal().over(Some(before)).unwrap();
        let project = Project::parse(FILE, &text).unwrap();
        assert_eq!((project.toolchain.as_deref(), project.checkpoint.every), (Some("python"), Some(3)), "{text}");
        assert_eq!((project.protected.len(), project.setup.len()), (1, 1), "{text}");
        assert!(text.contains("test = \"python3 -m pytest -q -rA\" # slow"), "{text}");
        assert!(text.find("setup =").unwrap() < text.find("[checkpoint]").unwrap(), "{text}");
    }

    #[test]
    fn what_is_no_project_file_is_not_written_over() {
        assert!(proposal().over(Some("not toml [")).is_err());
        assert!(proposal().over(Some("unknown = 1\n")).is_err());
        let both = Proposal { test: None, setup: None, ..proposal() };
        assert!(both.over(Some("image = \"a:1\"\n")).is_err(), "an image or a toolchain, not both");
        assert!(Proposal::default().is_empty() && Proposal::default().over(Some("")).unwrap().is_empty());
    }
}
