//! The toolchain profiles and their packages, from one list, `compose/images/profiles`, that `build.sh` reads too. Tests: below, and
//! `tests/docker/toolchains.rs` (both build the same image from it).

use sha2::{Digest, Sha256};

/// The list's text.
const LIST: &str = include_str!("../../../compose/images/profiles");
/// Dockerfile of all profiles.
pub const DOCKERFILE: &str = include_str!("../../../compose/images/sandbox.Dockerfile");
/// Repository of the images.
pub const REPOSITORY: &str = "caisson-sandbox";
/// Profile that all others include, used for a project that needs nothing else.
pub const BASE: &str = "base";

/// One toolchain profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name in the list, and tag of its image in [`REPOSITORY`].
    pub name: &'static str,
    own: &'static str,
}

/// All of them, `base` first.
pub fn profiles() -> impl Iterator<Item = Profile> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).map(|(name, own)| Profile { name, own: own.trim() })
}

/// The profile of that name.
pub fn profile(name: &str) -> Option<Profile> {
    profiles().find(|it| it.name == name)
}

impl Profile {
    /// The reference of its image.
    pub fn tag(&self) -> String {
        format!("{REPOSITORY}:{}", self.name)
    }

    /// Debian packages in the Dockerfile's syntax: `a|b` is the first that exists.
    pub fn packages(&self) -> String {
        match profile(BASE) {
            Some(base) if base.name != self.name => format!("{} {}", base.own, self.own),
            _ => self.own.to_owned(),
        }
    }

    /// Hash of an image's content, computed the same way by `build.sh`.
    pub fn content(&self, base_id: &str) -> String {
        let text = format!("{base_id}\n{DOCKERFILE}{}\n", self.packages());
        hex::encode(Sha256::digest(text))[..16].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_seven_and_each_holds_what_base_holds() {
        let names: Vec<_> = profiles().map(|it| it.name).collect();
        assert_eq!(names, ["base", "python", "rust", "node", "go", "java", "cpp"]);
        let base = profile(BASE).unwrap().packages();
        assert!(base.split(' ').any(|it| it == "git"), "a container needs git: {base}");
        for it in profiles() {
            assert!(it.packages().starts_with(&base), "{}", it.name);
        }
        assert!(profile("rust").unwrap().packages().contains("cargo-web|cargo "));
        assert_eq!(profile("cobol"), None);
    }

    #[test]
    fn a_package_is_named_so_that_a_shell_takes_it_as_one_word() {
        let fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.|".contains(c);
        for it in profiles() {
            assert!(
                it.packages().split(' ').all(|word| !word.is_empty() && word.chars().all(fit)),
                "{}",
                it.packages()
            );
        }
    }

    #[test]
    fn another_base_or_other_packages_are_another_image() {
        let (python, rust) = (profile("python").unwrap(), profile("rust").unwrap());
        assert_eq!(python.content("sha256:a"), python.content("sha256:a"));
        assert_ne!(python.content("sha256:a"), python.content("sha256:b"));
        assert_ne!(python.content("sha256:a"), rust.content("sha256:a"));
    }
}
