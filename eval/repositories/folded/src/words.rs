//! Text into words.

/// How many characters a text has.
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// Words of at most `width` characters; longer ones are cut.
pub fn words(text: &str, width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for word in text.split_whitespace() {
        let chars: Vec<char> = word.chars().collect();
        out.extend(chars.chunks(width.max(1)).map(|piece| piece.iter().collect()));
    }
    out
}
