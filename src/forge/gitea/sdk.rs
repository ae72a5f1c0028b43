//! Converts the SDK's errors. Its texts may contain a proxy's whole page, so only the status and a structured message are kept.

use super::raw::{RequestKind, from_status, from_transport, message};
use crate::forge::ForgeError;
use gitea_sdk_rs::Error;

pub(super) fn error(kind: RequestKind, what: &str, error: Error) -> ForgeError {
    match error {
        Error::Request(e) => from_transport(kind, what, e),
        Error::Api { status, body, .. } => from_status(kind, what, status, &message(&body), None),
        Error::UnknownApi { status, .. } => from_status(kind, what, status, "", None),
        Error::Validation(text) => ForgeError::Invalid(format!("{what}: {text}")),
        // A successful answer that cannot be parsed: a write was done and has to be read back.
        Error::Json(e) if kind == RequestKind::Write => ForgeError::Ambiguous(format!("{what}: {e}")),
        other => ForgeError::Protocol(format!("{what}: {other}")),
    }
}
