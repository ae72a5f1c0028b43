//! Options of a command: `--name value` or `--name=value` directly after its name. Each command lists the options it has; one that it does
//! not have is refused together with the whole command. Pure.

use super::amounts::amounts;
use domain::Terms;

/// The longest accepted value, in bytes; names of branches and toolchains are shorter.
const MAX_VALUE: usize = 100;

/// One option of a command.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// An example of a value.
    pub example: &'static str,
    /// What it does, as the help says it.
    pub effect: &'static str,
    /// Stores the value; the error is half a sentence that says why it is not a valid one.
    pub(super) take: fn(&str, &mut Terms) -> Result<(), String>,
}

/// The options of the other commands that begin a task.
pub(super) const OF_A_START: [Opt; 4] = [
    Opt {
        name: "budget",
        example: "2usd",
        effect: "what the task may use: `2usd`, or several as `2usd,30actions`; less than usual for everybody, more for those who may grant it",
        take: |value, terms| {
            let why = "`--budget` is written without spaces: `2usd`, `30actions`, `20min`, `100ktokens`, or several with commas";
            terms.budget = Some(amounts(value).ok_or(why)?);
            Ok(())
        },
    },
    Opt {
        name: "toolchain",
        example: "rust",
        effect: "what its sandbox is made from, of what the operator offers",
        take: |value, terms| {
            terms.toolchain = Some(named(value, "@._+-")?);
            Ok(())
        },
    },
    Opt {
        name: "model",
        example: "local",
        effect: "who works on it, of the models that the operator lets people name",
        take: |value, terms| {
            terms.model = Some(named(value, "-")?);
            Ok(())
        },
    },
    Opt {
        name: "branch",
        example: "main",
        effect: "what it begins from; only the branch that is protected for it",
        take: |value, terms| {
            terms.branch = Some(named(value, "/._-")?);
            Ok(())
        },
    },
];

/// What `/review`, `/security`, `/deps` and `/search` may say: they run nothing, and what they read is pinned.
pub(super) const OF_A_REVIEW: [Opt; 2] = [OF_A_START[0], OF_A_START[2]];

/// Accepts a value of ASCII letters, digits and the characters in `more`.
pub(super) fn named(value: &str, more: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    match (1..=MAX_VALUE).contains(&value.len()) && value.chars().all(plain) {
        true => Ok(value.to_owned()),
        false => Err(format!("that is no name; one has up to {MAX_VALUE} letters, digits and `{more}`")),
    }
}

/// Splits a command's text into the terms of the options at its beginning and the remaining words.
///
/// # Errors
/// Half a sentence for the author: an unknown option, one given twice or after the words, or an invalid value.
pub(super) fn split<'a>(text: &'a str, options: &[Opt]) -> Result<(Terms, String), String> {
    let end = text.find(['\n', '\r']).unwrap_or(text.len());
    let mut line = text[..end].trim_start();
    let (mut terms, mut seen) = (Terms::default(), Vec::new());
    let next = |line: &mut &'a str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        *line = line[word.len()..].trim_start();
        word
    };
    while let Some(name) = dashed(line.split_whitespace().next().unwrap_or_default(), options) {
        let word = next(&mut line);
        let Some(option) = options.iter().find(|option| option.name == name) else {
            return Err(format!("there is no option --{}; it has {}", shown(&name), listed(options)));
        };
        if seen.contains(&option.name) {
            return Err(format!("--{} stands there twice", option.name));
        }
        seen.push(option.name);
        let value = match word.split_once('=') {
            Some((_, value)) => value,
            None => next(&mut line),
        };
        let value = value.trim_matches('`');
        if value.is_empty() || dashed(value, options).is_some() {
            return Err(format!("--{0} wants a value, as in `--{0} {1}`", option.name, option.example));
        }
        (option.take)(value, &mut terms).map_err(|why| format!("of --{} {}: {why}", option.name, shown(value)))?;
    }
    let late = line.split_whitespace().filter_map(|word| dashed(word, options));
    if let Some(late) = late.into_iter().find(|name| options.iter().any(|option| option.name == name)) {
        return Err(format!(
            "--{late} stands behind the words; options stand directly behind the command (in backticks it is a word of the task)"
        ));
    }
    Ok((terms, format!("{line}{}", &text[end..]).trim().to_owned()))
}

/// Cuts a text so that it fits into a sentence.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

fn listed(options: &[Opt]) -> String {
    options.iter().map(|option| format!("--{}", option.name)).collect::<Vec<_>>().join(", ")
}

/// The option's name after two dashes, or after the one long dash that phones make of two, if such an option exists.
fn dashed(word: &str, options: &[Opt]) -> Option<String> {
    let name = |rest: &str| rest.split('=').next().unwrap_or_default().to_ascii_lowercase();
    if let Some(rest) = word.strip_prefix("--") {
        return rest.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| name(rest));
    }
    let name = name(word.strip_prefix(['—', '–'])?);
    options.iter().any(|option| option.name == name).then_some(name)
}
