//! Lines left, right, centred or justified.

use crate::words::length;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
    Centre,
    /// Blanks between words grow until the line is full, those on the left first.
    Justify,
}

/// A line of a certain width; a longer one stays as it is.
pub fn align(line: &str, width: usize, how: Align) -> String {
    let missing = width.saturating_sub(length(line));
    match how {
        Align::Left => format!("{line}{}", " ".repeat(missing)),
        Align::Right => format!("{}{line}", " ".repeat(missing)),
        Align::Centre => format!("{}{line}{}", " ".repeat(missing / 2), " ".repeat(missing - missing / 2)),
        Align::Justify => justify(line, missing),
    }
}

fn justify(line: &str, missing: usize) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let gaps = words.len() - 1;
    if gaps == 0 {
        return format!("{line}{}", " ".repeat(missing));
    }
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        out.push_str(word);
        if index < gaps {
            let extra = missing / gaps + usize::from(index < missing % gaps);
            out.push_str(&" ".repeat(1 + extra));
        }
    }
    out
}
