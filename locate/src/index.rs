//! Counts the wanted words in each file by field, and scores them: BM25 over weighted fields.
//!
//! Keeps counts and no texts. Must not read files. Tests: below.

use std::collections::HashMap;

use crate::wanted::Term;
use crate::words;

/// Part of a file in which a word occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Path = 0,
    Symbols = 1,
    Text = 2,
}

pub const FIELDS: [Field; 3] = [Field::Path, Field::Symbols, Field::Text];

/// Weight of a field, and how much its length reduces it (0 to 1).
#[derive(Debug, Clone, Copy)]
pub struct Weight {
    /// Factor for each occurrence of a word in the field.
    pub counts: f64,
    /// BM25's `b` for the field: 0 ignores its length, 1 divides by its length relative to the average.
    pub length: f64,
}

/// One file: the length of each field, and the count of each wanted word.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    lengths: [u32; 3],
    /// Count by (index of the term, field).
    of: HashMap<(u16, u8), u32>,
}

/// The wanted words, for look-up.
#[derive(Debug)]
pub struct Terms {
    pub all: Vec<Term>,
    places: HashMap<String, u16>,
}

impl Terms {
    pub fn new(all: Vec<Term>) -> Self {
        let place = |(at, term): (usize, &Term)| Some((term.form.clone(), u16::try_from(at).ok()?));
        let places = all.iter().enumerate().filter_map(place).collect();
        Self { all, places }
    }

    pub fn count(&self, counts: &mut Counts, field: Field, text: &str) {
        words::each_word(text, |word| {
            counts.lengths[field as usize] += 1;
            if let Some(&place) = self.places.get(word) {
                *counts.of.entry((place, field as u8)).or_default() += 1;
            }
        });
    }
}

/// Contribution of one word to a file's score.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    pub place: usize,
    pub field: Field,
    pub score: f64,
}

/// Score of each file with its shares, by the weights of [`FIELDS`].
pub fn score(terms: &Terms, files: &[&Counts], weights: [Weight; 3], k1: f64) -> Vec<(f64, Vec<Share>)> {
    let number = files.len() as f64;
    let mut having = vec![0.0; terms.all.len()];
    for file in files {
        let mut seen: Vec<u16> = file.of.keys().map(|(place, _)| *place).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().for_each(|place| having[usize::from(place)] += 1.0);
    }
    let average = |field: Field| {
        let sum: f64 = files.iter().map(|file| f64::from(file.lengths[field as usize])).sum();
        (sum / number.max(1.0)).max(1.0)
    };
    let averages = FIELDS.map(average);
    let rare = |place: usize| f64::ln(1.0 + (number - having[place] + 0.5) / (having[place] + 0.5));
    let of_file = |file: &Counts| {
        let mut shares = Vec::new();
        let mut places: Vec<(u16, u8)> = file.of.keys().copied().collect();
        places.sort_unstable();
        for of_word in places.chunk_by(|a, b| a.0 == b.0) {
            let place = usize::from(of_word[0].0);
            let part = |&(word, field): &(u16, u8)| {
                let at = usize::from(field);
                let long = f64::from(file.lengths[at]) / averages[at];
                let weight = weights[at];
                f64::from(file.of[&(word, field)]) * weight.counts / (1.0 - weight.length + weight.length * long)
            };
            let parts: Vec<f64> = of_word.iter().map(part).collect();
            let sum: f64 = parts.iter().sum();
            let whole = terms.all[place].weight * rare(place) * sum * (k1 + 1.0) / (k1 + sum);
            for (&(_, field), part) in of_word.iter().zip(parts).filter(|_| sum > 0.0) {
                shares.push(Share { place, field: FIELDS[usize::from(field)], score: whole * part / sum });
            }
        }
        (shares.iter().map(|share| share.score).sum(), shares)
    };
    files.iter().map(|file| of_file(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wanted::terms;

    const WEIGHTS: [Weight; 3] = [
        Weight { counts: 3.0, length: 0.5 },
        Weight { counts: 2.0, length: 0.5 },
        Weight { counts: 1.0, length: 0.75 },
    ];

    fn scores(words: &str, files: &[(&str, &str)]) -> Vec<f64> {
        let terms = Terms::new(terms(words, &[], 1.0, 1.0));
        let count = |&(path, text): &(&str, &str)| {
            let mut counts = Counts::default();
            terms.count(&mut counts, Field::Path, path);
            terms.count(&mut counts, Field::Text, text);
            counts
        };
        let files: Vec<_> = files.iter().map(count).collect();
        score(&terms, &files.iter().collect::<Vec<_>>(), WEIGHTS, 1.2).into_iter().map(|(score, _)| score).collect()
    }

    #[test]
    fn rare_words_and_paths_count_more() {
        let found = scores(
            "retry header",
            &[("a", "header header"), ("b", "header retry"), ("retry", "header x"), ("d", "header")],
        );
        assert!(found[2] > found[1] && found[1] > found[0] && found[0] > 0.0, "{found:?}");
    }

    #[test]
    fn a_long_text_counts_less() {
        let long = format!("header {}", "other ".repeat(400));
        let found = scores("header", &[("a", "header"), ("b", &long), ("c", "none")]);
        assert!(found[0] > found[1] && found[1] > 0.0 && found[2] == 0.0, "{found:?}");
    }
}
