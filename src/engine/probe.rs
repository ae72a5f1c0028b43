//! Whether a model can use tools: three small trial calls for reading, editing and checking.
//!
//! Owns: the trials and what counts as success. Each asks for the next step of a conversation without errors so far, so that one failure
//! does not affect the next trial. A model that passes all three is used in the style *tools*, any other in *files*. Must not: keep the
//! result (`effect` does). Tests: below; `tests/providers.rs` with servers that speak the protocol.

use domain::Action;
use serde_json::json;

use super::style::{Reader, Style};
use super::{budget, tools};
use crate::llm::{
    Deltas, Model, ModelError, ModelRequest, ModelResponse, Silent, ToolCall, ToolResult, ToolSpec, Turn,
};

const FILE: &str = "def add(a, b):\n    return a - b\n";
const SYSTEM: &str = "You are a coding agent. You act only by calling tools, one at a time.";
const TASK: &str =
    "`add` in calc.py gives wrong sums. Read calc.py, mend it with edit_file, then run `python3 -m unittest`.";
/// Longest answer in tokens, beside what a model thinks before it.
const LONGEST: u64 = 300;

/// Results of the trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tries {
    /// Whether it called for the file.
    pub read: bool,
    /// Whether it changed the file correctly; false if the trial before failed.
    pub edit: bool,
    /// Whether it ran the tests; false if a trial before failed.
    pub check: bool,
}

impl Tries {
    /// [`Style::Tools`] if all trials succeeded, otherwise [`Style::Files`].
    pub fn style(&self) -> Style {
        if self.read && self.edit && self.check { Style::Tools } else { Style::Files }
    }
}

/// Makes the trials and stops at the first failure, which decides the result. `spoken` as in [`super::EngineConfig::spoken`].
///
/// # Errors
/// Those of the calls, because a model that cannot be reached proves nothing.
pub async fn probe(model: &dyn Model, spoken: bool, deltas: &dyn Deltas) -> Result<Tries, ModelError> {
    let mut tries = Tries { read: false, edit: false, check: false };
    let mut turns = vec![Turn::User { text: TASK.to_owned() }];
    let first = match step(model, &turns, spoken, deltas).await {
        // A server that does not support tools refuses the request, not always in words that are known for it. A wrong model name may be
        // refused in unknown words too, but then so is the plain request.
        Err(ModelError::BadRequest(_) | ModelError::NoTools(_) | ModelError::Template(_))
            if model.presence().await.is_ok() =>
        {
            Vec::new()
        }
        other => other?,
    };
    tries.read = first.iter().any(reads);
    if !tries.read {
        return Ok(tries);
    }
    went(&mut turns, "read_file", json!({ "path": "calc.py" }), "1  def add(a, b):\n2      return a - b");
    let second = match step(model, &turns, spoken, deltas).await {
        // Its chat template does not support results of tools.
        Err(ModelError::Template(_)) => Vec::new(),
        other => other?,
    };
    tries.edit = second.iter().any(mends);
    if !tries.edit {
        return Ok(tries);
    }
    let edit = json!({ "path": "calc.py", "old": "    return a - b", "new": "    return a + b" });
    went(&mut turns, "edit_file", edit, "calc.py: replaced once");
    tries.check = step(model, &turns, spoken, deltas).await?.iter().any(checks);
    Ok(tries)
}

/// Whether the server accepts a conversation in which a tool was called and answered.
///
/// # Errors
/// Its refusal, or why it was not reached.
pub async fn takes_results(model: &dyn Model) -> Result<(), ModelError> {
    let mut turns = vec![Turn::User { text: TASK.to_owned() }];
    went(&mut turns, "read_file", json!({ "path": "calc.py" }), "1  def add(a, b):\n2      return a - b");
    let request = ModelRequest {
        system: SYSTEM.to_owned(),
        turns,
        tools: offered(),
        max_output_tokens: 16,
        temperature: Some(0.0),
        seed: None,
        cache_key: None,
        must_call: false,
    };
    model.respond(&request, &Silent).await.map(drop)
}

/// The number of calls in one answer if two are asked for. `spoken` as in [`probe`].
///
/// # Errors
/// Those of the call.
pub async fn calls_at_once(model: &dyn Model, spoken: bool) -> Result<usize, ModelError> {
    let request = ModelRequest {
        system: "You are a coding agent. You act only by calling tools, several in one answer where you can."
            .to_owned(),
        turns: vec![Turn::User { text: "Read calc.py and test_calc.py now, both in this answer.".to_owned() }],
        tools: offered(),
        max_output_tokens: LONGEST,
        temperature: Some(0.0),
        seed: None,
        cache_key: None,
        must_call: false,
    };
    let response = answered(model, request, &Silent).await?;
    Ok(Reader::Tools { spoken }.calls(&response, 1).len())
}

/// The answer; a model that thought until its limit, and said nothing, is asked once more with room for that.
async fn answered(model: &dyn Model, request: ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
    let response = model.respond(&request, deltas).await?;
    let words = response.text.trim();
    let thought = response.calls.is_empty() && (words.is_empty() || words.starts_with("<think>"));
    if !(response.truncated && thought) {
        return Ok(response);
    }
    let max_output_tokens = budget::with_thoughts(request.max_output_tokens, model.context_tokens());
    model.respond(&ModelRequest { max_output_tokens, ..request }, deltas).await
}

/// Only the three tools that the trials need, to keep the prompt short.
fn offered() -> Vec<ToolSpec> {
    let needed = |tool: &ToolSpec| matches!(tool.name.as_str(), "read_file" | "edit_file" | "bash");
    tools::specs(domain::TaskKind::Fix).into_iter().filter(needed).collect()
}

async fn step(model: &dyn Model, turns: &[Turn], spoken: bool, deltas: &dyn Deltas) -> Result<Vec<Action>, ModelError> {
    let request = ModelRequest {
        system: SYSTEM.to_owned(),
        turns: turns.to_vec(),
        tools: offered(),
        max_output_tokens: LONGEST,
        temperature: Some(0.0),
        seed: None,
        cache_key: None,
        must_call: false,
    };
    let response = answered(model, request, deltas).await?;
    let calls = Reader::Tools { spoken }.calls(&response, 1);
    Ok(calls.iter().filter_map(|call| call.call.action().cloned()).collect())
}

/// Adds the step as it should have been, with its result.
fn went(turns: &mut Vec<Turn>, name: &str, arguments: serde_json::Value, result: &str) {
    let id = format!("call_{}", turns.len());
    let call = ToolCall { id: id.clone(), name: name.to_owned(), arguments, malformed: None };
    turns.push(Turn::Assistant { text: String::new(), calls: vec![call], vendor: None });
    turns.push(Turn::Results(vec![ToolResult {
        call_id: id,
        name: name.to_owned(),
        text: result.to_owned(),
        error: false,
    }]));
}

fn reads(action: &Action) -> bool {
    match action {
        Action::ReadFile { path, .. } => path.ends_with("calc.py"),
        Action::Bash { command } => command.contains("calc.py"),
        _ => false,
    }
}

fn mends(action: &Action) -> bool {
    match action {
        Action::EditFile { path, old, new, all } => {
            let once = FILE.matches(old.as_str()).count() == 1 || *all;
            path.ends_with("calc.py") && once && FILE.replace(old.as_str(), new).contains("a + b")
        }
        Action::WriteFile { path, content } => path.ends_with("calc.py") && content.contains("a + b"),
        _ => false,
    }
}

fn checks(action: &Action) -> bool {
    matches!(action, Action::Bash { command } if command.contains("unittest"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Scripted, Silent};

    async fn tried(script: &str) -> Tries {
        let model = Scripted::from_toml(&format!("name = 't'\n{script}"), 100_000).unwrap();
        probe(&model, true, &Silent).await.unwrap()
    }

    const READ: &str = "[[turn]]\ncall = [{ name = 'read_file', arguments = { path = 'calc.py' } }]\n";
    const EDIT: &str =
        "[[turn]]\ncall = [{ name = 'edit_file', arguments = { path = 'calc.py', old = 'a - b', new = 'a + b' } }]\n";
    const RUN: &str =
        "[[turn]]\ntext = '<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"python3 -m unittest\"}}'\n";

    #[tokio::test]
    async fn who_passes_all_three_works_with_tools() {
        let tries = tried(&[READ, EDIT, RUN].concat()).await;
        assert_eq!((tries.style(), tries.check), (Style::Tools, true), "a call in words counts as well");
    }

    /// A model that needs more tokens than an answer has for its thoughts.
    struct Thinker(Scripted);

    #[async_trait::async_trait]
    impl Model for Thinker {
        fn facts(&self) -> &crate::llm::Facts {
            self.0.facts()
        }

        async fn respond(&self, request: &ModelRequest, deltas: &dyn Deltas) -> Result<ModelResponse, ModelError> {
            let thought = ModelResponse { truncated: true, ..ModelResponse::default() };
            if request.max_output_tokens < 1_000 { Ok(thought) } else { self.0.respond(request, deltas).await }
        }
    }

    #[tokio::test]
    async fn a_model_that_thinks_before_it_calls_has_room_for_that() {
        let script = format!("name = 't'\n{}", [READ, EDIT, RUN].concat());
        let model = Thinker(Scripted::from_toml(&script, 100_000).unwrap());
        assert_eq!(probe(&model, true, &Silent).await.unwrap().style(), Style::Tools);
    }

    #[tokio::test]
    async fn one_that_fails_is_enough_for_files() {
        let prose = "[[turn]]\ntext = 'I would now change the sign.'\n";
        assert_eq!(tried(prose).await.style(), Style::Files);
        let wrong = EDIT.replace("'a + b'", "'a * b'");
        let tries = tried(&[READ, &wrong].concat()).await;
        assert_eq!((tries.read, tries.edit, tries.style()), (true, false, Style::Files));
    }
}
