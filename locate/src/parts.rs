//! Divides a file into parts that can be shown and replaced separately: its top-level definitions, and the members of large ones.
//!
//! Must not read files. Tests: below.

use protocol::survey::{MAX_NAME, MAX_PARTS, Part};

use crate::language::Language;
use crate::outline::{Definition, Outline};

/// Lines above which a definition is divided into its head and members.
const LARGE: usize = 60;

/// The parts of a text by line; they do not overlap and need not cover everything. Empty if the text does not parse in time.
pub fn parts(text: &str, language: Language) -> Vec<Part> {
    Outline::of(text, language).map(|outline| of_outline(&outline)).unwrap_or_default()
}

pub(crate) fn of_outline(outline: &Outline) -> Vec<Part> {
    let mut out = Vec::new();
    add(&outline.definitions, "", &mut out);
    out.truncate(MAX_PARTS);
    out
}

fn add(definitions: &[Definition], above: &str, out: &mut Vec<Part>) {
    for one in definitions.iter().filter(|one| one.block) {
        let mut name = if above.is_empty() { one.name.clone() } else { format!("{above}.{}", one.name) };
        name.truncate(name.floor_char_boundary(MAX_NAME));
        let members = one.inner.iter().find(|member| member.block);
        let head = members.filter(|member| one.last - one.first >= LARGE && member.first > one.first);
        let last = head.map_or(one.last, |member| member.first - 1);
        push(out, name.clone(), one.first, last);
        if head.is_some() {
            add(&one.inner, &name, out);
        }
    }
}

/// Adds a part; two definitions on one line form one.
fn push(out: &mut Vec<Part>, name: String, first: usize, last: usize) {
    let line = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
    let (first, last) = (line(first), line(last));
    match out.last_mut() {
        Some(before) if before.last >= first => before.last = before.last.max(last),
        Some(_) | None => out.push(Part { name, first, last }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, language: Language) -> Vec<(String, u32, u32)> {
        parts(text, language).into_iter().map(|part| (part.name, part.first, part.last)).collect()
    }

    fn part(name: &str, first: u32, last: u32) -> (String, u32, u32) {
        (name.to_owned(), first, last)
    }

    #[test]
    fn a_part_has_its_comments_and_decorators() {
        let text = "import os\n\n# About it.\n# More.\n@cache\ndef one():\n    return 1\n\n# Alone.\n\nX = 1\n\nclass Two:\n    pass\n";
        assert_eq!(told(text, Language::Python), [part("one", 3, 7), part("Two", 13, 14)]);
        let text = "use a;\n\n/// Doc.\n#[inline]\nfn one() {\n}\n\nstruct Two;\n";
        assert_eq!(told(text, Language::Rust), [part("one", 3, 6), part("Two", 8, 8)]);
    }

    #[test]
    fn a_large_class_is_told_in_members() {
        let body = "        pass\n".repeat(40);
        let text =
            format!("class Big:\n    kind = 1\n\n    def a(self):\n{body}\n    @property\n    def b(self):\n{body}");
        assert_eq!(told(&text, Language::Python), [part("Big", 1, 3), part("Big.a", 4, 44), part("Big.b", 46, 87)]);
    }

    #[test]
    fn parts_do_not_overlap_whatever_the_text() {
        let text = "class A { a() {} b() {} }; function c() {} function d() {}\nfunction e() {}\n";
        assert_eq!(told(text, Language::JavaScript), [part("A", 1, 1), part("e", 2, 2)]);
        for cut in 0..text.len() {
            let found = parts(&text[..cut], Language::JavaScript);
            assert!(found.windows(2).all(|two| two[0].last < two[1].first));
        }
    }
}
