//! The runner's operation that writes whole files: the same in a task's sandbox and in the copies in which candidates are tried. Tests: below.

use domain::NewFile;
use protocol::runner::Op;

/// All of these files or none.
pub(super) fn op(files: &[NewFile]) -> Op {
    let create = files.iter().filter(|file| file.create).map(|file| file.path.clone()).collect();
    let files = files.iter().map(|file| (file.path.clone(), file.content.clone())).collect();
    Op::WriteFiles { files, create }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_only_be_made_is_named_as_such() {
        let files = [NewFile::new("a.py", "x"), NewFile { create: true, ..NewFile::new("b.py", "y") }];
        let whole = [("a.py", "x"), ("b.py", "y")].map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(op(&files), Op::WriteFiles { files: whole.to_vec(), create: vec!["b.py".to_owned()] });
    }
}
