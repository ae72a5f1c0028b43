//! A `CODEOWNERS` file, read as Gitea 1.25 reads it (`models/issues/pull.go`, `services/issue/pull.go` there): each line an expression over
//! whole paths and its owners; every line that meets a path counts, and `!` turns one around. Pure. The text is data: it only says whom the
//! operator's `code_owners` means. Tests: below.

use regex::{Regex, RegexBuilder};
use std::collections::BTreeSet;

/// Where such a file may lie; the first that exists counts.
pub const PLACES: [&str; 3] = ["CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS"];
/// The longest file that is read, in bytes.
pub const MAX_BYTES: u64 = 256 << 10;
/// The most bytes of one compiled expression, and the most lines: of more, or of an expression that cannot be read, nobody can say whom a
/// path belongs to.
const EXPRESSION: usize = 256 << 10;
const LINES: usize = 500;

/// The lines of such a file that say something.
#[derive(Debug, Default)]
pub struct CodeOwners(Vec<Line>);

#[derive(Debug)]
struct Line {
    expression: Regex,
    negative: bool,
    /// Logins, and teams as `organisation/name`.
    owners: BTreeSet<String>,
}

impl CodeOwners {
    /// Reads it; a line that names nobody is left out.
    ///
    /// # Errors
    /// What of the file cannot be read: its owners are then not known.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = Vec::new();
        for (at, line) in (1..).zip(text.lines()) {
            lines.extend(
                Line::read(&tokens(line)).map_err(|_| format!("line {at} holds no expression that is read here"))?,
            );
            if lines.len() > LINES {
                return Err(format!("it has more than {LINES} lines"));
            }
        }
        Ok(Self(lines))
    }

    /// The owners of these paths, each set once: somebody has to be in each to be an owner of all that has one. Where none of the paths has an
    /// owner, one set of everybody who is named. Of `a/b` a team is meant, otherwise an account. None once `goes_on`, which is asked before each
    /// expression, says no: many expressions on many paths take minutes.
    pub fn of<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
        goes_on: impl Fn() -> bool,
    ) -> Option<BTreeSet<BTreeSet<&str>>> {
        let mut of_each = BTreeSet::new();
        for path in paths {
            let mut owners = BTreeSet::new();
            for line in &self.0 {
                if !goes_on() {
                    return None;
                }
                if line.expression.is_match(path) != line.negative {
                    owners.extend(line.owners.iter().map(String::as_str));
                }
            }
            if !owners.is_empty() {
                of_each.insert(owners);
            }
        }
        if of_each.is_empty() {
            of_each.insert(self.0.iter().flat_map(|line| &line.owners).map(String::as_str).collect());
        }
        Some(of_each)
    }
}

impl Line {
    fn read(tokens: &[String]) -> Result<Option<Self>, regex::Error> {
        let Some((first, owners)) = tokens.split_first() else { return Ok(None) };
        let negative = first.starts_with('!');
        let named = |owner: &String| owner.strip_prefix('@').unwrap_or(owner).to_lowercase();
        let fit = |owner: &String| !owner.is_empty() && owner.matches('/').count() < 2;
        let owners: BTreeSet<String> = owners.iter().map(named).filter(fit).collect();
        if owners.is_empty() {
            return Ok(None);
        }
        let expression = format!("^{}$", first.strip_prefix('!').unwrap_or(first));
        let expression = RegexBuilder::new(&expression).size_limit(EXPRESSION).build()?;
        Ok(Some(Self { expression, negative, owners }))
    }
}

/// The words of a line up to `#`; a backslash takes the character behind it as it is.
fn tokens(line: &str) -> Vec<String> {
    let (mut all, mut token, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.trim().chars().map(|c| if c == '\t' { ' ' } else { c }) {
        match c {
            c if escaped => {
                token.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '#' => break,
            ' ' => all.extend((!token.is_empty()).then(|| std::mem::take(&mut token))),
            c => token.push(c),
        }
    }
    all.extend((!token.is_empty()).then_some(token));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, paths: &[&str]) -> Vec<Vec<String>> {
        let owners = CodeOwners::read(text).expect("it can be read");
        let found = owners.of(paths.iter().copied(), || true).expect("none takes too long");
        found.into_iter().map(|set| set.into_iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn lines_are_taken_apart_as_gitea_does() {
        // The cases of Gitea's own TestParseCodeOwnersLine.
        let given: [(&str, &[&str]); 7] = [
            ("", &[]),
            ("# comment", &[]),
            ("!.* @user1 @org1/team1", &["!.*", "@user1", "@org1/team1"]),
            (r".*\\.js @user2 #comment", &[r".*\.js", "@user2"]),
            (
                r"docs/(aws|google|azure)/[^/]*\\.(md|txt) @org3 @org2/team2",
                &[r"docs/(aws|google|azure)/[^/]*\.(md|txt)", "@org3", "@org2/team2"],
            ),
            (r"\#path @org3", &["#path", "@org3"]),
            (r"path\ with\ spaces/ @org3", &["path with spaces/", "@org3"]),
        ];
        for (line, expected) in given {
            assert_eq!(tokens(line), expected, "{line}");
        }
    }

    #[test]
    fn an_expression_is_about_a_whole_path_and_each_line_that_meets_one_counts() {
        let text = "src/.* @Alice\nsrc/net/.* @lab/Net\ndocs @bob\n!.*\\\\.md @carol\n";
        assert_eq!(of(text, &["src/a.rs"]), [["alice", "carol"]]);
        assert_eq!(of(text, &["src/net/b.rs"]), [["alice", "carol", "lab/net"]]);
        assert_eq!(of(text, &["lib/src/a.rs"]), [["carol"]], "not in the middle of a path");
        assert_eq!(of(text, &["docs/x.md", "docs"]), [["bob", "carol"]], "`docs` is that path alone");
        assert_eq!(of(text, &["src/a.rs", "src/b.rs", "docs"]).len(), 2, "of several files each set once");
        // As `^a|b$` is read: either end is enough.
        assert_eq!(of("a|b @alice", &["a-and-more"]), [["alice"]]);
    }

    #[test]
    fn matching_that_takes_too_long_names_nobody() {
        let owners = CodeOwners::read("a @alice\nb @bob\n").expect("it can be read");
        let asked = std::cell::Cell::new(0);
        let goes_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 4
        };
        assert_eq!(owners.of(["a", "b"], goes_on), None);
        assert_eq!(asked.get(), 4, "each expression on each path is asked about");
    }

    #[test]
    fn where_no_path_has_an_owner_all_who_are_named_are_owners() {
        let text = "src/.* @alice\ndocs/.* @bob\n";
        for paths in [&[][..], &["README.md"]] {
            assert_eq!(of(text, paths), [["alice", "bob"]], "{paths:?}");
        }
        assert_eq!(of("", &["a"]), [Vec::<String>::new()], "nobody is named");
    }

    #[test]
    fn a_line_that_says_nothing_is_left_out() {
        for text in [".*", ".* @a/b/c", ".* @", "("] {
            assert_eq!(of(text, &["a"]), [Vec::<String>::new()], "{text}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_whole_says_nothing_at_all() {
        let many = "a @alice\n".repeat(LINES + 1);
        for text in ["docs/.* @bob\n( @alice", "[ @alice # @bob", "src/(?!docs).* @sec", "(.{999}){99} @a", &many] {
            assert!(CodeOwners::read(text).is_err(), "{text}");
        }
    }
}
