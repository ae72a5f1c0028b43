//! Why a command of a repository's own begins nothing. Beside its name all of its file is foreign text.

use super::answer::not_among;
use super::own::MAX_SHOWN;
use super::terms::nameable;
use crate::config::own_command::path;
use crate::text::{code, prose};
use domain::TaskKind;

/// Somebody whom the command's file does not name; `whom` are those whom it does.
pub fn own_not_among(login: &str, name: &str, whom: &str) -> String {
    format!(
        "{}: {} is for {} here, as {} says. Nothing was started. Ask one of them to write it; their own comment counts, not yours edited.",
        code(login),
        code(&format!("/{name}")),
        prose(whom, MAX_SHOWN),
        code(&path(name))
    )
}

/// Somebody whom the operator does not let begin such a task; `whom` are those whom that lets.
pub fn own_barred(login: &str, name: &str, kind: TaskKind, whom: &str) -> String {
    let why = not_among(login, kind.name(), whom);
    format!(
        "{why}\n\n`/{name}` begins what `/{}` begins, so it is for the same people. No task was started.",
        kind.name()
    )
}

/// Its file names a model that people may not name here; `named` are those that they may.
pub fn own_model_refused(login: &str, name: &str, model: &str, named: &[String]) -> String {
    format!(
        "{}: {} asks for the model {} in {}, which is not to be had; {}. Nothing was started. Correct that file on the default branch, or write another model behind the command with `--model`.",
        code(login),
        code(&format!("/{name}")),
        code(model),
        code(&path(name)),
        nameable(named)
    )
}
