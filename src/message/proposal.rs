//! The pull request that proposes a `.caisson.toml`. Commands in it are foreign and shown as code.

use crate::text::{code, prose};

/// The most characters of one line of observations.
const MAX_LINE: usize = 400;

/// The pull request's title.
pub fn proposal_title() -> String {
    "Let sandboxes run this project's checks".to_owned()
}

/// The message of its commit.
pub fn proposal_commit() -> String {
    "Let sandboxes run this project's checks\n\nProposed by `caisson repo try`, which saw these commands work on the commit before.\n"
        .to_owned()
}

/// `seen`: one line for each attempt. `shows`: the operator's command that shows what the file asks for.
pub fn proposal_body(seen: &[String], shows: &str) -> String {
    let lines: Vec<String> = seen.iter().map(|line| format!("- {}", prose(line, MAX_LINE))).collect();
    format!(
        "An operator asked what this project needs so that the bot can check its own work (`caisson repo try`). In sandboxes like a task's, on \
         the commit below this one:\n\n{}\n\nNothing has changed yet. Merge or take over what suits you; `setup`, and hosts beyond what the operator \
         allows, have no effect until the operator accepts exactly the file that then stands on the default branch ({} shows \
         what it asks for).\n",
        lines.join("\n"),
        code(shows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_stands_as_code_and_nothing_of_it_acts() {
        let seen = ["Setup worked: `pip install '@all' #1 <b>`.".to_owned()];
        let body = proposal_body(&seen, "caisson repo add team/shop --here --name shop");
        assert!(body.contains("\n- Setup worked: `pip install '@all' #1 <b>`.\n"), "{body}");
        assert!(body.contains("until the operator accepts exactly the file"), "{body}");
        assert!(body.contains("(`caisson repo add team/shop --here --name shop` shows what it asks for)"), "{body}");
        // Mentions and references to issues must become code as well.
        let bare = proposal_body(&["@all closes #1".to_owned()], "x");
        assert!(bare.contains("- `@all` closes `#1`\n"), "{bare}");
        assert!(!proposal_title().contains('\n') && proposal_commit().lines().nth(1) == Some(""));
    }
}
