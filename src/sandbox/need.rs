//! The toolchain and version that a project's own files name.
//!
//! Owns the files in which each community pins a version, and when an image's version satisfies one. Pure: the caller gives the texts. They
//! are untrusted: they choose among the operator's images and can name no other. Tests: below.

use super::detect;

/// Files whose text [`need`] needs, if they exist.
pub const WANTED: [&str; 8] = [
    "rust-toolchain.toml",
    "rust-toolchain",
    ".nvmrc",
    ".node-version",
    "go.mod",
    ".python-version",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
];
/// The longest version that is accepted.
const MAX_VERSION: usize = 30;

/// A toolchain that a project needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Name of the toolchain as in names of images: `python`, `rust`, `node` and the like.
    pub toolchain: &'static str,
    /// File that indicates it.
    pub by: &'static str,
    /// Version that the project names; none where it names none, or no exact one.
    pub version: Option<Version>,
}

/// A version, as a project asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Such as `1.95`, `20.11.1` or `nightly`.
    pub text: String,
    /// File that names it.
    pub by: &'static str,
    /// Whether a later version satisfies it too.
    pub or_later: bool,
}

/// The toolchain that a project's files indicate, and its test command if that is named; `None` = the base suffices.
pub fn need(files: &[String], text: &dyn Fn(&str) -> Option<String>, test: Option<&str>) -> Option<Need> {
    let (toolchain, by) = detect::toolchain(files, text, test)?;
    Some(Need { toolchain, by, version: version(toolchain, text) })
}

/// The image that `devcontainer.json` names.
pub fn devcontainer(text: &dyn Fn(&str) -> Option<String>) -> Option<(String, &'static str)> {
    let named = WANTED.iter().filter(|name| name.ends_with("devcontainer.json"));
    named.into_iter().find_map(|by| {
        let told: serde_json::Value = serde_json::from_str(&plain_json(&text(by)?)).ok()?;
        Some((told.get("image")?.as_str()?.to_owned(), *by))
    })
}

fn version(toolchain: &str, text: &dyn Fn(&str) -> Option<String>) -> Option<Version> {
    let first_word = |by| {
        let text = text(by)?;
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let named: Vec<(&'static str, Option<String>)> = match toolchain {
        "rust" => {
            let channel = text("rust-toolchain.toml").as_deref().and_then(channel);
            let older = text("rust-toolchain").and_then(|text| channel_or_word(&text));
            vec![("rust-toolchain.toml", channel), ("rust-toolchain", older)]
        }
        "node" => vec![(".nvmrc", first_word(".nvmrc")), (".node-version", first_word(".node-version"))],
        "go" => vec![("go.mod", text("go.mod").as_deref().and_then(go))],
        "python" => vec![(".python-version", first_word(".python-version"))],
        _ => Vec::new(),
    };
    let (by, named) = named.iter().find_map(|(by, named)| Some((*by, named.as_deref()?)))?;
    let text = named.strip_prefix('v').or(named.strip_prefix("go")).unwrap_or(named);
    // `stable`, `lts/*` and `system` name no exact version.
    let says =
        text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("nightly") || text.starts_with("beta");
    let fit = text.len() <= MAX_VERSION && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c));
    // go.mod names the language version a module is written for, which every later Go builds.
    (says && fit).then(|| Version { text: text.to_owned(), by, or_later: toolchain == "go" })
}

fn channel(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    Some(table.get("toolchain")?.get("channel")?.as_str()?.to_owned())
}

/// The older file contains a table too, or one word.
fn channel_or_word(text: &str) -> Option<String> {
    channel(text).or_else(|| text.split_whitespace().next().filter(|word| !word.starts_with('[')).map(str::to_owned))
}

/// The line `toolchain`, otherwise the line `go`.
fn go(text: &str) -> Option<String> {
    let after = |word: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(word));
        lines.find_map(|rest| rest.starts_with([' ', '\t']).then(|| rest.split_whitespace().next()).flatten())
    };
    after("toolchain").filter(|it| it.starts_with("go")).or_else(|| after("go")).map(str::to_owned)
}

impl Version {
    /// Whether an image's version satisfies it, compared part by part as far as both have parts.
    pub fn suits(&self, has: &str) -> bool {
        if self.or_later {
            let numbers = |text: &str| text.split('.').map_while(|it| it.parse::<u64>().ok()).collect::<Vec<_>>();
            let (wanted, has) = (numbers(&self.text), numbers(has));
            let told = wanted.len().min(has.len());
            return told > 0 && has[..told] >= wanted[..told];
        }
        broker::toolchain::suits(&self.text, has)
    }
}

/// Removes the comments and trailing commas that `devcontainer.json` may have and JSON does not.
pub(super) fn plain_json(text: &str) -> String {
    let (mut plain, mut rest, mut quoted) = (String::with_capacity(text.len()), text.chars().peekable(), false);
    while let Some(c) = rest.next() {
        match c {
            '\\' if quoted => plain.extend([Some(c), rest.next()].into_iter().flatten()),
            '"' => {
                quoted = !quoted;
                plain.push(c);
            }
            '/' if !quoted && rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            '/' if !quoted && rest.peek() == Some(&'*') => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            ']' | '}' if !quoted => {
                let end = plain.trim_end().len();
                if plain[..end].ends_with(',') {
                    plain.truncate(end - 1);
                }
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Option<Need> {
        let root: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let text = |name: &str| files.iter().find(|(it, _)| *it == name).map(|(_, text)| (*text).to_owned());
        need(&root, &text, None)
    }

    fn version(files: &[(&str, &str)]) -> Option<(String, &'static str)> {
        told(files)?.version.map(|it| (it.text, it.by))
    }

    #[test]
    fn each_communitys_file_names_the_version() {
        let rust = |name, text| version(&[("Cargo.toml", ""), (name, text)]);
        let some = |text: &str, by| Some((text.to_owned(), by));
        assert_eq!(
            rust("rust-toolchain.toml", "[toolchain]\nchannel = \"1.95\" # ours\ncomponents = [\"clippy\"]\n"),
            some("1.95", "rust-toolchain.toml")
        );
        assert_eq!(rust("rust-toolchain", "1.80.1\n"), some("1.80.1", "rust-toolchain"));
        assert_eq!(
            rust("rust-toolchain", "[toolchain]\nchannel = \"nightly-2026-01-01\"\n"),
            some("nightly-2026-01-01", "rust-toolchain")
        );
        let node = |name, text| version(&[("package.json", "{}"), (name, text)]);
        assert_eq!(node(".nvmrc", "v20.11.1\n"), some("20.11.1", ".nvmrc"));
        assert_eq!(node(".node-version", "# what we run\n22\n"), some("22", ".node-version"));
        let python = version(&[("pyproject.toml", ""), (".python-version", "3.11\n3.12\n")]);
        assert_eq!(python, some("3.11", ".python-version"));
        let go = |text| version(&[("go.mod", text)]);
        assert_eq!(go("module a\n\ngo 1.22.0\n\ntoolchain go1.26.1\n"), some("1.26.1", "go.mod"));
        assert_eq!(go("module a\ngo 1.22\nrequire gopkg.in/x v1\n"), some("1.22", "go.mod"));
        assert_eq!(go("module go\n"), None);
    }

    #[test]
    fn what_is_no_version_asks_for_none() {
        for (marker, name, text) in [
            ("Cargo.toml", "rust-toolchain.toml", "[toolchain]\nchannel = \"stable\"\n"),
            ("Cargo.toml", "rust-toolchain.toml", "not toml ["),
            ("Cargo.toml", "rust-toolchain.toml", "[toolchain]\npath = \"/opt/mine\"\n"),
            ("package.json", ".nvmrc", "lts/iron"),
            ("package.json", ".nvmrc", ""),
            ("package.json", ".nvmrc", "20`; rm"),
            ("pyproject.toml", ".python-version", "system"),
            ("pyproject.toml", ".nvmrc", "20"),
        ] {
            let need = told(&[(marker, ""), (name, text)]).unwrap();
            assert_eq!((need.by, need.version), (marker, None), "{name}: {text}");
        }
        assert_eq!(told(&[(".nvmrc", "20")]), None, "no toolchain without its file");
    }

    #[test]
    fn a_version_suits_as_far_as_it_is_told() {
        let suits = |wanted: &str, or_later, has: &str| Version { text: wanted.into(), by: "x", or_later }.suits(has);
        for (wanted, has) in
            [("1.95", "1.95.0"), ("1.95.0", "1.95"), ("20", "20.11.1"), ("nightly", "nightly-2026-01-01")]
        {
            assert!(suits(wanted, false, has), "{wanted} {has}");
        }
        for (wanted, has) in [("1.9", "1.95.0"), ("1.95.1", "1.95.0"), ("20", "22.0.0"), ("nightly", "1.95.0")] {
            assert!(!suits(wanted, false, has), "{wanted} {has}");
        }
        assert!(suits("1.22", true, "1.26.1") && suits("1.22.0", true, "1.22") && suits("1.9", true, "1.10.0"));
        assert!(!suits("1.22", true, "1.19.8") && !suits("1.26.1", true, "1.26.0") && !suits("1.22", true, "tip"));
    }

    #[test]
    fn a_devcontainer_names_its_image_among_comments() {
        let text = "// what we use\n{\n  /* \"image\": \"no\", */\n  \"name\": \"a // b \\\" c\",\n  \"image\": \"team/builder:3\", // ours\n  \"x\": [1, 2,],\n}\n";
        let named = |name: &str| (name == ".devcontainer/devcontainer.json").then(|| text.to_owned());
        assert_eq!(devcontainer(&named), Some(("team/builder:3".to_owned(), ".devcontainer/devcontainer.json")));
        assert_eq!(devcontainer(&|_| Some("{\"build\": {\"dockerfile\": \"D\"}}".to_owned())), None);
        assert_eq!(devcontainer(&|_| Some("nonsense".to_owned())), None);
    }
}
