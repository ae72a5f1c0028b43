//! Presets: rules derived from the configuration of the operator's own tools, such as `preset:cargo` or `preset:pypi`.
//!
//! This code names no registry's host: a preset is a list of files, keys and variables to read, mirrors included. A tool without
//! configuration is an error. Must not run the tools. Tests: at the end of this file.

use std::path::{Path, PathBuf};

use protocol::router::Rule;
use url::Url;

/// Sources of one tool's hosts.
struct Preset {
    name: &'static str,
    /// Paths below the home directory if they begin with `~`, otherwise below the root; a directory stands for the files in it.
    files: &'static [&'static str],
    /// Keys with addresses; a key may have a scope in front (`@team:registry`).
    keys: &'static [&'static str],
    variables: &'static [&'static str],
    syntax: Syntax,
}

/// How a tool's files are written.
#[derive(Clone, Copy)]
enum Syntax {
    /// TOML, with the keys in any table.
    Toml,
    /// `key = value`, `key: value` or `key value` in one line each.
    Lines,
    /// As `Lines`, and a value may be continued by lines that are indented further than its key.
    Continued,
}

const PRESETS: [Preset; 5] = [
    Preset {
        name: "cargo",
        files: &["~/.cargo/config.toml", "~/.cargo/config"],
        keys: &["registry", "index", "dl"],
        variables: &["CARGO_REGISTRIES_CRATES_IO_INDEX"],
        syntax: Syntax::Toml,
    },
    Preset {
        name: "pypi",
        files: &["/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf"],
        keys: &["index-url", "extra-index-url", "index_url", "extra_index_url"],
        variables: &["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"],
        syntax: Syntax::Continued,
    },
    Preset {
        name: "npm",
        files: &["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "~/.npmrc"],
        keys: &["registry"],
        variables: &["npm_config_registry", "NPM_CONFIG_REGISTRY"],
        syntax: Syntax::Lines,
    },
    Preset {
        name: "go",
        files: &["~/.config/go/env"],
        keys: &["GOPROXY", CHECKSUMS],
        variables: &["GOPROXY", CHECKSUMS],
        syntax: Syntax::Lines,
    },
    Preset {
        name: "debian",
        files: &["/etc/apt/sources.list", "/etc/apt/sources.list.d"],
        keys: &["URIs", "deb", "deb-src"],
        variables: &[],
        syntax: Syntax::Continued,
    },
];

/// Go's database of checksums: the one key whose value may be a name.
const CHECKSUMS: &str = "GOSUMDB";

/// The machine whose tools are read: two directories and its environment.
pub(super) struct Machine<'a> {
    pub root: &'a Path,
    pub home: &'a Path,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// The rules of a preset on this machine.
///
/// # Errors
/// When there is no such preset, its tool is configured for no host, a file of it is malformed, or a host can't be a rule.
pub(super) fn rules(name: &str, machine: &Machine<'_>) -> Result<Vec<Rule>, String> {
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        let known = PRESETS.map(|preset| preset.name).join(", ");
        return Err(format!("there is no preset `{name}`; there are {known}"));
    };
    let variables = preset.variables.iter().filter_map(|key| Some((*key, (machine.variable)(key)?)));
    let mut found: Vec<Url> = variables.flat_map(|(key, value)| of_value(key, &value)).collect();
    for file in preset.files.iter().flat_map(|file| files(file, machine)) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let read = preset.addresses_in(&text);
        found.extend(read.map_err(|why| format!("preset {name}: {}: {why}", file.display()))?);
    }
    let mut rules: Vec<Rule> = Vec::new();
    for url in found {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { continue };
        let rule = Rule::parse(&format!("{host}:{port}")).map_err(|error| format!("preset {name}: {error}"))?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.is_empty() {
        let places = [preset.files, preset.variables].concat().join(", ");
        return Err(format!("preset {name}: no host is configured in {places}; write the hosts into egress.allow"));
    }
    let reason = format!("preset {name}");
    Ok(rules.into_iter().map(|rule| rule.because(reason.as_str())).collect())
}

fn files(pattern: &str, machine: &Machine<'_>) -> Vec<PathBuf> {
    let path = match pattern.strip_prefix("~/") {
        Some(rest) => machine.home.join(rest),
        None => machine.root.join(pattern.trim_start_matches('/')),
    };
    let Ok(entries) = std::fs::read_dir(&path) else { return vec![path] };
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    inside
}

impl Preset {
    /// The addresses in a file of the tool's.
    fn addresses_in(&self, text: &str) -> Result<Vec<Url>, String> {
        match self.syntax {
            Syntax::Toml => {
                let table: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
                Ok(of_table(&table, self.keys))
            }
            Syntax::Lines => Ok(of_lines(text, self.keys, false)),
            Syntax::Continued => Ok(of_lines(text, self.keys, true)),
        }
    }
}

/// The addresses of these keys in a table and the tables in it.
fn of_table(table: &toml::Table, keys: &[&str]) -> Vec<Url> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => found.extend(of_table(inner, keys)),
            toml::Value::String(text) if keys.contains(&key.as_str()) => found.extend(of_value(key, text)),
            _ => {}
        }
    }
    found
}

/// The addresses of these keys in lines, without comments.
fn of_lines(text: &str, keys: &[&str], continued: bool) -> Vec<Url> {
    let mut found = Vec::new();
    // The key that may be continued, and its indentation; none at the beginning of a section.
    let mut last: Option<(usize, &str)> = None;
    for line in text.lines().map(without_comment).filter(|line| !line.trim().is_empty()) {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let (key, value) = match last {
            Some((of_key, key)) if continued && indent > of_key => (key, code),
            _ => {
                let (key, value) = key_and_value(code);
                last = (!code.starts_with('[')).then_some((indent, key));
                (key, value)
            }
        };
        if keys.contains(&key) {
            found.extend(of_value(key, value));
        }
    }
    found
}

/// A line up to its comment, which begins with `#` or `;` at the beginning of the line or after white space.
fn without_comment(line: &str) -> &str {
    let begins = |at: usize| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    let comment = line.match_indices(['#', ';']).find(|(at, _)| begins(*at));
    comment.map_or(line, |(at, _)| &line[..at])
}

/// Key and value of a line `key = value`, `key: value` or `key value`.
fn key_and_value(line: &str) -> (&str, &str) {
    let end = line.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(line.len());
    let key = line[..end].trim_end_matches(':');
    (key.rsplit_once(':').map_or(key, |(_, key)| key), &line[end..])
}

/// The addresses in a key's value. That of [`CHECKSUMS`] may be a name alone, or a name with a public key behind a `+`.
fn of_value(key: &str, value: &str) -> Vec<Url> {
    let found = addresses(value);
    if key != CHECKSUMS || !found.is_empty() {
        return found;
    }
    let value = value.trim_start_matches(|c: char| c == '=' || c.is_whitespace());
    let name = value.split(|c: char| c == '+' || c.is_whitespace()).next().unwrap_or_default();
    // `off` is no host.
    Url::parse(&format!("https://{name}")).ok().filter(|_| name.contains('.')).into_iter().collect()
}

/// Every web address in a value, without other words (`direct`, a suite's name, an option).
fn addresses(value: &str) -> Vec<Url> {
    let words = value.split(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | '"' | '\'' | '='));
    let urls = words.filter_map(|word| Url::parse(word.trim_start_matches("sparse+")).ok());
    urls.filter(|url| matches!(url.scheme(), "http" | "https")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn read(folder: &Path, name: &str, variable: (&str, &str)) -> Result<Vec<String>, String> {
        let home = folder.join("home");
        let variable = |name: &str| (name == variable.0).then(|| variable.1.to_owned());
        let machine = Machine { root: folder, home: &home, variable: &variable };
        Ok(rules(name, &machine)?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn presets_come_from_the_tools_own_configuration() {
        let npm = "registry=https://npm.near.test:8443/\n@team:registry=https://team.near.test\n";
        let npm = format!("{npm}//npm.near.test/:_authToken=s3cret\n");
        let cargo =
            "[source.near]\n# registry = \"https://old.test/\"\nregistry = \"sparse+https://Crates.near.test/i/\"\n";
        let debian = "deb [signed-by=/k.gpg] http://deb.near.test/debian stable main\n#deb http://no.test x\n";
        let more = "Types: deb\nURIs: https://more.near.test/debian\nSuites: stable\n";
        let folder = folder(&[
            ("home/.cargo/config.toml", cargo),
            ("home/.npmrc", npm.as_str()),
            ("etc/apt/sources.list", debian),
            ("etc/apt/sources.list.d/more.sources", more),
            ("etc/pip.conf", "[global]\nindex-url = https://10.0.0.5/simple\n"),
        ]);
        let read = |name: &str| read(folder.path(), name, ("GOPROXY", "https://go.near.test|direct"));
        assert_eq!(read("cargo").unwrap(), ["crates.near.test:443"]);
        assert_eq!(read("npm").unwrap(), ["npm.near.test:8443", "team.near.test:443"]);
        assert_eq!(read("go").unwrap(), ["go.near.test:443"]);
        assert_eq!(read("debian").unwrap(), ["deb.near.test:80", "more.near.test:443"]);
        assert!(read("pypi").unwrap_err().contains("is an address"));
        assert!(read("maven").unwrap_err().contains("there are cargo, pypi"));
        std::fs::remove_file(folder.path().join("home/.npmrc")).unwrap();
        assert!(read("npm").unwrap_err().contains("no host is configured"));
    }

    #[test]
    fn cargos_tables_are_read_however_they_are_written() {
        let cargo = "registries.dotted.index = \"https://dotted.test/\"\n\
            registries.my = { index = \"sparse+https://my.test/\", token = \"https://no.test\" }\n\
            [source.near]\nregistry = \"https://new.test/\"  # was https://old.test/\n";
        let written = folder(&[("home/.cargo/config.toml", cargo)]);
        let mut hosts = read(written.path(), "cargo", ("", "")).unwrap();
        hosts.sort();
        assert_eq!(hosts, ["dotted.test:443", "my.test:443", "new.test:443"]);
        let broken = folder(&[("home/.cargo/config.toml", "[source\n")]);
        let why = read(broken.path(), "cargo", ("", "")).unwrap_err();
        assert!(why.starts_with("preset cargo: ") && why.contains("config.toml: "), "{why}");
    }

    #[test]
    fn comments_are_left_out_and_a_value_goes_on_below_its_key() {
        let pip = "[global]\nindex-url = https://one.test/simple # not https://no.test\nextra-index-url =\n    \
            https://two.test/simple\n    # https://old.test/simple\n\n    https://three.test/simple\n\
            proxy = http://no.test:3128\n  http://no.test\n\
            [install]\n  index-url = https://four.test/simple\n  trusted-host = https://no.test\n";
        let npm = "registry=https://npm.test/ ; was https://old.test\n  @team:registry=https://team.test\n\
            proxy=none\n  https://no.test\n";
        let debian = "Types: deb\nURIs: https://a.test/debian\n  https://b.test/debian\n\
            Signed-By:\n -----BEGIN-----\n https://no.test\n";
        let folder = folder(&[
            ("etc/pip.conf", pip),
            ("home/.npmrc", npm),
            ("etc/apt/sources.list.d/a.sources", debian),
            ("home/.config/go/env", "GOPROXY=https://go.test,direct\nGOSUMDB=sum.test+1a2b+Ab/c=\n"),
        ]);
        let read = |name: &str, sums: &str| read(folder.path(), name, ("GOSUMDB", sums)).unwrap();
        assert_eq!(read("pypi", ""), ["one.test:443", "two.test:443", "three.test:443", "four.test:443"]);
        assert_eq!(read("npm", ""), ["npm.test:443", "team.test:443"]);
        assert_eq!(read("debian", ""), ["a.test:443", "b.test:443"]);
        assert_eq!(read("go", "off"), ["go.test:443", "sum.test:443"]);
        let mirrored = read("go", "sum.golang.example https://mirror.test");
        assert_eq!(mirrored, ["mirror.test:443", "go.test:443", "sum.test:443"]);
    }
}
