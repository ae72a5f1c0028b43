//! What people do in a play, drawn from a seed.

use crate::dice::Dice;
use caisson::command::COMMANDS;

/// Repositories of a play.
pub const REPOS: [&str; 2] = ["lab/shop", "lab/mill"];
/// Pull requests of Dave's that stand there from the beginning, one in each repository; moves know them as the first issues.
pub const PULLS: usize = REPOS.len();
/// Most issues of a play, with them.
const ISSUES: usize = PULLS + 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Writes, and takes every decision.
    Alice,
    /// Writes.
    Dave,
    /// Reads.
    Bob,
}

impl Who {
    pub fn login(self) -> &'static str {
        match self {
            Who::Alice => "alice",
            Who::Dave => "dave",
            Who::Bob => "bob",
        }
    }
}

/// One thing that a person does. `issue` is the place in the order in which issues were opened. What does not apply (an approval without a
/// pull request) is left out, in each play alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    Open {
        repo: usize,
        who: Who,
        body: &'static str,
    },
    /// A comment, on the issue or on the pull request of its newest task.
    Say {
        issue: usize,
        on_pull: bool,
        who: Who,
        text: &'static str,
    },
    /// An approving review of the branch's head.
    Approve {
        issue: usize,
        who: Who,
    },
    /// A review that requests changes, with a remark on a line.
    Changes {
        issue: usize,
        who: Who,
    },
    /// A review that decides nothing.
    Review {
        issue: usize,
        who: Who,
    },
    /// A review that decides nothing, with this text on a line.
    OnLine {
        issue: usize,
        who: Who,
        text: &'static str,
    },
    /// A reply in the conversation of the newest review with a remark on a line.
    Reply {
        issue: usize,
        who: Who,
        text: &'static str,
    },
    /// Another text for the newest comment of a person on the issue.
    Edit {
        issue: usize,
        text: &'static str,
    },
    /// The newest comment of a person on the issue is deleted.
    Delete {
        issue: usize,
    },
    Label {
        issue: usize,
    },
    Assign {
        issue: usize,
    },
    Close {
        issue: usize,
    },
    Reopen {
        issue: usize,
    },
    /// Dave may write from now on in the issue's repository, or only read.
    Right {
        issue: usize,
        writes: bool,
    },
    /// Alice merges the pull request of the newest task.
    Merge {
        issue: usize,
    },
    /// Without a pause in between.
    Burst(Vec<Move>),
}

fn one<'a, T: ?Sized>(dice: &mut Dice, of: &[&'a T]) -> &'a T {
    of[dice.roll(of.len() as u64) as usize]
}

fn open(dice: &mut Dice) -> Move {
    let repo = dice.roll(REPOS.len() as u64) as usize;
    let (who, body) = match dice.roll(12) {
        0..3 => (Who::Alice, "/fix"),
        3..6 => (Who::Alice, "/plan"),
        6 => (Who::Bob, "/fix"),
        7 => (Who::Alice, "/refactor"),
        8 => (Who::Alice, "/test what is there"),
        _ => (Who::Bob, "Please have a look."),
    };
    Move::Open { repo, who, body }
}

/// Commands and remarks of somebody who may write.
const SAID: [&str; 48] = [
    "/fix",
    "/fix",
    "/fix",
    "/plan",
    "/approve",
    "/approve",
    "/approve",
    "/approve c1",
    "/approve next 2",
    "/stop",
    "/pause",
    "/resume",
    "/resume",
    "/status",
    "/cost",
    "/help",
    "/revise say it in one line",
    "/frobnicate",
    "/retry",
    "A remark about the names.",
    "One more remark.",
    "/status\n/help",
    "/budget 40 actions",
    "/model work",
    "/allow example.org",
    "/deny example.org",
    "/rebase",
    "/merge",
    "/sync",
    "/deps",
    "/explain what is here",
    "/fix --budget lots",
    "/ask what is here?",
    "And now, @caisson?",
    "/test-pr \"true\" main",
    "/test-pr \"true\"",
    "/tidy all of it",
    "/tidy --frob",
    "/test",
    "/refactor it",
    "/search what is here",
    "/security",
    "/review",
    "/retry --from 1",
    "/test-pr \"true\" main --setup \"true\"",
    "/test-pr-bug \"true\" main",
    "/test-pr-bug \"true\"",
    "/test-pr-bug \"grep -q hand a.txt\" by-hand",
];

/// What Alice asks for on a pull request: she keeps her right to write, so that each push is tested.
const TESTS: [&str; 7] = [
    "/test-pr \"true\" --each-push",
    "/test-pr \"true\" --each-push",
    "/test-pr \"true\" --each-push",
    "/test-pr-bug \"true\" --each-push",
    "/test-pr-bug \"grep -q hand a.txt\"",
    "/test-pr \"true\" main --each-push",
    "/test-pr --off",
];

/// Pairs whose outcome does not depend on how far the work came between the two.
const PAIRS: [(&str, &str); 10] = [
    ("/approve", "One more thing, for the next step."),
    ("/stop", "/approve"),
    ("/stop", "/fix"),
    ("/pause", "/resume"),
    ("/help", "/help"),
    ("A remark.", "/approve"),
    ("/fix", "A remark with the start."),
    ("/frobnicate", "/help"),
    ("/stop", "/retry"),
    ("/stop", "/retry --from 1"),
];

fn burst(dice: &mut Dice, issue: usize) -> Move {
    let (first, second) = PAIRS[dice.roll(PAIRS.len() as u64) as usize];
    let on_pull = dice.roll(3) == 0;
    let say = |who, text| Move::Say { issue, on_pull, who, text };
    match dice.roll(5) {
        0 => Move::Burst(vec![say(Who::Bob, "/approve"), say(Who::Alice, "/approve")]),
        _ => Move::Burst(vec![say(Who::Alice, first), say(Who::Alice, second)]),
    }
}

fn on_a_persons_pull(dice: &mut Dice) -> Move {
    let issue = dice.roll(PULLS as u64) as usize;
    let who = if dice.roll(6) == 0 { Who::Bob } else { Who::Alice };
    let texts = [
        "/explain this",
        "/review",
        "/security look here",
        "/status",
        "/fix it",
        "/review --frob",
        "A remark.",
        "/search this",
        "/refactor this",
    ];
    let text = one(dice, &texts);
    match dice.roll(4) {
        0 => Move::Say { issue, on_pull: false, who, text },
        _ => Move::OnLine { issue, who, text },
    }
}

/// A new attempt from a checkpoint, at the work that was approved last, if any was. A move of its own, because work that goes on between an
/// approval and this could come to another checkpoint in each play.
fn from_a_checkpoint(dice: &mut Dice, issue: usize, before: &[Move]) -> Move {
    let approved = before.iter().rev().find_map(|step| match step {
        Move::Approve { issue, who: Who::Alice } if *issue >= PULLS => Some(*issue),
        _ => None,
    });
    let (issue, on_pull) = (approved.unwrap_or(issue), dice.roll(2) == 0);
    let texts = ["/retry --from 1", "/retry --from 1", "/retry --from 2", "/retry --from now"];
    Move::Say { issue, on_pull, who: Who::Alice, text: one(dice, &texts) }
}

/// The next move, after those `before`.
fn next(dice: &mut Dice, opened: usize, before: &[Move]) -> Move {
    let issue = dice.roll(opened as u64) as usize;
    let on_pull = dice.roll(2) == 0;
    match dice.roll(105) {
        0..8 if opened < ISSUES => open(dice),
        0..29 => Move::Say { issue, on_pull, who: Who::Alice, text: one(dice, &SAID) },
        29..48 => Move::Approve { issue, who: Who::Alice },
        48..51 => Move::Approve { issue, who: Who::Bob },
        51..53 => Move::Approve { issue, who: Who::Dave },
        53..60 => Move::Changes { issue, who: Who::Alice },
        60..63 => Move::Review { issue, who: Who::Dave },
        63..67 => {
            let texts = ["/approve", "A remark.", "/fix", "/status", "/stop", "/ask why?"];
            Move::Say { issue, on_pull, who: Who::Bob, text: one(dice, &texts) }
        }
        67..72 => {
            let texts = ["A remark of mine.", "/status", "/fix", "/help", "/stop", "/ask why?"];
            Move::Say { issue, on_pull, who: Who::Dave, text: one(dice, &texts) }
        }
        72..75 => Move::Edit { issue, text: one(dice, &["/fix", "/approve", "Another remark."]) },
        75 => Move::Delete { issue },
        76..79 => Move::Label { issue },
        79..82 => Move::Assign { issue },
        82 => Move::Close { issue },
        83..85 => Move::Reopen { issue },
        85..89 => {
            let texts = ["/revise say it there", "A remark on the line.", "/approve", "/pause", "/stop"];
            Move::Reply { issue, who: Who::Alice, text: one(dice, &texts) }
        }
        89 => Move::Reply { issue, who: Who::Bob, text: one(dice, &["/revise all of it", "/stop"]) },
        90..93 => {
            let texts =
                ["/revise say it here", "/ask why?", "/pause", "/stop", "/explain this", "/approve", "A remark."];
            Move::OnLine { issue, who: Who::Alice, text: one(dice, &texts) }
        }
        93 => Move::OnLine { issue, who: Who::Dave, text: one(dice, &["/stop", "/ask why?", "A remark of mine."]) },
        94 => {
            let right = Move::Right { issue, writes: dice.roll(2) == 0 };
            let texts = ["/fix", "/stop", "/approve", "/status"];
            Move::Burst(vec![right, Move::Say { issue, on_pull, who: Who::Dave, text: one(dice, &texts) }])
        }
        95 => Move::Merge { issue },
        96..98 => on_a_persons_pull(dice),
        98..100 => burst(dice, issue),
        100..102 => from_a_checkpoint(dice, issue, before),
        _ => Move::Say { issue, on_pull: true, who: Who::Alice, text: one(dice, &TESTS) },
    }
}

/// A script does what it can tell apart: a change of a right with a text that it decides about, and work that begins on a line.
#[test]
fn scripts_begin_work_on_lines_and_speak_after_a_right_changed() {
    let (mut lines, mut rights) = (0, 0);
    for step in (0..500).flat_map(script) {
        match step {
            Move::OnLine { issue: 0..PULLS, who: Who::Alice, text } => {
                lines += usize::from(text.starts_with("/explain"))
            }
            Move::Burst(steps) => rights += usize::from(matches!(steps[0], Move::Right { .. })),
            _ => {}
        }
    }
    assert!(
        lines > 10 && rights > 20,
        "{lines} explanations asked for on lines, {rights} rights changed in 500 scripts"
    );
}

/// Every text of a script.
pub fn texts(steps: &[Move]) -> Vec<&'static str> {
    let of = |step: &Move| match step {
        Move::Open { body, .. } => vec![*body],
        Move::Say { text, .. } | Move::OnLine { text, .. } | Move::Reply { text, .. } | Move::Edit { text, .. } => {
            vec![*text]
        }
        Move::Burst(steps) => texts(steps),
        _ => Vec::new(),
    };
    steps.iter().flat_map(of).collect()
}

/// A command that is added to the table is added to the plays.
#[test]
fn scripts_hold_every_command() {
    let all: Vec<&str> = (0..500).flat_map(|seed| texts(&script(seed))).collect();
    let count = |name: &str| {
        let is = |text: &&&str| text.strip_prefix('/').and_then(|it| it.split_whitespace().next()) == Some(name);
        all.iter().filter(is).count()
    };
    let never: Vec<&str> = COMMANDS.into_iter().map(|spec| spec.name).filter(|name| count(name) == 0).collect();
    assert!(never.is_empty(), "never given in 500 scripts: {never:?}");
    for option in ["--each-push", "--off", "--setup", "--from 1"] {
        let found = all.iter().filter(|text| text.contains(option)).count();
        assert!(found >= 5, "{option} was given {found} times in 500 scripts");
    }
}

#[test]
fn scripts_begin_again_from_a_checkpoint_where_something_was_approved() {
    let found = |seed: u64| {
        let (mut approved, mut found) = (Vec::new(), 0);
        for step in script(seed) {
            match step {
                Move::Approve { issue, who: Who::Alice } => approved.push(issue),
                Move::Say { issue, text: "/retry --from 1", .. } => found += usize::from(approved.contains(&issue)),
                _ => {}
            }
        }
        found
    };
    let found: usize = (0..500).map(found).sum();
    assert!(found > 10, "{found} such attempts in 500 scripts");
}

#[test]
fn scripts_reply_where_there_is_a_conversation() {
    let replies = |seed: u64| {
        let (mut begun, mut replies) = (Vec::new(), 0);
        for step in script(seed) {
            match step {
                Move::Changes { issue, .. } | Move::OnLine { issue, .. } => begun.push(issue),
                Move::Reply { issue, .. } => replies += usize::from(begun.contains(&issue)),
                _ => {}
            }
        }
        replies
    };
    let found: usize = (0..500).map(replies).sum();
    assert!(found > 20, "{found} replies behind a review in 500 scripts");
}

/// A script of 5 to 25 moves, short ones more often.
pub fn script(seed: u64) -> Vec<Move> {
    let mut dice = Dice::of(seed);
    let length = 5 + dice.roll(21).min(dice.roll(21)).min(dice.roll(21)) as usize;
    let mut moves = vec![open(&mut dice), open(&mut dice)];
    let mut opened = PULLS + 2;
    while moves.len() < length {
        let step = next(&mut dice, opened, &moves);
        opened += usize::from(matches!(step, Move::Open { .. }));
        moves.push(step);
    }
    moves
}
