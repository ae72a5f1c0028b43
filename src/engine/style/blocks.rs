//! Splits an answer into its lines and code blocks.
//!
//! Owns: what a fence is and where its block ends, for every style that reads blocks. What a block is about is up to the style.

/// A part of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// One line outside of blocks.
    Line(&'a str),
    Block {
        /// The text after the fence's marks.
        info: &'a str,
        /// Its lines, including their ends.
        text: String,
        /// False if the answer ended before the block did.
        closed: bool,
    },
}

pub(super) fn pieces(answer: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut lines = answer.lines();
    while let Some(line) = lines.next() {
        let Some((mark, info)) = fence(line) else {
            out.push(Piece::Line(line));
            continue;
        };
        let (mut text, mut closed) = (String::new(), false);
        for inner in lines.by_ref() {
            if fence(inner).is_some_and(|(end, info)| end.starts_with(mark) && info.is_empty()) {
                closed = true;
                break;
            }
            text.push_str(inner);
            text.push('\n');
        }
        out.push(Piece::Block { info, text, closed });
    }
    out
}

/// A fence's marks and the text after them.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| (&line[..length], line[length..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_at_a_fence_of_its_kind_that_is_as_long() {
        let block = |info, text: &str, closed| Piece::Block { info, text: text.to_owned(), closed };
        let text = "a\n````rust x.rs\n```\n~~~~\n````\nb\n~~~\nc";
        let wanted =
            [Piece::Line("a"), block("rust x.rs", "```\n~~~~\n", true), Piece::Line("b"), block("", "c\n", false)];
        assert_eq!(pieces(text), wanted);
    }
}
