//! Diffs as a reviewer may trust them: `--text`, no attributes, no external programs, capped at a line.
//!
//! Owns the flags that the quarantine chamber uses, and the cap. Tests: below and `tests/trees.rs`.

/// Flags of every diff we show: no attribute, no driver and no configuration can hide or dress up a line.
pub(crate) const SHOWN: &[&str] = &[
    "--text",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// At most `cap` bytes of `bytes` as text, cut at the end of a line; what is missing is said in a last line.
pub fn capped_text(bytes: &[u8], cap: usize) -> String {
    if bytes.len() <= cap {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let head = &bytes[..cap];
    let end = head.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let missing = bytes.len() - end;
    format!("{}[… {missing} more bytes are not shown]\n", String::from_utf8_lossy(&head[..end]))
}

#[cfg(test)]
mod tests {
    use super::capped_text;

    #[test]
    fn the_cap_cuts_at_a_line_and_says_so() {
        assert_eq!(capped_text(b"a\nb\n", 4), "a\nb\n");
        assert_eq!(capped_text(b"a\nbcd\n", 4), "a\n[… 4 more bytes are not shown]\n");
        assert_eq!(capped_text(b"abcdef", 3), "[… 6 more bytes are not shown]\n");
    }
}
