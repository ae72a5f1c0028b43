//! Which image a project asks for, and whether it may have it.
//!
//! Owns the rule: a project names an image of the operator's list or an offered toolchain, and gets that one or none; without either the
//! project's files decide. Does not know whether the engine has an image.
//! Tests: below.

use super::project::{Granted, Pick, Project, Wish};

/// Toolchain of a project without needs of its own.
const BASE: &str = "base";
/// The longest image reference accepted from a repository.
const MAX_REFERENCE: usize = 255;

impl Project {
    /// The image that the file asks for, and whether `granted` contains it.
    pub fn pick(&self, granted: &Granted) -> Pick {
        if let Some(image) = &self.image {
            if *image == granted.image || granted.images.contains(image) {
                return Pick::Asked { image: image.clone(), toolchain: None };
            }
            return Pick::Refused(format!(
                "`.caisson.toml` asks for the image {image}, which the operator does not list: add it to sandbox.images, \
                 or change the file on the default branch"
            ));
        }
        let Some(name) = &self.toolchain else { return Pick::Open };
        match granted.toolchain(name) {
            Some(image) => Pick::Asked { image, toolchain: Some(name.clone()) },
            None => Pick::Refused(format!(
                "`.caisson.toml` asks for the toolchain {name}, which is not offered here ({}): add it to [sandbox.toolchains] of \
                 the configuration, or change the file on the default branch",
                granted.offered()
            )),
        }
    }

    /// An unavailable image or toolchain as a wish. Accepting the file does not grant it, because the lists are the operator's.
    pub(super) fn image_wish(&self, granted: &Granted) -> Option<Wish> {
        let Pick::Refused(_) = self.pick(granted) else { return None };
        let (key, value, list) = match (&self.image, &self.toolchain) {
            (Some(image), _) => ("image", image, "sandbox.images"),
            (None, toolchain) => ("toolchain", toolchain.as_ref()?, "[sandbox.toolchains]"),
        };
        let means = format!("not on your list: its tasks are refused until {list} of your configuration has it");
        Some(Wish { key, value: value.clone(), means })
    }

    /// Checks names of a repository, which are shown to people and given to the engine.
    pub(super) fn check_pick(&self) -> Result<(), (&'static str, String)> {
        if self.image.is_some() && self.toolchain.is_some() {
            return Err(("toolchain", "name an image or a toolchain, not both".to_owned()));
        }
        let fit = |text: &str, most: usize, more: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
            (1..=most).contains(&text.len()) && text.chars().all(plain)
        };
        if self.image.as_ref().is_some_and(|image| !fit(image, MAX_REFERENCE, "._-/:@")) {
            return Err(("image", "an image is written name:tag".to_owned()));
        }
        if self.toolchain.as_ref().is_some_and(|name| !fit(name, 40, "-@._+")) {
            return Err(("toolchain", "a toolchain has a short name, such as rust or rust@1.95".to_owned()));
        }
        Ok(())
    }
}

impl Granted {
    /// The image of a toolchain.
    pub fn toolchain(&self, name: &str) -> Option<String> {
        if name == BASE {
            return Some(self.image.clone());
        }
        self.toolchains.iter().find(|(known, _)| known == name).map(|(_, image)| image.clone())
    }

    /// Names of the available toolchains, for a sentence.
    pub fn offered(&self) -> String {
        let names = std::iter::once(BASE).chain(self.toolchains.iter().map(|(name, _)| name.as_str()));
        names.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::project::{FILE, tests::granted};
    use super::*;

    fn pick(text: &str) -> Pick {
        Project::parse(FILE, text).unwrap().pick(&granted())
    }

    fn asked(image: &str, toolchain: Option<&str>) -> Pick {
        Pick::Asked { image: image.to_owned(), toolchain: toolchain.map(str::to_owned) }
    }

    #[test]
    fn what_is_listed_is_had_and_nothing_else() {
        assert_eq!(pick(""), Pick::Open);
        assert_eq!(pick("image = \"caisson/rust\""), asked("caisson/rust", None));
        assert_eq!(pick("toolchain = \"python\""), asked("caisson/python", Some("python")));
        let mut granted = granted();
        granted.toolchains.push(("rust@1.95".to_owned(), "team/rust:1".to_owned()));
        let versioned = Project::parse(FILE, "toolchain = \"rust@1.95\"").unwrap().pick(&granted);
        assert_eq!(versioned, asked("team/rust:1", Some("rust@1.95")));
        assert_eq!(pick("toolchain = \"base\""), asked("caisson/base", Some("base")));
        let Pick::Refused(said) = pick("toolchain = \"cobol\"") else { panic!("cobol is not offered") };
        assert!(said.contains("cobol") && said.contains("(base, python)"), "{said}");
        let Pick::Refused(said) = pick("image = \"10.0.0.9/x\"") else { panic!("nobody listed it") };
        assert!(said.contains("10.0.0.9/x") && said.contains("sandbox.images"), "{said}");
    }

    #[test]
    fn the_older_word_goes_on_working() {
        assert_eq!(pick("profile = \"python\""), asked("caisson/python", Some("python")));
        assert!(Project::parse(FILE, "profile = \"python\"\ntoolchain = \"rust\"").is_err());
    }

    #[test]
    fn what_cannot_be_had_is_a_wish_that_no_acceptance_grants() {
        let project = Project::parse(FILE, "toolchain = \"cobol\"").unwrap();
        let wishes = project.wishes(&granted());
        assert_eq!((wishes[0].key, wishes[0].value.as_str()), ("toolchain", "cobol"));
        assert!(matches!(project.pick(&granted()), Pick::Refused(_)));
        assert!(Project::parse(FILE, "toolchain = \"python\"").unwrap().wishes(&granted()).is_empty());
    }

    #[test]
    fn only_what_can_be_a_name_is_taken() {
        for text in ["toolchain = \"a`b\"", "toolchain = \"\"", "image = \"x y\"", "image = \"[l](http://x)\""] {
            assert!(Project::parse(FILE, text).is_err(), "{text}");
        }
    }
}
