//! Lines of keys in a file's lists of tables, for mistakes that TOML itself does not report. Tests: below.

use toml::de::{DeTable, DeValue};

/// The line that sets a key in the entry with this number, from 0, of a list of tables; that of the entry where it sets none. None where the
/// file has no such entry.
pub(super) fn of_entry(text: &str, list: &str, at: usize, key: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let (_, entries) = file.get_ref().iter().find(|(name, _)| **name.get_ref() == *list)?;
    let DeValue::Array(entries) = entries.get_ref() else { return None };
    let entry = entries.get(at)?;
    let DeValue::Table(keys) = entry.get_ref() else { return None };
    let own = keys.iter().find(|(name, _)| **name.get_ref() == *key);
    let start = own.map_or_else(|| entry.span().start, |(name, _)| name.span().start);
    Some(text.as_bytes()[..start.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::of_entry;

    #[test]
    fn a_key_is_found_in_its_own_entry() {
        let text = "a = 1\n[[rule]]\na = 1\n\n[other]\na = 1\n[[rule]]\nb = '''\n[[rule]]\na = 1\n'''\na = 2\n";
        assert_eq!(of_entry(text, "rule", 0, "a"), Some(3));
        assert_eq!(of_entry(text, "rule", 1, "a"), Some(12));
        assert_eq!(of_entry(text, "rule", 1, "b"), Some(8));
        assert_eq!(of_entry("rule = [{ a = 1 },\n{ a = 2 }]\n", "rule", 1, "a"), Some(2));
        for (list, at) in [("rule", 2), ("other", 0), ("none", 0)] {
            assert_eq!(of_entry(text, list, at, "a"), None, "{list} {at}");
        }
    }
}
