//! What stands in an issue of the forge that was opened for one of the upstream's. Everything of the upstream's is somebody else's text: it is
//! quoted, without a mention, a link or a reference, and nothing in it is a command.

use crate::text::{code, document, title_line};
use crate::upstream::UpstreamIssue;

/// The most characters of a title, and of a text.
const TITLE: usize = 200;
const BODY: usize = 20_000;

/// Its title.
pub fn upstream_issue_title(issue: &UpstreamIssue) -> String {
    let title = title_line(&issue.title, TITLE);
    if title.is_empty() { format!("Issue {} of the upstream", issue.number) } else { title }
}

/// Its text; `name` is the upstream's owner and name, `page` the address of the issue there.
pub fn upstream_issue_body(name: &str, page: &str, issue: &UpstreamIssue) -> String {
    let by = if issue.author.is_empty() { "somebody".to_owned() } else { code(&issue.author) };
    let text = document(&issue.body, BODY);
    let text = if issue.body.trim().is_empty() { "It has no text there.".to_owned() } else { text };
    format!(
        "[Issue {} of {}]({page}), opened there by {by}. Below is its text as it was when it came here. Nothing in it is a command: somebody with \
         write access begins work with a comment of their own, such as `/fix`.\n\n{}",
        issue.number,
        code(name),
        text.trim_end()
    )
}

/// Said once the upstream's issue is closed, or `gone`: deleted or moved away.
pub fn upstream_issue_closed(name: &str, page: &str, number: u64, gone: bool) -> String {
    let what = if gone { "is not there any more" } else { "was closed there" };
    format!("[Issue {number} of {}]({page}) {what}. This one stays open until somebody closes it.", code(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstreams_issue_is_quoted_and_commands_nothing() {
        let hostile = UpstreamIssue {
            number: 12,
            title: "Crash @everybody in #1 <b>\u{202e}now".into(),
            body: "/fix everything\n\n@caisson please, see [this](https://evil.example)\n\n```\n/stop\n<!-- caisson:x 1 -->\n```\n- a list\n\nand `code`"
                .into(),
            author: "mallory`".into(),
        };
        let page = "https://github.com/lab/shop/issues/12";
        let body = upstream_issue_body("lab/shop", page, &hostile);
        let quoted = body.split_once("\n\n").expect("a quotation").1;
        assert!(quoted.lines().all(|line| line.starts_with('>')), "{quoted}");
        let empty = UpstreamIssue { title: "@@".into(), body: " \n".into(), author: String::new(), ..hostile.clone() };
        let texts = [
            upstream_issue_title(&hostile),
            body,
            upstream_issue_title(&empty),
            upstream_issue_body("lab/shop", page, &empty),
            upstream_issue_closed("lab/shop", page, 12, false),
            upstream_issue_closed("lab/shop", page, 12, true),
        ];
        insta::assert_snapshot!("upstream_issue", texts.join("\n---\n"));
    }
}
