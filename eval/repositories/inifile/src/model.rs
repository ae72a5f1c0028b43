//! Sections, keys and values in the order of the file.

/// One section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    pub entries: Vec<(String, String)>,
}

impl Section {
    pub fn new(name: &str) -> Self {
        Section { name: name.to_string(), entries: Vec::new() }
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Replaces a value, or adds it at the end.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value.to_string(),
            None => self.entries.push((key.to_string(), value.to_string())),
        }
    }
}

/// A whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ini {
    pub sections: Vec<Section>,
}

impl Ini {
    pub fn new() -> Self {
        Ini::default()
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The section of this name, made if it isn't there.
    pub fn section_mut(&mut self, name: &str) -> &mut Section {
        let at = match self.sections.iter().position(|section| section.name == name) {
            Some(at) => at,
            None => {
                self.sections.push(Section::new(name));
                self.sections.len() - 1
            }
        };
        &mut self.sections[at]
    }

    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        self.section(section)?.get(key)
    }

    pub fn set(&mut self, section: &str, key: &str, value: &str) {
        self.section_mut(section).set(key, value);
    }
}
