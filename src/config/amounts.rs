//! What the amounts of a budget table mean to the task machine.

use super::process::{Budget, GrantedBy};

impl Budget {
    /// What one task may use.
    pub fn granted(&self) -> domain::Budget {
        amounts(self.dollars, self.tokens, self.actions, self.minutes)
    }

    /// The most that one task may be granted in all.
    pub fn ceiling(&self) -> domain::Budget {
        amounts(self.most_dollars, self.most_tokens, self.most_actions, self.most_minutes)
    }

    /// Millionths of a US dollar for a day; none = no limit.
    pub fn day(&self) -> Option<u64> {
        Some(micro_usd(self.day_dollars)).filter(|&most| most > 0)
    }

    /// Millionths of a US dollar for a calendar month; none = no limit.
    pub fn month(&self) -> Option<u64> {
        Some(micro_usd(self.month_dollars)).filter(|&most| most > 0)
    }

    /// `granted_by` as the task machine takes it.
    pub fn granters(&self) -> domain::Granters {
        match self.granted_by {
            GrantedBy::Writers => domain::Granters::Writers,
            GrantedBy::Admins => domain::Granters::Admins,
            GrantedBy::Nobody => domain::Granters::Nobody,
        }
    }
}

fn amounts(dollars: f64, tokens: u64, actions: u32, minutes: u32) -> domain::Budget {
    let work_ms = u64::from(minutes) * 60_000;
    domain::Budget { micro_usd: micro_usd(dollars), tokens, actions: u64::from(actions), work_ms }
}

/// Millionths of a dollar, rounded down; 0 has no limit, so less than a millionth is one. A value beyond the budget's range saturates.
pub(super) fn micro_usd(dollars: f64) -> u64 {
    // Checked to be finite and not negative when it was loaded; `as` saturates.
    ((dollars * 1e6) as u64).max(u64::from(dollars > 0.0))
}

#[cfg(test)]
mod tests {
    use crate::config::Process;
    use std::path::Path;

    #[test]
    fn an_amount_of_money_that_rounds_to_nothing_is_a_limit_all_the_same() {
        let text = "[budget]\ndollars = 1e-7\nmost_dollars = 1e-7\nday_dollars = 1e-7\nmonth_dollars = 0.0\n";
        let budget = Process::from_layers(Path::new("/x/c.toml"), text, &|_| None).unwrap().budget;
        assert_eq!((budget.granted().micro_usd, budget.ceiling().micro_usd, budget.day()), (1, 1, Some(1)));
        assert_eq!(budget.month(), None, "0 is no limit");
    }
}
