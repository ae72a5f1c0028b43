//! What a task may still use, and the worst case of one model call.
//!
//! Owns: the arithmetic before a call; the fold of the log knows what was granted and spent. Must not: pause anything. A call is only made
//! if its worst case fits; to make it fit, the answer's length is reduced. Tests: below.

use domain::{Budget, Spent};

use crate::llm::Price;

/// The shortest limit of an answer, in tokens, with which a call is made.
const MIN_OUTPUT: u64 = 256;
/// By one in so many of its tokens the estimate of a prompt may be too low: that stays free beside the longest answer.
const SPARE: u64 = 32;
/// Tokens that a model may think before a short answer, whose limit counts both.
const THOUGHTS: u64 = 8_000;

/// What is left of each resource; `None` has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Micro-dollars.
    pub micro_usd: Option<u64>,
    /// Tokens of prompts and answers together.
    pub tokens: Option<u64>,
    /// Number of actions.
    pub actions: Option<u64>,
    /// Milliseconds of model calls and actions.
    pub work_ms: Option<u64>,
}

/// The limit of an answer that is to have `answer` tokens, with room for thoughts before it: at most an eighth of the window `context`.
pub(super) fn with_thoughts(answer: u64, context: u64) -> u64 {
    answer.saturating_add(THOUGHTS.min(context / 8))
}

/// Granted less spent.
pub fn left(granted: &Budget, spent: &Spent) -> Left {
    let less = |granted: u64, spent: u64| (granted > 0).then(|| granted.saturating_sub(spent));
    Left {
        micro_usd: less(granted.micro_usd, spent.micro_usd),
        tokens: less(granted.tokens, spent.tokens),
        actions: less(granted.actions, spent.actions),
        work_ms: less(granted.work_ms, spent.work_ms),
    }
}

/// A call that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The longest answer to ask for, in tokens.
    pub max_output_tokens: u64,
    /// Charged before the call is made, and replaced by the real cost once the answer is stored.
    pub worst_micro_usd: u64,
}

/// Why a call doesn't fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooMuch {
    /// The prompt leaves no room in the model's context for even a short answer.
    Context,
    /// Too little is left in this field of the budget, named as in [`Budget::exhausted`].
    Budget(&'static str),
}

/// The limits of a call with a prompt of about `prompt` tokens. `wanted` is the longest answer that the operator allows, `context` the
/// model's window. The prompt's worst case is a quarter above the estimate, but never above the window.
pub fn allow(left: &Left, price: &Price, prompt: u64, wanted: u64, context: u64) -> Result<Allowance, TooMuch> {
    let least = MIN_OUTPUT.min(wanted);
    if left.actions == Some(0) {
        return Err(TooMuch::Budget("actions"));
    }
    if left.work_ms == Some(0) {
        return Err(TooMuch::Budget("time"));
    }
    let room = context.saturating_sub(prompt);
    if room < least {
        return Err(TooMuch::Context);
    }
    // Several servers refuse what does not fit together with its longest answer, and the conversation would begin anew.
    let room = room.saturating_sub(prompt / SPARE).max(least);
    let worst_prompt = prompt.saturating_add(prompt / 4).min(context);
    let by_tokens = left.tokens.map_or(u64::MAX, |tokens| tokens.saturating_sub(prompt));
    if by_tokens < least {
        return Err(TooMuch::Budget("tokens"));
    }
    let by_money = left.micro_usd.map_or(u64::MAX, |money| affordable(money, price, worst_prompt));
    if by_money < least {
        return Err(TooMuch::Budget("money"));
    }
    let max_output_tokens = wanted.min(room).min(by_tokens).min(by_money);
    Ok(Allowance { max_output_tokens, worst_micro_usd: price.worst_case(worst_prompt, max_output_tokens) })
}

/// The longest answer in tokens that `money` pays for after the prompt.
fn affordable(money: u64, price: &Price, prompt: u64) -> u64 {
    let rest = match money.checked_sub(price.worst_case(prompt, 0)) {
        Some(rest) => u128::from(rest) * 1_000_000,
        None => return 0,
    };
    match price.output {
        0 => u64::MAX,
        output => u64::try_from(rest / u128::from(output)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price::from_dollars(3.0, 15.0, None, None).unwrap()
    }

    fn granted(micro_usd: u64, tokens: u64) -> Left {
        left(&Budget { micro_usd, tokens, actions: 10, work_ms: 10 }, &Spent::default())
    }

    #[test]
    fn without_limits_the_wish_is_granted() {
        let left = left(&Budget::default(), &Spent { micro_usd: 9, tokens: 9, actions: 9, work_ms: 9, unpriced: 0 });
        let allowance = allow(&left, &price(), 1000, 4096, 200_000).unwrap();
        assert_eq!(allowance, Allowance { max_output_tokens: 4096, worst_micro_usd: 4688 + 61_440 });
        assert_eq!(left.tokens, None);
    }

    #[test]
    fn the_answer_shrinks_before_the_call_is_refused() {
        let context = allow(&granted(0, 0), &price(), 9000, 4096, 10_000).unwrap();
        assert_eq!(context.max_output_tokens, 1000 - 9000 / 32, "the prompt may be a little longer than estimated");
        assert_eq!(allow(&granted(0, 0), &price(), 9700, 4096, 10_000).unwrap().max_output_tokens, MIN_OUTPUT);
        let tokens = allow(&granted(0, 2000), &price(), 1000, 4096, 200_000).unwrap();
        assert_eq!(tokens.max_output_tokens, 1000);
        let money = allow(&granted(20_000, 0), &price(), 1000, 4096, 200_000).unwrap();
        assert_eq!(money.max_output_tokens, (20_000 - 4688) / 15);
        assert!(money.worst_micro_usd <= 20_000);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let ask = |left: Left, prompt| allow(&left, &price(), prompt, 4096, 10_000).unwrap_err();
        assert_eq!(ask(granted(0, 0), 9_900), TooMuch::Context);
        assert_eq!(ask(granted(0, 1_100), 1_000), TooMuch::Budget("tokens"));
        assert_eq!(ask(granted(5_000, 0), 1_000), TooMuch::Budget("money"));
        assert_eq!(ask(Left { actions: Some(0), ..granted(0, 0) }, 10), TooMuch::Budget("actions"));
        assert_eq!(ask(Left { work_ms: Some(0), ..granted(0, 0) }, 10), TooMuch::Budget("time"));
    }

    #[test]
    fn a_short_answer_has_room_for_thoughts_before_it_and_a_small_window_less() {
        assert_eq!((with_thoughts(900, 200_000), with_thoughts(900, 8_000)), (8_900, 1_900));
    }

    #[test]
    fn a_free_model_is_never_short_of_money() {
        assert_eq!(allow(&granted(1, 0), &Price::default(), 1000, 4096, 200_000).unwrap().worst_micro_usd, 0);
    }
}
