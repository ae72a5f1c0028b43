//! The commands that exist. Help, refusals and the "Answer" line of a review are made from this table only.

/// Who may give a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Write access to the repository's code, asked when the command is used.
    Writer,
    /// Whoever can read the issue.
    Reader,
}

impl Who {
    /// As a person reads it in a table.
    pub fn words(self) -> &'static str {
        match self {
            Who::Writer => "those who may write to the repository",
            Who::Reader => "anyone who can read the issue",
        }
    }
}

/// One command, as its help shows it.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub name: &'static str,
    pub syntax: &'static str,
    pub who: Who,
    pub effect: &'static str,
}

/// Every command, in the order of the help.
pub const COMMANDS: [Spec; 11] = [
    Spec {
        name: "fix",
        syntax: "/fix [what to do]",
        who: Who::Writer,
        effect: "starts work on this issue; after a `/plan` it continues from there",
    },
    Spec {
        name: "plan",
        syntax: "/plan [what to look at]",
        who: Who::Writer,
        effect: "reads the code and answers with a plan; changes nothing",
    },
    Spec {
        name: "approve",
        syntax: "/approve [c3, commit, or next 3]",
        who: Who::Writer,
        effect: "approves the newest checkpoint, or the one named; with `next 3` (at most 20) also the three after it, until somebody says anything else",
    },
    Spec {
        name: "revise",
        syntax: "/revise what to change",
        who: Who::Writer,
        effect: "sends the work back with your words",
    },
    Spec {
        name: "allow",
        syntax: "/allow host[:port] [task or repo]",
        who: Who::Writer,
        effect: "lets this task reach a host, at once; with `repo` every later task of the repository too",
    },
    Spec {
        name: "deny",
        syntax: "/deny host[:port]",
        who: Who::Writer,
        effect: "takes that back, and cuts open connections to it",
    },
    Spec {
        name: "budget",
        syntax: "/budget 2 usd (or 30 actions, 20 min, 100k tokens)",
        who: Who::Writer,
        effect: "grants the task more, within what the operator allows; one that had paused for it goes on",
    },
    Spec {
        name: "stop",
        syntax: "/stop",
        who: Who::Writer,
        effect: "ends the task and closes its pull request; its branch stays",
    },
    Spec { name: "resume", syntax: "/resume", who: Who::Writer, effect: "goes on after a pause" },
    Spec { name: "status", syntax: "/status", who: Who::Reader, effect: "says where the task stands" },
    Spec { name: "help", syntax: "/help", who: Who::Reader, effect: "shows this table" },
];

/// The command of this name.
pub fn spec(name: &str) -> Option<&'static Spec> {
    COMMANDS.iter().find(|spec| spec.name == name)
}

/// `` `/revise …` `` for a command that exists; nothing for one that doesn't.
fn short(name: &str) -> Option<String> {
    let spec = spec(name)?;
    let needs_words = spec.syntax.contains(' ') && !spec.syntax.contains('[');
    Some(if needs_words { format!("`/{name} …`") } else { format!("`/{name}`") })
}

/// How to answer a review, from the commands that exist. `bind` is what a careful `/approve` names (`c3`, or a commit).
pub fn answer_line(bind: Option<&str>) -> String {
    let approve = match (short("approve"), bind) {
        (Some(_), Some(bind)) => Some(format!("approve this review (or `/approve {bind}`)")),
        (Some(plain), None) => Some(format!("approve this review (or {plain})")),
        (None, _) => Some("approve this review".to_owned()),
    };
    let changes = Some("request changes with comments on lines".to_owned());
    let parts = [approve, changes, short("revise"), short("stop")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
