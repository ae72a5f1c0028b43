//! Answers a survey: reads, ranks and describes the files of a tree.
//!
//! Owns the order of the work and its limits. Tests: below and `tests/survey.rs`.

use std::path::Path;
use std::time::{Duration, Instant};

use protocol::survey::{
    LONG, MAX_FILES, MAX_NAMES, MAX_REASONS, MAX_TEXTS, Question, RankedFile, Reason, SurveyAnswer,
};

use crate::index::{self, Counts, Field, Terms};
use crate::language::{FileKind, Language};
use crate::outline::Outline;
use crate::parts;
use crate::rank::{self, File, LookedFor, Ranked};
use crate::tuning::Tuning;
use crate::walk::Tree;
use crate::wanted::{self, Names};

/// The most files that are parsed for definitions, those with the best scores by path and text first.
const OUTLINED: usize = 400;
/// The most bytes of them, and the time for all that is parsed; the rest is ranked, and after that time answered, without definitions.
const OUTLINED_BYTES: u64 = 16 << 20;
const OUTLINING: Duration = Duration::from_secs(8);
/// Approximate bytes of an answer without texts; the protocol's limit includes texts.
const LISTS: usize = 400 << 10;

/// Answers a question about the tree below `root`.
pub fn survey(root: &Path, question: &Question) -> SurveyAnswer {
    survey_with(root, question, &Tuning::default())
}

/// The same with other parameters, for measurements.
pub fn survey_with(root: &Path, question: &Question, tuning: &Tuning) -> SurveyAnswer {
    let tree = Tree::below(root);
    let wanted = looked_for(question, tuning);
    let (mut files, unread) = read(&tree, &wanted.terms);
    let end = Instant::now() + OUTLINING;
    outline(&tree, &mut files, &wanted.terms, tuning, end);
    let ranked = rank::rank(&files, &wanted, tuning);
    let told = choose(&files, ranked, question);
    SurveyAnswer {
        whole: told.whole,
        files: tell(&tree, &mut files, told, question, end),
        seen: files.len() as u64,
        tokens: files.iter().filter(|file| file.kind == FileKind::Source).map(|file| file.bytes / 4).sum(),
        passed_over: tree.passed_over + unread,
    }
}

fn looked_for(question: &Question, tuning: &Tuning) -> LookedFor {
    LookedFor {
        terms: Terms::new(wanted::terms(&question.words, &question.failing, tuning.first, tuning.failed)),
        issue: Names::of(&question.words),
        failing: Names::of(&question.failing.join("\n")),
    }
}

/// The files whose text could be read, and the number of the others.
fn read(tree: &Tree, terms: &Terms) -> (Vec<File>, u64) {
    let (mut files, mut unread) = (Vec::new(), 0);
    for entry in &tree.entries {
        let Some((text, _)) = tree.read(&entry.path) else {
            unread += 1;
            continue;
        };
        let mut counts = Counts::default();
        terms.count(&mut counts, Field::Path, &entry.path);
        terms.count(&mut counts, Field::Text, &text);
        let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        let bytes = text.len() as u64;
        let (path, kind) = (entry.path.clone(), entry.kind);
        files.push(File { path, kind, bytes, lines, counts, parsed: false, outline: None });
    }
    (files, unread)
}

/// Parses definitions of the most promising files.
fn outline(tree: &Tree, files: &mut [File], terms: &Terms, tuning: &Tuning, end: Instant) {
    let counts: Vec<&Counts> = files.iter().map(|file| &file.counts).collect();
    let scores = index::score(terms, &counts, [tuning.path, tuning.symbols, tuning.text], tuning.k1);
    let known = |at: &usize| files[*at].kind < FileKind::Beside && Language::of(&files[*at].path).is_some();
    let mut order: Vec<usize> = (0..files.len()).filter(known).collect();
    order.sort_by(|a, b| scores[*b].0.total_cmp(&scores[*a].0).then(a.cmp(b)));
    let mut left = OUTLINED_BYTES;
    for at in order.into_iter().take(OUTLINED) {
        let file = &mut files[at];
        left = left.saturating_sub(file.bytes);
        if left == 0 || Instant::now() >= end {
            return;
        }
        see(tree, file, end);
        let names = file.outline.as_ref().map(|outline| outline.names().join(" ")).unwrap_or_default();
        terms.count(&mut file.counts, Field::Symbols, &names);
    }
}

/// Looks for a file's definitions before `end`, and once, because a text that took too long would take as long again.
fn see(tree: &Tree, file: &mut File, end: Instant) {
    if file.parsed || Instant::now() >= end {
        return;
    }
    file.parsed = true;
    let text = tree.read(&file.path);
    file.outline = text.zip(Language::of(&file.path)).and_then(|((text, _), language)| Outline::of(&text, language));
}

struct Ranking {
    whole: bool,
    files: Vec<Ranked>,
}

/// The files to answer: requested ones, then all sources if they are few, otherwise the best.
fn choose(files: &[File], ranked: Vec<Ranked>, question: &Question) -> Ranking {
    let tokens = |most: FileKind| -> u64 {
        files.iter().filter(|file| file.kind <= most).map(|file| file.bytes.div_ceil(4)).sum()
    };
    let number = |most: FileKind| files.iter().filter(|file| file.kind <= most).count();
    let small = |most: &FileKind| tokens(*most) <= question.whole && (1..=MAX_FILES).contains(&number(*most));
    let whole = [FileKind::Test, FileKind::Source].into_iter().find(small);
    let asked = |at: usize| question.paths.iter().position(|path| *path == files[at].path);
    let most = question.most.min(MAX_FILES);
    let (mut first, rest): (Vec<Ranked>, Vec<Ranked>) = ranked.into_iter().partition(|one| asked(one.at).is_some());
    first.sort_by_key(|one| asked(one.at));
    for one in &mut first {
        one.because.insert(0, Reason::Asked);
        one.because.truncate(MAX_REASONS);
    }
    let room = if whole.is_some() { MAX_FILES } else { most }.saturating_sub(first.len());
    let fits = |one: &Ranked| match whole {
        Some(most) => files[one.at].kind <= most,
        None => one.score > 0.0,
    };
    first.extend(rest.into_iter().filter(fits).take(room));
    if whole.is_some() {
        first.iter_mut().filter(|one| one.because.is_empty()).for_each(|one| one.because.push(Reason::Whole));
    }
    first.truncate(MAX_FILES);
    Ranking { whole: whole.is_some(), files: first }
}

fn tell(tree: &Tree, files: &mut [File], told: Ranking, question: &Question, end: Instant) -> Vec<RankedFile> {
    let mut texts = question.texts.min(MAX_TEXTS);
    let mut lists = LISTS;
    let one = |ranked: Ranked| {
        let file = &mut files[ranked.at];
        see(tree, file, end);
        let outline = file.outline.as_ref();
        let long = file.lines > LONG;
        let mut parts = outline.filter(|_| long).map(parts::of_outline).unwrap_or_default();
        // The file may have changed since it was counted.
        parts.retain(|part| part.last <= file.lines);
        let size: usize = parts.iter().map(|part| part.name.len() * 2 + 60).sum();
        match lists.checked_sub(size) {
            Some(left) => lists = left,
            None => parts.clear(),
        }
        let same = |(text, exact): &(String, bool)| *exact && text.len() as u64 == file.bytes;
        let text = (file.bytes <= texts).then(|| tree.read(&file.path)).flatten().filter(same);
        texts -= text.as_ref().map_or(0, |_| file.bytes);
        RankedFile {
            path: file.path.clone(),
            bytes: file.bytes,
            tokens: file.bytes.div_ceil(4),
            lines: file.lines,
            score: (ranked.score * 1000.0).round() / 1000.0,
            because: ranked.because,
            defines: outline.map(defined).unwrap_or_default(),
            parts,
            text: text.map(|(text, _)| text),
        }
    };
    told.files.into_iter().map(one).collect()
}

/// The first distinct names.
fn defined(outline: &Outline) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in outline.names() {
        if out.len() >= MAX_NAMES {
            break;
        }
        if !out.iter().any(|known| known == name) {
            out.push(name.to_owned());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with one file, as it was read.
    fn one_file(text: &str) -> (tempfile::TempDir, Tree, File) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cache.py"), text).unwrap();
        let tree = Tree::below(dir.path());
        let (mut files, _) = read(&tree, &Terms::new(Vec::new()));
        (dir, tree, files.remove(0))
    }

    fn answered(tree: &Tree, file: File, end: Instant) -> RankedFile {
        let ranking = Ranking { whole: false, files: vec![Ranked { at: 0, score: 1.0, because: Vec::new() }] };
        let question = Question { most: 1, texts: MAX_TEXTS, ..Question::default() };
        tell(tree, &mut [file], ranking, &question, end).remove(0)
    }

    #[test]
    fn nothing_is_parsed_twice_or_when_the_time_is_over() {
        let text = "def evict_oldest():\n    pass\n";
        let later = Instant::now() + Duration::from_secs(3600);
        let (_dir, tree, file) = one_file(text);
        assert_eq!(answered(&tree, file, later).defines, ["evict_oldest"]);
        let (_dir, tree, mut file) = one_file(text);
        file.parsed = true;
        assert!(answered(&tree, file, later).defines.is_empty(), "it took too long before");
        let (_dir, tree, file) = one_file(text);
        let late = answered(&tree, file, Instant::now());
        assert_eq!((late.defines.len(), late.text.as_deref()), (0, Some(text)));
    }

    #[test]
    fn a_file_that_grew_meanwhile_is_answered_as_it_was_counted() {
        let text = "def put(): pass\n".repeat(LONG as usize + 10);
        let (dir, tree, file) = one_file(&text);
        std::fs::write(dir.path().join("cache.py"), text.repeat(2)).unwrap();
        let found = answered(&tree, file, Instant::now() + Duration::from_secs(3600));
        assert_eq!((found.lines, found.parts.len(), found.text), (LONG + 10, LONG as usize + 10, None));
    }
}
