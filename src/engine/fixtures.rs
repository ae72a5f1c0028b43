//! Events of a task's log, for the tests that rebuild conversations.

use domain::*;
use serde_json::Value;

use super::tools;
use crate::llm::ToolCall;

pub(super) fn account(id: i64, login: &str) -> Account {
    Account { id, login: login.into() }
}

pub(super) fn commit(digit: char) -> Commit {
    Commit::parse(&digit.to_string().repeat(40)).unwrap()
}

pub(super) fn requested(kind: TaskKind, body: &str) -> Event {
    let request = Request {
        kind,
        repository: "demo".into(),
        issue: 3,
        title: "Versions compare wrongly".into(),
        body: body.into(),
        words: "make 1.10 newer than 1.9".into(),
        asker: account(1, "alice"),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: account(2, "mallory"),
        edited: false,
        source: Source::Comment(11),
        number: 11,
        branch: "agent/3-versions".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 2,
        has_upstream: true,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    };
    Event::Requested { request: Box::new(request) }
}

pub(super) fn call(id: &str, name: &str, arguments: Value) -> CallRequest {
    tools::request(&ToolCall { id: id.into(), name: name.into(), arguments, malformed: None })
}

pub(super) fn answer(turn: u32, text: &str, calls: Vec<CallRequest>) -> Event {
    let usage = Usage { input: 900, output: 50, cache_read: 0, cache_write: 0, reasoning: 0, unpriced: 0 };
    Event::TurnCompleted {
        turn,
        text: text.into(),
        calls,
        usage,
        micro_usd: 10,
        duration_ms: 5,
        model: "m".into(),
        vendor: None,
    }
}

pub(super) fn acted(number: u32, turn: u32, index: u32, status: OutcomeStatus, text: &str) -> [Event; 2] {
    let outcome = Outcome { duration_ms: 400, ..Outcome::new(status, text) };
    [Event::ActionStarted { number, turn, index }, Event::ActionFinished { number, outcome }]
}

pub(super) fn decided(verb: Verb, n: u32) -> Event {
    let decision = Decision::new(Source::Review(5), 20, (account(1, "alice"), Access::Write), verb);
    Event::DecisionUsed { decision: Box::new(decision), n }
}

pub(super) fn prepared() -> Event {
    Event::Prepared {
        base: commit('a'),
        boot: "b".into(),
        image: "i".into(),
        every: 5,
        note: None,
        budget: None,
        rules: domain::Rules::default(),
        pictures: Vec::new(),
        difference: None,
        scan: None,
        on_base: None,
    }
}
