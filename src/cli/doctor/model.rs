//! The models: whether each is configured correctly, and on request whether it answers, and with which name.

use super::sheet::Sheet;
use crate::cli::model::look::{self, Finding};
use crate::config::Process;
use crate::config::process::Model as Entry;

/// Looks at the models that may be asked.
pub(super) async fn look(sheet: &mut Sheet, config: &Process, ask: bool) {
    let models = &config.models;
    for entry in models.used() {
        let part = if models.all().len() > 1 { format!("model {}", entry.id) } else { "model".to_owned() };
        one(sheet, &part, entry, ask).await;
        if let Some(kept_back) = look::kept_back(models, entry) {
            sheet.note(&part, kept_back);
        }
    }
    if let Some(unlimited) = look::unlimited(config) {
        sheet.note("budget", unlimited);
    }
}

async fn one(sheet: &mut Sheet, part: &str, entry: &Entry, ask: bool) {
    let model = match look::opened(entry) {
        Ok(model) => model,
        Err(fault) => return put(sheet, part, "", fault),
    };
    if !ask && !model.scripted() {
        sheet.good(part, format!("{} is set up (--model asks it something)", model.label()));
        if let Some(unknown) = look::price(entry) {
            put(sheet, part, &model.label(), unknown);
        }
        return;
    }
    for finding in look::look(entry, model.as_ref()).await {
        put(sheet, part, &model.label(), finding);
    }
}

fn put(sheet: &mut Sheet, part: &str, label: &str, finding: Finding) {
    match finding {
        Finding::Recording => sheet.note(part, format!("{label}: a recording, no model is behind it")),
        Finding::Answers { took } => sheet.good(part, format!("{label} answered in {} ms", took.as_millis())),
        Finding::Note(note) => sheet.note(part, format!("{label}: {note}")),
        Finding::Fault { found, attempt } if label.is_empty() => sheet.fault(part, found, attempt),
        Finding::Fault { found, attempt } => sheet.fault(part, format!("{label}: {found}"), attempt),
    }
}
