//! What the ranking is measured against: BM25 over whole words of the files' texts, with the usual numbers.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use caisson_locate::FileKind;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Each text file with its path and its words.
pub type Texts = Vec<(String, Vec<String>)>;

fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    runs.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

pub fn texts(tree: &Path) -> Texts {
    let (mut out, mut folders) = (Vec::new(), vec![tree.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if let (true, Ok(text)) = (kind.is_file(), std::fs::read_to_string(entry.path())) {
                let path = entry.path().strip_prefix(tree).unwrap_or(Path::new("")).to_string_lossy().into_owned();
                // The bound that the ranking has.
                if text.len() <= 512 << 10 && !text.contains('\0') {
                    out.push((path, words(&text)));
                }
            }
        }
    }
    out.sort();
    out
}

/// Paths, the best first; `sources`: of sources alone, tests left out.
pub fn order(texts: &Texts, query: &str, sources: bool) -> Vec<String> {
    let files: Vec<&(String, Vec<String>)> =
        texts.iter().filter(|(path, _)| !sources || FileKind::of(path) == FileKind::Source).collect();
    let query: HashSet<String> = words(query).into_iter().collect();
    let counts: Vec<HashMap<&str, f64>> = files.iter().map(|(_, words)| count(words, &query)).collect();
    let number = files.len() as f64;
    let average = files.iter().map(|(_, words)| words.len() as f64).sum::<f64>() / number.max(1.0);
    let score = |at: usize| {
        let length = 1.0 - B + B * files[at].1.len() as f64 / average.max(1.0);
        let mut sum = 0.0;
        for (word, times) in &counts[at] {
            let having = counts.iter().filter(|it| it.contains_key(word)).count() as f64;
            sum += (1.0 + (number - having + 0.5) / (having + 0.5)).ln() * times * (K1 + 1.0) / (times + K1 * length);
        }
        sum
    };
    let mut scored: Vec<(f64, &String)> = (0..files.len()).map(|at| (score(at), &files[at].0)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().filter(|(score, _)| *score > 0.0).map(|(_, path)| path.clone()).collect()
}

fn count<'a>(words: &'a [String], query: &HashSet<String>) -> HashMap<&'a str, f64> {
    let mut out = HashMap::new();
    for word in words.iter().filter(|word| query.contains(*word)) {
        *out.entry(word.as_str()).or_default() += 1.0;
    }
    out
}
