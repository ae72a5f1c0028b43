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
}

const PRESETS: [Preset; 5] = [
    Preset {
        name: "cargo",
        files: &["~/.cargo/config.toml", "~/.cargo/config"],
        keys: &["registry", "index", "dl"],
        variables: &["CARGO_REGISTRIES_CRATES_IO_INDEX"],
    },
    Preset {
        name: "pypi",
        files: &["/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf"],
        keys: &["index-url", "extra-index-url", "index_url", "extra_index_url"],
        variables: &["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"],
    },
    Preset {
        name: "npm",
        files: &["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "~/.npmrc"],
        keys: &["registry"],
        variables: &["npm_config_registry", "NPM_CONFIG_REGISTRY"],
    },
    Preset { name: "go", files: &["~/.config/go/env"], keys: &["GOPROXY"], variables: &["GOPROXY"] },
    Preset {
        name: "debian",
        files: &["/etc/apt/sources.list", "/etc/apt/sources.list.d"],
        keys: &["URIs", "deb", "deb-src"],
        variables: &[],
    },
];

/// The machine whose tools are read: two directories and its environment.
pub(super) struct Machine<'a> {
    pub root: &'a Path,
    pub home: &'a Path,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// The rules of a preset on this machine.
///
/// # Errors
/// When there is no such preset, its tool is configured for no host, or a host can't be a rule.
pub(super) fn rules(name: &str, machine: &Machine<'_>) -> Result<Vec<Rule>, String> {
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        let known = PRESETS.map(|preset| preset.name).join(", ");
        return Err(format!("there is no preset `{name}`; there are {known}"));
    };
    let variables = preset.variables.iter().filter_map(|name| (machine.variable)(name));
    let mut found: Vec<Url> = variables.flat_map(|value| addresses(&value)).collect();
    for file in preset.files.iter().flat_map(|file| files(file, machine)) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        found.extend(text.lines().flat_map(|line| of_line(line, preset.keys)));
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

/// The addresses in a line `key = value`, `key: value` or `key value`; comments have none.
fn of_line(line: &str, keys: &[&str]) -> Vec<Url> {
    let line = line.trim();
    let end = line.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(line.len());
    let key = line[..end].trim_end_matches(':');
    let key = key.rsplit_once(':').map_or(key, |(_, key)| key);
    if keys.contains(&key) { addresses(&line[end..]) } else { Vec::new() }
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

    #[test]
    fn presets_come_from_the_tools_own_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "home/.cargo/config.toml",
            "[source.near]\n# registry = \"https://old.test/\"\nregistry = \"sparse+https://Crates.near.test/i/\"\n",
        );
        write(
            "home/.npmrc",
            "registry=https://npm.near.test:8443/\n@team:registry=https://team.near.test\n//npm.near.test/:_authToken=s3cret\n",
        );
        write(
            "etc/apt/sources.list",
            "deb [signed-by=/k.gpg] http://deb.near.test/debian stable main\n#deb http://no.test x\n",
        );
        write(
            "etc/apt/sources.list.d/more.sources",
            "Types: deb\nURIs: https://more.near.test/debian\nSuites: stable\n",
        );
        write("etc/pip.conf", "[global]\nindex-url = https://10.0.0.5/simple\n");
        let home = folder.path().join("home");
        let variable = |name: &str| (name == "GOPROXY").then(|| "https://go.near.test|direct".to_owned());
        let machine = Machine { root: folder.path(), home: &home, variable: &variable };
        let read = |name: &str| -> Result<Vec<String>, String> {
            Ok(rules(name, &machine)?.iter().map(ToString::to_string).collect())
        };
        assert_eq!(read("cargo").unwrap(), ["crates.near.test:443"]);
        assert_eq!(read("npm").unwrap(), ["npm.near.test:8443", "team.near.test:443"]);
        assert_eq!(read("go").unwrap(), ["go.near.test:443"]);
        assert_eq!(read("debian").unwrap(), ["deb.near.test:80", "more.near.test:443"]);
        assert!(read("pypi").unwrap_err().contains("is an address"));
        assert!(read("maven").unwrap_err().contains("there are cargo, pypi"));
        std::fs::remove_file(home.join(".npmrc")).unwrap();
        assert!(read("npm").unwrap_err().contains("no host is configured"));
    }
}
