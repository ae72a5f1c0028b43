//! Lines of a file's keys, for mistakes that TOML itself does not report. Tests: below.

use super::problem::Problem;
use toml::de::{DeTable, DeValue};

/// Each key of a file with its line. Tables of a list are numbered from 0: `policy.1.name`.
pub(super) struct KeyLines(pub Vec<(String, usize)>);

impl KeyLines {
    /// Those of a file.
    ///
    /// # Errors
    /// Where it is no TOML.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|why| Problem {
            line: why.span().map(|span| line_at(span.start)),
            key: String::new(),
            what: format!("this is no TOML: {}", why.message()),
        })?;
        let mut lines = Vec::new();
        walk(table.get_ref(), "", &line_at, &mut lines);
        Ok(Self(lines))
    }

    /// The line of a key; of one that the file does not set, that of its table.
    pub(super) fn line(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some((_, line)) = self.0.iter().find(|(known, _)| known == key) {
                return Some(*line);
            }
            key = key.rsplit_once('.')?.0;
        }
    }
}

fn walk(table: &DeTable<'_>, prefix: &str, line_at: &dyn Fn(usize) -> usize, lines: &mut Vec<(String, usize)>) {
    for (name, value) in table.iter() {
        let key = if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
        lines.push((key.clone(), line_at(name.span().start)));
        match value.get_ref() {
            DeValue::Table(inner) => walk(inner, &key, line_at, lines),
            DeValue::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let DeValue::Table(inner) = item.get_ref() {
                        lines.push((format!("{key}.{at}"), line_at(item.span().start)));
                        walk(inner, &format!("{key}.{at}"), line_at, lines);
                    }
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_its_own_entry() {
        let text = "a = 1\n[[rule]]\na = 1\n\n[other]\na = 1\n[[rule]]\nb = '''\n[[rule]]\na = 1\n'''\na = 2\n";
        let line = |text: &str, key: &str| KeyLines::read(text).ok().and_then(|lines| lines.line(key));
        assert_eq!(line(text, "rule.0.a"), Some(3));
        assert_eq!(line(text, "rule.1.a"), Some(12));
        assert_eq!(line(text, "rule.1.b"), Some(8));
        assert_eq!(line(text, "rule.1.c"), line(text, "rule.1"), "it is not set");
        assert_eq!(line("rule = [{ a = 1 },\n{ a = 2 }]\n", "rule.1.a"), Some(2));
        // An entry that is not there, and one of what is no list, have the line of the key above.
        assert_eq!((line(text, "rule.2.a"), line(text, "other.0.a")), (Some(2), Some(5)));
        assert_eq!(line(text, "none.0.a"), None);
    }
}
