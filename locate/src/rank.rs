//! Ranks files by words and names, with reasons.
//!
//! Must not read files. Tests: `tests/survey.rs`.

use std::collections::{BTreeMap, BTreeSet};

use protocol::survey::{MAX_REASONS, Reason};

use crate::imports;
use crate::index::{self, Counts, Field, Share, Terms};
use crate::language::{FileKind, Language, name};
use crate::outline::Outline;
use crate::tuning::Tuning;
use crate::wanted::Names;

/// The most files that may define a name for it to be a signal.
const SHARED: usize = 6;
/// The most named tests whose imports are followed.
const TESTS: usize = 20;
/// The most words in a reason.
const WORDS: usize = 5;

/// A file that was read.
#[derive(Debug)]
pub struct File {
    pub path: String,
    pub kind: FileKind,
    pub bytes: u64,
    pub lines: u32,
    pub counts: Counts,
    /// Whether its definitions were looked for, with or without a result.
    pub parsed: bool,
    pub outline: Option<Outline>,
}

/// Words and names to look for.
#[derive(Debug)]
pub struct LookedFor {
    pub terms: Terms,
    pub issue: Names,
    pub failing: Names,
}

/// A ranked file: its index among the files, and the reasons.
#[derive(Debug)]
pub struct Ranked {
    pub at: usize,
    pub score: f64,
    pub because: Vec<Reason>,
}

/// Reasons with their strengths, by file index.
type Signals = Vec<Vec<(f64, Reason)>>;

/// All files, best first; equal ones by path.
pub fn rank(files: &[File], wanted: &LookedFor, tuning: &Tuning) -> Vec<Ranked> {
    let counts: Vec<&Counts> = files.iter().map(|file| &file.counts).collect();
    let by_words = index::score(&wanted.terms, &counts, [tuning.path, tuning.symbols, tuning.text], tuning.k1);
    let signals = signals(files, wanted, tuning);
    let of_words = |at: usize| {
        let file: &File = &files[at];
        let factor = if signals[at].is_empty() { factor(file.kind, tuning) } else { 1.0 };
        by_words[at].0 * factor
    };
    let scores: Vec<f64> = (0..files.len()).map(of_words).collect();
    let best = scores.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut out: Vec<Ranked> = signals
        .into_iter()
        .enumerate()
        .map(|(at, named)| {
            let score = scores[at] / best + named.iter().map(|(strength, _)| strength).sum::<f64>();
            Ranked { at, score, because: reasons(named, &by_words[at].1, &wanted.terms) }
        })
        .collect();
    out.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| files[a.at].path.cmp(&files[b.at].path)));
    out
}

fn factor(kind: FileKind, tuning: &Tuning) -> f64 {
    match kind {
        FileKind::Source => 1.0,
        FileKind::Test => tuning.test,
        FileKind::Beside => tuning.beside,
        FileKind::Made => 0.05,
    }
}

fn signals(files: &[File], wanted: &LookedFor, tuning: &Tuning) -> Signals {
    let mut out: Signals = files.iter().map(|_| Vec::new()).collect();
    paths(files, &wanted.issue, tuning.named, &Reason::Named, &mut out);
    paths(files, &wanted.failing, tuning.failing, &Reason::FailingCheck, &mut out);
    let mut defining: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        for name in file.outline.iter().flat_map(Outline::names) {
            defining.entry(name).or_default().insert(at);
        }
    }
    let told = |names: &Names| -> Vec<(String, BTreeSet<usize>)> {
        let found = |thing: &String| Some((thing.clone(), defining.get(thing.as_str())?.clone()));
        names.things.iter().filter_map(found).filter(|(_, of)| of.len() <= SHARED).collect()
    };
    for (thing, of) in told(&wanted.issue) {
        for &at in &of {
            out[at].push((tuning.defines / of.len() as f64, Reason::Defines(thing.clone())));
        }
    }
    for (_, of) in told(&wanted.failing) {
        for &at in &of {
            if !out[at].iter().any(|(_, why)| *why == Reason::FailingCheck) {
                out[at].push((tuning.failing / of.len() as f64, Reason::FailingCheck));
            }
        }
    }
    chains(files, wanted, tuning, &mut out);
    imported(files, tuning, &mut out);
    out.iter_mut().for_each(|signals| signals.sort_by(|a, b| b.0.total_cmp(&a.0)));
    out
}

/// Files whose path or name is mentioned.
fn paths(files: &[File], names: &Names, strength: f64, why: &Reason, out: &mut Signals) {
    for named in &names.paths {
        let meant: Vec<usize> = (0..files.len()).filter(|&at| is_named(&files[at].path, named)).collect();
        for &at in meant.iter().filter(|_| meant.len() <= 3 * SHARED) {
            if !out[at].iter().any(|(_, known)| known == why) {
                out[at].push((strength / (meant.len() as f64).sqrt(), why.clone()));
            }
        }
    }
}

fn is_named(path: &str, named: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    ends(path, named) || (path.contains('/') && ends(named, path)) || (named.starts_with('/') && name(named) == path)
}

/// `click.core.Context`: a path, or a file with one of its definitions.
fn chains(files: &[File], wanted: &LookedFor, tuning: &Tuning, out: &mut Signals) {
    for (names, strength, why) in
        [(&wanted.issue, tuning.named, Reason::Named), (&wanted.failing, tuning.failing, Reason::FailingCheck)]
    {
        for chain in &names.chains {
            let defined =
                |file: &File, name: &String| file.outline.iter().any(|it| it.names().contains(&name.as_str()));
            let of_file = |file: &File| {
                (1..=chain.len()).rev().any(|many| {
                    let meant = imports::is_meant(&file.path, &[chain[..many].join("/")]);
                    meant && (many > 1 || defined(file, &chain[1]))
                })
            };
            for (at, file) in files.iter().enumerate().filter(|(_, file)| file.kind < FileKind::Beside) {
                if of_file(file) && !out[at].iter().any(|(_, known)| *known == why) {
                    out[at].push((strength * 0.8, why.clone()));
                }
            }
        }
    }
}

/// Sources that a named test imports or is named after.
fn imported(files: &[File], tuning: &Tuning, out: &mut Signals) {
    let is_test = |at: &usize| files[*at].kind == FileKind::Test && !out[*at].is_empty();
    let tests: Vec<usize> = (0..files.len()).filter(is_test).collect();
    for test in tests.into_iter().take(TESTS).map(|at| &files[at]) {
        let language = Language::of(&test.path);
        let texts = test.outline.as_ref().map(|outline| outline.imports.as_slice()).unwrap_or_default();
        let ends = language.map(|language| imports::meant(&test.path, texts, language)).unwrap_or_default();
        let sources = || files.iter().enumerate().filter(|(_, file)| file.kind == FileKind::Source);
        let meant: BTreeSet<usize> =
            sources().filter(|(_, file)| imports::is_meant(&file.path, &ends)).map(|(at, _)| at).collect();
        for (at, file) in sources() {
            let twin = imports::is_named_after(&test.path, &file.path);
            let share = if meant.contains(&at) { 1.0 / (meant.len() as f64).sqrt() } else { 0.0 };
            let strength = tuning.imported * (share + f64::from(u8::from(twin)));
            if strength > 0.0 && !out[at].iter().any(|(_, why)| matches!(why, Reason::ImportedBy(_))) {
                out[at].push((strength, Reason::ImportedBy(test.path.clone())));
            }
        }
    }
}

fn reasons(named: Vec<(f64, Reason)>, shares: &[Share], terms: &Terms) -> Vec<Reason> {
    let mut out: Vec<Reason> = named.into_iter().map(|(_, why)| why).take(MAX_REASONS - 2).collect();
    let words = |of: &dyn Fn(Field) -> bool| {
        let mut best: Vec<&Share> = shares.iter().filter(|share| of(share.field) && share.score > 0.0).collect();
        best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.place.cmp(&b.place)));
        let mut words: Vec<String> = Vec::new();
        for share in best {
            let written = &terms.all[share.place].written;
            if words.len() < WORDS && !words.iter().any(|known| known.eq_ignore_ascii_case(written)) {
                words.push(written.clone());
            }
        }
        words
    };
    let (path, text) = (words(&|field| field == Field::Path), words(&|field| field != Field::Path));
    out.extend((!path.is_empty()).then_some(Reason::Path(path)));
    out.extend((!text.is_empty()).then_some(Reason::Text(text)));
    out
}
