//! Plans as steps with states, parsed from Markdown.

use serde::{Deserialize, Serialize};

/// The most steps of a plan.
pub const MOST_STEPS: usize = 40;
/// Longest text of a step, in characters.
pub const MOST_TEXT: usize = 300;

/// Progress of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Not begun.
    #[default]
    Open,
    /// Under way.
    Doing,
    /// Finished.
    Done,
    /// Not to be done any more.
    Dropped,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// One line, at most [`MOST_TEXT`] characters. Untrusted.
    pub text: String,
    /// Its progress.
    #[serde(default)]
    pub state: StepState,
}

impl PlanStep {
    /// A step of one line; none where the text is empty.
    pub fn new(text: &str, state: StepState) -> Option<Self> {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = line.chars().take(MOST_TEXT).collect();
        (!text.is_empty()).then_some(Self { text, state })
    }
}

/// The steps as a Markdown list, as [`read`] takes it.
pub fn written(steps: &[PlanStep]) -> String {
    let line = |step: &PlanStep| {
        let sign = match step.state {
            StepState::Open => "[ ]",
            StepState::Doing => "[>]",
            StepState::Done => "[x]",
            StepState::Dropped => "[-]",
        };
        format!("- {sign} {}", step.text)
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The steps of a Markdown text: its last list with check boxes, else its last numbered list, else its last list of at least two items.
/// Indented items and fenced blocks are left out. At most [`MOST_STEPS`]; empty where there is no such list.
pub fn read(markdown: &str) -> Vec<PlanStep> {
    let lists = lists(markdown);
    let last = |form: Form| {
        lists.iter().rev().find(|list| list.form == form && list.steps.len() > usize::from(form == Form::Bullets))
    };
    let found = [Form::Boxes, Form::Numbers, Form::Bullets].into_iter().find_map(last);
    found.map(|list| list.steps.iter().take(MOST_STEPS).cloned().collect()).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Boxes,
    Numbers,
    Bullets,
}

struct List {
    form: Form,
    steps: Vec<PlanStep>,
}

fn lists(markdown: &str) -> Vec<List> {
    let mut lists: Vec<List> = Vec::new();
    // Whether the next item belongs to the newest list.
    let mut within = false;
    let mut fenced = false;
    for line in markdown.lines() {
        let bare = line.trim_start();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let indented = line.len() - bare.len() > 1;
        match item(bare).filter(|_| !fenced && !indented) {
            Some((form, step)) => match lists.last_mut().filter(|list| within && list.form == form) {
                Some(list) => list.steps.push(step),
                None => lists.push(List { form, steps: vec![step] }),
            },
            // An unindented paragraph ends a list; blank and indented lines do not.
            None if bare.is_empty() || indented || fenced => continue,
            None => {
                within = false;
                continue;
            }
        }
        within = true;
    }
    lists
}

/// A line as an item of a list.
fn item(line: &str) -> Option<(Form, PlanStep)> {
    let (numbered, rest) = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => (false, rest.strip_prefix(' ')?),
        None => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = line.len() - rest.len();
            if !(1..=3).contains(&digits) {
                return None;
            }
            (true, rest.strip_prefix(['.', ')'])?.strip_prefix(' ')?)
        }
    };
    let rest = rest.trim_start();
    let boxed = |sign: &str| rest.strip_prefix(sign).filter(|text| text.is_empty() || text.starts_with(' '));
    let signs = [
        ("[ ]", StepState::Open),
        ("[x]", StepState::Done),
        ("[X]", StepState::Done),
        ("[>]", StepState::Doing),
        ("[~]", StepState::Doing),
        ("[-]", StepState::Dropped),
    ];
    let found = signs.into_iter().find_map(|(sign, state)| boxed(sign).map(|text| (text, state)));
    match found {
        Some((text, state)) => Some((Form::Boxes, PlanStep::new(text, state)?)),
        None => Some((if numbered { Form::Numbers } else { Form::Bullets }, PlanStep::new(rest, StepState::Open)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<String> {
        read(markdown).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn a_list_with_boxes_is_a_plan_and_comes_back_as_it_was_written() {
        let text = "Plan:\n- [x] find it\n- [>] mend `parse`\n\n- [ ] test\n* [-] rename";
        let steps = read(text);
        let states: Vec<_> = steps.iter().map(|step| step.state).collect();
        assert_eq!(states, [StepState::Done, StepState::Doing, StepState::Open, StepState::Dropped]);
        assert_eq!(read(&written(&steps)), steps);
    }

    #[test]
    fn the_last_numbered_list_is_the_plan_of_an_answer() {
        let answer = "Found:\n- a.py is wrong\n- b.py is right\n\nProposed:\n1. change a.py\n   - its header too\n2. add a test\n\nUnsure of:\n- the name\n- the date\n";
        assert_eq!(texts(answer), ["change a.py", "add a test"]);
        assert_eq!(texts("1) one\nwords\n1) two\n2) three"), ["two", "three"], "a paragraph ends a list");
        assert_eq!(texts("- one thing alone"), Vec::<String>::new(), "one bullet is a remark");
        assert_eq!(texts("- one\n- two"), ["one", "two"]);
        assert_eq!(texts("```\n1. in code\n2. too\n```\nno list, 3. none"), Vec::<String>::new());
        assert_eq!(texts("1998. was a year\n-5 degrees\n1.5 is a number"), Vec::<String>::new());
    }

    #[test]
    fn it_is_bounded() {
        let long: String = (0..100).map(|n| format!("1. step {n} {}\n", "x".repeat(1000))).collect();
        let steps = read(&long);
        assert_eq!(steps.len(), MOST_STEPS);
        assert!(steps.iter().all(|step| step.text.chars().count() == MOST_TEXT));
        assert_eq!(PlanStep::new(" \n\t", StepState::Open), None);
        assert_eq!(PlanStep::new("a\nb", StepState::Open).unwrap().text, "a b");
    }
}
