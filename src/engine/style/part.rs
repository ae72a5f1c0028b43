//! Definitions that a model gave back, put into the file that it was shown.
//!
//! Owns: which definition of the file each of them replaces, new imports and new definitions beside them, indentation. What cannot be
//! placed for certain is not placed. Tests: `part_tests.rs`.

use std::sync::LazyLock;

use regex::Regex;

use super::definitions::{Definition, all, assigned, indent, is_table, named};

/// What only a method looks like.
static METHOD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\(\s*(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?(?:self|cls)\b").expect("a literal"));

/// A container is replaced as a whole only by something about as long: otherwise what is missing would be lost.
const WHOLE: usize = 70;
/// Definitions of one block that are placed.
const MOST: usize = 64;

/// Words that stand where a model left a part of a file out.
const LEFT_OUT: [&str; 6] =
    ["existing code", "rest of the", "unchanged", "remaining code", "other methods", "... (same"];

/// Whether something in it was left out, in words of a comment that `file` has not.
pub(super) fn omits(text: &str, file: &str) -> bool {
    let comment = |line: &&str| line.starts_with(['#', '/', '*']) || line.starts_with("...");
    text.lines().map(str::trim).filter(comment).any(|line| {
        let small = line.to_lowercase();
        let says =
            small.trim_matches(['#', '/', ' ', '*']) == "..." || LEFT_OUT.iter().any(|words| small.contains(words));
        says && !file.lines().any(|known| known.trim() == line)
    })
}

/// `file` with the definitions of `block` in their places; none where the block has no definition, or one whose place is not certain.
/// `seen`: the definitions that the model saw; of two with one name the one that was shown is meant.
pub(super) fn placed(file: &str, block: &str, seen: &Seen) -> Option<String> {
    let given: Vec<&str> = block.lines().collect();
    let outer = outermost(&given);
    let mut text: Vec<String> = file.lines().map(str::to_owned).collect();
    // A block of nothing but imports.
    if outer.is_empty() && given.iter().all(|line| line.trim().is_empty() || imports(line)) {
        import(&mut text, &given);
        return whole(&text).filter(|out| out.trim_end() != file.trim_end());
    }
    // Each is looked for in the whole file.
    if outer.is_empty() || outer.len() > MOST {
        return None;
    }
    let mut target = Target { text, given: &given, seen, after: None };
    for piece in &outer {
        target.place(piece, None)?;
    }
    // Nothing but an example's own variables.
    target.after?;
    let mut text = target.text;
    import(&mut text, &given[..outer[0].lead]);
    whole(&text).filter(|out| out.trim_end() != file.trim_end())
}

fn whole(lines: &[String]) -> Option<String> {
    (!lines.is_empty()).then(|| lines.join("\n") + "\n")
}

/// First lines of the definitions that were shown.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<String>);

impl Seen {
    /// `shown`: the lines of the file that the model saw, first and last, counted from 1.
    pub(super) fn of(file: &str, shown: &[(u32, u32)]) -> Seen {
        let lines: Vec<&str> = file.lines().collect();
        let within =
            |at: usize| shown.iter().any(|(first, last)| (*first as usize..=*last as usize).contains(&(at + 1)));
        Seen(all(&lines).iter().filter(|one| within(one.first)).map(|one| lines[one.first].to_owned()).collect())
    }
}

/// Whether it defines anything that could be placed.
pub(super) fn defines(block: &str) -> bool {
    !all(&block.lines().collect::<Vec<_>>()).is_empty()
}

/// Definitions that stand within no other.
fn outermost(lines: &[&str]) -> Vec<Definition> {
    let mut reached = 0;
    let mut out: Vec<Definition> = Vec::new();
    for found in all(lines) {
        if found.first >= reached {
            reached = found.end;
            out.push(found);
        }
    }
    out
}

/// The file as it becomes.
struct Target<'a> {
    text: Vec<String>,
    given: &'a [&'a str],
    seen: &'a Seen,
    /// The line after what was put in last, and its indentation: something new follows it.
    after: Option<(usize, usize)>,
}

impl Target<'_> {
    fn all(&self) -> Vec<Definition> {
        let lines: Vec<&str> = self.text.iter().map(String::as_str).collect();
        all(&lines)
    }

    /// Puts one in; none when it has no certain place. `container`: the name of what holds it, where that was given with it.
    fn place(&mut self, piece: &Definition, container: Option<&str>) -> Option<()> {
        // What an example assigns to is no part of the file.
        let is_example = |name: &str| name.contains(char::is_lowercase) && !exports(name) && !self.uses(name, piece);
        let variable = assigned(self.given[piece.first]);
        let known = self.all();
        let outer: Vec<&Definition> =
            known.iter().filter(|one| one.holds && container.is_some_and(|name| one.name == name)).collect();
        let inside = |one: &Definition| outer.iter().any(|it| it.first < one.first && one.end <= it.end);
        let same: Vec<&Definition> =
            known.iter().filter(|one| one.name == piece.name && (outer.is_empty() || inside(one))).collect();
        let old = match same.as_slice() {
            [] if variable.is_some_and(is_example) => return Some(()),
            [] => return self.add(piece, &known, outer.last().copied()),
            [only] => (*only).clone(),
            _ if variable.is_some_and(is_example) => return Some(()),
            several => {
                let mut meant = several.iter().filter(|one| self.seen.0.contains(&self.text[one.first]));
                let first = meant.next()?;
                (meant.next().is_none()).then(|| (*first).clone())?
            }
        };
        let share = |new: usize, old: usize| new * 100 >= old * WHOLE;
        let held = |all: &[Definition], outer: &Definition| all.iter().filter(|one| is_within(one, outer)).count();
        let is_whole = share(piece.end - piece.first, old.end - old.first)
            && share(held(&all(self.given), piece), held(&known, &old))
            // What was not shown cannot have been left out on purpose.
            && (self.seen.0.is_empty() || held(&known, &old) == 0);
        let (new, before) = (self.given[piece.first..piece.end].join("\n"), self.text[old.first..old.end].join("\n"));
        let is_cut = omits(&new, &before);
        if (piece.holds || old.holds) && (!is_whole || is_cut) {
            return self.within(piece);
        }
        // Entries of a table may have been left out.
        let written = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
        let is_value = variable.is_some() || is_table(&self.text[old.first]);
        let is_long_table = is_value && old.end - old.first > 1;
        if is_cut || (is_long_table && !share(written(&new), written(&before))) {
            return None;
        }
        let mut new = self.given(piece, old.indent, &self.text[old.lead..old.end].join("\n"));
        let above = new.len() - (piece.end - piece.first);
        // Comments and decorators that were not given back stay.
        let decorated = |line: &str| line.trim_start().starts_with(['@']) || line.trim_start().starts_with("#[");
        let keeps = self.text[old.lead..old.first].iter().any(|line| decorated(line))
            && !new[..above].iter().any(|line| decorated(line));
        if keeps {
            new.drain(..above);
        }
        let from = if above > 0 && !keeps { old.lead } else { old.first };
        // In an object the comma behind a function is not the function's.
        let is_inner = variable.is_none() && old.indent > 0;
        if let (true, Some(last)) =
            (is_inner && before.ends_with(','), new.last_mut().filter(|last| !last.ends_with(',')))
        {
            last.push(',');
        }
        self.after = Some((from + new.len(), old.indent));
        self.text.splice(from..old.end, new);
        Some(())
    }

    /// Its lines, so deep; what stands above it without words about what was left out that are not `known`.
    fn given(&self, piece: &Definition, deep: usize, known: &str) -> Vec<String> {
        // A file's name above its first definition is no comment of its own.
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

    /// Whether anything else that is given takes this name from outside: it is no argument of its own, and assigned to nowhere in it.
    fn uses(&self, name: &str, piece: &Definition) -> bool {
        let says = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        let assigns = |line: &str| {
            let head = line.split_once('=').map(|(head, _)| head.split(':').next().unwrap_or_default());
            head.is_some_and(|head| head.split_whitespace().last() == Some(name))
        };
        let takes = |one: &Definition| {
            let lines = &self.given[one.first..one.end];
            lines.iter().skip(1).any(|line| says(line))
                && !says(lines[0])
                && !lines.iter().skip(1).any(|line| assigns(line))
        };
        let others = all(self.given).into_iter().filter(|one| one.first != piece.first);
        others.filter(|one| assigned(self.given[one.first]).is_none()).any(|one| takes(&one))
    }

    /// A new one: a method behind the last of its container, or behind what was put in before it; anything else at the end, or behind that.
    fn add(&mut self, piece: &Definition, known: &[Definition], container: Option<&Definition>) -> Option<()> {
        if omits(&self.given[piece.first..piece.end].join("\n"), "") {
            return None;
        }
        let is_method = piece.indent > 0 || METHOD.is_match(self.given[piece.first]);
        let holders = || known.iter().filter(|one| one.holds && known.iter().any(|it| is_within(it, one)));
        let place = match (container, self.after) {
            // In an object a comma would have to stand before it.
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

    /// The definitions within a container that was given back in part.
    fn within(&mut self, piece: &Definition) -> Option<()> {
        let inner: Vec<Definition> = all(self.given)
            .into_iter()
            .filter(|one| one.first > piece.first && one.end <= piece.end && !one.holds)
            .collect();
        if inner.len() > MOST {
            return None;
        }
        let mut reached = 0;
        for one in &inner {
            if one.first >= reached {
                reached = one.end;
                self.place(one, Some(&piece.name))?;
            }
        }
        (reached > 0).then_some(())
    }
}

fn is_within(one: &Definition, container: &Definition) -> bool {
    one.first > container.first && one.end <= container.end
}

fn exports(name: &str) -> bool {
    name.starts_with("module.exports") || name.starts_with("exports.")
}

/// The line after the last definition, less what names them for others or tests them.
fn behind(known: &[Definition]) -> Option<usize> {
    let own = |one: &&Definition| one.indent == 0 && one.name != "tests" && !exports(&one.name);
    known.iter().filter(own).map(|one| one.end).max()
}

/// The line after the container's last definition, and how deep that stands.
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

/// Whether a line takes something in from elsewhere.
pub(super) fn imports(line: &str) -> bool {
    ["import ", "from ", "use ", "const {", "#include"].iter().any(|word| line.starts_with(word))
        && named(line).is_none_or(|_| line.contains("require("))
}

/// Adds the imports of `head` that the file has not, after its own.
fn import(text: &mut Vec<String>, head: &[&str]) {
    // One over several lines would be cut.
    let is_open = |line: &str| line.matches(['(', '{']).count() > line.matches([')', '}']).count();
    for line in head.iter().filter(|line| imports(line) && !is_open(line)) {
        if text.iter().any(|known| known.trim_end() == line.trim_end()) {
            continue;
        }
        let last = text.iter().rposition(|known| imports(known));
        let at = last.map_or(0, |last| match is_open(&text[last]) {
            true => {
                text[last..].iter().position(|line| line.starts_with([')', '}'])).map_or(last + 1, |end| last + end + 1)
            }
            false => last + 1,
        });
        text.insert(at, (*line).to_owned());
    }
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
