//! The queue for slots: who is next, and why a queued task waits. Owns the order and the limits; `bot` decides when a slot is given, and
//! `domain::transition` gives it.
//!
//! The longest without a turn is next: first among people, then among the repositories of one person, then that person's oldest task. So a
//! person with twenty tasks delays another's first task by at most one. The time of a turn is stored with it.
//! Tests: `tests.rs`, and `tests/stories/line.rs`.

use crate::config::Process;
use crate::store::{LineRow, Store, StoreError};
use domain::TaskId;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A queued or active task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The task.
    pub id: TaskId,
    /// Number of events in its log.
    pub seq: i64,
    /// The repository's key.
    pub repository: String,
    /// Login of the account that gave the command.
    pub person: String,
}

/// The most tasks at work at the same time; 0 = no limit.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Limit of all tasks.
    pub all: usize,
    /// Limit of each person.
    pub person: usize,
    /// Limit of each repository, by its key; one without an entry has no limit.
    pub repositories: HashMap<String, usize>,
}

/// Why a queued task has no slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// All slots are taken.
    Full {
        /// Number of slots.
        most: usize,
    },
    /// Its repository has as many tasks at work as allowed.
    Repository {
        /// Limit of the repository.
        most: usize,
    },
    /// The person who asked for it has as many tasks at work as allowed.
    Person {
        /// Login of that account.
        login: String,
        /// Limit of each person.
        most: usize,
    },
    /// No reason; the next evaluation gives it a slot.
    Soon,
}

/// Position of a task in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePosition {
    /// Position in the present order of slots, from 1.
    pub number: usize,
    /// Number of queued tasks.
    pub of: usize,
    /// Why it has no slot.
    pub why: Why,
}

/// The queue of one host.
#[derive(Debug, Clone, Default)]
pub struct Line {
    limits: Limits,
    at_work: Vec<Member>,
    waiting: Vec<Member>,
    /// When a person last got a slot in a repository.
    turns: HashMap<(String, String), i64>,
}

/// Queued tasks of one person in one repository.
struct Pair<'a> {
    person: usize,
    last: i64,
    waiting: VecDeque<&'a Member>,
}

/// Number of tasks at work.
#[derive(Default)]
struct Counts<'a> {
    all: usize,
    persons: HashMap<&'a str, usize>,
    repositories: HashMap<&'a str, usize>,
}

impl<'a> Counts<'a> {
    fn of(members: &'a [Member]) -> Self {
        let mut counts = Self::default();
        members.iter().for_each(|member| counts.add(member));
        counts
    }

    fn add(&mut self, member: &'a Member) {
        self.all += 1;
        *self.persons.entry(&member.person).or_default() += 1;
        *self.repositories.entry(&member.repository).or_default() += 1;
    }
}

impl Limits {
    fn of(config: &Process, repositories: impl Iterator<Item = String>) -> Self {
        let own = |key: String| {
            let most = config.slots_of(&key);
            (key, most)
        };
        Self { all: config.max_tasks, person: config.slots.per_person, repositories: repositories.map(own).collect() }
    }

    /// Why a task can't have a slot now; none where it can.
    fn keeps(&self, counts: &Counts<'_>, member: &Member) -> Option<Why> {
        let full = |count: Option<&usize>, most: usize| most > 0 && count.copied().unwrap_or(0) >= most;
        let of_repository = self.repositories.get(&member.repository).copied().unwrap_or(0);
        if full(counts.repositories.get(member.repository.as_str()), of_repository) {
            return Some(Why::Repository { most: of_repository });
        }
        if full(counts.persons.get(member.person.as_str()), self.person) {
            return Some(Why::Person { login: member.person.clone(), most: self.person });
        }
        full(Some(&counts.all), self.all).then_some(Why::Full { most: self.all })
    }
}

impl Line {
    /// A queue from its parts; `turns` are times by repository and person.
    pub fn new(
        limits: Limits,
        at_work: Vec<Member>,
        waiting: Vec<Member>,
        turns: HashMap<(String, String), i64>,
    ) -> Self {
        Self { limits, at_work, waiting, turns }
    }

    /// Reads the queue of the repositories that `own` accepts from the store. A task that cannot be read does nothing, so it is not at work.
    pub async fn read(store: &Store, config: &Process, own: impl Fn(&str) -> bool) -> Result<Self, StoreError> {
        let (rows, turns) = (store.line().await?, store.turns().await?);
        let (mut at_work, mut waiting, unreadable) = (Vec::new(), Vec::new(), store.unreadable());
        for LineRow { id, repository, asker, state, seq } in rows.into_iter().filter(|row| own(&row.repository)) {
            let into = match state.as_str() {
                "queued" => &mut waiting,
                _ if unreadable.contains(&TaskId(id)) => continue,
                _ => &mut at_work,
            };
            into.push(Member { id: TaskId(id), seq, repository, person: asker });
        }
        let repositories = waiting.iter().map(|member| member.repository.clone());
        let limits = Limits::of(config, repositories);
        let turns = turns.into_iter().map(|turn| ((turn.repository, turn.person), turn.at)).collect();
        Ok(Self::new(limits, at_work, waiting, turns))
    }

    /// The same queue without these of the queued tasks.
    #[must_use]
    pub fn without(mut self, tasks: &HashSet<TaskId>) -> Self {
        self.waiting.retain(|member| !tasks.contains(&member.id));
        self
    }

    /// Position of a task; none where it is not queued. Uses the queue of the host that works for its repository.
    pub async fn standing_of(
        store: &Store,
        config: &Process,
        repository: &str,
        id: TaskId,
    ) -> Result<Option<LinePosition>, StoreError> {
        let holder = match store.is_shared() {
            true => store.hosts().await?.into_iter().find(|host| host.repositories.iter().any(|key| key == repository)),
            false => None,
        };
        let own = |key: &str| holder.as_ref().is_none_or(|host| host.repositories.iter().any(|held| held == key));
        Ok(Self::read(store, config, own).await?.standing(id))
    }

    /// The tasks that get a slot now, in order.
    pub fn next(&self) -> Vec<&Member> {
        let mut counts = Counts::of(&self.at_work);
        self.order(|member| match self.limits.keeps(&counts, member) {
            Some(_) => false,
            None => {
                counts.add(member);
                true
            }
        })
    }

    /// Position of a task; none where it is not queued.
    pub fn standing(&self, id: TaskId) -> Option<LinePosition> {
        let at = self.order(|_| true).iter().position(|member| member.id == id)?;
        let member = self.waiting.iter().find(|member| member.id == id)?;
        let why = self.limits.keeps(&Counts::of(&self.at_work), member).unwrap_or(Why::Soon);
        Some(LinePosition { number: at + 1, of: self.waiting.len(), why })
    }

    /// Queued tasks in the order of their turns; `take` says whether a task uses its turn.
    fn order<'a>(&'a self, mut take: impl FnMut(&'a Member) -> bool) -> Vec<&'a Member> {
        let (mut pairs, mut persons) = self.pairs();
        let mut now = self.turns.values().max().map_or(0, |last| last.saturating_add(1));
        let mut given = Vec::new();
        loop {
            let turn = |pair: &Pair<'_>| Some((persons[pair.person], pair.last, pair.waiting.front()?.id));
            let next = pairs.iter().enumerate().filter_map(|(at, pair)| Some((turn(pair)?, at))).min();
            let Some((_, at)) = next else { return given };
            let pair = &mut pairs[at];
            // If a task can't have a slot, the others of its pair can't either, because the same limits apply.
            let Some(member) = pair.waiting.pop_front() else { return given };
            if take(member) {
                given.push(member);
                (persons[pair.person], pair.last) = (now, now);
                now = now.saturating_add(1);
            } else {
                pair.waiting.clear();
            }
        }
    }

    /// The pairs with queued tasks, and the last turn of each of their people.
    fn pairs(&self) -> (Vec<Pair<'_>>, Vec<i64>) {
        let mut people: BTreeMap<&str, usize> = BTreeMap::new();
        let mut pairs: BTreeMap<(&str, &str), Pair<'_>> = BTreeMap::new();
        let mut last = Vec::new();
        for member in &self.waiting {
            let person = *people.entry(&member.person).or_insert_with(|| {
                let of = self.turns.iter().filter(|((_, person), _)| *person == member.person);
                last.push(of.map(|(_, at)| *at).max().unwrap_or(i64::MIN));
                last.len() - 1
            });
            let turn = || self.turns.get(&(member.repository.clone(), member.person.clone())).copied();
            let pair = pairs.entry((&member.repository, &member.person)).or_insert_with(|| Pair {
                person,
                last: turn().unwrap_or(i64::MIN),
                waiting: VecDeque::new(),
            });
            pair.waiting.push_back(member);
        }
        (pairs.into_values().collect(), last)
    }
}

#[cfg(test)]
mod tests;
