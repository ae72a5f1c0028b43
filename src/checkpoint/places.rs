//! The places (`path:line`) that a text of the agent names.

/// Places of one text that are found.
const MOST: usize = 100;

/// One place as it is written.
#[derive(Debug, PartialEq, Eq)]
pub struct Cited<'a> {
    /// The whole word.
    pub written: &'a str,
    /// The path in it, as it is written.
    pub path: &'a str,
    /// The first line, from 1 on.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

/// Every place of a text, once each. A word without a dot or slash before its colon names no file, and an address is none.
pub fn places(text: &str) -> Vec<Cited<'_>> {
    let mut found: Vec<Cited<'_>> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "`()[]{}<>,;\"'*|".contains(c)) {
        let word = word.trim_matches(|c: char| ".:!?".contains(c));
        let named = place(word).filter(|place| names_file(place.path));
        if let Some(place) = named.filter(|place| !found.iter().any(|known| known.written == place.written)) {
            found.push(place);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// `path:12`, `path:12:5` (a column), `path:12-15` or `path:L12`.
pub(super) fn place(word: &str) -> Option<Cited<'_>> {
    if word.contains("://") {
        return None;
    }
    let (path, rest) = word.split_once(':')?;
    let lines = rest.split(':').next().unwrap_or_default();
    let (first, last) = lines.split_once(['-', '–']).unwrap_or((lines, lines));
    let number = |text: &str| text.trim_start_matches(['L', 'l']).parse::<u64>().ok();
    let (first, last) = (number(first)?, number(last)?);
    Some(Cited { written: word, path, first, last })
}

/// Whether it looks like a path where nothing else says that it is one.
pub(super) fn names_file(path: &str) -> bool {
    path.contains(['.', '/']) && !path.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_from_other_words() {
        let text = "See `src/a.rs:12`, (b.py:3-5), c/d:7:1 and [e.rs:L9](e.rs#L9). Not http://h.example:80/x, 127.0.0.1:80, 10:30 or note:5; `src/a.rs:12` again.";
        let found: Vec<_> = places(text).into_iter().map(|it| (it.path, it.first, it.last)).collect();
        assert_eq!(found, [("src/a.rs", 12, 12), ("b.py", 3, 5), ("c/d", 7, 7), ("e.rs", 9, 9)]);
    }
}
