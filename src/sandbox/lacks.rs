//! Detects what a command lacked from its output: a host, another version of a toolchain, a program, a package.
//!
//! Owns the patterns and the sentences about each. The output is untrusted: names are accepted only if they are plain words, appear in
//! sentences for a person, and decide nothing. Pure. Tests: below, over real outputs.

use std::sync::LazyLock;

use regex::Regex;

/// The most items taken from one output.
const MOST: usize = 6;

/// One thing that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// A host that could not be reached.
    Host {
        /// The name, in lower case.
        host: String,
        /// The port that was tried: 443 if only an output tells of it, 0 if the name was only looked up.
        port: u16,
    },
    /// Another version of a toolchain.
    Toolchain {
        /// Name of the toolchain, as in names of images.
        toolchain: &'static str,
        /// Wanted version as in the output, including a sign such as `^`. Untrusted.
        version: String,
    },
    /// A missing program, by its name. Untrusted.
    Program(String),
    /// A missing package.
    Package {
        /// Its ecosystem: `Python`, `npm`, `Rust` or `Go`.
        of: &'static str,
        /// Name of the package, or of the module that is missing. Untrusted.
        name: String,
    },
}

/// Meaning of the name that a pattern captures.
#[derive(Debug, Clone, Copy)]
enum Means {
    Host,
    /// Wanted version of this toolchain.
    Toolchain(&'static str),
    Program,
    /// A package of this ecosystem.
    Package(&'static str),
    /// A Python module, whose package is named by the part before the first dot.
    Module,
}

impl Means {
    fn lack(self, name: &str) -> Lack {
        match self {
            Means::Host => Lack::Host { host: name.to_lowercase(), port: 443 },
            Means::Toolchain(toolchain) => Lack::Toolchain { toolchain, version: name.to_owned() },
            Means::Program => Lack::Program(name.to_owned()),
            Means::Package(of) => Lack::Package { of, name: name.to_owned() },
            Means::Module => {
                Lack::Package { of: "Python", name: name.split('.').next().unwrap_or_default().to_owned() }
            }
        }
    }
}

/// A version with an optional sign in front.
const VERSION: &str = r"([<>=~^!]{0,2} ?v?[0-9][0-9A-Za-z.*-]{0,20})";
const HOST: &str = r"([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6})";

/// Patterns in the order of reporting, most fundamental first.
static PATTERNS: LazyLock<Vec<(Regex, Means)>> = LazyLock::new(|| {
    let with = |text: &str| text.replace("HOST", HOST).replace("VERSION", VERSION);
    use Means::{Host, Module, Package, Program, Toolchain};
    let all: [(&str, Means); 25] = [
        // curl, git and cargo; Node; Go; pip
        (r"(?:Could not|Couldn't) resolve host(?: name)?:? \(?HOST", Host),
        (r"(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED) HOST", Host),
        (r"dial (?:tcp|udp): lookup HOST(?: |:)", Host),
        (r"HTTPS?ConnectionPool\(host='HOST'", Host),
        (r"ENOTCACHED request to https?://HOST", Host),
        // cargo, in two forms
        (r"requires rustc VERSION", Toolchain("rust")),
        (r"requires Rust VERSION", Toolchain("rust")),
        (r"go\.mod (?:file )?requires go >= VERSION", Toolchain("go")),
        (r"module requires Go VERSION", Toolchain("go")),
        (r"invalid go version '?VERSION", Toolchain("go")),
        (r"required: \{ node: '[<>=~^ ]*VERSION", Toolchain("node")),
        (r#"Required: \{"node":"[<>=~^ ]*VERSION"#, Toolchain("node")),
        (r"different Python: [0-9.]+ not in '[<>=~^ ]*VERSION", Toolchain("python")),
        // shells, make, env, cargo's own
        (r"(?:^|: )(?:line )?\d+: ([A-Za-z0-9_.+-]{1,40}): (?:command )?not found", Program),
        (r"^(?:bash|sh|/bin/sh): ([A-Za-z0-9_.+-]{1,40}): (?:command )?not found", Program),
        (r"^make(?:\[\d+\])?: ([A-Za-z0-9_.+-]{1,40}): No such file or directory", Program),
        (r"^(?:/usr/bin/)?env: [‘'`]?([A-Za-z0-9_.+-]{1,40})[’'`]?: No such file or directory", Program),
        (r"no such command: `([a-z0-9-]{1,40})`", Program),
        (r"No module named '?([A-Za-z0-9_.]{1,80})", Module),
        (r"No matching distribution found for ([A-Za-z0-9_.-]{1,80})", Package("Python")),
        (
            r"Cannot find (?:module|package) '((?:@[A-Za-z0-9_.-]{1,60}/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,60})",
            Package("npm"),
        ),
        (r"no matching package named `([A-Za-z0-9_-]{1,80})` found", Package("Rust")),
        (r"failed to (?:download|get) (?:replaced source )?`([A-Za-z0-9_-]{1,80})", Package("Rust")),
        (
            r"(?:cannot find module providing package|no required module provides package) ([A-Za-z0-9_./-]{1,120})",
            Package("Go"),
        ),
        (r"^([a-z0-9.-]+\.[a-z]+/[A-Za-z0-9_./-]{1,100})@v[^ ]+: (?:Get|module lookup disabled|dial)", Package("Go")),
    ];
    all.into_iter().map(|(pattern, means)| (Regex::new(&with(pattern)).expect("a literal"), means)).collect()
});

static COLOURS: LazyLock<Regex> = LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;]*[A-Za-z]").expect("a literal"));

/// The missing things in an output, without duplicates.
pub fn lacks(output: &str) -> Vec<Lack> {
    let text = COLOURS.replace_all(output, "");
    let mut out: Vec<Lack> = Vec::new();
    for (pattern, means) in PATTERNS.iter() {
        let names = text.lines().filter_map(|line| pattern.captures(line.trim())?.get(1));
        for found in names.map(|name| means.lack(name.as_str())) {
            if out.len() < MOST && !out.iter().any(|known| known.same(&found)) {
                out.push(found);
            }
        }
    }
    out
}

/// Programs, and the toolchain whose image contains each.
const PROGRAMS: [(&str, &str); 20] = [
    ("python", "python"),
    ("pip", "python"),
    ("pip3", "python"),
    ("pytest", "python"),
    ("cargo", "rust"),
    ("rustc", "rust"),
    ("clippy", "rust"),
    ("fmt", "rust"),
    ("node", "node"),
    ("npm", "node"),
    ("npx", "node"),
    ("go", "go"),
    ("gofmt", "go"),
    ("java", "java"),
    ("javac", "java"),
    ("mvn", "java"),
    ("cmake", "cpp"),
    ("ctest", "cpp"),
    ("meson", "cpp"),
    ("ninja", "cpp"),
];

impl Lack {
    fn same(&self, other: &Lack) -> bool {
        match (self, other) {
            (Self::Host { host: a, .. }, Self::Host { host: b, .. }) => a == b,
            (Self::Toolchain { toolchain: a, .. }, Self::Toolchain { toolchain: b, .. }) => a == b,
            (Self::Host { .. } | Self::Toolchain { .. } | Self::Program(_) | Self::Package { .. }, _) => self == other,
        }
    }

    /// What is missing, in a sentence without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::Host { host, port: 0 | 80 | 443 } => format!("the host {host} was not reached"),
            Self::Host { host, port } => format!("the host {host}, port {port}, was not reached"),
            Self::Toolchain { toolchain, version } => format!("it needs {toolchain} {version}"),
            Self::Program(name) => format!("the image has no program {name}"),
            Self::Package { of, name } => format!("the {of} package {name} is not installed"),
        }
    }

    /// What a person can do about it.
    pub fn cure(&self) -> String {
        let build = |toolchain: &str| format!("caisson image build {toolchain}");
        match self {
            Self::Host { host, port: 0 | 80 | 443 } => format!("if sandboxes may reach it: [egress] allow = [\"{host}\"] in caisson.toml"),
            Self::Host { host, port } => format!("if sandboxes may reach it: [egress] allow = [\"{host}:{port}\"] in caisson.toml"),
            Self::Toolchain { toolchain, version } => {
                let version = version.trim_start_matches(|c: char| !c.is_ascii_digit());
                format!("{} (or with --from-host, where this machine has it)", build(&format!("{toolchain}@{version}")))
            }
            Self::Program(name) => match PROGRAMS.iter().find(|(program, _)| program == name) {
                Some((_, toolchain)) => format!("{}, and toolchain = \"{toolchain}\" in .caisson.toml", build(toolchain)),
                None => "let setup install it below the home directory, or list an image of your own that has it (docs/images.md)".to_owned(),
            },
            Self::Package { of: "Python", name } if name == "pip" || name == "venv" => build("python"),
            Self::Package { .. } => "a setup command has to install it: verification has no network".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(output: &str) -> Lack {
        let mut all = lacks(output);
        assert_eq!(all.len(), 1, "{output}: {all:?}");
        all.remove(0)
    }

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(PATTERNS.len(), 25);
    }

    #[test]
    fn hosts_that_were_not_reached() {
        for said in [
            "fatal: unable to access 'https://a.example.org/x/': Could not resolve host: a.example.org",
            "  [6] Couldn't resolve host name (Could not resolve host: a.example.org)",
            "npm ERR! request to https://a.example.org/x failed, reason: getaddrinfo ENOTFOUND a.example.org",
            "Get \"https://a.example.org/m/@v/list\": dial tcp: lookup a.example.org on 10.213.0.1:53: no such host",
            "go: a@v1: Get \"https://a.example.org/a.mod\": dial tcp: lookup a.example.org: network is unreachable",
            "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='a.example.org', port=443): Max retries exceeded",
        ] {
            assert_eq!(one(said), Lack::Host { host: "a.example.org".into(), port: 443 }, "{said}");
        }
        assert!(one("Could not resolve host: a.example.org").cure().contains("allow = [\"a.example.org\"]"));
    }

    #[test]
    fn toolchains_of_another_version() {
        for (said, toolchain, version) in [
            (
                "error: rustc 1.95.0 is not supported by the following package:\n  ripgrep@15.2.0 requires rustc 1.96",
                "rust",
                "1.96",
            ),
            (
                "error: package `x v1` cannot be built because it requires rustc 1.96 or newer, while 1.95.0 is active",
                "rust",
                "1.96",
            ),
            (
                "go: errors parsing go.mod:\ngo.mod:3: invalid go version '1.25.0': must match format 1.23",
                "go",
                "1.25.0",
            ),
            ("go: go.mod requires go >= 1.25.0 (running go 1.19.8; GOTOOLCHAIN=local)", "go", "1.25.0"),
            ("npm WARN EBADENGINE   required: { node: '>=22.12.0' },", "node", "22.12.0"),
            ("ERROR: Package 'x' requires a different Python: 3.9.2 not in '>=3.10'", "python", "3.10"),
        ] {
            assert_eq!(one(said), Lack::Toolchain { toolchain, version: version.into() }, "{said}");
        }
        assert!(one("it requires rustc 1.96 or newer").cure().starts_with("caisson image build rust@1.96"));
    }

    #[test]
    fn programs_and_packages_that_are_not_there() {
        for (said, program) in [
            ("sh: 1: mocha: not found", "mocha"),
            ("/bin/sh: 1: pnpm: not found", "pnpm"),
            ("bash: line 1: cargo: command not found", "cargo"),
            ("\u{1b}[31mbash: cargo: command not found\u{1b}[0m", "cargo"),
            ("make: go: No such file or directory", "go"),
            ("/usr/bin/env: ‘node’: No such file or directory", "node"),
            ("error: no such command: `nextest`", "nextest"),
        ] {
            assert_eq!(one(said), Lack::Program(program.into()), "{said}");
        }
        for (said, of, name) in [
            ("E   ModuleNotFoundError: No module named 'click.core'", "Python", "click"),
            ("/usr/bin/python3: No module named pytest", "Python", "pytest"),
            ("ERROR: No matching distribution found for flit_core<4,>=3.11", "Python", "flit_core"),
            ("Error: Cannot find module 'supertest'", "npm", "supertest"),
            ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@eslint/js' imported from x", "npm", "@eslint/js"),
            ("error: no matching package named `serde` found", "Rust", "serde"),
            (
                "a.go:3:2: no required module provides package github.com/spf13/pflag; to add it:",
                "Go",
                "github.com/spf13/pflag",
            ),
        ] {
            assert_eq!(one(said), Lack::Package { of, name: name.into() }, "{said}");
        }
        assert!(lacks("Error: Cannot find module './lib/own'\nok\n").is_empty(), "its own file");
        assert_eq!(
            one("bash: line 1: cargo: command not found").cure(),
            "caisson image build rust, and toolchain = \"rust\" in .caisson.toml"
        );
    }

    #[test]
    fn what_lies_deepest_comes_first_and_each_once() {
        let said =
            "No module named 'a'\nNo module named 'a'\nCould not resolve host: a.example.org\nNo module named 'b'\n";
        let told: Vec<_> = lacks(said).iter().map(Lack::sentence).collect();
        let version = [
            "the host a.example.org was not reached",
            "the Python package a is not installed",
            "the Python package b is not installed",
        ];
        assert_eq!(told, version);
        assert!(
            lacks("No module named '\u{202e}evil'").is_empty() && lacks(&"x: 1: y: not found\n".repeat(9)).len() == 1
        );
    }
}
