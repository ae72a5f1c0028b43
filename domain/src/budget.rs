//! What a task may use and has used: money, tokens, actions, time.

use serde::{Deserialize, Serialize};

/// Granted amounts. Zero means: no limit of this kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a US dollar.
    pub micro_usd: u64,
    /// Tokens of all model calls, counted as [`crate::Usage::total`] does.
    pub tokens: u64,
    /// Actions over the whole task.
    pub actions: u64,
    /// Milliseconds of work (model calls and actions), not of waiting for a person.
    pub work_ms: u64,
}

/// What a task has used so far, in the same kinds and units as [`Budget`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Millionths of a US dollar; a model call whose answer was lost is charged its worst case.
    pub micro_usd: u64,
    /// Tokens of all model calls that were answered, counted as [`crate::Usage::total`] does.
    pub tokens: u64,
    /// Actions that were started, denied and interrupted ones included.
    pub actions: u64,
    /// Milliseconds of model calls and actions, not of waiting for a person.
    pub work_ms: u64,
    /// Of the tokens: those whose price is not known, so that `micro_usd` has nothing of them.
    #[serde(default, skip_serializing_if = "crate::outcome::is_zero")]
    pub unpriced: u64,
}

impl Budget {
    /// The first field that is used up, by name.
    pub fn exhausted(&self, spent: &Spent) -> Option<&'static str> {
        let used = [spent.micro_usd, spent.tokens, spent.actions, spent.work_ms];
        let out = |((_, granted), used): &((&str, u64), u64)| *granted > 0 && used >= granted;
        self.kinds().into_iter().zip(used).find(out).map(|((what, _), _)| what)
    }

    /// Whether what is left in money pays for a call of this worst case (millionths of a US dollar); without a limit in money it does.
    pub fn pays(&self, spent: &Spent, worst_micro_usd: u64) -> bool {
        self.micro_usd == 0 || worst_micro_usd <= self.micro_usd.saturating_sub(spent.micro_usd)
    }

    /// Adds a grant kind by kind; a kind without a limit (0) keeps none.
    pub fn add(&mut self, more: &Budget) {
        let sum = |a: u64, b: u64| if a == 0 { 0 } else { a.saturating_add(b) };
        *self = self.with(more, sum);
    }

    /// What was granted on top of `began`.
    pub fn beyond(&self, began: &Budget) -> Budget {
        self.with(began, u64::saturating_sub)
    }

    /// The smaller of both in each kind.
    pub fn narrowed(&self, to: &Budget) -> Budget {
        self.with(to, |a, b| if a == 0 || b == 0 { a.max(b) } else { a.min(b) })
    }

    /// The kinds of which this has more than `most`: name, amount of this, amount of `most`. A kind without a limit in `most` is never exceeded.
    pub fn above(&self, most: &Budget) -> Vec<(&'static str, u64, u64)> {
        let kinds = self.kinds().into_iter().zip(most.kinds());
        let both = kinds.map(|((what, asked), (_, most))| (what, asked, most));
        both.filter(|(_, asked, most)| *most > 0 && asked > most).collect()
    }

    /// Why `more` cannot be granted on top of this; `ceiling` is the most that one task may have in all.
    pub fn bar(&self, more: &Budget, ceiling: &Budget) -> Option<BudgetBar> {
        let kinds = self.kinds().into_iter().zip(more.kinds()).zip(ceiling.kinds());
        let mut asked = kinds.filter(|((_, (_, more)), _)| *more > 0);
        asked.find_map(|(((what, granted), (_, more)), (_, most))| match granted {
            0 => Some(BudgetBar::Unlimited { what: what.to_owned() }),
            _ if most > 0 && granted.saturating_add(more) > most => {
                Some(BudgetBar::Ceiling { what: what.to_owned(), left: most.saturating_sub(granted), most })
            }
            _ => None,
        })
    }

    /// Every kind by its name, in its unit.
    pub fn kinds(&self) -> [(&'static str, u64); 4] {
        [("money", self.micro_usd), ("tokens", self.tokens), ("actions", self.actions), ("time", self.work_ms)]
    }

    fn with(&self, other: &Budget, of: impl Fn(u64, u64) -> u64) -> Budget {
        Budget {
            micro_usd: of(self.micro_usd, other.micro_usd),
            tokens: of(self.tokens, other.tokens),
            actions: of(self.actions, other.actions),
            work_ms: of(self.work_ms, other.work_ms),
        }
    }
}

/// Why more is not granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "bar", rename_all = "snake_case")]
pub enum BudgetBar {
    /// The operator lets nobody, or only administrators of the repository, grant more.
    Who {
        /// Whether administrators of the repository may; otherwise nobody may.
        admins: bool,
    },
    /// There is no limit of this kind to raise.
    Unlimited {
        /// Name of the kind, as [`Budget::kinds`] has it.
        what: String,
    },
    /// One task may have `most` in all; `left` of it is not granted yet. Both in the unit of this kind.
    Ceiling {
        /// Name of the kind, as [`Budget::kinds`] has it.
        what: String,
        /// Amount that may still be granted; 0 for nothing.
        left: u64,
        /// Amount that one task may have in all.
        most: u64,
    },
}
