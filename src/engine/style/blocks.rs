//! Splits an answer into its lines and code blocks.
//!
//! Owns: what a fence is and where its block ends, for every style that reads blocks, and which of them are complete. What a block is about
//! is up to the style.

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
        // A block within a list is indented with its fence; a fence that stands deeper belongs to the block's text.
        let deep = line.len() - line.trim_start().len();
        let (mut text, mut closed) = (String::new(), false);
        for inner in lines.by_ref() {
            let own = inner.len() - inner.trim_start().len();
            let ends =
                own <= deep + 3 && fence(inner).is_some_and(|(end, info)| end.starts_with(mark) && info.is_empty());
            if ends {
                closed = true;
                break;
            }
            text.push_str(inner.get(deep.min(own)..).unwrap_or(inner));
            text.push('\n');
        }
        out.push(Piece::Block { info, text, closed });
    }
    out
}

/// A block that may be a file, with the text that may say of which.
#[derive(Debug, PartialEq)]
pub(super) struct Block<'a> {
    pub info: &'a str,
    /// The lines between it and the block before it, the nearest first.
    pub before: Vec<&'a str>,
    pub text: String,
}

/// The blocks of an answer. One that the length limit cut off does not count; one that was merely not closed does, unless it ran over
/// another fence.
pub(super) fn blocks(answer: &str, truncated: bool) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    for piece in pieces(answer) {
        match piece {
            Piece::Line(line) if !line.trim().is_empty() => lines.insert(0, line.trim()),
            Piece::Block { info, text, closed } if !text.trim().is_empty() => {
                let before = std::mem::take(&mut lines);
                if closed || (!truncated && !text.lines().any(|line| fence(line).is_some())) {
                    out.push(Block { info, before, text });
                }
            }
            Piece::Line(_) | Piece::Block { .. } => {}
        }
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

    #[test]
    fn a_block_without_an_end_counts_unless_it_was_cut_off_or_ran_over_another() {
        let texts = |answer: &'static str, truncated| -> Vec<String> {
            blocks(answer, truncated).into_iter().map(|block| block.text).collect()
        };
        let answer = "a.py\n```python\nx = 1\n```\nb.py\n```python\ny = 1\n";
        assert_eq!(texts(answer, true), ["x = 1\n"]);
        assert_eq!(texts(answer, false), ["x = 1\n", "y = 1\n"]);
        assert_eq!(texts("```python\nx = 1\n\nb.py\n```python\ny = 1\n", false), [""; 0]);
    }
}
