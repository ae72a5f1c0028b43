//! From [`Ini`] to text.

use crate::model::Ini;
use std::fmt;

impl fmt::Display for Ini {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        // Keys without a section can only stand at the beginning.
        let (bare, named): (Vec<_>, Vec<_>) = self.sections.iter().partition(|section| section.name.is_empty());
        for section in bare.into_iter().chain(named) {
            if !first {
                writeln!(f)?;
            }
            first = false;
            if !section.name.is_empty() {
                writeln!(f, "[{}]", section.name)?;
            }
            for (key, value) in &section.entries {
                if value.trim() == value {
                    writeln!(f, "{key} = {value}")?;
                } else {
                    writeln!(f, "{key} = \"{value}\"")?;
                }
            }
        }
        Ok(())
    }
}
