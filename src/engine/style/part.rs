//! Puts definitions of an answer into the file that was shown.
//!
//! Owns: which definition of the file each of them replaces, new definitions, and indentation. New fields of a class: `fields.rs`; several
//! names in one definition: `bindings.rs`; an example behind the definitions: `examples.rs`; what stands outside of definitions:
//! `loose.rs`. Nothing is placed without certainty. Tests: `part_tests.rs`.

mod bindings;
mod examples;
mod fields;
mod lists;
mod loose;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

pub(super) use loose::{joined, statements};

use super::definitions::{Definition, all, assigned, bare_methods, is_table, named, prefix, shifted, texts};

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

/// `file` with the definitions of `block` in their places; none if the block has no definition, or something without a certain place. `seen`:
/// the definitions that the model was shown; of two with the same name the shown one is meant.
pub(super) fn placed(file: &str, block: &str, seen: &DefinitionHeads) -> Option<String> {
    let lines: Vec<&str> = file.lines().collect();
    let known = all(&lines);
    let given = with_methods_indented(&block.lines().collect::<Vec<_>>(), &lines, &known);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let pieces = all(&given);
    let outer = outermost(&pieces);
    if outer.is_empty() && !loose::is_all(&given) {
        return None;
    }
    let text = lines.iter().map(|line| (*line).to_owned()).collect();
    let names: BTreeSet<&str> = known.iter().flat_map(Definition::names).collect();
    let own = pieces.iter().flat_map(Definition::names);
    let example = examples::begin(&given, &own.chain(names.iter().copied()).collect());
    let mut target = Target { text, given: &given, pieces: &pieces, example, seen, spots: Vec::new(), left: MOST };
    // New definitions stand beside those that the file has.
    let (old, new): (Vec<&Definition>, Vec<&Definition>) =
        outer.iter().copied().partition(|piece| piece.names().any(|name| names.contains(name)));
    for piece in old.into_iter().chain(new) {
        target.place(piece, None)?;
    }
    // The block has only variables of an example.
    if target.spots.is_empty() && !outer.is_empty() {
        return None;
    }
    let mut text = target.text;
    loose::place(&mut text, &given, &outer)?;
    let out = text.join("\n") + "\n";
    (out.trim_end() != file.trim_end()).then_some(out)
}

/// The block's lines: methods at the beginning of their lines stand as deep as the file's if it has one of them.
fn with_methods_indented(given: &[&str], file: &[&str], known: &[Definition]) -> Vec<String> {
    let mut lines: Vec<String> = given.iter().map(|line| (*line).to_owned()).collect();
    let methods = bare_methods(given);
    let own = methods.iter().find_map(|(name, _)| known.iter().find(|one| one.indent > 0 && one.name == *name));
    let Some(own) = own else { return lines };
    let texts = texts(given);
    let prefix = prefix(file[own.first]);
    for at in methods.into_iter().flat_map(|(_, range)| range) {
        if !texts[at] && !lines[at].trim().is_empty() && lines[at] == given[at] {
            lines[at].insert_str(0, prefix);
        }
    }
    lines
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

/// Where a definition of the block stands in the file.
struct Spot {
    /// Its first line in the block.
    piece: usize,
    lead: usize,
    end: usize,
    indent: String,
}

/// The file with its changes so far.
struct Target<'a> {
    text: Vec<String>,
    given: &'a [&'a str],
    /// All definitions of the block.
    pieces: &'a [Definition],
    /// The line of the block at which an example of use begins.
    example: usize,
    seen: &'a DefinitionHeads,
    /// Where definitions of the block were placed: new ones stand beside them.
    spots: Vec<Spot>,
    /// How many more may be placed.
    left: usize,
}

impl Target<'_> {
    /// Places one definition; none without a certain place. `container`: the name of its container, if that was given with it.
    fn place(&mut self, piece: &Definition, container: Option<&str>) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let lines: Vec<&str> = self.text.iter().map(String::as_str).collect();
        let known = all(&lines);
        let overlaps = bindings::overlaps(piece, &known);
        if container.is_none() && !overlaps.is_empty() {
            return self.rebind(piece, &overlaps);
        }
        let outer: Vec<&Definition> =
            known.iter().filter(|one| one.holds && container.is_some_and(|name| one.name == name)).collect();
        let is_inside = |one: &Definition| outer.is_empty() || outer.iter().any(|it| is_within(one, it));
        let same: Vec<&Definition> = known.iter().filter(|one| one.name == piece.name && is_inside(one)).collect();
        match same.as_slice() {
            // What was not shown cannot have been changed on purpose: the beginning of a program is an example's.
            [only] if container.is_none() && self.is_unseen(only) => {
                (piece.name == "main" || piece.end - piece.first == 1).then_some(())
            }
            [only] => self.replace(piece, only, &known),
            _ if self.is_example(piece) => Some(()),
            [] => self.add(piece, &known, outer.last().copied()),
            several => match self.meant(piece, several, &known) {
                Some(one) => self.replace(piece, one, &known),
                // What is within it may have one place in all of that name.
                None if piece.holds && several.iter().all(|one| one.holds) => self.within(piece, None, &known),
                None => None,
            },
        }
    }

    /// Whether only parts of the file were shown, and this is in none of them. Containers are completed and not replaced.
    fn is_unseen(&self, one: &Definition) -> bool {
        !one.holds && !self.seen.0.is_empty() && !self.seen.0.contains(&self.text[one.first])
    }

    /// Which of several with the same name is meant: the only one that was shown, or the one that begins alike.
    fn meant<'b>(
        &self,
        piece: &Definition,
        several: &[&'b Definition],
        known: &[Definition],
    ) -> Option<&'b Definition> {
        let shown = several.iter().copied().filter(|one| self.seen.0.contains(&self.text[one.first]));
        let mut likely: Vec<&Definition> = shown.collect();
        if let [only] = likely.as_slice() {
            return Some(*only);
        }
        let holder = |one: &Definition| known.iter().rposition(|it| it.holds && is_within(one, it));
        let are_siblings = several.iter().all(|one| holder(one).is_some() && holder(one) == holder(several[0]));
        if likely.is_empty() && are_siblings {
            likely = several.to_vec();
        }
        let text: Vec<&str> = self.text.iter().map(String::as_str).collect();
        let own = beginning(self.given, piece);
        let only = |fits: &dyn Fn(&(String, String)) -> bool| {
            let mut found = likely.iter().copied().filter(|one| fits(&beginning(&text, one)));
            found.next().filter(|_| found.next().is_none())
        };
        only(&|one: &(String, String)| *one == own)
            .or_else(|| only(&|one: &(String, String)| !own.0.is_empty() && one.0 == own.0))
            .or_else(|| only(&|one: &(String, String)| own.0.is_empty() && one.1 == own.1))
    }

    /// Puts lines in place of others; what was placed before moves with them.
    fn splice(&mut self, range: Range<usize>, lines: Vec<String>) {
        let moved = |at: usize| at + lines.len() - range.len();
        for spot in &mut self.spots {
            if spot.lead >= range.end {
                spot.lead = moved(spot.lead);
            }
            if spot.end > range.start && spot.end >= range.end {
                spot.end = moved(spot.end);
            }
        }
        self.text.splice(range, lines);
    }

    /// Replaces this definition; none if something of it would be lost.
    fn replace(&mut self, piece: &Definition, old: &Definition, known: &[Definition]) -> Option<()> {
        let share = |new: usize, old: usize| new * 100 >= old * WHOLE;
        let held = |all: &[Definition], outer: &Definition| all.iter().filter(|one| is_within(one, outer)).count();
        let held_before = held(known, old);
        let names = |all: &[Definition], outer: &Definition| -> BTreeSet<String> {
            all.iter().filter(|one| is_within(one, outer)).map(|one| one.name.clone()).collect()
        };
        let is_whole = names(known, old).is_subset(&names(self.pieces, piece))
            && share(piece.end - piece.first, old.end - old.first)
            && share(held(self.pieces, piece), held_before)
            // The model cannot have left out on purpose what it was not shown.
            && (self.seen.0.is_empty() || held_before == 0);
        let (new, before) = (self.given[piece.first..piece.end].join("\n"), self.text[old.first..old.end].join("\n"));
        // A head alone is a quotation.
        if piece.end - piece.first == 1 && new.trim_end().ends_with([':', '{']) {
            return None;
        }
        let is_cut = omits(&new, &before);
        if (piece.holds || old.holds) && (!is_whole || is_cut) {
            return self.within(piece, Some(old), known);
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
        let indent = prefix(&self.text[old.first]).to_owned();
        let end = from + lines.len();
        self.splice(from..old.end, lines);
        self.spots.push(Spot { piece: piece.first, lead: old.lead, end, indent });
        Some(())
    }

    /// The lines that replace `old`, and where they begin: comments and decorators that were not returned are kept.
    fn over(&self, piece: &Definition, old: &Definition) -> (usize, Vec<String>) {
        let lead = &self.text[old.lead..old.first];
        let mut lines = self.given(piece, prefix(&self.text[old.first]), &lead.join("\n"));
        let above = lines.len() - (piece.end - piece.first);
        let loses_one = lead.iter().any(|line| decorates(line)) && !lines[..above].iter().any(|line| decorates(line));
        if loses_one {
            lines.drain(..above);
        }
        (if above > 0 && !loses_one { old.lead } else { old.first }, lines)
    }

    /// The definition's lines at this indentation; of the lines above it those that are not in `known` and do not say that something was
    /// omitted.
    fn given(&self, piece: &Definition, indent: &str, known: &str) -> Vec<String> {
        // A path above the first definition is not a comment of it.
        let is_path = |at: usize, line: &str| {
            let text = line.trim().trim_start_matches(['#', '/']).trim();
            let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            at == 0 && piece.lead == 0 && plain && text.contains('/') && text.contains('.')
        };
        let above = self.given[piece.lead..piece.first].iter().enumerate();
        let above = above.filter(|(at, line)| !omits(line, known) && !is_path(*at, line)).map(|(_, line)| line);
        let lines: Vec<&str> = above.chain(&self.given[piece.first..piece.end]).copied().collect();
        shifted(&lines, prefix(self.given[piece.first]), indent)
    }

    fn is_variable(&self, piece: &Definition) -> bool {
        assigned(self.given[piece.first]).is_some()
    }

    /// Whether it assigns a variable of an example: nothing else in the block uses it.
    fn is_example(&self, piece: &Definition) -> bool {
        let is_plain = piece.name.contains(char::is_lowercase) && !exports(&piece.name);
        let stays = |one: &&Definition| !self.is_variable(one) || !one.name.contains(char::is_lowercase);
        let takes = |one: &Definition| self.takes(one, &piece.name);
        let is_printed = || {
            let mut before = self.pieces.iter().take_while(|one| one.first < self.example);
            piece.first >= self.example && !before.any(takes) && !self.is_exported(&piece.name)
        };
        is_plain && (self.is_variable(piece) && !self.pieces.iter().filter(stays).any(takes) || is_printed())
    }

    /// Whether a line before the example and outside of definitions names it.
    fn is_exported(&self, name: &str) -> bool {
        let is_loose = |at: usize| !self.pieces.iter().any(|one| (one.first..one.end).contains(&at));
        (0..self.example).any(|at| is_loose(at) && examples::says(self.given[at], name))
    }

    /// Whether this definition uses a name from outside: neither an argument of its own nor assigned in it.
    fn takes(&self, one: &Definition, name: &str) -> bool {
        let says = |line: &str| examples::says(line, name);
        let assigns = |line: &str| {
            let head = line.split_once('=').map(|(head, _)| head.split(':').next().unwrap_or_default());
            head.is_some_and(|head| head.split_whitespace().last() == Some(name))
        };
        let (head, body) = (self.given[one.first], &self.given[one.first + 1..one.end]);
        // The value of a constant, or of an argument that was left out.
        let in_value = head.split('=').skip(1).any(says);
        in_value || !says(head) && body.iter().any(|line| says(line)) && !body.iter().any(|line| assigns(line))
    }

    /// Adds a new definition: a method after the last of its container, or beside what was given before or after it; anything else at the
    /// end, or beside that.
    fn add(&mut self, piece: &Definition, known: &[Definition], container: Option<&Definition>) -> Option<()> {
        if omits(&self.given[piece.first..piece.end].join("\n"), "") {
            return None;
        }
        let is_method = piece.indent > 0 || METHOD.is_match(self.given[piece.first]);
        let holders = || known.iter().filter(|one| one.holds && known.iter().any(|it| is_within(it, one)));
        let behind_last = |container: &Definition| {
            let last = last_within(container, known)?;
            Some((last.end, prefix(&self.text[last.first]).to_owned(), false))
        };
        let place = match container {
            // In an object it would need a comma before it.
            Some(container) if is_table(&self.text[container.first]) => return None,
            Some(container) => behind_last(container)?,
            None => match self.beside(piece, is_method) {
                Some(place) => place,
                None if is_method => {
                    let (mut all, first) = (holders(), holders().next()?);
                    all.nth(1).is_none().then(|| behind_last(first))??
                }
                None => (behind(known).unwrap_or(self.text.len()), String::new(), false),
            },
        };
        let (at, indent, is_before) = place;
        let mut new = self.given(piece, &indent, "");
        let lead = if is_before { at } else { at + 1 };
        let end = lead + new.len();
        new.insert(if is_before { new.len() } else { 0 }, String::new());
        self.splice(at..at, new);
        self.spots.push(Spot { piece: piece.first, lead, end, indent });
        Some(())
    }

    /// Where a new definition stands beside the one that was given before it, or else after it: the line, its indentation, and whether it
    /// comes before that one.
    fn beside(&self, piece: &Definition, is_method: bool) -> Option<(usize, String, bool)> {
        let fits = || self.spots.iter().filter(move |spot| spot.indent.is_empty() != is_method);
        let before = fits().filter(|spot| spot.piece < piece.first).max_by_key(|spot| spot.piece);
        let after = fits().filter(|spot| spot.piece > piece.first).min_by_key(|spot| spot.piece);
        let behind = before.map(|spot| (spot.end, spot.indent.clone(), false));
        behind.or_else(|| after.map(|spot| (spot.lead, spot.indent.clone(), true)))
    }

    /// Places the definitions within a container that was returned in part, and its new fields. `old`: the file's, if there is one only.
    fn within(&mut self, piece: &Definition, old: Option<&Definition>, known: &[Definition]) -> Option<()> {
        let inner: Vec<Definition> =
            self.pieces.iter().filter(|one| is_within(one, piece) && !one.holds).cloned().collect();
        let inner = outermost(&inner);
        let (first, after) = inner.split_first()?;
        let is_inner = |at: usize| after.iter().any(|one| (one.lead..one.end).contains(&at));
        let rest = (first.end..piece.end).filter(|at| !is_inner(*at)).map(|at| self.given[at]);
        let (head, rest) = (&self.given[piece.first..first.lead], rest.collect());
        let part = fields::Part { head, rest, inner: self.given[first.first] };
        let same = known.iter().filter(|one| one.holds && one.name == piece.name).map(|one| one.first..one.end);
        let lines: Vec<&str> = same.flat_map(|range| self.text[range].iter()).map(String::as_str).collect();
        let old = old.and_then(|old| {
            let inner = known.iter().find(|one| is_within(one, old))?;
            Some((old.first..inner.lead, inner.first))
        });
        let head = old.clone().map(|(range, inner)| fields::Head {
            lines: self.text[range].iter().map(String::as_str).collect(),
            inner: &self.text[inner],
        });
        let new = part.merged(&lines, head)?;
        if let Some((range, _)) = old {
            self.splice(range, new);
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

/// The container's last definition, not counting those within others.
fn last_within<'a>(container: &Definition, known: &'a [Definition]) -> Option<&'a Definition> {
    let inner = || known.iter().filter(|one| is_within(one, container));
    let least = inner().map(|one| one.indent).min()?;
    inner().filter(|one| one.indent == least).max_by_key(|one| one.end)
}

fn decorates(line: &str) -> bool {
    line.trim_start().starts_with('@') || line.trim_start().starts_with("#[")
}

/// How a definition begins: its decorators, and its first line.
fn beginning(lines: &[&str], one: &Definition) -> (String, String) {
    let above = lines[one.lead..one.first].iter().filter(|line| decorates(line)).map(|line| line.trim());
    (above.collect::<Vec<_>>().join("\n"), lines[one.first].trim().to_owned())
}

/// Whether a line is an import.
pub(super) fn imports(line: &str) -> bool {
    ["import ", "from ", "use ", "const {", "#include"].iter().any(|word| line.starts_with(word))
        && named(line).is_none_or(|_| line.contains("require("))
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
