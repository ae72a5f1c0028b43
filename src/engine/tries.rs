//! The calls for one question beside the conversation, as the log has them. Pure.

/// One event of a question's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStep<'a> {
    /// A call begins.
    Begun,
    /// The model with this label did not answer, which cost nothing.
    Refused(&'a str),
    /// An answer is stored, one without text as well.
    Ended,
}

impl<'a> CallStep<'a> {
    /// What is stored behind a call. Each answer of a model has tokens, so one without is a refusal.
    pub fn stored(label: &'a str, tokens: u64) -> Self {
        if tokens == 0 { CallStep::Refused(label) } else { CallStep::Ended }
    }
}

/// What came of the calls for one question.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tries<'a> {
    begun: usize,
    ended: usize,
    is_over: bool,
    /// The model that refused, if the newest stored answer is a refusal.
    refused: Option<&'a str>,
}

impl<'a> Tries<'a> {
    /// From the question's events in their order.
    pub fn of(steps: impl IntoIterator<Item = CallStep<'a>>) -> Self {
        steps.into_iter().fold(Self::default(), |so_far, step| match step {
            CallStep::Begun => Self { begun: so_far.begun + 1, is_over: false, ..so_far },
            // Without a call before it, it says why none was made.
            CallStep::Refused(label) => {
                Self { ended: so_far.ended + 1, is_over: true, refused: (so_far.begun > 0).then_some(label), ..so_far }
            }
            CallStep::Ended => Self { ended: so_far.ended + 1, is_over: true, refused: None, ..so_far },
        })
    }

    /// Whether an answer is stored, and no other model was asked behind it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Number of calls without a stored answer.
    pub fn lost(&self) -> usize {
        self.begun.saturating_sub(self.ended)
    }

    /// Where a list of models with these labels goes on behind the one that refused last, as after a kill; none if none stands behind it.
    pub fn next(&self, labels: &[String]) -> Option<usize> {
        behind(self.refused?, labels)
    }
}

/// The position behind this model in a list; none if it is not in the list, or the last.
pub(super) fn behind(label: &str, labels: &[String]) -> Option<usize> {
    let next = labels.iter().position(|known| known == label)? + 1;
    (next < labels.len()).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::CallStep::{Begun, Ended, Refused};
    use super::{CallStep, Tries};

    #[test]
    fn a_refusal_behind_which_another_model_was_asked_is_no_end() {
        let of = |steps: &[CallStep<'static>]| {
            let tries = Tries::of(steps.iter().copied());
            (tries.is_over(), tries.lost())
        };
        assert_eq!((of(&[]), of(&[Begun]), of(&[Begun, Ended])), ((false, 0), (false, 1), (true, 0)));
        let refused = Refused("first");
        assert_eq!((of(&[Begun, refused, Begun]), of(&[Begun, Begun, refused, Begun, Ended])), ((false, 1), (true, 1)));
    }

    #[test]
    fn a_list_goes_on_behind_the_model_that_refused_last() {
        let labels = ["first", "spare", "last"].map(str::to_owned);
        let next = |steps: &[CallStep<'static>]| Tries::of(steps.iter().copied()).next(&labels);
        assert_eq!((next(&[]), next(&[Begun]), next(&[Begun, Ended])), (None, None, None));
        let refused = |label| [Begun, Refused(label)];
        assert_eq!(
            (next(&refused("first")), next(&refused("spare")), next(&refused("last"))),
            (Some(1), Some(2), None)
        );
        assert_eq!(next(&refused("gone")), None, "it is in the list no more");
        assert_eq!(next(&[Begun, Refused("first"), Begun]), Some(1), "the call whose answer was lost is made again");
        assert_eq!(next(&[Begun, Refused("first"), Begun, Ended]), None);
        assert_eq!(next(&[Refused("first")]), None, "no call was made, and the words say why");
        assert_eq!(CallStep::stored("first", 0), Refused("first"));
        assert_eq!(CallStep::stored("first", 7), Ended);
    }
}
