//! Labels and hooks, which repositories and organisations both have.

use super::text;
use crate::world::{Hook, Label, Result, World, refuse};
use serde_json::{Value, json};

pub(crate) fn new_label(world: &mut World, body: &Value) -> Result<Label> {
    let color = text(body, "color").trim_start_matches('#');
    if text(body, "name").is_empty() || color.len() != 6 || !color.bytes().all(|b| b.is_ascii_hexdigit()) {
        return refuse(422, "a label needs a name and a color such as #00aabb");
    }
    let id = world.id();
    let exclusive = body.get("exclusive").and_then(Value::as_bool).unwrap_or(false);
    let (name, color) = (text(body, "name").to_owned(), color.to_owned());
    Ok(Label { id, name, color, description: text(body, "description").to_owned(), exclusive })
}

/// Narrow event names are shown as the wide ones, as in Gitea; the secret is never shown.
pub(crate) fn hook_json(hook: &Hook) -> Value {
    let events: Vec<&str> = hook.events.iter().map(|e| e.strip_suffix("_only").unwrap_or(e)).collect();
    json!({
        "id": hook.id, "type": "gitea", "branch_filter": hook.branch_filter, "active": hook.active, "events": events,
        "config": { "url": hook.url, "content_type": hook.content_type }, "authorization_header": "",
    })
}

/// Creates a hook from a body; the caller stores it.
pub(crate) fn new_hook(world: &mut World, body: &Value) -> Result<Hook> {
    let config = body.get("config").cloned().unwrap_or_default();
    if text(&config, "url").is_empty() || text(&config, "content_type").is_empty() {
        return refuse(422, "Missing config option: url, content_type");
    }
    let id = world.id();
    let mut events: Vec<String> =
        body.get("events").and_then(|e| serde_json::from_value(e.clone()).ok()).unwrap_or_default();
    if events.is_empty() {
        events.push("push".into());
    }
    let (url, secret) = (text(&config, "url").to_owned(), text(&config, "secret").to_owned());
    let active = body.get("active").and_then(Value::as_bool).unwrap_or(false);
    let (content_type, branch_filter) = (text(&config, "content_type"), text(body, "branch_filter"));
    Ok(Hook {
        id,
        url,
        secret,
        events,
        active,
        content_type: content_type.to_owned(),
        branch_filter: branch_filter.to_owned(),
    })
}
