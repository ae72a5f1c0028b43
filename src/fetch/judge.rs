//! Judges changed paths before they are written to a developer's machine.
//!
//! Owns what becomes of changed paths: what no clone should take, what takes effect by itself (editors, shells, hooks, agents, git) and needs
//! consent for each path, and what runs when the project is built. Which files those are says `src/sandbox/risks/table.rs`, for reviews too;
//! `src/sandbox/risks/linked.rs` says to which of them a link of the tree leads.
//! Pure. Tests: below.

use std::collections::{HashMap, HashSet};

use crate::git::listing::{Change, Entry};
use crate::sandbox::policy::{HIDDEN_REPOSITORY, Limits, changed_links, escapes, fold, hidden, twins, wrong_names};
use crate::sandbox::risks::{AtFetch, Links, Through, becomes_executable, rows, special};

pub use crate::sandbox::policy::shown;

/// A path that needs a person's consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path relative to the repository's root. Untrusted: escape before showing.
    pub path: String,
    /// Its effect, in words that follow the path.
    pub why: String,
}

/// All findings about a set of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons as sentences that no option overrides.
    pub never: Vec<String>,
    /// Paths that are accepted only if the caller named each of them.
    pub ask: Vec<Finding>,
    /// Hints as sentences.
    pub notes: Vec<String>,
}

/// Judges a change: `changes` against the present tree, `entries` and `links` of the new tree.
pub fn judge(changes: &[Change], entries: &[Entry], links: &HashMap<Vec<u8>, Vec<u8>>) -> Findings {
    let mut found = Findings::default();
    found.never.extend(wrong_names(changes, entries, &Limits::default()));
    found.never.extend(escapes(links, &changed_links(changes)));
    let linked = Links::new(links);
    let hidden: HashSet<&[u8]> = hidden(changes, entries).into_iter().map(|c| c.path.as_slice()).collect();
    for change in changes {
        let path = String::from_utf8_lossy(&change.path).into_owned();
        let hidden = hidden.contains(change.path.as_slice()).then(|| HIDDEN_REPOSITORY.to_owned());
        let plain = || acts(change).or_else(|| linked.asks(&change.path).map(|it| acts_through(change, &it)));
        let why = hidden.or_else(|| special(&change.new_mode).map(str::to_owned)).or_else(plain);
        if let Some(why) = why {
            found.ask.push(Finding { path, why });
        } else if has(change, AtFetch::Note).is_some() || becomes_executable(&change.old_mode, &change.new_mode) {
            found.notes.push(format!("{} runs when the project is built or tested", shown(&change.path)));
        }
    }
    let added: HashSet<&[u8]> = changes.iter().filter(|c| c.status == 'A').map(|c| c.path.as_slice()).collect();
    found.ask.extend(twin_findings(entries, &added));
    found.never.sort();
    found.never.dedup();
    found
}

/// The words of the first row of the table that has this path and is treated so.
fn has(change: &Change, at_fetch: AtFetch) -> Option<&'static str> {
    rows(&change.path).into_iter().find(|row| row.at_fetch == at_fetch).map(|row| row.words)
}

/// Why a file takes effect by itself.
fn acts(change: &Change) -> Option<String> {
    has(change, AtFetch::Ask).map(|why| present_or_removed(change, why))
}

/// Why a file takes effect by itself at the path of a link that leads to it.
fn acts_through(change: &Change, through: &Through) -> String {
    let why = format!("{}, because a link makes it {}", through.words, shown(through.path.as_bytes()));
    present_or_removed(change, &why)
}

fn present_or_removed(change: &Change, why: &str) -> String {
    if change.deleted() { format!("is removed, and {why}") } else { why.to_owned() }
}

/// One finding for each new path of a pair, so that each can be accepted separately.
fn twin_findings(entries: &[Entry], added: &HashSet<&[u8]>) -> Vec<Finding> {
    let mut forms: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        *forms.entry(fold(&entry.path)).or_default() += 1;
    }
    let pairs = twins(entries.iter().map(|e| e.path.as_slice()), added);
    if pairs.is_empty() {
        return Vec::new();
    }
    let doubled = |path: &[u8]| {
        let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).chain([path.len()]);
        ends.map(|end| fold(&path[..end])).any(|form| forms.get(&form).is_some_and(|count| *count > 1))
    };
    let mut paths: Vec<&[u8]> = added.iter().copied().filter(|path| doubled(path)).collect();
    paths.sort_unstable();
    let finding = |path: &[u8]| Finding {
        path: String::from_utf8_lossy(path).into_owned(),
        why: "is the same file as another on systems that fold case or Unicode".to_owned(),
    };
    paths.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::listing::LINK;

    fn change(path: &str, mode: &str) -> Change {
        let path = path.as_bytes().to_vec();
        Change {
            old_mode: "000000".into(),
            new_mode: mode.into(),
            old_id: String::new(),
            id: String::new(),
            status: 'A',
            path,
        }
    }

    fn look(paths: &[&str]) -> Findings {
        let changes: Vec<Change> = paths.iter().map(|p| change(p, "100644")).collect();
        let entries: Vec<Entry> = changes
            .iter()
            .map(|c| Entry { mode: c.new_mode.clone(), id: String::new(), path: c.path.clone() })
            .collect();
        judge(&changes, &entries, &HashMap::new())
    }

    #[test]
    fn what_acts_by_itself_needs_a_word() {
        for path in [
            ".envrc",
            "sub/.envrc",
            ".vscode/tasks.json",
            ".VSCode/settings.json",
            ".github/workflows/x.yml",
            "AGENTS.md",
            "deep/CLAUDE.md",
            ".gitattributes",
            ".lfsconfig",
            ".husky/pre-commit",
            ".npmrc",
            ".cargo/config.toml",
            ".mcp.json",
            ".caisson.toml",
        ] {
            assert_eq!(look(&[path]).ask.len(), 1, "{path}");
        }
        assert_eq!(look(&["src/main.rs", "README.md"]), Findings::default());
    }

    #[test]
    fn the_other_names_of_what_acts_by_itself_need_a_word_too() {
        for path in [
            "lefthook.toml",
            "lefthook-local.yml",
            ".lefthook.json",
            ".lefthook-local.yaml",
            ".config/lefthook.yml",
            ".lefthook-local/pre-commit/check.sh",
            "mise.local.toml",
            "sub/.mise.local.toml",
            ".config/mise.toml",
            ".config/mise/conf.d/tools.toml",
            "mise/config.local.toml",
            ".Rprofile",
            "analysis/.Renviron",
            ".RData",
            ".pdbrc",
            ".ghci",
            ".iex.exs",
            ".octaverc",
            "opencode.json",
            "opencode.jsonc",
            ".opencode/agent/x.md",
            ".kiro/steering/x.md",
            ".amazonq/rules/x.md",
            "AGENTS.override.md",
            "QWEN.md",
            ".qwen/settings.json",
            ".vs/shop/v17/.suo",
            "Directory.Build.props",
            "src/Directory.Build.targets",
            "Directory.Build.rsp",
            ".build.yml",
        ] {
            assert_eq!(look(&[path]).ask.len(), 1, "{path}");
        }
        let others = ["docs/lefthook.md", "promise.toml", "src/mise/lib.rs", "Directory.props", "data.RData.md"];
        assert_eq!(look(&others), Findings::default());
    }

    #[test]
    fn what_hooks_editors_and_agents_read_needs_a_word() {
        for path in [
            "web/.lintstagedrc.json",
            "lint-staged.config.mjs",
            ".huskyrc.js",
            ".git-hooks/pre-commit",
            "commitlint.config.ts",
            ".commitlintrc.yml",
            "captainhook.json",
            "grumphp.yml.dist",
            "eslint.config.js",
            "web/.eslintrc.cjs",
            ".prettierrc",
            "prettier.config.js",
            ".pylintrc",
            ".project",
            ".externalToolBuilders/x.launch",
            "AGENT.md",
            "WARP.md",
            ".rules",
            ".roomodes",
            ".agents/skills/x.md",
            ".github/agents/x.md",
            ".github/chatmodes/x.md",
        ] {
            assert_eq!(look(&[path]).ask.len(), 1, "{path}");
        }
        assert_eq!(look(&["docs/eslint.md", "src/project", "docs/rules"]), Findings::default());
    }

    #[test]
    fn what_a_link_leads_to_acts_where_the_link_is() {
        let links = HashMap::from([(b".husky".to_vec(), b"scripts/hooks".to_vec())]);
        let changes = [change("scripts/hooks/pre-commit", "100755"), change("scripts/other", "100644")];
        let found = judge(&changes, &[], &links);
        assert_eq!(found.ask.len(), 1, "{found:?}");
        let words = "becomes or configures a git hook, because a link makes it `.husky/pre-commit`";
        assert_eq!((found.ask[0].path.as_str(), found.ask[0].why.as_str()), ("scripts/hooks/pre-commit", words));
        let gone = Change { status: 'D', new_mode: "000000".into(), ..changes[0].clone() };
        assert!(judge(&[gone], &[], &links).ask[0].why.starts_with("is removed, and becomes"));
    }

    #[test]
    fn a_repository_in_a_directory_is_asked_for_part_by_part() {
        let parts = ["x/y/HEAD", "x/y/config", "x/y/objects/k", "x/y/refs/k"];
        let found = look(&[&parts[..], &["x/y/description.md", "x/z.md"]].concat());
        assert_eq!(found.ask.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), parts);
        assert!(found.ask[0].why.contains("a repository hidden in a directory"));
        assert_eq!(look(&parts[1..]), Findings::default(), "without a head it is none");
    }

    #[test]
    fn what_runs_when_built_is_named() {
        let found = look(&["Makefile", "src/build.rs", "package.json"]);
        assert_eq!((found.ask.len(), found.notes.len()), (0, 3));
        let becomes = |old: &str| {
            let change = Change { status: 'M', old_mode: old.into(), ..change("a.txt", "100755") };
            judge(&[change], &[], &HashMap::new()).notes.len()
        };
        assert_eq!((becomes("100644"), becomes("100755")), (1, 0), "only what was not executable before");
    }

    #[test]
    fn twins_links_and_names() {
        let found = look(&["README", "readme", "other"]);
        assert_eq!(found.ask.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["README", "readme"]);
        let entries = ["Lib", "Lib/a", "lib", "lib/b"].map(|path| Entry {
            mode: "100644".into(),
            id: String::new(),
            path: path.into(),
        });
        let below = judge(&[change("Lib/a", "100644"), change("c", "100644")], &entries, &HashMap::new());
        assert_eq!(below.ask.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["Lib/a"], "by its directory");
        let link = [change("l", LINK)];
        let target = |t: &str| HashMap::from([(b"l".to_vec(), t.as_bytes().to_vec())]);
        assert_eq!(judge(&link, &[], &target("x")).ask.len(), 1);
        assert_eq!(judge(&link, &[], &target("/etc/passwd")).never.len(), 1);
        assert_eq!(look(&["a\u{202e}b"]).never.len(), 1);
        let known = Change { status: 'M', old_mode: "100644".into(), ..change("a\u{202e}b", "100644") };
        assert!(judge(&[known], &[], &HashMap::new()).never.is_empty(), "the clone has it already");
        let beside = Entry { mode: "100644".into(), id: String::new(), path: "src/aux/a.c".into() };
        let new = judge(&[change("src/aux/b.c", "100644")], &[beside], &HashMap::new());
        assert!(new.never.is_empty(), "and that directory: {:?}", new.never);
        assert_eq!(
            judge(&[change("s", "160000")], &[], &HashMap::new()).ask[0].why,
            "is a submodule: another repository"
        );
    }
}
