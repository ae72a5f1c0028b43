//! Places definitions that bind several names, and definitions of a name that the file binds together with others.
//!
//! Owns: when a destructuring pattern takes the place of another, and when it completes it. Nothing that the file binds is lost or bound
//! twice. Tests: `part_tests.rs`.

use super::super::definitions::{Definition, destructured};
use super::{Spot, Target};

/// The file's definitions that share a name with this one, where one of the two binds several.
pub(super) fn overlaps<'a>(piece: &Definition, known: &'a [Definition]) -> Vec<&'a Definition> {
    let shares = |one: &&Definition| {
        one.indent == 0
            && !(one.others.is_empty() && piece.others.is_empty())
            && one.names().any(|name| piece.names().any(|own| own == name))
    };
    known.iter().filter(|_| piece.indent == 0).filter(shares).collect()
}

fn has_all(one: &Definition, other: &Definition) -> bool {
    other.names().all(|name| one.names().any(|own| own == name))
}

impl Target<'_> {
    /// Places it over the only definition that it overlaps; none if something would be lost.
    pub(super) fn rebind(&mut self, piece: &Definition, overlaps: &[&Definition]) -> Option<()> {
        let [old] = *overlaps else { return None };
        // What was not shown cannot have been changed on purpose.
        let is_unseen = self.is_unseen(old);
        if is_unseen && has_all(old, piece) && piece.end - piece.first == 1 {
            return Some(());
        }
        let (from, lines) = if !is_unseen && !old.holds && has_all(piece, old) {
            self.over(piece, old)
        } else {
            (old.first, self.completed(piece, old)?)
        };
        let end = from + lines.len();
        self.splice(from..old.end, lines);
        self.spots.push(Spot { piece: piece.first, lead: old.lead, end, indent: String::new() });
        Some(())
    }

    /// The file's pattern with the names that it lacks.
    fn completed(&self, piece: &Definition, old: &Definition) -> Option<Vec<String>> {
        let lines = &self.text[old.first..old.end];
        let own = destructured(&lines.iter().map(String::as_str).collect::<Vec<_>>())?;
        let given = destructured(&self.given[piece.first..piece.end])?;
        let new = own.lacks(&given)?;
        if new.is_empty() {
            return Some(lines.to_vec());
        }
        let has_comment = lines.iter().any(|line| line.contains("//"));
        let end = if lines.last()?.trim_end().ends_with(';') { ";" } else { "" };
        (!has_comment).then(|| vec![own.with(&new) + end])
    }
}
