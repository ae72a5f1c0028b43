//! Issues that a commit's message closes once it stands on the default branch, in the name of whoever pushes it and whoever wrote it.
//! Source: `UpdateIssuesCommit` in `services/issue/commit.go` of Gitea 1.25.4. Tests: below, and `tests/contract/changes.rs` of the root
//! package.

use crate::world::World;

/// Gitea's default `CLOSE_KEYWORDS`.
const KEYWORDS: [&str; 9] = ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// Numbers that come right behind one of these words.
fn closed_by(messages: &str) -> Vec<u64> {
    let words: Vec<&str> = messages.split_whitespace().collect();
    let closes = |word: &str| KEYWORDS.contains(&word.trim_end_matches(':').to_lowercase().as_str());
    let number = |word: &str| -> Option<u64> {
        word.strip_prefix('#')?.trim_end_matches(['.', ',', ':', ';', '!', '?']).parse().ok()
    };
    words.windows(2).filter(|pair| closes(pair[0])).filter_map(|pair| number(pair[1])).collect()
}

impl World {
    /// Closes what these messages close, as far as the pusher may.
    pub(crate) fn close_named(&mut self, at: usize, pusher: i64, messages: &str) {
        for number in closed_by(messages) {
            if self.issue(at, number).is_ok_and(|issue| issue.pull.is_none() && issue.open) {
                // Whoever may not close it leaves it as it is, and is not told.
                let _ = self.edit_issue(at, number, pusher, None, None, Some(false));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::closed_by;

    #[test]
    fn a_number_behind_a_closing_word_is_named() {
        assert_eq!(closed_by("Mend it\n\nFixes #12, closes: #3.\nSee #4, and fix the rest of #5"), [12, 3]);
    }
}
