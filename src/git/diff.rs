//! Diffs that a reviewer can rely on: without attributes or external programs, cut at a line.
//!
//! Owns the flags that the quarantine container uses, and the limit. Git decides by the bytes alone what is binary: the
//! container's repository has no work tree to read attributes from. Tests: below and `tests/trees.rs`.

/// Flags of every diff that is shown, so that no attribute, driver or configuration can hide or change a line.
pub(crate) const SHOWN: &[&str] = &[
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The first `cap` bytes of `bytes` as text, cut at the end of a line, and the number of missing bytes.
pub fn capped_text(bytes: &[u8], cap: usize) -> (String, u64) {
    if bytes.len() <= cap {
        return (String::from_utf8_lossy(bytes).into_owned(), 0);
    }
    let head = &bytes[..cap];
    let end = head.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    (String::from_utf8_lossy(&head[..end]).into_owned(), (bytes.len() - end) as u64)
}

#[cfg(test)]
mod tests {
    use super::capped_text;

    #[test]
    fn the_cap_cuts_at_a_line_and_says_so() {
        assert_eq!(capped_text(b"a\nb\n", 4), ("a\nb\n".to_owned(), 0));
        assert_eq!(capped_text(b"a\nbcd\n", 4), ("a\n".to_owned(), 4));
        assert_eq!(capped_text(b"abcdef", 3), (String::new(), 6));
    }
}
