//! `web_fetch`: reads a web page.

use domain::{Action, ActionKind, Call};
use serde_json::json;

use super::tool::{Tool, text};
use crate::engine::arguments::Arguments;

pub(super) const TOOL: Tool = Tool {
    name: ActionKind::WebFetch.name(),
    action: Some(ActionKind::WebFetch),
    description: |_| {
        "Fetches a page and returns it as Markdown. Only hosts that the operator allowed answer. The middle of a long page is left out; the \
         result then names the file with all of it, for read_file and search."
    },
    brief: |_| None,
    properties: |_| json!({ "url": text("address that begins with https:// or http://") }),
    required: &["url"],
    read,
};

fn read(arguments: &Arguments<'_>) -> Result<Call, String> {
    let given = arguments.words("url")?;
    let parsed = url::Url::parse(given.trim()).map_err(|e| format!("web_fetch: `url` is no address: {e}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("web_fetch: `url` must begin with https:// or http://".to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("web_fetch: `url` must not hold a name or password".to_owned());
    }
    Ok(Call::Action { action: Action::WebFetch { url: parsed.to_string() } })
}
