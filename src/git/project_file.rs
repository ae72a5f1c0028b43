//! Reads a repository's own configuration (`.caisson.toml`) out of a commit, which nothing else does (`tests/house/project_file.rs`). What of
//! it is granted, and what a mistake in it means, is for the callers. Tests: below.

use super::read::AtPath;
use super::{GitError, Repos};
use crate::config::project::{FILE, MAX_BYTES, Project, ProjectError};
use domain::Commit;
use std::string::FromUtf8Error;

/// The file at one commit.
#[derive(Debug)]
pub struct ProjectFile {
    /// What it says, or its first mistake, such as that it is no regular file; the default where there is none. Bytes that are no UTF-8 count
    /// as replacement characters.
    pub project: Result<Project, ProjectError>,
    /// What it says to work that has begun on this commit ([`Project::parse_begun`]).
    pub begun: Result<Project, ProjectError>,
    /// Its text; none where there is no regular file.
    pub text: Result<Option<String>, FromUtf8Error>,
}

impl Repos {
    /// The project file at this commit.
    ///
    /// # Errors
    /// When the commit is missing, the repository cannot be read, or the file is longer than it may be; its mistakes are no error here.
    pub async fn project_file(&self, key: &str, commit: &Commit) -> Result<ProjectFile, GitError> {
        Ok(match self.at_path(key, commit, FILE, MAX_BYTES).await? {
            AtPath::File(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let project = Project::parse(FILE, &text);
                let begun = project.clone().or_else(|_| Project::parse_begun(FILE, &text));
                ProjectFile { project, begun, text: String::from_utf8(bytes).map(Some) }
            }
            AtPath::NoFile => ProjectFile { project: Err(no_file()), begun: Err(no_file()), text: Ok(None) },
            AtPath::Nothing => {
                ProjectFile { project: Ok(Project::default()), begun: Ok(Project::default()), text: Ok(None) }
            }
        })
    }
}

/// The mistake where something that is no regular file stands in the file's place: a link, a folder. Its rules would not be followed.
fn no_file() -> ProjectError {
    let text = "this is no regular file; put the settings themselves here".to_owned();
    ProjectError { file: FILE.to_owned(), line: 1, key: None, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Branch, PlainFile};

    #[tokio::test]
    async fn what_a_commit_says_is_read_with_its_mistakes_and_without_a_file_there_is_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let repos = Repos::new(dir.path());
        let main = Branch::parse("main").unwrap();
        let (mut found, mut tip) = (Vec::new(), None);
        let files: [Option<&[u8]>; 4] =
            [None, Some(b"test = \"make\"\n"), Some(b"speed = 1\n"), Some(b"# \xff\ntest = \"make\"\n")];
        for bytes in files {
            let path = if bytes.is_some() { FILE } else { "README.md" };
            let file =
                PlainFile { path: path.to_owned(), bytes: bytes.unwrap_or_default().to_vec(), executable: false };
            let commit = repos.commit_files("shop", tip.as_ref(), &[file], &main, "Files").await.unwrap();
            found.push(repos.project_file("shop", &commit).await.unwrap());
            tip = Some(commit);
        }
        let [none, plain, wrong, bytes] = &found[..] else { panic!("{found:#?}") };
        assert_eq!((&none.project, &none.text), (&Ok(Project::default()), &Ok(None)));
        assert_eq!(plain.project.as_ref().unwrap().test.as_deref(), Some("make"));
        assert_eq!(plain.text.as_ref().unwrap().as_deref(), Some("test = \"make\"\n"));
        assert!(wrong.project.as_ref().unwrap_err().to_string().starts_with(".caisson.toml:1: "), "{wrong:#?}");
        assert!(bytes.text.is_err() && bytes.project.as_ref().unwrap().test.is_some(), "{bytes:#?}");
    }

    #[tokio::test]
    async fn what_is_no_regular_file_in_its_place_is_a_mistake_and_not_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let repos = Repos::new(dir.path());
        let who = "A <a@example.org> 1700000000 +0000";
        let (link, folder) = (format!("120000 inline {FILE}"), format!("100644 inline {FILE}/a"));
        for (key, entry) in [("link", link), ("folder", folder)] {
            let stream =
                format!("commit refs/remotes/origin/main\ncommitter {who}\ndata 1\nx\nM {entry}\ndata 5\nother\n");
            repos.fast_import(key, stream).await.unwrap();
            let commit = repos.resolve(key, &Branch::parse("main").unwrap()).await.unwrap();
            let found = repos.project_file(key, &commit).await.unwrap();
            let mistake = found.project.expect_err("no default").to_string();
            assert!(mistake.starts_with(".caisson.toml:1: this is no regular file"), "{mistake}");
            assert_eq!(found.text, Ok(None));
        }
    }
}
