//! A file's lines as the runner shows them, each with its number.
//!
//! Owns: which of them fit into a result, so that what is shown has no gap and says where to read on. Must not: read a file. Tests: `outcome.rs`,
//! `reading.rs`.

use super::fence::spelled;

/// Room for the line that says where to read on, in characters.
const FOOTER: usize = 100;

/// A part as the runner shows it: its numbered lines, the number of the last one, and the number of lines of the file. None if it shows no
/// line, as for a picture.
pub fn shown(text: &str) -> Option<(&str, u64, u64)> {
    let text = text.trim_end_matches(['\r', '\n']);
    let (lines, last) = text.rsplit_once('\n').map_or(("", text), |(lines, last)| (lines.trim_end_matches('\r'), last));
    if let Some(range) = last.strip_prefix("[lines ") {
        let (range, rest) = range.split_once(" of ")?;
        let total: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return Some((lines, range.split_once('-')?.1.parse().ok()?, total.parse().ok()?));
    }
    let number: u64 = last.split_once('\t')?.0.trim().parse().ok()?;
    Some((text, number, number))
}

/// The first whole lines of such a part, as a fence shows them, and the number of the last one. None if all of it fits into `cap` characters, not
/// even one line does, or it shows no line.
pub(super) fn beginning(text: &str, cap: usize) -> Option<(String, u64)> {
    if spelled(text).chars().count() <= cap {
        return None;
    }
    let (lines, last, total) = shown(text)?;
    let first: u64 = lines.split_once('\t')?.0.trim().parse().ok()?;
    let all = spelled(lines);
    let (head, left) = lines_within(&all, cap.saturating_sub(FOOTER));
    let last = last.checked_sub(left as u64).filter(|last| *last >= first)?;
    Some((format!("{head}[lines {first}-{last} of {total}; read on with from={}]", last + 1), last))
}

/// The first whole lines that fit into so many characters, and how many lines are left.
pub(super) fn lines_within(text: &str, most: usize) -> (&str, usize) {
    let (mut end, mut chars, mut lines) = (0, 0, 0);
    let all = text.lines().count();
    for line in text.split_inclusive('\n') {
        chars += line.chars().count();
        if chars > most {
            break;
        }
        (end, lines) = (end + line.len(), lines + 1);
    }
    (&text[..end], all - lines)
}
