//! Puts definitions of an answer into the file that was shown.
//!
//! Owns: which definition of the file each of them replaces, new imports and new definitions, and indentation. Nothing is placed without
//! certainty. Tests: `part_tests.rs`.

use std::sync::LazyLock;

use regex::Regex;

use super::definitions::{Definition, all, assigned, indent, is_table, named};

/// The form of a method, and of nothing else.
static METHOD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\(\s*(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?(?:self|cls)\b").expect("a literal"));

/// Percentage of its length that a container's replacement must have, because entries missing from it would be lost.
const WHOLE: usize = 70;
/// The most definitions of one block that are placed, inner ones included, because the whole file is searched for each.
const MOST: usize = 64;

/// Words of comments with which models mark omitted parts of a file: anywhere in a comment, or at its beginning.
const LEFT_OUT: [&str; 9] = [
    "existing code",
    "rest of the",
    "unchanged",
    "remaining code",
    "other methods",
    "remain the same",
    "remains the same",
    "same as before",
    "... (same",
];
const LEFT_OUT_FIRST: [&str; 3] = ["rest of", "other functions", "no change"];

/// Whether a comment in it says that something was omitted, and `file` does not have that comment.
pub(super) fn omits(text: &str, file: &str) -> bool {
    let marks = |line: &str| {
        let small = line.to_lowercase();
        let words = small.trim_matches(['#', '/', ' ', '*']);
        let bare = words.trim_matches(|c: char| c.is_whitespace() || ".…()[]".contains(c));
        let dotted = words.starts_with("...") || words.starts_with('…');
        // Without a sign dots may also begin a list of arguments.
        let is_comment = line.starts_with(['#', '/', '*']);
        let trails = bare.ends_with("no change") || bare.ends_with("no changes");
        (dotted && (is_comment || bare.is_empty()))
            || trails
            || LEFT_OUT.iter().any(|words| small.contains(words))
            || LEFT_OUT_FIRST.iter().any(|words| bare.starts_with(words))
    };
    let comment = |line: &&str| line.starts_with(['#', '/', '*', '…']) || line.starts_with("...");
    let mut comments = text.lines().map(str::trim).filter(comment);
    comments.any(|line| marks(line) && !file.lines().any(|known| known.trim() == line))
}

/// `file` with the definitions of `block` in their places; none if the block has no definition, or one without a certain place. `seen`: the
/// definitions that the model was shown; of two with the same name the shown one is meant.
pub(super) fn placed(file: &str, block: &str, seen: &DefinitionHeads) -> Option<String> {
    let given: Vec<&str> = block.lines().collect();
    let pieces = all(&given);
    let mut text: Vec<String> = file.lines().map(str::to_owned).collect();
    let head = match outermost(&pieces).as_slice() {
        // A block of imports only.
        [] if given.iter().all(|line| line.trim().is_empty() || imports(line)) => given.as_slice(),
        [] => return None,
        outer => {
            let mut target = Target { text, given: &given, pieces: &pieces, seen, after: None, left: MOST };
            for piece in outer {
                target.place(piece, None)?;
            }
            // The block has only variables of an example.
            target.after?;
            text = target.text;
            &given[..outer[0].lead]
        }
    };
    import(&mut text, head);
    let out = text.join("\n") + "\n";
    (out.trim_end() != file.trim_end()).then_some(out)
}

/// First lines of the definitions that were shown.
#[derive(Debug, Default)]
pub(super) struct DefinitionHeads(Vec<String>);

impl DefinitionHeads {
    /// `shown`: the lines that the model was shown, as first and last, counted from 1.
    pub(super) fn of(file: &str, shown: &[(u32, u32)]) -> DefinitionHeads {
        let lines: Vec<&str> = file.lines().collect();
        let within =
            |at: usize| shown.iter().any(|(first, last)| (*first as usize..=*last as usize).contains(&(at + 1)));
        DefinitionHeads(
            all(&lines).iter().filter(|one| within(one.first)).map(|one| lines[one.first].to_owned()).collect(),
        )
    }
}

/// Whether it contains a definition that could be placed.
pub(super) fn defines(block: &str) -> bool {
    !all(&block.lines().collect::<Vec<_>>()).is_empty()
}

/// Definitions that are not within another.
fn outermost(pieces: &[Definition]) -> Vec<&Definition> {
    let mut reached = 0;
    let outer = pieces.iter().filter(|one| {
        let is_outer = one.first >= reached;
        reached = if is_outer { one.end } else { reached };
        is_outer
    });
    outer.collect()
}

/// The file with its changes so far.
struct Target<'a> {
    text: Vec<String>,
    given: &'a [&'a str],
    /// All definitions of the block.
    pieces: &'a [Definition],
    seen: &'a DefinitionHeads,
    /// The line after what was placed last, and its indentation: new definitions follow there.
    after: Option<(usize, usize)>,
    /// How many more may be placed.
    left: usize,
}

impl Target<'_> {
    /// Places one definition; none without a certain place. `container`: the name of its container, if that was given with it.
    fn place(&mut self, piece: &Definition, container: Option<&str>) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let lines: Vec<&str> = self.text.iter().map(String::as_str).collect();
        let known = all(&lines);
        let outer: Vec<&Definition> =
            known.iter().filter(|one| one.holds && container.is_some_and(|name| one.name == name)).collect();
        let is_inside = |one: &Definition| outer.is_empty() || outer.iter().any(|it| is_within(one, it));
        let same: Vec<&Definition> = known.iter().filter(|one| one.name == piece.name && is_inside(one)).collect();
        match same.as_slice() {
            [only] => self.replace(piece, only, &known),
            _ if self.is_example(piece) => Some(()),
            [] => self.add(piece, &known, outer.last().copied()),
            several => {
                let mut shown = several.iter().filter(|one| self.seen.0.contains(&self.text[one.first]));
                let (first, second) = (shown.next()?, shown.next());
                second.is_none().then(|| self.replace(piece, first, &known))?
            }
        }
    }

    /// Replaces this definition; none if something of it would be lost.
    fn replace(&mut self, piece: &Definition, old: &Definition, known: &[Definition]) -> Option<()> {
        let share = |new: usize, old: usize| new * 100 >= old * WHOLE;
        let held = |all: &[Definition], outer: &Definition| all.iter().filter(|one| is_within(one, outer)).count();
        let held_before = held(known, old);
        let is_whole = share(piece.end - piece.first, old.end - old.first)
            && share(held(self.pieces, piece), held_before)
            // The model cannot have left out on purpose what it was not shown.
            && (self.seen.0.is_empty() || held_before == 0);
        let (new, before) = (self.given[piece.first..piece.end].join("\n"), self.text[old.first..old.end].join("\n"));
        let is_cut = omits(&new, &before);
        if (piece.holds || old.holds) && (!is_whole || is_cut) {
            return self.within(piece);
        }
        // Entries of a table may have been left out.
        let written = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
        let is_value = self.is_variable(piece) || is_table(&self.text[old.first]);
        let is_long_value = is_value && old.end - old.first > 1;
        if is_cut || (is_long_value && !share(written(&new), written(&before))) {
            return None;
        }
        let (from, mut lines) = self.over(piece, old);
        // In an object the comma after a function does not belong to the function.
        let is_inner = old.indent > 0 && !self.is_variable(piece);
        if let Some(last) = lines.last_mut().filter(|last| is_inner && before.ends_with(',') && !last.ends_with(',')) {
            last.push(',');
        }
        self.after = Some((from + lines.len(), old.indent));
        self.text.splice(from..old.end, lines);
        Some(())
    }

    /// The lines that replace `old`, and where they begin: comments and decorators that were not returned are kept.
    fn over(&self, piece: &Definition, old: &Definition) -> (usize, Vec<String>) {
        let decorated = |line: &str| line.trim_start().starts_with('@') || line.trim_start().starts_with("#[");
        let lead = &self.text[old.lead..old.first];
        let mut lines = self.given(piece, old.indent, &lead.join("\n"));
        let above = lines.len() - (piece.end - piece.first);
        let loses_one = lead.iter().any(|line| decorated(line)) && !lines[..above].iter().any(|line| decorated(line));
        if loses_one {
            lines.drain(..above);
        }
        (if above > 0 && !loses_one { old.lead } else { old.first }, lines)
    }

    /// The definition's lines at this indentation; of the lines above it those that are not in `known` and do not say that something was
    /// omitted.
    fn given(&self, piece: &Definition, deep: usize, known: &str) -> Vec<String> {
        // A path above the first definition is not a comment of it.
        let is_path = |at: usize, line: &str| {
            let text = line.trim().trim_start_matches(['#', '/']).trim();
            let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            at == 0 && piece.lead == 0 && plain && text.contains('/') && text.contains('.')
        };
        let above = self.given[piece.lead..piece.first].iter().enumerate();
        let above = above.filter(|(at, line)| !omits(line, known) && !is_path(*at, line)).map(|(_, line)| line);
        let lines: Vec<&str> = above.chain(&self.given[piece.first..piece.end]).copied().collect();
        shifted(&lines, piece.indent, deep)
    }

    fn is_variable(&self, piece: &Definition) -> bool {
        assigned(self.given[piece.first]).is_some()
    }

    /// Whether it assigns a variable of an example: nothing else in the block uses it.
    fn is_example(&self, piece: &Definition) -> bool {
        let is_plain = piece.name.contains(char::is_lowercase) && !exports(&piece.name);
        let others = || self.pieces.iter().filter(|one| !self.is_variable(one));
        self.is_variable(piece) && is_plain && !others().any(|one| self.takes(one, &piece.name))
    }

    /// Whether this definition uses a name from outside: neither an argument of its own nor assigned in it.
    fn takes(&self, one: &Definition, name: &str) -> bool {
        let says = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        let assigns = |line: &str| {
            let head = line.split_once('=').map(|(head, _)| head.split(':').next().unwrap_or_default());
            head.is_some_and(|head| head.split_whitespace().last() == Some(name))
        };
        let (head, body) = (self.given[one.first], &self.given[one.first + 1..one.end]);
        !says(head) && body.iter().any(|line| says(line)) && !body.iter().any(|line| assigns(line))
    }

    /// Adds a new definition: a method after the last of its container, or after what was placed before it; anything else at the end, or
    /// after that.
    fn add(&mut self, piece: &Definition, known: &[Definition], container: Option<&Definition>) -> Option<()> {
        if omits(&self.given[piece.first..piece.end].join("\n"), "") {
            return None;
        }
        let is_method = piece.indent > 0 || METHOD.is_match(self.given[piece.first]);
        let holders = || known.iter().filter(|one| one.holds && known.iter().any(|it| is_within(it, one)));
        let place = match (container, self.after) {
            // In an object it would need a comma before it.
            (Some(container), _) if is_table(&self.text[container.first]) => return None,
            (Some(container), _) => last_within(container, known)?,
            (None, Some((at, deep))) if is_method && deep > 0 => (at, deep),
            (None, _) if is_method => {
                let (mut all, first) = (holders(), holders().next()?);
                all.nth(1).is_none().then(|| last_within(first, known))??
            }
            (None, Some((at, 0))) => (at, 0),
            (None, _) => (behind(known).unwrap_or(self.text.len()), 0),
        };
        let (at, deep) = place;
        let mut new = vec![String::new()];
        new.extend(self.given(piece, deep, ""));
        self.after = Some((at + new.len(), deep));
        self.text.splice(at..at, new);
        Some(())
    }

    /// Places the definitions within a container that was returned in part.
    fn within(&mut self, piece: &Definition) -> Option<()> {
        let inner: Vec<Definition> =
            self.pieces.iter().filter(|one| is_within(one, piece) && !one.holds).cloned().collect();
        let inner = outermost(&inner);
        if inner.is_empty() {
            return None;
        }
        inner.into_iter().try_for_each(|one| self.place(one, Some(&piece.name)))
    }
}

fn is_within(one: &Definition, container: &Definition) -> bool {
    one.first > container.first && one.end <= container.end
}

fn exports(name: &str) -> bool {
    name.starts_with("module.exports") || name.starts_with("exports.")
}

/// The line after the last definition, except for exports and tests at the end.
fn behind(known: &[Definition]) -> Option<usize> {
    let own = |one: &&Definition| one.indent == 0 && one.name != "tests" && !exports(&one.name);
    known.iter().filter(own).map(|one| one.end).max()
}

/// The line after the container's last definition, and its indentation.
fn last_within(container: &Definition, known: &[Definition]) -> Option<(usize, usize)> {
    let inner = known.iter().filter(|one| is_within(one, container));
    let least = inner.clone().map(|one| one.indent).min()?;
    inner.filter(|one| one.indent == least).map(|one| (one.end, least)).max()
}

fn shifted(lines: &[&str], from: usize, to: usize) -> Vec<String> {
    let shift = |line: &&str| match indent(line) {
        None => String::new(),
        Some(deep) => format!("{}{}", " ".repeat((deep + to).saturating_sub(from)), line.trim_start()),
    };
    if from == to { lines.iter().map(|line| (*line).to_owned()).collect() } else { lines.iter().map(shift).collect() }
}

/// Whether a line is an import.
pub(super) fn imports(line: &str) -> bool {
    ["import ", "from ", "use ", "const {", "#include"].iter().any(|word| line.starts_with(word))
        && named(line).is_none_or(|_| line.contains("require("))
}

/// Adds the imports of `head` that the file lacks, after its own.
fn import(text: &mut Vec<String>, head: &[&str]) {
    // An import over several lines would be cut.
    let is_open = |line: &str| line.matches(['(', '{']).count() > line.matches([')', '}']).count();
    for line in head.iter().filter(|line| imports(line) && !is_open(line)) {
        if text.iter().any(|known| known.trim_end() == line.trim_end()) {
            continue;
        }
        let last = text.iter().rposition(|known| imports(known));
        let at = last.map_or_else(
            || beginning(text),
            |last| match is_open(&text[last]) {
                true => text[last..]
                    .iter()
                    .position(|line| line.starts_with([')', '}']))
                    .map_or(last + 1, |end| last + end + 1),
                false => last + 1,
            },
        );
        text.insert(at, (*line).to_owned());
    }
}

/// The first line at which an import may be placed: after what must come first, and comments about the whole file.
fn beginning(text: &[String]) -> usize {
    let first = ["#!", "# ", "//!", "// ", "/*", " *", "'use strict'", "\"use strict\"", "package "];
    let at = text.iter().take_while(|line| first.iter().any(|word| line.starts_with(word))).count();
    let Some(mark) = ["\"\"\"", "'''"].into_iter().find(|mark| text.get(at).is_some_and(|line| line.starts_with(mark)))
    else {
        return at;
    };
    let is_one = text[at].matches(mark).count() > 1;
    let end = text[at + 1..].iter().position(|line| line.contains(mark));
    if is_one { at + 1 } else { end.map_or(at, |end| at + end + 2) }
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
