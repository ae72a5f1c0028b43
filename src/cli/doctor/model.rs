//! The model: whether it is set up, and on request whether it answers.

use super::sheet::Sheet;
use crate::config::Process;
use crate::llm::{self, ModelRequest, Turn};
use std::time::{Duration, Instant};

const WAIT: Duration = Duration::from_secs(60);

pub(super) async fn look(sheet: &mut Sheet, config: &Process, ask: bool) {
    let model = match llm::configured(&config.model) {
        Ok(model) => model,
        Err(why) => return sheet.fault("model", why, "docs/models.md says how each kind is set up"),
    };
    if model.scripted() {
        return sheet.note("model", format!("{}: a recording, no model is behind it", model.label()));
    }
    if !ask {
        return sheet.good("model", format!("{} is set up (--model asks it something)", model.label()));
    }
    let request = ModelRequest {
        system: "You are being tested for being reachable.".to_owned(),
        turns: vec![Turn::User { text: "Answer with the one word: ready".to_owned() }],
        tools: Vec::new(),
        max_output_tokens: 256,
        temperature: None,
        seed: None,
    };
    let began = Instant::now();
    match tokio::time::timeout(WAIT, model.respond(&request)).await {
        Ok(Ok(answer)) => {
            let took = began.elapsed().as_millis();
            sheet.good("model", format!("{} answered in {took} ms, {} tokens", model.label(), answer.usage.total()));
        }
        Ok(Err(error)) => {
            sheet.fault("model", format!("{}: {error}", model.label()), "check model.name, model.base_url and the key")
        }
        Err(_) => {
            sheet.fault("model", format!("{} did not answer within a minute", model.label()), "check model.base_url")
        }
    }
}
