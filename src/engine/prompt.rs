//! The prompts: files under `prompts/`, compiled in.
//!
//! Owns: their rendering. Must not: contain wording of its own. A variable of a file without a value is an error, and the tests render
//! every file.

use std::sync::LazyLock;

use domain::TaskKind;
use minijinja::{Environment, UndefinedBehavior, Value};

const FILES: [(&str, &str); 52] = [
    ("system", include_str!("../../prompts/system.md")),
    ("plan", include_str!("../../prompts/plan.md")),
    ("short_system", include_str!("../../prompts/short/system.md")),
    ("short_plan", include_str!("../../prompts/short/plan.md")),
    ("text_system", include_str!("../../prompts/text/system.md")),
    ("text_nudge", include_str!("../../prompts/text/nudge.md")),
    ("text_idle", include_str!("../../prompts/text/idle.md")),
    ("text_approved", include_str!("../../prompts/text/approved.md")),
    ("text_verified", include_str!("../../prompts/text/verified.md")),
    ("text_ci", include_str!("../../prompts/text/ci.md")),
    ("text_widened", include_str!("../../prompts/text/widened.md")),
    ("work_explain", include_str!("../../prompts/kinds/explain.md")),
    ("work_test", include_str!("../../prompts/kinds/test.md")),
    ("work_refactor", include_str!("../../prompts/kinds/refactor.md")),
    ("work_review", include_str!("../../prompts/kinds/review.md")),
    ("work_security", include_str!("../../prompts/kinds/security.md")),
    ("work_search", include_str!("../../prompts/kinds/search.md")),
    ("work_deps", include_str!("../../prompts/kinds/deps.md")),
    ("scan", include_str!("../../prompts/turn/scan.md")),
    ("difference", include_str!("../../prompts/turn/difference.md")),
    ("idle", include_str!("../../prompts/turn/idle.md")),
    ("files_system", include_str!("../../prompts/files/system.md")),
    ("files_question", include_str!("../../prompts/files/question.md")),
    ("files_answer", include_str!("../../prompts/files/answer.md")),
    ("task", include_str!("../../prompts/turn/task.md")),
    ("nudge", include_str!("../../prompts/turn/nudge.md")),
    ("approved", include_str!("../../prompts/turn/approved.md")),
    ("revise", include_str!("../../prompts/turn/revise.md")),
    ("widened", include_str!("../../prompts/turn/widened.md")),
    ("verified", include_str!("../../prompts/turn/verified.md")),
    ("ci", include_str!("../../prompts/turn/ci.md")),
    ("refused", include_str!("../../prompts/turn/refused.md")),
    ("rebased", include_str!("../../prompts/turn/rebased.md")),
    ("lost", include_str!("../../prompts/turn/lost.md")),
    ("allowed", include_str!("../../prompts/turn/allowed.md")),
    ("resumed", include_str!("../../prompts/turn/resumed.md")),
    ("picture", include_str!("../../prompts/turn/picture.md")),
    ("unseen", include_str!("../../prompts/turn/unseen.md")),
    ("rules", include_str!("../../prompts/turn/rules.md")),
    ("folder_rules", include_str!("../../prompts/turn/folder_rules.md")),
    ("own_prompt", include_str!("../../prompts/turn/own_prompt.md")),
    ("compacted", include_str!("../../prompts/turn/compacted.md")),
    ("another_way", include_str!("../../prompts/turn/another_way.md")),
    ("review_system", include_str!("../../prompts/review/system.md")),
    ("review_change", include_str!("../../prompts/review/change.md")),
    ("reply_system", include_str!("../../prompts/reply/system.md")),
    ("reply_question", include_str!("../../prompts/reply/question.md")),
    ("summary_system", include_str!("../../prompts/summary/system.md")),
    ("summary_turns", include_str!("../../prompts/summary/turns.md")),
    ("summary_lines", include_str!("../../prompts/summary/lines.md")),
    ("summary_parts", include_str!("../../prompts/summary/parts.md")),
    ("restarted", include_str!("../../prompts/turn/restarted.md")),
];

static PROMPTS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for (name, text) in FILES {
        environment.add_template(name, text).expect("the prompts are compiled in, and a test renders each");
    }
    environment
});

/// Renders one file. Values are inserted as they are: the caller puts foreign ones into a fence.
pub(super) fn render(name: &str, values: Value) -> String {
    let template = PROMPTS.get_template(name).expect("the prompts are compiled in, and a test renders each");
    let text = template.render(values).expect("every variable of a prompt is given, and a test renders each");
    text.trim().to_owned()
}

/// What is expected of a task of this kind beyond its words, on a pull request or an issue; empty if nothing is.
pub(super) fn brief(kind: TaskKind, pull: bool) -> String {
    kind.traits().brief.map(|file| render(file, minijinja::context! { pull })).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;

    #[test]
    fn every_file_renders() {
        let all = context! {
            repository => "demo", over => true, pull => true, target => "main", head => "abc", more_files => 1, partial => true, nothing => false, brief => "b", proposes => true, outside => "o", breach => "b", every => 5, nonce => "n", issue => 1, base_branch => "main", read_only => false, words => "w", place => "p", earlier => "e", start => 2, task => "t", log => "l", diff => "d", question => "q", named => ["f"], paths => "f",
            asker => "alice", text => "t", hidden => 2, n => 1, host => "semver.org", login => "alice", kind => "failed", command => "make", commit => "abc", exit => 1,
            base => 0, tail => "x", missing => "test_a", reasons => "- a link leaves the tree", files => "a.py", plan => "p",
            nth => 1, noted => false, name => "read_file", arguments => "{}", step => "look", tool => "bash", example => "e",
            before => "b", from => 1, to => 2, total => 3, replaced => false, summary => "s", blocks => vec!["b"], rest => "r", nested => "n", told => "t", block => "b", newer => true, replaces => false, title => "t", body => "b", remarks => vec!["r"], conflicts => vec!["`c`"], more_conflicts => 2, tried => "- x", failing => "- a.py:1", unmet => "u", repair => true, open => "r1", numbered => true, path => "p", number => 1, names => "x",
            rules => true, what => "the tree", below => "src", found => 2, not_kept => 1, findings => "f", gaps => true, dependencies => "d", hosts => "h", no_hosts => true,
            checks => "- build: failed", notes => "n",
            shown => vec![context! { path => "p", note => "", fence => "```", language => "", text => "x" }],
        };
        for (name, _) in FILES {
            let text = render(name, all.clone());
            assert!(!text.is_empty() && !text.contains("{{") && !text.contains("{%"), "{name}: {text}");
        }
        let replaced = render("lost", context! { replaced => true, commit => "abc" });
        assert!(replaced.contains("were brought over") && !replaced.contains("abc"), "{replaced}");
    }
}
