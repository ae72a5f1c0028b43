//! Captures output with bounded memory: its beginning and end are kept, the bytes between are counted.

use std::collections::VecDeque;

use protocol::runner::{Limits, MAX_TEXT};

use crate::log::Log;

/// Room for the sentence in place of left-out bytes.
const MARK: usize = 96;

/// Limit of a request's text, in bytes.
pub fn cap(limits: Limits) -> usize {
    let asked = if limits.output_bytes == 0 { MAX_TEXT } else { limits.output_bytes.min(MAX_TEXT) };
    usize::try_from(asked).unwrap_or(usize::MAX).max(2 * MARK)
}

/// Output that is being captured.
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes for each half.
    half: usize,
    dropped: u64,
    /// File for the whole output once it is longer than any reader is shown.
    whole: Option<Log>,
    begun: bool,
}

/// Longer output is kept whole in a file, because a small model is shown little more than this.
const SHORT: usize = 2 << 10;

impl Capture {
    pub fn new(cap: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: (cap - MARK) / 2, dropped: 0, whole: None, begun: false }
    }

    /// A capture that also keeps long output whole in a file.
    pub fn kept(cap: usize, whole: Option<Log>) -> Self {
        Self { whole, ..Self::new(cap) }
    }

    /// Keeps even short output in a file, and gives its path.
    pub fn keep(&mut self) -> Option<String> {
        self.begin(b"");
        self.whole()
    }

    /// Path of the file with the whole output.
    pub fn whole(&self) -> Option<String> {
        self.whole.as_ref().and_then(Log::path)
    }

    /// Begins the file with what was captured so far, which is still complete, and the next bytes.
    fn begin(&mut self, next: &[u8]) {
        let Some(log) = &mut self.whole else { return };
        if !self.begun {
            let (front, back) = self.tail.as_slices();
            [&self.head, front, back].into_iter().for_each(|part| log.write(part));
            self.begun = true;
        }
        log.write(next);
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.begun || self.head.len() + self.tail.len() + bytes.len() > SHORT.min(2 * self.half) {
            self.begin(bytes);
        }
        let room = self.half - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = if rest.len() > self.half {
            let skip = rest.len() - self.half;
            self.dropped += skip as u64;
            &rest[skip..]
        } else {
            rest
        };
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.dropped += over as u64;
        self.tail.extend(rest);
    }

    /// The captured text, and how many bytes it leaves out.
    pub fn text(&self, cap: usize) -> (String, u64) {
        let (front, back) = self.tail.as_slices();
        if self.dropped == 0 {
            let all = [self.head.as_slice(), front, back].concat();
            return fit(String::from_utf8_lossy(&all).into_owned(), cap);
        }
        // A character that was cut in two shows as replacement characters.
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let tail = String::from_utf8_lossy(&[front, back].concat()).into_owned();
        let text = join(&head, self.dropped, &tail);
        let (text, more) = fit(text, cap);
        (text, self.dropped + more)
    }
}

fn join(head: &str, dropped: u64, tail: &str) -> String {
    format!("{head}\n[... {dropped} bytes left out ...]\n{tail}")
}

/// `text` cut to `cap` bytes, and the number of bytes that were left out.
pub fn fit(text: String, cap: usize) -> (String, u64) {
    if text.len() <= cap {
        return (text, 0);
    }
    let half = (cap - MARK) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let dropped = (tail - head) as u64;
    (join(&text[..head], dropped, &text[tail..]), dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_untouched() {
        let mut capture = Capture::new(1000);
        capture.push(b"a\n");
        capture.push(&[b'x'; 700]);
        let (text, dropped) = capture.text(1000);
        assert_eq!((text.len(), dropped), (702, 0));
        assert!(text.starts_with("a\nxx"));
    }

    #[test]
    fn head_and_tail_stay_and_the_rest_is_counted() {
        let mut capture = Capture::new(1000);
        capture.push(b"first ");
        for _ in 0..1000 {
            capture.push(&[b'x'; 777]);
        }
        capture.push(b" last");
        let (text, dropped) = capture.text(1000);
        assert!(text.starts_with("first xx") && text.ends_with("xx last"));
        assert!(text.len() <= 1000);
        assert_eq!(dropped, 6 + 777_000 + 5 - 2 * ((1000 - MARK as u64) / 2));
        assert!(text.contains(&format!("[... {dropped} bytes left out ...]")));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_outgrow_the_cap() {
        let mut capture = Capture::new(1000);
        capture.push(&[0xff; 900]);
        let (text, dropped) = capture.text(1000);
        assert!(text.len() <= 1000 && dropped > 0);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        for cap in 200..260 {
            let (text, _) = fit("ä€😀".repeat(100), cap);
            assert!(text.len() <= cap);
        }
    }
}
