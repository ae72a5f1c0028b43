//! Language and kind (source, test, other) of a file, derived from its path.
//!
//! Must not read anything. Tests: below.

/// A language whose definitions can be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `.py`, `.pyi`
    Python,
    /// `.rs`
    Rust,
    /// `.js`, `.mjs`, `.cjs`, `.jsx`
    JavaScript,
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.tsx`: TypeScript with JSX, which has a grammar of its own.
    Tsx,
    /// `.go`
    Go,
    /// `.java`
    Java,
}

impl Language {
    /// Language of a path's extension.
    pub fn of(path: &str) -> Option<Self> {
        match ending(path) {
            "py" | "pyi" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            _ => None,
        }
    }

    /// The parser's tables.
    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}

/// Role of a file in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// Program text by its extension, neither a test nor generated.
    Source,
    /// Tests, examples and benchmarks.
    Test,
    /// Documents, configuration, data.
    Beside,
    /// Generated, or copied from elsewhere.
    Made,
}

/// Extensions of sources in languages without a parser here.
const SOURCES: &[&str] = &[
    "c", "cc", "cpp", "cs", "cxx", "dart", "erl", "ex", "exs", "fs", "h", "hpp", "hs", "jl", "kt", "lua", "m", "ml",
    "nim", "php", "pl", "pm", "proto", "r", "rb", "scala", "sh", "sql", "svelte", "swift", "vue", "zig",
];
const TEST_FOLDERS: &[&str] = &[
    "examples",
    "example",
    "benches",
    "benchmarks",
    "benchmark",
    "samples",
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testdata",
    "fixtures",
    "e2e",
    "__mocks__",
];
const MADE_FOLDERS: &[&str] = &["node_modules", "vendor", "third_party", "dist", ".git", "__pycache__"];
const MADE_NAMES: &[&str] =
    &["Cargo.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "go.sum"];

pub fn ending(path: &str) -> &str {
    name(path).rsplit_once('.').map_or("", |(_, ending)| ending)
}

pub fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The file name without its last extension.
pub fn stem(path: &str) -> &str {
    let name = name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

impl FileKind {
    /// Derived from the path's folders, name and extension; the file is not read.
    pub fn of(path: &str) -> Self {
        let folders = || path.rsplit_once('/').map_or("", |(folders, _)| folders).split('/');
        let name = name(path);
        let minimal = name.contains(".min.") || name.ends_with(".d.ts.map") || name.ends_with(".snap");
        if minimal || MADE_NAMES.contains(&name) || folders().any(|folder| MADE_FOLDERS.contains(&folder)) {
            return Self::Made;
        }
        if Language::of(path).is_none() && !SOURCES.contains(&ending(path)) {
            return Self::Beside;
        }
        // A package with test helpers is a source (`click/testing.py`), a folder of tests is not.
        match is_test_name(path) || folders().any(|folder| TEST_FOLDERS.contains(&folder)) {
            true => Self::Test,
            false => Self::Source,
        }
    }
}

fn is_test_name(path: &str) -> bool {
    let stem = stem(path);
    let java = ending(path) == "java" && (stem.ends_with("Test") || stem.ends_with("Tests") || stem.ends_with("IT"));
    let inner = [".test", ".spec", "_test", "_tests", "_spec", "-test"].iter().any(|end| stem.ends_with(end));
    java || inner || stem.starts_with("test_") || matches!(stem, "conftest" | "tests" | "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_follows_from_its_path() {
        for (path, kind) in [
            ("src/click/core.py", FileKind::Source),
            ("src/click/testing.py", FileKind::Source),
            ("tests/test_core.py", FileKind::Test),
            ("lib/view.test.js", FileKind::Test),
            ("command_test.go", FileKind::Test),
            ("src/main/java/a/GsonTest.java", FileKind::Test),
            ("crates/core/main.rs", FileKind::Source),
            ("crates/core/tests.rs", FileKind::Test),
            ("lib/native.c", FileKind::Source),
            ("README.md", FileKind::Beside),
            ("Cargo.toml", FileKind::Beside),
            ("Cargo.lock", FileKind::Made),
            ("vendor/x/y.go", FileKind::Made),
        ] {
            assert_eq!(FileKind::of(path), kind, "{path}");
        }
        assert_eq!((stem("a/.bashrc"), stem("a/b.tar.gz"), ending("Makefile")), (".bashrc", "b.tar", ""));
    }
}
