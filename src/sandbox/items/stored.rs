//! Items as the log keeps them.
//!
//! Owns the conversion in both directions, whole or only as far as `difference.rs` compares. Tests: below.

use domain::Reported;

use super::difference::identity;
use super::{Item, Tool};

/// The most characters of a name or line by which an item is recognised later.
const LONGEST: usize = 300;

/// All tools, to find one by its name.
const TOOLS: [Tool; 19] = [
    Tool::Unittest,
    Tool::Pytest,
    Tool::Mypy,
    Tool::Ruff,
    Tool::Cargo,
    Tool::Rustc,
    Tool::Clippy,
    Tool::Node,
    Tool::Jest,
    Tool::Vitest,
    Tool::Tsc,
    Tool::Eslint,
    Tool::Go,
    Tool::Gcc,
    Tool::Javac,
    Tool::Maven,
    Tool::Tap,
    Tool::Junit,
    Tool::Sarif,
];

/// The whole item.
pub fn reported(item: &Item) -> Reported {
    Reported {
        tool: item.tool.name().to_owned(),
        file: item.file.clone(),
        line: item.line,
        severity: item.severity,
        message: item.message.clone(),
        test: item.test.clone(),
    }
}

/// Only what the comparison of two runs needs of an item; none if that is too long to be kept.
pub fn recognisable(item: &Item) -> Option<Reported> {
    let (tool, file, words) = identity(item);
    let words = (words.chars().count() <= LONGEST).then(|| words.to_owned())?;
    let (test, message) = match item.test {
        Some(_) => (Some(words), String::new()),
        None => (None, words),
    };
    let (tool, file) = (tool.name().to_owned(), file.map(str::to_owned));
    Some(Reported { tool, file, line: None, severity: item.severity, message, test })
}

/// The item of a report; none if this version does not know its tool.
pub fn from_report(reported: &Reported) -> Option<Item> {
    Some(Item {
        tool: TOOLS.into_iter().find(|tool| tool.name() == reported.tool)?,
        file: reported.file.clone(),
        line: reported.line,
        severity: reported.severity,
        message: reported.message.clone(),
        test: reported.test.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::items::{Severity, difference};

    fn found(tool: Tool, test: Option<&str>) -> Item {
        let (file, message) = (Some("a.c".to_owned()), "broken\n  left: 1".to_owned());
        Item { tool, file, line: Some(7), severity: Severity::Error, message, test: test.map(str::to_owned) }
    }

    #[test]
    fn what_is_kept_is_recognised_and_the_whole_item_comes_back() {
        for tool in TOOLS {
            for now in [found(tool, Some("t")), found(tool, None)] {
                assert_eq!(from_report(&reported(&now)).as_ref(), Some(&now));
                let kept = from_report(&recognisable(&now).expect("short")).expect("known");
                assert!(kept.line.is_none() && !kept.message.contains('\n'), "{kept:?}");
                let moved = Item { line: Some(9), ..now.clone() };
                assert_eq!(difference(&[kept], &[moved]).still.len(), 1, "{now:?}");
            }
        }
    }

    #[test]
    fn what_is_too_long_or_of_an_unknown_tool_is_left_out() {
        assert_eq!(recognisable(&found(Tool::Pytest, Some(&"x".repeat(LONGEST + 1)))), None);
        assert_eq!(from_report(&Reported { tool: "of a newer version".to_owned(), ..Reported::default() }), None);
    }
}
