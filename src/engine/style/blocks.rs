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
        /// False if the answer ended before the block did, or it ends in the middle of Markdown.
        closed: bool,
    },
}

pub(super) fn pieces(answer: &str) -> Vec<Piece<'_>> {
    let lines: Vec<&str> = answer.lines().collect();
    let (mut out, mut at, mut before) = (Vec::new(), 0, "");
    // A block of Markdown without an end is looked for through the whole answer, and so only once.
    let mut may_nest = true;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let Some((mark, info)) = fence(line) else {
            out.push(Piece::Line(line));
            before = if line.trim().is_empty() { before } else { line };
            continue;
        };
        // A block within a list is indented with its fence; a fence that stands deeper belongs to the block's text.
        let deep = depth(line);
        let is_markdown = may_nest && is_markdown(info, before);
        let (end, closed) = end(&lines[at..], mark, deep, is_markdown);
        may_nest &= closed || !is_markdown;
        let behind = end.map_or(lines.len(), |end| at + end);
        let mut text = String::new();
        for inner in &lines[at..behind] {
            text.push_str(inner.get(deep.min(depth(inner))..).unwrap_or(inner));
            text.push('\n');
        }
        out.push(Piece::Block { info, text, closed });
        (at, before) = (behind + 1, "");
    }
    out
}

/// How many columns a line is indented.
fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Which of the lines ends the block that this fence began, and whether the block is whole. In Markdown a fence with a language begins a
/// block within it; where the fences do not add up, the first that may end it does, and the block is not whole.
fn end(lines: &[&str], mark: &str, deep: usize, is_markdown: bool) -> (Option<usize>, bool) {
    let fences = || {
        let near = lines.iter().enumerate().filter(move |(_, line)| depth(line) <= deep + 3);
        near.filter_map(|(at, line)| Some((at, fence(line)?))).filter(move |(_, (end, _))| end.starts_with(mark))
    };
    let first = fences().find(|(_, (_, info))| info.is_empty()).map(|(at, _)| at);
    if !is_markdown {
        return (first, first.is_some());
    }
    let mut inner: Option<&str> = None;
    for (at, (end, info)) in fences() {
        match inner {
            None if info.is_empty() => return (Some(at), true),
            // Code within a line is no fence.
            None => inner = (!info.contains('`')).then_some(end),
            Some(open) if info.is_empty() && end.starts_with(open) => inner = None,
            Some(_) => {}
        }
    }
    (first, false)
}

/// Whether a block is about a file of Markdown, by what stands beside its fence, or in the line above one that says nothing.
fn is_markdown(info: &str, before: &str) -> bool {
    let is_path = |word: &str| {
        let path = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        path.ends_with(".md") || path.ends_with(".markdown")
    };
    let language = info.split_whitespace().next().unwrap_or_default().to_lowercase();
    match language.as_str() {
        "md" | "markdown" => true,
        "" => before.split_whitespace().any(is_path),
        _ => info.split_whitespace().any(is_path),
    }
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

    #[test]
    fn a_block_of_markdown_holds_blocks_that_say_their_language() {
        let texts = |answer: &str| blocks(answer, false).into_iter().map(|block| block.text).collect::<Vec<_>>();
        let inner = "# A\n\n```bash\nls\n```\n\n```js\nx;\n```\n\n`` ``` `` ends it.\n";
        let python = "\na.py\n```python\nx = 1\n```\n";
        for head in ["README.md\n```markdown", "```md README.md", "**docs/a.md**:\n\n```", "```README.md"] {
            assert_eq!(texts(&format!("{head}\n{inner}```\n{python}")), [inner, "x = 1\n"], "{head}");
        }
        let longer = "# A\n```\nls\n```\n````bash\nls\n````\n";
        assert_eq!(texts(&format!("README.md\n````md\n{longer}````\n{python}")), [longer, "x = 1\n"]);
        let ordinary = "As README.md says:\n```\nls\n```\n\nREADME.md\n```md\n# A\n```\n";
        assert_eq!(texts(&format!("{ordinary}{python}")), ["ls\n", "# A\n", "x = 1\n"]);
        let unended = "README.md\n```md\n# A\n```bash\nls\n```\n";
        assert_eq!(texts(&format!("{unended}{python}")), ["x = 1\n"], "half a file is none");
    }
}
