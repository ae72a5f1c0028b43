//! Splits text into words for comparison: identifiers whole and in parts, in lower case and without common endings.
//!
//! Must not know files or scores. Tests: below.

/// Common words without information about a program.
const EMPTY: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before",
    "but", "by", "can", "cannot", "could", "did", "do", "does", "doesn", "don", "for", "from", "get", "had", "has",
    "have", "how", "i", "if", "in", "instead", "into", "is", "isn", "it", "its", "like", "make", "may", "me", "more",
    "my", "no", "not", "now", "of", "on", "only", "or", "other", "our", "out", "please", "s", "should", "so", "some",
    "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "up", "use",
    "used", "using", "was", "we", "were", "what", "when", "where", "which", "while", "will", "with", "without",
    "would", "you", "your",
];

/// Whether a lower-case word is left out of comparisons.
pub fn is_empty(word: &str) -> bool {
    EMPTY.binary_search(&word).is_ok()
}

/// Maximal runs of letters, digits and `_`.
pub fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|run| !run.is_empty())
}

/// Calls `each` with every word of `text`: the parts of each identifier and, if there are several, the whole without `_`; in lower case and
/// without common endings.
pub fn each_word(text: &str, mut each: impl FnMut(&str)) {
    let (mut part, mut whole) = (String::new(), String::new());
    for run in runs(text) {
        // Such a long run is data.
        if run.len() > 80 {
            continue;
        }
        whole.clear();
        let mut parts = 0;
        let mut give = |part: &mut String, whole: &mut String| {
            if !part.is_empty() {
                whole.push_str(part);
                parts += 1;
                each(stem(part));
                part.clear();
            }
        };
        let mut before = CharKind::Mark;
        let mut rest = run.chars().peekable();
        while let Some(c) = rest.next() {
            let kind = CharKind::of(c);
            let next_is_small = rest.peek().is_some_and(|next| CharKind::of(*next) == CharKind::Small);
            let begins = match kind {
                CharKind::Mark => true,
                CharKind::Large => before == CharKind::Small || (before == CharKind::Large && next_is_small),
                CharKind::Small | CharKind::Digit => false,
            };
            if begins {
                give(&mut part, &mut whole);
            }
            if kind != CharKind::Mark {
                part.extend(c.to_lowercase());
            }
            before = kind;
        }
        give(&mut part, &mut whole);
        if parts > 1 {
            each(&whole);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Small,
    Large,
    Digit,
    Mark,
}

impl CharKind {
    fn of(c: char) -> Self {
        match c {
            '_' => Self::Mark,
            c if c.is_uppercase() => Self::Large,
            c if c.is_numeric() => Self::Digit,
            _ => Self::Small,
        }
    }
}

/// The word without English plural and participle endings, if enough remains.
pub fn stem(word: &str) -> &str {
    let left = |ending: &str| word.strip_suffix(ending).filter(|left| left.len() >= 4);
    if let Some(short) = left("ing").or_else(|| left("ed")) {
        // `mapping` and `map`, `parsing` and `parse`: the doubled letter and the silent `e` are removed too.
        let bytes = short.as_bytes();
        let doubled = bytes.len() > 4 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2] && !short.ends_with('s');
        return if doubled && short.is_char_boundary(short.len() - 1) { &short[..short.len() - 1] } else { short };
    }
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        let short = &word[..word.len() - 1];
        return short.strip_suffix("sse").map_or(short, |_| &short[..short.len() - 1]).trim_end_matches('e');
    }
    if word.len() > 4 { word.strip_suffix('e').unwrap_or(word) } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        each_word(text, |word| out.push(word.to_owned()));
        out
    }

    #[test]
    fn identifiers_come_apart_and_stay_whole() {
        assert_eq!(words("parse_header"), ["pars", "header", "parseheader"]);
        assert_eq!(words("HTTPAdapter.sendAll"), ["http", "adapter", "httpadapter", "send", "all", "sendall"]);
        assert_eq!(words("__init__ utf8"), ["init", "utf8"]);
        assert_eq!(words("Größe"), ["größ"]);
    }

    #[test]
    fn forms_of_a_word_are_one() {
        for group in [["parse", "parses", "parsing"], ["header", "headers", "header"], ["class", "classes", "class"]] {
            let stems: Vec<_> = group.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|it| *it == stems[0]), "{group:?} {stems:?}");
        }
        assert_eq!(stem("as"), "as");
    }

    #[test]
    fn empty_words_are_sorted() {
        assert!(EMPTY.is_sorted());
        assert!(is_empty("the") && !is_empty("header"));
    }
}
