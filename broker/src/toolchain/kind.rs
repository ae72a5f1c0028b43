//! Toolchains that need not come from Debian's packages: each one's official image, variables, tools and version syntax. Tests: below.

/// Path of a copied toolchain in its image, or of a link to it.
pub const PLACE: &str = "/opt/toolchain";

/// One such toolchain, named like its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfficialToolchain {
    /// Name of the toolchain and of its profile, such as `rust`.
    pub name: &'static str,
    /// The official image without its registry; `{}` is the version.
    official: &'static str,
    /// Command that prints the toolchain's directory in that image; empty = its programs are found by `PATH`.
    pub lies: &'static str,
    /// Command that is run once after copying; empty = none.
    pub settled: &'static str,
    /// Variables to set besides `PATH`, because a sandbox can write only to its workspace, its home and /tmp.
    pub variables: &'static str,
    /// Commands that must succeed before an image is accepted; the first prints the version.
    pub tools: &'static [&'static str],
}

const KINDS: [OfficialToolchain; 5] = [
    OfficialToolchain {
        name: "rust",
        official: "library/rust:{}-slim-bookworm",
        lies: "rustc --print sysroot",
        settled: "",
        variables: "CARGO_HOME=/home/agent/.cargo",
        tools: &["rustc --version", "cargo --version"],
    },
    OfficialToolchain {
        name: "go",
        official: "library/golang:{}-bookworm",
        lies: "go env GOROOT",
        settled: "",
        variables: "GOPATH=/home/agent/go GOTOOLCHAIN=local",
        tools: &["go version", "gofmt </dev/null", "go vet -h 2>&1 | grep -q vet"],
    },
    OfficialToolchain {
        name: "node",
        official: "library/node:{}-bookworm-slim",
        lies: "",
        settled: "",
        variables: "",
        tools: &["node --version", "npm --version"],
    },
    OfficialToolchain {
        name: "python",
        official: "library/python:{}-slim-bookworm",
        lies: "",
        settled: "echo /opt/toolchain/lib >/etc/ld.so.conf.d/toolchain.conf; ldconfig",
        variables: "",
        tools: &[
            "python3 --version",
            "python3 -c 'import ssl, sqlite3, zlib, ctypes, venv'",
            "python3 -m pip --version",
        ],
    },
    OfficialToolchain {
        name: "java",
        official: "library/eclipse-temurin:{}-jdk-jammy",
        lies: "printenv JAVA_HOME",
        settled: "",
        variables: "JAVA_HOME=/opt/toolchain",
        tools: &["java -version", "javac -version"],
    },
];

/// All of them.
pub fn kinds() -> impl Iterator<Item = OfficialToolchain> {
    KINDS.into_iter()
}

/// The toolchain of that name.
pub fn kind(name: &str) -> Option<OfficialToolchain> {
    kinds().find(|it| it.name == name)
}

impl OfficialToolchain {
    /// Its official image at a registry, such as `docker.io`.
    pub fn official(&self, registry: &str, version: &str) -> String {
        format!("{registry}/{}", self.official.replace("{}", version))
    }
}

/// Version in a tool's output, such as `1.95.0`; for a nightly compiler only `nightly`.
pub fn version_in(said: &str) -> Option<String> {
    let mut words = said.split_whitespace().map(|word| word.trim_matches('"'));
    let version = words.find_map(|word| {
        let plain = word.strip_prefix("go").or(word.strip_prefix('v')).unwrap_or(word);
        let fit = plain.starts_with(|c: char| c.is_ascii_digit()) && plain.contains('.');
        fit.then(|| plain.chars().take_while(|c| c.is_ascii_alphanumeric() || ".-_+".contains(*c)).collect::<String>())
    })?;
    let early = ["nightly", "beta"].into_iter().find(|word| version.contains(word));
    Some(early.map_or(version, str::to_owned))
}

/// Whether a version satisfies the wanted one, compared part by part as far as both have parts.
pub fn suits(wanted: &str, has: &str) -> bool {
    wanted.split(['.', '-']).zip(has.split(['.', '-'])).all(|(wanted, has)| wanted == has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::profile;

    #[test]
    fn each_is_a_profile_too() {
        for it in kinds() {
            assert!(profile(it.name).is_some(), "{}", it.name);
        }
        assert_eq!(kind("rust").unwrap().official("docker.io", "1.95"), "docker.io/library/rust:1.95-slim-bookworm");
        assert_eq!(kind("cobol"), None);
    }

    #[test]
    fn a_tool_tells_its_version() {
        for (said, version) in [
            ("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0"),
            ("rustc 1.97.0-nightly (aa 2026-06-01)", "nightly"),
            ("go version go1.26.1 linux/amd64", "1.26.1"),
            ("v20.20.2", "20.20.2"),
            ("Python 3.11.7", "3.11.7"),
            ("openjdk version \"17.0.15\" 2025-04-15", "17.0.15"),
        ] {
            assert_eq!(version_in(said).as_deref(), Some(version), "{said}");
        }
        assert_eq!(version_in("no such thing"), None);
    }

    #[test]
    fn a_version_suits_as_far_as_it_is_told() {
        assert!(suits("1.95", "1.95.0") && suits("20.11.1", "20") && suits("nightly", "nightly-2026-01-01"));
        assert!(!suits("1.9", "1.95.0") && !suits("1.95.1", "1.95.0") && !suits("nightly", "1.95.0"));
    }
}
