//! Looks at one configured model: whether it is set up, whether it answers, and whether the right model answers.
//!
//! Owns the questions and what each finding means for an operator. Must not print. Tests: `tests/providers/refusals.rs`.

use crate::config::process::{Model as Entry, ModelStyle, Models, Origin, Process};
use crate::engine::probe;
use crate::engine::turn::TEMPLATE_ADVICE;
use crate::llm::{self, Model, ModelError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit for a model to say one word.
pub const WAIT: Duration = Duration::from_secs(60);

/// A finding, with what to do about a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A recording, which cannot be asked.
    Recording,
    Answers {
        took: Duration,
    },
    /// Tokens of the window as the server says, and as configured.
    Window {
        tokens: u64,
        configured: u64,
    },
    /// Information that is not a fault.
    Note(String),
    Fault {
        found: String,
        hint: String,
    },
}

/// Opens the entry; an error is the only finding.
pub fn opened(entry: &Entry) -> Result<Arc<dyn Model>, Finding> {
    let hint = "docs/models.md says how each kind is set up".to_owned();
    llm::configured(entry).map_err(|found| Finding::Fault { found, hint })
}

/// The command that checks a window.
pub const WINDOW_CHECK: &str = "`caisson model check --window`";

/// A note if no price is known.
pub fn price(entry: &Entry) -> Option<Finding> {
    let note = "price unknown: set price_input and price_output, to 0 where it costs nothing";
    entry.is_unpriced().then(|| Finding::Note(note.to_owned()))
}

/// A sentence about fallbacks that are only asked for some repositories; none if there are none.
pub fn kept_back(models: &Models, entry: &Entry) -> Option<String> {
    let left: Vec<String> = models.kept_back(entry).map(|id| format!("`{id}`")).collect();
    (!left.is_empty()).then(|| {
        format!(
            "`{}` has a local address, and {} has none: it stands in only for repositories that list both (`models` of [[repositories]])",
            entry.id,
            left.join(", ")
        )
    })
}

/// A note if limits in dollars have no effect, because the worker's price is not known.
pub fn unlimited(config: &Process) -> Option<String> {
    let repositories = config.repositories();
    let budgets = repositories.iter().filter_map(|entry| entry.budget.as_ref()).chain([&config.budget]);
    let mut names: Vec<&str> = Vec::new();
    for budget in budgets {
        let limits = [
            ("budget.dollars", budget.dollars),
            ("budget.day_dollars", budget.day_dollars),
            ("budget.month_dollars", budget.month_dollars),
        ];
        let new = limits.into_iter().filter(|(name, most)| *most > 0.0 && !names.contains(name)).map(|(name, _)| name);
        names.extend(new.collect::<Vec<_>>());
    }
    let limits = match names.as_slice() {
        [] => return None,
        [one] => format!("{one} limits"),
        several => format!("{} limit", several.join(" and ")),
    };
    let asked = config.models.used();
    let unpriced: Vec<String> = asked.iter().filter(|entry| entry.is_unpriced()).map(|entry| entry.shown()).collect();
    (!unpriced.is_empty()).then(|| {
        let name = unpriced.join(" and ");
        format!("{limits} nothing: the price of {name} is unknown. Set price_input and price_output, to 0 where it costs nothing")
    })
}

/// Asks one or two very short questions and returns the findings in order.
pub async fn look(entry: &Entry, model: &dyn Model) -> Vec<Finding> {
    if model.scripted() {
        return vec![Finding::Recording];
    }
    let began = Instant::now();
    let presence = match tokio::time::timeout(WAIT, model.presence()).await {
        Ok(Ok(presence)) => presence,
        Ok(Err(error)) => return vec![refused(&error)],
        Err(_) => {
            let found = format!("it did not answer within {} s", WAIT.as_secs());
            return vec![Finding::Fault { found, hint: "check base_url, and whether its server runs".to_owned() }];
        }
    };
    let mut found = vec![Finding::Answers { took: began.elapsed() }];
    found.extend(presence.window.map(|tokens| Finding::Window { tokens, configured: entry.context_tokens }));
    if let Some(fault) = presence.fault(&entry.name, entry.context_tokens) {
        let hint = "set name and context_tokens to what the server has, or start it as they say".to_owned();
        found.push(Finding::Fault { found: fault, hint });
    }
    if presence.window.is_none() && entry.needs_trials() {
        // Ollama cuts a longer prompt off without a word.
        let most = presence.most.map(|most| format!(" (the model itself holds at most {most})")).unwrap_or_default();
        let note = format!(
            "its server does not tell its window{most}: whether that holds the {} tokens of context_tokens was not checked. {WINDOW_CHECK} does",
            entry.context_tokens
        );
        found.push(Finding::Note(note));
    }
    if presence.refuses_system {
        let note = "its chat template takes no system text: that is put before the first words of the user";
        found.push(Finding::Note(note.to_owned()));
    }
    found.extend(template(entry, model).await);
    found.extend(price(entry));
    found
}

/// Both sizes of the window, for [`Finding::Window`].
pub fn windows(tokens: u64, configured: u64) -> String {
    format!("window: {tokens} tokens (as the server says); configured {configured}")
}

/// Whether it is shown pictures, and what decided that.
pub fn vision(entry: &Entry) -> String {
    let whose = match &entry.origins.vision {
        Origin::Unknown => "of itself",
        Origin::Entry => "by its entry",
        Origin::File { .. } => "by the file of prices",
    };
    match entry.sees() {
        true => format!("it is shown pictures ({whose})"),
        false => format!("it is shown no pictures ({whose}); set vision = true where it takes them"),
    }
}

/// Whether it accepts the requests of the style *tools*. Assumed for a vendor's own server.
async fn template(entry: &Entry, model: &dyn Model) -> Option<Finding> {
    let without = match entry.style {
        ModelStyle::Tools => false,
        ModelStyle::Auto => true,
        ModelStyle::Text | ModelStyle::Files => return None,
    };
    if !entry.needs_trials() {
        return None;
    }
    match tokio::time::timeout(WAIT, probe::takes_results(model)).await {
        Ok(Err(error @ ModelError::Template(_))) if without => {
            Some(Finding::Note(format!("{error}; so it works in the style files")))
        }
        // It answered a request without tools just before.
        Ok(Err(error @ (ModelError::BadRequest(_) | ModelError::NoTools(_)))) if without => {
            Some(Finding::Note(format!("it takes no tools ({error}); so it works in the style files")))
        }
        Ok(Err(error @ (ModelError::BadRequest(_) | ModelError::NoTools(_)))) => {
            let hint = "set style = \"text\" or style = \"files\" for it, or take a model that knows tools".to_owned();
            Some(Finding::Fault { found: format!("it cannot call tools: {error}"), hint })
        }
        Ok(Err(error)) => Some(refused(&error)),
        Ok(Ok(())) | Err(_) => None,
    }
}

/// A refusal, with what to do about it.
pub fn refused(error: &ModelError) -> Finding {
    let hint = match error {
        ModelError::Template(_) => TEMPLATE_ADVICE,
        ModelError::Unauthorized(_) => "put a valid key into the file that key_file names",
        ModelError::NoModel(_) => "set name to a model that the server has, as it spells it",
        ModelError::NoTools(_) => "set style = \"text\" or style = \"files\" for it, or take a model that knows tools",
        ModelError::RateLimited { .. } => "try again later",
        ModelError::Unavailable(_) | ModelError::Lost(_) => "check base_url, and whether its server runs",
        ModelError::ContextFull => "its window does not hold one sentence: start its server with more",
        ModelError::BadRequest(_) | ModelError::Malformed(_) | ModelError::TooLong { .. } => {
            "check name, base_url and the key"
        }
    };
    Finding::Fault { found: error.to_string(), hint: hint.to_owned() }
}
