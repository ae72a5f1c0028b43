//! The lines of a diff's hunks with their numbers, and where lines of an earlier tree are in the newest one. Pure.
//!
//! A line is told from a hunk's head by the counts of the head before it, never by its text, which a file chooses.

use super::view::DiffPart;

/// One added line.
pub(super) struct Hunk<'a> {
    pub path: &'a str,
    /// 1-based, in the newest tree's file.
    pub line: u64,
    /// The added line itself, without its `+`; with a carriage return at its end where not all lines have one.
    pub added: &'a str,
}

/// A line of a hunk.
struct Line<'a> {
    /// With its sign, and with a carriage return at its end.
    text: &'a str,
    /// 1-based, in the file before; of an added line that of the next one there.
    old: u64,
    /// 1-based, in the file after; of a removed line that of the next one there.
    new: u64,
}

impl Line<'_> {
    fn is_added(&self) -> bool {
        self.text.starts_with('+')
    }

    fn is_removed(&self) -> bool {
        self.text.starts_with('-')
    }
}

/// Every added line of files with text that still stands in the newest tree.
pub(super) fn added_lines(diff: &[DiffPart]) -> Vec<Hunk<'_>> {
    let mut out = Vec::new();
    for (at, part) in diff.iter().enumerate().filter(|(_, part)| !part.binary) {
        let (later, marked) = (Later::of(diff, at), changes_line_ends(part));
        let added = new_lines(part).filter_map(|(line, text)| Some((later.number(line)?, text.strip_prefix('+')?)));
        out.extend(added.map(|(line, added)| {
            let added = if marked { added } else { added.strip_suffix('\r').unwrap_or(added) };
            Hunk { path: &part.path, line, added }
        }));
    }
    out
}

/// Whether a change may add or take away carriage returns at the ends of lines: some line has one there, and others have none, or there was
/// no line before.
pub(super) fn changes_line_ends(part: &DiffPart) -> bool {
    if part.binary || !part.text.contains("\r\n") {
        return false;
    }
    let lines = lines(part);
    let returns = lines.iter().filter(|line| line.text.ends_with('\r')).count();
    returns > 0 && (returns < lines.len() || lines.iter().all(Line::is_added))
}

/// Whether the difference shows this line of the newest tree's file, changed or beside a change.
pub(super) fn shows_line(diff: &[DiffPart], path: &str, line: u64) -> bool {
    diff.iter().enumerate().filter(|(_, part)| !part.binary && part.path == path).any(|(at, part)| {
        let later = Later::of(diff, at);
        new_lines(part).any(|(number, _)| later.number(number) == Some(line))
    })
}

/// Every line of the file after the part's change that the difference shows, with its sign.
fn new_lines(part: &DiffPart) -> impl Iterator<Item = (u64, &str)> {
    lines(part).into_iter().filter(|line| !line.is_removed()).map(|line| (line.new, line.text))
}

/// What the parts of later trees do to the lines of a file; none of a part whose lines are not known.
struct Later<'a>(Vec<Option<Vec<Line<'a>>>>);

impl<'a> Later<'a> {
    /// Behind the part at this place. The parts of one file stand together, in the order of their trees.
    fn of(diff: &'a [DiffPart], at: usize) -> Self {
        let later = diff[at + 1..].iter().take_while(|later| later.path == diff[at].path);
        Self(later.map(known_lines).collect())
    }

    /// The number of a line in the newest tree; none where it was taken away, or that is not known.
    fn number(&self, line: u64) -> Option<u64> {
        self.0.iter().try_fold(line, |line, lines| after(lines.as_deref()?, line))
    }
}

/// None where not all lines are there, or the file became another kind of file.
fn known_lines(part: &DiffPart) -> Option<Vec<Line<'_>>> {
    if part.binary || part.cut {
        return None;
    }
    Some(lines(part)).filter(|lines| lines.is_sorted_by_key(|line| line.old))
}

/// Where a line of the file before a change is after it; none where the change took it away.
fn after(lines: &[Line<'_>], line: u64) -> Option<u64> {
    let at = lines.partition_point(|one| one.old < line || one.old == line && one.is_added());
    if let Some(one) = lines.get(at).filter(|one| one.old == line) {
        return (!one.is_removed()).then_some(one.new);
    }
    let Some(last) = at.checked_sub(1).map(|at| &lines[at]) else { return Some(line) };
    // The numbers behind the last line that stands before it.
    let old = if last.is_added() { last.old } else { last.old + 1 };
    let new = if last.is_removed() { last.new } else { last.new + 1 };
    Some(new + line.checked_sub(old)?)
}

fn lines(part: &DiffPart) -> Vec<Line<'_>> {
    let mut out = Vec::new();
    let (mut old, mut new) = (0_u64, 0_u64);
    // Remaining lines of the present hunk, because text such as "@@ -1 +1 @@" inside of it is content.
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for text in part.text.split_terminator('\n') {
        if old_left == 0 && new_left == 0 {
            if let Some(head) = hunk_head(text) {
                [(old, old_left), (new, new_left)] = head;
            }
            continue;
        }
        if text.starts_with('\\') {
            continue;
        }
        let line = Line { text, old, new };
        if !line.is_added() {
            (old, old_left) = (old + 1, old_left.saturating_sub(1));
        }
        if !line.is_removed() {
            (new, new_left) = (new + 1, new_left.saturating_sub(1));
        }
        out.push(line);
    }
    out
}

/// Parses `@@ -4,3 +4,5 @@` to the first line and the number of lines on both sides. Where there are none, git names the line before.
fn hunk_head(text: &str) -> Option<[(u64, u64); 2]> {
    let (ranges, _) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let number = |text: &str| text.parse::<u32>().ok().map(u64::from);
    let range = |range: &str| {
        let (start, lines) = range.split_once(',').unwrap_or((range, "1"));
        let (start, lines) = (number(start)?, number(lines)?);
        Some((if lines == 0 { start + 1 } else { start }, lines))
    };
    Some([range(old)?, range(new)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> DiffPart {
        DiffPart { path: "x".into(), text: text.into(), ..DiffPart::default() }
    }

    fn added(diff: &[DiffPart]) -> Vec<(u64, &str)> {
        added_lines(diff).into_iter().map(|one| (one.line, one.added)).collect()
    }

    #[test]
    fn a_hunk_cannot_pretend_to_be_a_file() {
        let diff = [part("--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n-++ b/y\n+++ b/evil\n+two\n")];
        assert_eq!(added(&diff), [(1, "++ b/evil"), (2, "two")]);
    }

    #[test]
    fn lines_of_an_earlier_tree_have_their_numbers_in_the_newest() {
        let first = part("@@ -0,0 +1,8 @@\n+1\n+2\n+3\n+4\n+5\n+6\n+7\n+8\n");
        // Two lines before the first, the third changed, the fifth gone, one behind the seventh.
        let second = part("@@ -1,5 +1,6 @@\n+a\n+b\n 1\n 2\n-3\n+c\n 4\n-5\n@@ -7,0 +9,1 @@\n+d\n");
        let moved = [(3_u64, "1"), (4, "2"), (6, "4"), (7, "6"), (8, "7"), (10, "8")];
        let own = [(1_u64, "a"), (2, "b"), (5, "c"), (9, "d")];
        let diff = [first.clone(), second.clone()];
        assert_eq!(added(&diff), [&moved[..], &own[..]].concat());
        assert!((1..=10).all(|line| shows_line(&diff, "x", line)));
        assert!(!shows_line(&diff, "x", 11) && !shows_line(&diff, "y", 1));
        let third = part("@@ -1,2 +0,0 @@\n-a\n-b\n");
        let diff = [first.clone(), second, third];
        assert_eq!(added(&diff)[..2], [(1, "1"), (2, "2")], "through all later trees");
        let other = DiffPart { path: "y".into(), ..part("@@ -1,1 +0,0 @@\n-1\n") };
        assert_eq!(added(&[first.clone(), other])[0], (1, "1"), "another file");
        for unknown in [
            DiffPart { binary: true, ..part("") },
            DiffPart { cut: true, ..part("@@ -1,2 +1,1 @@\n-1\n") },
            part("@@ -1,8 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n-8\n@@ -0,0 +1 @@\n+to\n"),
        ] {
            let lines = added(&[first.clone(), unknown.clone()]).len();
            assert_eq!(lines, added(&[unknown]).len(), "none of the first tree");
        }
    }
}
