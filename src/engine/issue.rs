//! The issue's own text as a model is shown it: its beginning, where it is longer than a person's words may be. Unlike those it may be somebody
//! else's, so a command on it is not refused for its length. Pure.

use super::fence::seen;
use crate::command::MAX_WORDS;
use crate::text;
use domain::Request;

/// Title and text as readers of the issue see them, cut; and the number of hidden things that were removed.
pub(super) fn shown(request: &Request) -> (String, usize) {
    let (text, hidden) = whole(request);
    (shortened(text), hidden)
}

/// The text, cut with a mark where it is too long.
pub(super) fn shortened(text: String) -> String {
    let (head, left_out) = text::cut(&text, MAX_WORDS);
    if left_out == 0 {
        return text;
    }
    format!("{head}\n[… {} more characters are left out …]", text::grouped(left_out as u64))
}

/// What people are told where the model is not shown all of the issue.
pub fn left_out(request: &Request) -> Option<String> {
    let all = whole(request).0.chars().count();
    let thread = if request.pull.is_some() { "pull request" } else { "issue" };
    (all > MAX_WORDS).then(|| {
        format!(
            "Of this {thread}'s own text the agent is given the first {} of {} characters: say in a comment what matters behind them, or put it \
             into a file of the repository.",
            text::grouped(MAX_WORDS as u64),
            text::grouped(all as u64)
        )
    })
}

fn whole(request: &Request) -> (String, usize) {
    seen(&format!("Title: {}\n\n{}", request.title, request.body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::requested;
    use domain::{Event, TaskKind};

    fn request(title: &str, body: &str) -> Request {
        let Event::Requested { request } = requested(TaskKind::Fix, body) else { panic!("a request") };
        Request { title: title.to_owned(), ..*request }
    }

    #[test]
    fn a_long_text_is_cut_with_a_mark_and_people_are_told() {
        let short = request("Doubles", &format!("<!-- {} -->Short.", "x".repeat(MAX_WORDS)));
        assert!(shown(&short).0.ends_with("\n\nShort."), "what nobody sees does not count");
        assert_eq!(left_out(&short), None);
        let long = request("", &"ü".repeat(1 << 20));
        let all = shown(&long).0.lines().next().expect("a title").chars().count() + 2 + (1 << 20);
        let more = text::grouped((all - MAX_WORDS) as u64);
        assert!(shown(&long).0.ends_with(&format!("ü\n[… {more} more characters are left out …]")), "{more}");
        let told = left_out(&long).expect("it is cut");
        assert!(told.contains(&format!("the first 16 000 of {} characters", text::grouped(all as u64))), "{told}");
    }
}
