//! What a call costs, in micro-dollars (1_000_000 = one US dollar).
//!
//! Owns: the arithmetic. Prices come from the configuration; nothing here knows a vendor's list. Rounds up, saturates:
//! a budget must never be passed by rounding. Tests: below.

use super::{Price, Usage};

const MILLION: u128 = 1_000_000;

impl Price {
    /// From dollars for a million tokens, as people write prices: input, output, and the cache's two when they differ.
    /// Without a price of its own, reading the cache counts as input and writing it as a quarter more than input (Anthropic's
    /// five-minute cache). Negative and non-finite numbers are refused with a sentence.
    pub fn from_dollars(
        input: f64,
        output: f64,
        cache_read: Option<f64>,
        cache_write: Option<f64>,
    ) -> Result<Price, String> {
        Ok(Price {
            input: micro(input)?,
            output: micro(output)?,
            cache_read: micro(cache_read.unwrap_or(input))?,
            cache_write: micro(cache_write.unwrap_or(input * 1.25))?,
            unknown: false,
        })
    }

    /// The price of a call whose usage is known.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        u64::try_from(sum.div_ceil(MILLION)).unwrap_or(u64::MAX)
    }

    /// The most that a call can cost before it is made: the whole prompt at its dearest rate, and all of the output allowed.
    pub fn worst_case(&self, prompt_tokens: u64, max_output_tokens: u64) -> u64 {
        let dearest = self.input.max(self.cache_write).max(self.cache_read);
        let sum =
            u128::from(prompt_tokens) * u128::from(dearest) + u128::from(max_output_tokens) * u128::from(self.output);
        u64::try_from(sum.div_ceil(MILLION)).unwrap_or(u64::MAX)
    }
}

fn micro(dollars: f64) -> Result<u64, String> {
    if !dollars.is_finite() || !(0.0..=1_000_000.0).contains(&dollars) {
        return Err(format!("the price {dollars} is none; write dollars for a million tokens, such as 3.0"));
    }
    Ok((dollars * 1_000_000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_rounded_up() {
        let price = Price::from_dollars(3.0, 15.0, Some(0.3), None).unwrap();
        assert_eq!(
            price,
            Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000, unknown: false }
        );
        let usage = Usage { input: 1000, output: 100, cache_read: 10_000, cache_write: 0, reasoning: 0 };
        assert_eq!(price.cost(&usage), 3000 + 1500 + 3000);
        assert_eq!(price.cost(&Usage { cache_read: 1, ..Usage::default() }), 1);
        assert_eq!(Price::default().cost(&usage), 0);
    }

    #[test]
    fn the_worst_case_is_never_below_the_cost() {
        let price = Price::from_dollars(3.0, 15.0, None, None).unwrap();
        let usage = Usage { input: 10, output: 50, cache_read: 70, cache_write: 920, reasoning: 0 };
        assert!(price.worst_case(usage.prompt(), 50) >= price.cost(&usage));
        assert_eq!(price.worst_case(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_price_that_is_none_is_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(Price::from_dollars(bad, 1.0, None, None).is_err());
        }
    }
}
