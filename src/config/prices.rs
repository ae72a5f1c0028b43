//! Prices and windows of models whose entry lacks them: from the operator's file, then the built-in one.
//!
//! Owns the file's format, and how a model's line is found. Must not decide what an unknown price means.
//! Tests: below.

use super::model::{Model, ModelKind};
use super::origin::Origin;
use serde::Deserialize;
use std::path::Path;

/// The built-in file, which describes each key.
pub const BUILT_IN: &str = include_str!("prices.toml");
/// Default window of an entry without one, in tokens.
const WINDOW: u64 = 200_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "model")]
    models: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    wires: Vec<ModelKind>,
    window: Option<u64>,
    vision: Option<bool>,
    input: Option<f64>,
    output: Option<f64>,
    #[serde(default)]
    cache_read: f64,
    #[serde(default)]
    cache_write: f64,
    date: String,
    page: String,
}

/// Both files, the operator's first.
#[derive(Debug)]
pub(super) struct Files {
    own: Vec<Line>,
    built_in: Vec<Line>,
}

impl Files {
    /// Reads the operator's file in addition to the built-in one; the error is a sentence.
    pub(super) fn read(own: Option<&Path>) -> Result<Self, String> {
        let own = match own {
            None => Vec::new(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|why| format!("{} can't be read: {why}; mend or unset it", path.display()))?;
                lines(&text).map_err(|why| format!("{}: {why}", path.display()))?
            }
        };
        Ok(Self { own, built_in: lines(BUILT_IN)? })
    }

    /// Sets the missing figures of an entry.
    pub(super) fn fill(&self, model: &mut Model) {
        let priced = model.price_input.is_some() || model.price_output.is_some();
        let line = self.of(model).cloned();
        let file = |line: &Line| Origin::File { date: line.date.clone(), page: line.page.clone() };
        if priced {
            model.origins.price = Origin::Entry;
        } else if let Some(line) = line.as_ref().filter(|line| line.input.is_some() && line.output.is_some()) {
            (model.price_input, model.price_output) = (line.input, line.output);
            (model.price_cache_read, model.price_cache_write) = (line.cache_read, line.cache_write);
            model.origins.price = file(line);
        }
        if model.vision.is_some() {
            model.origins.vision = Origin::Entry;
        } else if let Some((line, vision)) = line.as_ref().and_then(|line| Some((line, line.vision?))) {
            model.vision = Some(vision);
            model.origins.vision = file(line);
        } else {
            model.vision = Some(model.sees_by_default());
        }
        if model.context_tokens > 0 {
            model.origins.window = Origin::Entry;
            return;
        }
        model.context_tokens = WINDOW;
        if let Some((line, window)) = line.as_ref().and_then(|line| Some((line, line.window?))) {
            model.context_tokens = window;
            model.origins.window = file(line);
        }
    }

    /// The first matching line. The built-in prices are vendors' and apply only at a vendor's own address.
    fn of(&self, model: &Model) -> Option<&Line> {
        let about = |line: &&Line| line.wires.contains(&model.kind) && names(&line.name, &model.name);
        let vendors = self.built_in.iter().filter(|_| model.base_url.is_none());
        self.own.iter().chain(vendors).find(about)
    }
}

/// Whether a model's name is the line's, optionally followed by a date.
fn names(line: &str, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(line) else { return false };
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    let dated = rest.starts_with('-') && digits >= 6 && rest.chars().all(|c| c == '-' || c.is_ascii_digit());
    rest.is_empty() || dated
}

fn lines(text: &str) -> Result<Vec<Line>, String> {
    let file: File = toml::from_str(text).map_err(|why| why.message().to_owned())?;
    for line in &file.models {
        let prices =
            [line.input.unwrap_or_default(), line.output.unwrap_or_default(), line.cache_read, line.cache_write];
        if prices.iter().any(|price| !price.is_finite() || *price < 0.0) {
            return Err(format!("{}: prices are dollars for a million tokens, 0 or more", line.name));
        }
    }
    Ok(file.models)
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
