//! How work begins without a command.

use serde::{Deserialize, Serialize};

/// What somebody did, instead of writing a command, that lets work begin where the operator set it so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Trigger {
    /// Assigned the issue to the bot's account.
    Assigned,
    /// Put a label on the issue.
    Label {
        /// The label's name.
        name: String,
    },
    /// Opened the issue, as somebody who may give the command.
    Writer,
}

impl Trigger {
    /// As the configuration writes it: `assigned`, `label:NAME` or `writer`.
    pub fn parse(text: &str) -> Option<Trigger> {
        match text {
            "assigned" => Some(Trigger::Assigned),
            "writer" => Some(Trigger::Writer),
            other => {
                let name = other.strip_prefix("label:").filter(|name| !name.is_empty() && *name == name.trim())?;
                Some(Trigger::Label { name: name.to_owned() })
            }
        }
    }
}

impl std::fmt::Display for Trigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trigger::Assigned => f.write_str("assigned"),
            Trigger::Label { name } => write!(f, "label:{name}"),
            Trigger::Writer => f.write_str("writer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Trigger;

    #[test]
    fn a_way_is_written_as_it_is_read() {
        for text in ["assigned", "writer", "label:agent", "label:kind/agent work"] {
            assert_eq!(Trigger::parse(text).map(|trigger| trigger.to_string()).as_deref(), Some(text));
        }
        for text in ["", "label:", "label: agent", "Assigned", "labels:agent", "everybody"] {
            assert_eq!(Trigger::parse(text), None, "{text}");
        }
    }
}
