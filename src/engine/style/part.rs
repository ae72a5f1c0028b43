//! Definitions that a model gave back, put into the file that it was shown.
//!
//! Owns: which definition of the file each of them replaces, new imports and new definitions beside them, indentation. What cannot be
//! placed for certain is not placed. Tests: below.

use std::sync::LazyLock;

use regex::Regex;

use super::definitions::{Definition, all, assigned, indent, named};

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
        if file.lines().any(|known| known.trim() == line) {
            return false;
        }
        let line = line.to_lowercase();
        line.trim_matches(['#', '/', ' ', '*']) == "..." || LEFT_OUT.iter().any(|words| line.contains(words))
    })
}

/// `file` with the definitions of `block` in their places; none where the block has no definition, or one whose place is not certain.
/// `seen`: the definitions that the model saw; of two with one name the one that was shown is meant.
pub(super) fn placed(file: &str, block: &str, seen: &Seen) -> Option<String> {
    let given: Vec<&str> = block.lines().collect();
    let outer = outermost(&given);
    let is_cut = |one: &Definition| !one.holds && omits(&given[one.first..one.end].join("\n"), file);
    if all(&given).iter().any(is_cut) {
        return None;
    }
    // Each is looked for in the whole file.
    if outer.is_empty() || outer.len() > MOST {
        return None;
    }
    let text = file.lines().map(str::to_owned).collect();
    let mut target = Target { file, text, given: &given, seen, after: None };
    for piece in &outer {
        target.place(piece, None)?;
    }
    let mut text = target.text;
    import(&mut text, &given[..outer[0].lead]);
    let mut out = text.join("\n");
    out.push('\n');
    (out.trim_end() != file.trim_end()).then_some(out)
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
    /// As it was.
    file: &'a str,
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
        let is_example = |name: &str| name.contains(char::is_lowercase) && !exports(name);
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
            && !omits(&self.given[piece.first..piece.end].join("\n"), self.file);
        if (piece.holds || old.holds) && !is_whole {
            return self.within(piece);
        }
        // Entries of a table may have been left out.
        let written = |lines: String| lines.chars().filter(|c| !c.is_whitespace()).count();
        let (new, before) = (self.given[piece.first..piece.end].concat(), self.text[old.first..old.end].concat());
        if variable.is_some() && !share(written(new), written(before)) {
            return None;
        }
        let new = self.given(piece, old.indent);
        // Comments and decorators that were not given back stay.
        let from = if new.len() > piece.end - piece.first { old.lead } else { old.first };
        self.after = Some((from + new.len(), old.indent));
        self.text.splice(from..old.end, new);
        Some(())
    }

    /// Its lines, so deep; what stands above it without what was left out there.
    fn given(&self, piece: &Definition, deep: usize) -> Vec<String> {
        let above = self.given[piece.lead..piece.first].iter().filter(|line| !omits(line, self.file));
        let lines: Vec<&str> = above.chain(&self.given[piece.first..piece.end]).copied().collect();
        shifted(&lines, piece.indent, deep)
    }

    /// A new one: a method behind the last of its container, or behind what was put in before it; anything else at the end, or behind that.
    fn add(&mut self, piece: &Definition, known: &[Definition], container: Option<&Definition>) -> Option<()> {
        let is_method = piece.indent > 0 || METHOD.is_match(self.given[piece.first]);
        let holders = || known.iter().filter(|one| one.holds && known.iter().any(|it| is_within(it, one)));
        let place = match (container, self.after) {
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
        new.extend(self.given(piece, deep));
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

/// Adds the imports of `head` that the file has not, after its own.
fn import(text: &mut Vec<String>, head: &[&str]) {
    let imports = |line: &str| {
        ["import ", "from ", "use ", "const {", "#include"].iter().any(|word| line.starts_with(word))
            && named(line).is_none_or(|_| line.contains("require("))
    };
    for line in head.iter().filter(|line| imports(line)) {
        if text.iter().any(|known| known.trim_end() == line.trim_end()) {
            continue;
        }
        let at = text.iter().rposition(|known| imports(known)).map_or(0, |at| at + 1);
        text.insert(at, (*line).to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "import re\n\n\ndef one():\n    return 1\n\n\nclass Bag:\n    size = 2\n\n    # How many.\n    def count(self):\n        return 0\n\n    def drop(self):\n        pass\n\n    def fill(self):\n        pass\n";

    #[test]
    fn one_definition_replaces_that_one() {
        let out = placed(FILE, "def one():\n    return 2\n", &Seen::default()).unwrap();
        assert_eq!(out, FILE.replace("return 1", "return 2"));
        let method = placed(FILE, "def count(self):\n    return self.size\n", &Seen::default()).unwrap();
        assert_eq!(method, FILE.replace("return 0", "return self.size"), "moved to its place");
    }

    #[test]
    fn a_class_given_in_part_loses_nothing() {
        let out = placed(FILE, "class Bag:\n    def count(self):\n        return 5\n", &Seen::default()).unwrap();
        assert_eq!(out, FILE.replace("return 0", "return 5"));
    }

    #[test]
    fn new_imports_and_new_definitions_find_a_place() {
        let out = placed(
            FILE,
            "import os\n\ndef one():\n    return two()\n\n\ndef two():\n    return os.sep\n",
            &Seen::default(),
        )
        .unwrap();
        let wanted = FILE
            .replace("import re\n", "import re\nimport os\n")
            .replace("    return 1\n", "    return two()\n\ndef two():\n    return os.sep\n");
        assert_eq!(out, wanted);
    }

    #[test]
    fn what_has_no_certain_place_is_not_placed() {
        assert_eq!(placed(FILE, "x = 1\n", &Seen::default()), None);
        let two = FILE.to_owned() + "\n\nclass Box:\n    def shut(self):\n        pass\n";
        assert_eq!(
            placed(&two, "    def other(self):\n        pass\n", &Seen::default()),
            None,
            "which of the two is not said"
        );
        assert_eq!(
            placed("def a():\n  1\ndef a():\n  2\n", "def a():\n  3\n", &Seen::default()),
            None,
            "there are two"
        );
        assert_eq!(placed(FILE, "def one():\n    return 1\n", &Seen::default()), None, "nothing changed");
    }

    #[test]
    fn a_new_method_stands_behind_the_last_of_its_class_or_behind_the_one_given_before_it() {
        let method = "def other(self):\n    return 1\n";
        let end = FILE.to_owned() + "\n    def other(self):\n        return 1\n";
        assert_eq!(placed(FILE, method, &Seen::default()).unwrap(), end);
        assert_eq!(
            placed(FILE, "class Bag:\n    def other(self):\n        return 1\n", &Seen::default()).unwrap(),
            end
        );
        let between = placed(FILE, &format!("def count(self):\n    return 5\n\n{method}"), &Seen::default()).unwrap();
        let wanted = FILE.replace("return 0\n", "return 5\n\n    def other(self):\n        return 1\n");
        assert_eq!(between, wanted);
        let rust = "impl Ini {\n    fn one(&self) {}\n\n    fn get(&self) -> u8 {\n        1\n    }\n}\n";
        let wanted = "impl Ini {\n    fn one(&self) {}\n\n    fn get(&self) -> u8 {\n        1\n    }\n\n    fn list(&self) -> u8 {\n        2\n    }\n}\n";
        assert_eq!(placed(rust, "fn list(&self) -> u8 {\n    2\n}\n", &Seen::default()).unwrap(), wanted);
        assert_eq!(
            placed(rust, "impl Ini {\n    fn list(&self) -> u8 {\n        2\n    }\n}\n", &Seen::default()).unwrap(),
            wanted
        );
    }

    #[test]
    fn what_was_left_out_of_a_function_is_not_lost_and_words_about_it_are_not_written() {
        assert_eq!(placed(FILE, "def one():\n    # ... existing code ...\n    return 2\n", &Seen::default()), None);
        let out = placed(
            FILE,
            "class Bag:\n    # ... other methods\n    def count(self):\n        return 5\n",
            &Seen::default(),
        );
        assert_eq!(out.unwrap(), FILE.replace("return 0", "return 5"));
    }

    #[test]
    fn of_two_with_one_name_the_one_in_its_class_or_the_one_that_was_shown_is_meant() {
        let two = "class A:\n    def go(self, x):\n        return 1\n\nclass B:\n    def go(self):\n        return 1\n";
        let (a, b) = (two.replacen("return 1", "return 2", 1), two.to_owned());
        let second =
            |text: &str| text.rsplit_once("return 1").map(|(head, tail)| format!("{head}return 2{tail}")).unwrap();
        assert_eq!(placed(two, "class A:\n    def go(self, x):\n        return 2\n", &Seen::default()).unwrap(), a);
        assert_eq!(placed(two, "def go(self):\n    return 2\n", &Seen::of(two, &[(6, 7)])).unwrap(), second(&b));
        assert_eq!(placed(two, "def go(self):\n    return 2\n", &Seen::default()), None);
    }

    #[test]
    fn what_stands_in_no_block_is_replaced_by_its_name() {
        let file = "const a = 1;\n\nmodule.exports = { a };\n";
        let out = placed(file, "function b() {\n}\n\nmodule.exports = { a, b };\n", &Seen::default()).unwrap();
        assert_eq!(out, "const a = 1;\n\nfunction b() {\n}\n\nmodule.exports = { a, b };\n");
        assert_eq!(placed("SIZES = [1]\n", "SIZES = [1, 2]\n", &Seen::default()).unwrap(), "SIZES = [1, 2]\n");
    }

    #[test]
    fn what_was_left_out_of_a_table_or_a_class_is_not_lost() {
        let object = "module.exports = {\n  foo(a) {\n    return 1;\n  },\n  bar(b) {\n    return b;\n  },\n  baz(c) {\n    return c;\n  },\n};\n";
        let out = placed(object, "module.exports = {\n  foo(a) {\n    return 2;\n  },\n};\n", &Seen::default());
        assert_eq!(out.unwrap(), object.replace("return 1", "return 2"));
        let table = "SIZES = {\n    \"a\": 1,\n    \"b\": 2,\n    \"c\": 3,\n    \"d\": 4,\n}\n";
        assert_eq!(placed(table, "SIZES = {\"a\": 5}\n", &Seen::default()), None);
        let class = "class A:\n".to_owned()
            + &["a", "b", "c", "d"]
                .map(|it| format!("    def {it}(self):\n        x = 1\n        return x\n\n"))
                .concat();
        let given = class
            .replace("class A:\n", "class A:\n    # ... other methods\n")
            .split("    def d")
            .next()
            .unwrap()
            .replace("x = 1", "x = 2");
        let out = placed(&class, &given, &Seen::default()).unwrap();
        assert_eq!((out.matches("x = 2").count(), out.matches("def d").count(), out.contains("...")), (3, 1, false));
    }

    #[test]
    fn an_example_beside_a_definition_is_left_out() {
        let out = placed(FILE, "def one():\n    return 2\n\nresult = one()\nprint(result)\n", &Seen::default());
        assert_eq!(out.unwrap(), FILE.replace("return 1", "return 2"));
    }

    #[test]
    fn a_text_over_many_lines_is_one_definition() {
        let file = "def main():\n    pass\n\nUSAGE = \"\"\"\nusage: prog\n\"\"\"\n";
        let out = placed(file, "def helper():\n    pass\n", &Seen::default()).unwrap();
        assert_eq!(out, format!("{file}\ndef helper():\n    pass\n"));
        let out = placed(file, "USAGE = \"\"\"\nusage: program\n\"\"\"\n", &Seen::default()).unwrap();
        assert_eq!(out, file.replace("prog", "program"));
    }

    #[test]
    fn words_that_the_file_has_itself_leave_nothing_out() {
        let file = "def one():\n    # skip the rest of the line\n    return 1\n";
        assert_eq!(placed(file, &file.replace('1', "2"), &Seen::default()).unwrap(), file.replace('1', "2"));
    }
}
