//! `/retry`: ends the task and begins a new attempt at the same request, from the base branch or from a checkpoint that was approved.

use super::spec::{Argument, Spec, Strength, Who};
use domain::Verb;

pub(super) const SPEC: Spec = Spec {
    name: "retry",
    syntax: "/retry [--from N]",
    who: Who::Writer,
    effect: "begins a new attempt at the same words from the base branch, or from checkpoint N where that was approved, which knows what the one before tried; that one ends, its branch stays",
    strength: Strength::Work,
    options: &[],
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let mut words = argument.line().split_whitespace();
    let from = match words.next() {
        Some("--from") => words.next().unwrap_or_default(),
        Some(word) => match word.strip_prefix("--from=") {
            Some(value) => value,
            None if number(word).is_some() => word,
            None if argument.line().split_whitespace().any(|word| word.starts_with("--")) => {
                return Err("its only option is `--from N`, right behind it".to_owned());
            }
            // Ignored they would be lost: the new attempt works on the words of the one before.
            None => {
                return Err(
                    "it takes no words, because the task is done anew as it was asked for; `/revise …` at its first checkpoint says what to change"
                        .to_owned(),
                );
            }
        },
        None => return Ok(Verb::Retry { from: None }),
    };
    match (number(from), words.next()) {
        (Some(n), None) => Ok(Verb::Retry { from: Some(n) }),
        (None, _) | (Some(_), Some(_)) => {
            Err("the checkpoint is written as its number, alone: `/retry --from 2`".to_owned())
        }
    }
}

/// The number of a checkpoint, as people write it: `2` or `c2`.
fn number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix(['c', 'C']).unwrap_or(word);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use crate::command::parse;
    use domain::Verb;

    #[test]
    fn a_checkpoint_is_named_by_its_number_alone() {
        let verb = |text: &str| parse(text, "alice").commands.into_iter().next().expect("a command").verb;
        assert_eq!(verb("/retry"), Verb::Retry { from: None });
        for text in ["/retry --from 2", "/retry --from=2", "/retry 2", "/retry c2", "/retry --from C2"] {
            assert_eq!(verb(text), Verb::Retry { from: Some(2) }, "{text}");
        }
        assert_eq!(verb("/retry\nThe network was away."), Verb::Retry { from: None });
        for text in [
            "/retry use a set instead",
            "/retry --from 2 and use a set",
            "/retry --base main",
            "/retry now --from 2",
            "/retry --from",
            "/retry --from x",
            "/retry --from 0",
            "/retry 2 now",
            "/retry --from 99999999999",
        ] {
            assert!(matches!(verb(text), Verb::Unknown { why: Some(_), .. }), "{text}");
        }
        let stored: Verb = serde_json::from_str(r#"{"verb":"retry"}"#).expect("as earlier versions wrote it");
        assert_eq!(stored, Verb::Retry { from: None });
    }
}
