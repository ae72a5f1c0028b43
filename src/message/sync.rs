//! What is said of a repository's branches and tags beside its upstream's: to people on the forge, and in a terminal.

use crate::text::{code, count, one_line};
use crate::upstream::{BranchRelation, Moved, Synced};
use domain::Commit;
use std::fmt::Write as _;

/// Tags that are named.
const MOST_TAGS: usize = 10;

/// The answer to `/sync` of `login`; `done` is none where the repository has no upstream that the bot reads, an error is why nothing was
/// brought, in half a sentence. `key` is the repository's, for what an operator types. `label` is that of the upstream's issues that are opened
/// here, if any are.
pub fn synced(login: &str, key: &str, done: &Result<Option<Synced>, &str>, label: Option<&str>) -> String {
    let mut out = format!("`/sync` of {}: ", code(login));
    match done {
        Err(why) => {
            let _ = write!(out, "**not done**: {why}.");
        }
        Ok(None) => out.push_str(
            "this repository was copied from no address that the bot reads by itself. If it was copied from a folder, \
             `caisson repo sync` on that machine brings what is new.",
        ),
        Ok(Some(synced)) => {
            out.push_str(if synced.brought() { "**brought in step**." } else { "**nothing to bring**." });
            out.push_str("\n\n");
            for line in lines(synced, code) {
                let _ = writeln!(out, "- {line}");
            }
            if synced.rewritten().next().is_some() {
                out.push_str("\nA branch is never moved to another history by itself. Once what only this repository has is upstream, or not needed, whoever runs the bot can: ");
            }
            for (_, _, theirs) in synced.rewritten() {
                let _ = write!(out, "{} ", code(&format!("caisson repo sync {key} --rewritten {theirs}")));
            }
            if let Some(label) = label {
                let label = code(label);
                let _ = write!(
                    out,
                    "\nNext, open issues of the upstream with the label {label} that are not here yet are opened here."
                );
            }
        }
    }
    out.trim_end().to_owned()
}

/// Title of the issue about a branch that diverged from its upstream.
pub fn rewritten_title(branch: &str) -> String {
    format!("{branch} has diverged from the upstream's")
}

/// Text of that issue: what differs, both causes, and what an operator types. `key` is the repository's. Which cause it is cannot be read from
/// the commits alone.
pub fn rewritten_body(key: &str, branch: &str, ours: &Commit, theirs: &Commit) -> String {
    format!(
        "The branch {} here and that of the repository that this one was copied from have diverged: each has commits that the other lacks.\n\n\
         | | commit |\n|---|---|\n| here | `{ours}` |\n| upstream | `{theirs}` |\n\n\
         It is left as it is, and nothing new comes from there for this branch until somebody decides. Find out first which it was:\n\n\
         - **Somebody merged or pushed something here**, which nothing sends to the upstream. Bring that work there first; an approved task's goes with `caisson fetch` and `--open-pr`.\n\
         - **The upstream's history was rewritten.** Ask why: what is taken over becomes the base of every later task. If it was by mistake, have it mended there; the bot then goes on by itself.\n\n\
         To take the upstream's history, whoever runs the bot types {}. What only this repository has is then on no branch any more.\n\n\
         The bot closes this issue once the branch is in step. If you close it, it stays closed until another commit stands there.",
        code(branch),
        code(&format!("caisson repo sync {key} --rewritten {theirs}"))
    )
}

/// Its text once the branch is in step.
pub fn rewritten_over(branch: &str) -> String {
    format!("The history of {} here goes together with the upstream's again.", code(branch))
}

/// Its text once the upstream has no such branch any more.
pub fn rewritten_gone(branch: &str) -> String {
    format!("The upstream has no branch {} any more. Here it is left as it is.", code(branch))
}

/// Its text once the branch is compared with the upstream no more.
pub fn rewritten_unfollowed() -> String {
    "This branch is not kept in step with the upstream any more, so the bot does not compare it now. It is left as it is."
        .to_owned()
}

/// One sentence for each branch, and what there is to say of the tags and the default branch. `name` shows what others named.
pub fn lines(synced: &Synced, name: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines: Vec<String> =
        synced.branches.iter().map(|(branch, moved)| sentence(&name(branch.as_str()), moved)).collect();
    if let Some(source) = synced.source.as_ref().filter(|source| source.renamed) {
        lines.push(format!("the upstream is called {} now, and is followed there", name(&source.name)));
    }
    if synced.tags.new > 0 {
        lines.push(format!(
            "{} of the upstream's that {} new",
            count(synced.tags.new as u64, "tag"),
            are(synced.tags.new)
        ));
    }
    if synced.tags.later > 0 {
        lines.push(format!("{} more come the next time", count(synced.tags.later as u64, "tag")));
    }
    if !synced.tags.failed.is_empty() {
        let named: Vec<String> = synced.tags.failed.iter().take(MOST_TAGS).map(|(tag, _)| name(tag.as_str())).collect();
        lines.push(format!("tags that could not be brought: {}", named.join(", ")));
    }
    if !synced.tags.differ.is_empty() {
        let named: Vec<String> = synced.tags.differ.iter().take(MOST_TAGS).map(|tag| name(tag.as_str())).collect();
        let more = synced.tags.differ.len().saturating_sub(MOST_TAGS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("tags that name something else upstream, and are left: {}{more}", named.join(", ")));
    }
    if let Some(head) = &synced.other_head {
        lines.push(format!(
            "the upstream's default branch is {}; tasks go on from the one above until `caisson repo set-branch` names another",
            name(head.as_str())
        ));
    }
    lines
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn sentence(branch: &str, moved: &Moved) -> String {
    match moved {
        Moved::Raced => format!("{branch} was moved by somebody else at the same time"),
        Moved::Brought(standing) => match standing {
            BranchRelation::New(at) => format!("{branch} is here now, at {}", at.short()),
            BranchRelation::Behind { from, to, commits } => {
                format!("{branch}: {} brought, from {} to {}", count(*commits, "commit"), from.short(), to.short())
            }
            BranchRelation::Rewritten { ours, theirs, lost } => format!(
                "{branch} stands at {} in the place of {}, with {} less of its own",
                theirs.short(),
                ours.short(),
                count(*lost, "commit")
            ),
            BranchRelation::Same(at) => format!("{branch} is in step, at {}", at.short()),
            BranchRelation::Ahead { ours, .. } => format!("{branch} is at {}", ours.short()),
            BranchRelation::Gone => format!("the upstream has no branch {branch}"),
        },
        Moved::Left(standing) => match standing {
            BranchRelation::Same(at) => format!("{branch} is in step, at {}", at.short()),
            BranchRelation::New(at) => format!("{branch} is not here yet; upstream it is at {}", at.short()),
            BranchRelation::Behind { from, to, commits } => format!(
                "{branch} is {} behind: at {} here, at {} upstream",
                count(*commits, "commit"),
                from.short(),
                to.short()
            ),
            BranchRelation::Ahead { ours, commits } => format!(
                "{branch} has {} here that the upstream lacks (at {}); they stay, and are sent nowhere",
                count(*commits, "commit"),
                ours.short()
            ),
            BranchRelation::Rewritten { ours, theirs, lost } => format!(
                "{branch} **has diverged** from the upstream's: {} there does not contain {} here ({} only here). Either somebody merged or pushed here, or it was rewritten there. It is left as it is",
                theirs.short(),
                ours.short(),
                count(*lost, "commit")
            ),
            BranchRelation::Gone => format!("the upstream has no branch {branch} (any more); it is left as it is"),
        },
    }
}

/// One line for each branch, and what there is to say of the tags and the default branch, for a terminal.
pub fn plain_lines(synced: &Synced) -> Vec<String> {
    lines(synced, one_line).into_iter().map(|line| line.replace("**", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issue_about_a_rewritten_upstream_says_what_to_type() {
        let commit = |digit: &str| Commit::parse(&digit.repeat(40)).expect("a commit");
        let texts = [
            rewritten_title("main"),
            rewritten_body("shop", "main", &commit("a"), &commit("b")),
            rewritten_over("main"),
            rewritten_gone("main"),
            rewritten_unfollowed(),
        ];
        insta::assert_snapshot!("rewritten", texts.join("\n---\n"));
    }
}
