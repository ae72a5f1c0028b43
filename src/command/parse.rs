//! From Markdown to commands. Pure.

use super::{Command, Parsed, Scope};
use crate::text::host_name;
use domain::{ADVANCE_LIMIT, Budget};
use protocol::router::Rule;
use pulldown_cmark::{Event, Options, Parser, Tag};
use std::ops::Range;

/// Longest argument kept, in characters; more is cut (an issue's body belongs to the issue, not to its command).
const MAX_WORDS: usize = 16_000;

/// Reads one text. Never fails: what is no command is plain text.
pub fn parse(text: &str) -> Parsed {
    let lines = Lines::read(text);
    let mut commands = Vec::new();
    for (at, (start, word)) in lines.open.iter().enumerate() {
        let end = lines.open.get(at + 1).map_or(text.len(), |(next, _)| *next);
        let after = &text[start + 1 + word.len()..end];
        commands.push(command(&word.to_ascii_lowercase(), after));
    }
    Parsed { plain: commands.is_empty(), commands }
}

struct Lines {
    /// Where a command line begins (its slash), and its word.
    open: Vec<(usize, String)>,
}

impl Lines {
    fn read(text: &str) -> Lines {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_GFM
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_MATH
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut open = Vec::new();
        // Nesting at this point: what stands directly in a top-level paragraph counts, anything deeper doesn't.
        let mut depth = 0_usize;
        let mut paragraph = false;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    paragraph |= depth == 0 && matches!(tag, Tag::Paragraph);
                    depth += 1;
                }
                Event::End(_) => {
                    depth -= 1;
                    paragraph &= depth > 0;
                }
                Event::Text(_) => {
                    let Some(word) = command_word(text, &range) else { continue };
                    if paragraph && depth == 1 {
                        open.push((range.start, word.to_owned()));
                    }
                }
                Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_)
                | Event::SoftBreak
                | Event::HardBreak
                | Event::Rule
                | Event::TaskListMarker(_) => {}
            }
        }
        Lines { open }
    }
}

fn starts_source_line(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    before[line..].chars().all(|c| c == ' ')
}

/// The word behind a slash that begins a line: ASCII letters up to white space or the line's end.
fn command_word<'a>(text: &'a str, range: &Range<usize>) -> Option<&'a str> {
    let rest = text[range.start..].strip_prefix('/')?;
    if !starts_source_line(text, range.start) {
        return None;
    }
    let word = rest.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let letters = !word.is_empty() && word.len() <= 20 && word.chars().all(|c| c.is_ascii_alphabetic());
    letters.then_some(word)
}

fn command(word: &str, after: &str) -> Command {
    let line = after.lines().next().unwrap_or_default().trim();
    match word {
        "fix" => Command::Fix(words(after)),
        "plan" => Command::Plan(words(after)),
        "revise" if words(after).is_empty() => malformed("revise", "say what to change after it"),
        "revise" => Command::Revise(words(after)),
        // Whatever stands behind a stop, it is a stop.
        "stop" => Command::Stop,
        "resume" => Command::Resume,
        "status" => Command::Status,
        "help" => Command::Help,
        "approve" => approve(line),
        "allow" => allow(line),
        "deny" => deny(line),
        "budget" => budget(line).map_or_else(|| malformed("budget", BUDGET), Command::Budget),
        _ => Command::Unknown(word.to_owned()),
    }
}

fn malformed(name: &'static str, why: &str) -> Command {
    Command::Malformed { name, why: why.to_owned() }
}

fn words(after: &str) -> String {
    after.trim().chars().take(MAX_WORDS).collect()
}

fn approve(line: &str) -> Command {
    if line.is_empty() {
        return Command::Approve { checkpoint: None, commit: None, next: 0 };
    }
    if let Some(amount) = line.strip_prefix("next ") {
        return in_advance(amount.trim());
    }
    let digits = line.strip_prefix(['c', 'C']).unwrap_or(line);
    if digits.len() <= 5
        && let Ok(number) = digits.parse::<u32>()
        && number > 0
    {
        return Command::Approve { checkpoint: Some(number), commit: None, next: 0 };
    }
    let sha = line.trim_matches('`');
    if (7..=64).contains(&sha.len()) && sha.chars().all(|c| c.is_ascii_hexdigit()) {
        return Command::Approve { checkpoint: None, commit: Some(sha.to_ascii_lowercase()), next: 0 };
    }
    let why = "after it may stand a checkpoint (`c3`), a commit of at least seven digits, or `next` and a number";
    malformed("approve", why)
}

fn in_advance(amount: &str) -> Command {
    let digits = amount.bytes().all(|b| b.is_ascii_digit());
    match amount.parse::<u8>().ok().filter(|next| digits && (1..=ADVANCE_LIMIT).contains(next)) {
        Some(next) => Command::Approve { checkpoint: None, commit: None, next },
        None => malformed("approve", "after `next` stands how many checkpoints, from 1 to 20"),
    }
}

/// A host in any script becomes the rule of its punycode form; whatever else it is not is said by the rule's own reader.
fn target(text: &str) -> Result<Rule, String> {
    let text = text.trim_matches('`');
    let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let (star, bare) = name.strip_prefix("*.").map_or(("", name), |bare| ("*.", bare));
    // An address stays as it was written: the rule's reader names it.
    let ascii = if bare.is_ascii() { None } else { host_name(bare).map(|host| host.ascii) };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    Rule::parse(&format!("{star}{}{port}", ascii.as_deref().unwrap_or(bare))).map_err(|error| error.to_string())
}

const BUDGET: &str =
    "after it stands how much of what: `2 usd`, `30 actions`, `20 min` or `100k tokens`, or several of them";
/// No grant is larger, in the unit of its kind: a slip of the finger, and safe to add.
const MOST_GRANTED: u64 = 1_000_000_000_000;

/// Amounts with their kinds; `and` and commas between them.
fn budget(line: &str) -> Option<Budget> {
    let line = line.replace(',', " ");
    let mut words = line.split_whitespace().filter(|word| *word != "and").peekable();
    let mut more = Budget::default();
    while let Some(amount) = words.next() {
        let (amount, kind) = match amount.strip_prefix('$') {
            Some(amount) => (amount, "usd"),
            None => (amount, words.next()?),
        };
        let (field, unit) = match kind.to_ascii_lowercase().as_str() {
            "usd" | "dollar" | "dollars" => (&mut more.micro_usd, 1_000_000),
            "action" | "actions" => (&mut more.actions, 1),
            "min" | "minute" | "minutes" => (&mut more.work_ms, 60_000),
            "token" | "tokens" => (&mut more.tokens, 1),
            _ => return None,
        };
        // Each kind once.
        *field = Some(scaled(amount, unit)?).filter(|_| *field == 0)?;
    }
    (more != Budget::default()).then_some(more)
}

/// `1.5`, `100k`, `2m` of a unit; above zero, at most three digits behind the point.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (digits, times) = match text.strip_suffix(['k', 'K', 'm', 'M']) {
        Some(digits) => (digits, if text.ends_with(['k', 'K']) { 1_000 } else { 1_000_000 }),
        None => (text, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole, 9) || !plain(part, 3) {
        return None;
    }
    let thousandths: u64 = format!("{whole}{part:0<3}").parse().ok()?;
    let amount = u128::from(thousandths) * u128::from(times * unit) / 1_000;
    u64::try_from(amount).ok().filter(|amount| (1..=MOST_GRANTED).contains(amount))
}

fn allow(line: &str) -> Command {
    let mut parts = line.split_whitespace();
    let Some(first) = parts.next() else { return malformed("allow", "name the host after it") };
    let scope = match parts.next() {
        None | Some("task") => Scope::Task,
        Some("repo") => Scope::Repository,
        Some(_) => return malformed("allow", "after the host may stand `task` or `repo`"),
    };
    if parts.next().is_some() {
        return malformed("allow", "one host at a time");
    }
    match target(first) {
        Ok(host) => Command::Allow { host, scope },
        Err(why) => malformed("allow", &why),
    }
}

fn deny(line: &str) -> Command {
    let mut parts = line.split_whitespace();
    match (parts.next(), parts.next()) {
        (Some(first), None) => match target(first) {
            Ok(host) => Command::Deny { host },
            Err(why) => malformed("deny", &why),
        },
        (None, _) => malformed("deny", "name the host after it"),
        (Some(_), Some(_)) => malformed("deny", "one host at a time"),
    }
}
