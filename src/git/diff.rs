//! Diffs that a reviewer can rely on: without attributes or external programs, cut at a line.
//!
//! Owns the flags that the quarantine container uses, and the limit. Git decides by the bytes alone what is binary: the
//! container's repository has no work tree to read attributes from. Tests: below and `tests/trees.rs`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

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
    text_of(&bytes[..bytes.len().min(cap)], bytes.len() as u64)
}

/// A sink for [`capped_text`] of what is never in memory as a whole: keeps the first `cap` bytes and counts the others.
pub struct CappedText {
    kept: Vec<u8>,
    cap: usize,
    total: u64,
}

impl CappedText {
    /// An empty one.
    pub fn new(cap: usize) -> Self {
        Self { kept: Vec::new(), cap, total: 0 }
    }

    /// What was kept as text, cut at the end of a line, and the number of missing bytes.
    pub fn text(&self) -> (String, u64) {
        text_of(&self.kept, self.total)
    }
}

impl AsyncWrite for CappedText {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let room = self.cap - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.total += bytes.len() as u64;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// `head` as text, up to the end of its last line unless it is all of the `total` bytes.
fn text_of(head: &[u8], total: u64) -> (String, u64) {
    let end = match head.len() as u64 == total {
        true => head.len(),
        false => head.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1),
    };
    (String::from_utf8_lossy(&head[..end]).into_owned(), total - end as u64)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::{CappedText, capped_text};

    #[test]
    fn the_cap_cuts_at_a_line_and_says_so() {
        assert_eq!(capped_text(b"a\nb\n", 4), ("a\nb\n".to_owned(), 0));
        assert_eq!(capped_text(b"a\nbcd\n", 4), ("a\n".to_owned(), 4));
        assert_eq!(capped_text(b"abcdef", 3), (String::new(), 6));
    }

    #[tokio::test]
    async fn a_sink_keeps_no_more_than_its_cap_and_gives_the_same_text() {
        for all in ["a\nb\n", "a\nbcd\n", "abcdef", ""] {
            for cap in [0, 3, 4, 100] {
                let mut sink = CappedText::new(cap);
                for piece in all.as_bytes().chunks(2) {
                    sink.write_all(piece).await.expect("taken");
                }
                assert_eq!(sink.text(), capped_text(all.as_bytes(), cap), "{all:?} {cap}");
                assert!(sink.kept.len() <= cap);
            }
        }
    }
}
