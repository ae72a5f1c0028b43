//! The calls for one question beside the conversation, as the log has them. Pure.

/// What came of the calls for one question.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    begun: usize,
    ended: usize,
    is_over: bool,
}

impl Tries {
    /// From the question's events in their order: `true` where an answer is stored (one without text as well), `false` where a call begins.
    pub fn of(events: impl IntoIterator<Item = bool>) -> Self {
        events.into_iter().fold(Self::default(), |so_far, ended| Self {
            begun: so_far.begun + usize::from(!ended),
            ended: so_far.ended + usize::from(ended),
            is_over: ended,
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
}

#[cfg(test)]
mod tests {
    use super::Tries;

    #[test]
    fn a_refusal_behind_which_another_model_was_asked_is_no_end() {
        let of =
            |events: &[bool]| (Tries::of(events.iter().copied()).is_over(), Tries::of(events.iter().copied()).lost());
        assert_eq!((of(&[]), of(&[false]), of(&[false, true])), ((false, 0), (false, 1), (true, 0)));
        assert_eq!((of(&[false, true, false]), of(&[false, false, true, false, true])), ((false, 1), (true, 1)));
    }
}
