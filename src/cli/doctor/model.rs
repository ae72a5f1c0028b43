//! The models: whether each is configured correctly, and on request whether it answers, and with which name.

use super::report::Report;
use crate::cli::model::look::{self, Finding};
use crate::config::Process;
use crate::config::process::Model as Entry;

/// Looks at the models that may be asked.
pub(super) async fn look(report: &mut Report, config: &Process, ask: bool) {
    let models = &config.models;
    for entry in models.used() {
        let part = if models.all().len() > 1 { format!("model {}", entry.id) } else { "model".to_owned() };
        one(report, &part, entry, ask).await;
        if let Some(kept_back) = look::kept_back(models, entry) {
            report.note(&part, kept_back);
        }
    }
    if let Some(unlimited) = look::unlimited(config) {
        report.note("budget", unlimited);
    }
}

async fn one(report: &mut Report, part: &str, entry: &Entry, ask: bool) {
    let model = match look::opened(entry) {
        Ok(model) => model,
        Err(fault) => return put(report, part, "", fault),
    };
    if !ask && !model.scripted() {
        report.good(part, format!("{} is set up (--model asks it something)", model.label()));
        if let Some(unknown) = look::price(entry) {
            put(report, part, &model.label(), unknown);
        }
        return;
    }
    for finding in look::look(entry, model.as_ref()).await {
        put(report, part, &model.label(), finding);
    }
}

fn put(report: &mut Report, part: &str, label: &str, finding: Finding) {
    match finding {
        Finding::Recording => report.note(part, format!("{label}: a recording, no model is behind it")),
        Finding::Answers { took } => report.good(part, format!("{label} answered in {} ms", took.as_millis())),
        Finding::Window { tokens, configured } => {
            report.note(part, format!("{label}: {}", look::windows(tokens, configured)));
        }
        Finding::Note(note) => report.note(part, format!("{label}: {note}")),
        Finding::Fault { found, hint } if label.is_empty() => report.fault(part, found, hint),
        Finding::Fault { found, hint } => report.fault(part, format!("{label}: {found}"), hint),
    }
}
