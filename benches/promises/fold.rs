//! Folding a log against reading it from the file.

use crate::line::{Line, ms, quantile, ratio};
use caisson::store::{Append, NewTask, Store};
use domain::*;
use std::time::Instant;

const EVENTS: usize = 1000;

pub fn request() -> Request {
    let person = Account { id: 7, login: "alice".into() };
    Request {
        kind: TaskKind::Fix,
        repository: "shop".into(),
        issue: 3,
        title: "Compare versions as numbers".into(),
        body: "text".into(),
        words: String::new(),
        asker: person.clone(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: person,
        edited: false,
        source: Source::Issue(3),
        number: 0,
        branch: "agent/3-compare".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 5,
        has_upstream: true,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    }
}

/// A task with about a thousand events, as remarks and grants would make them.
async fn filled(store: &Store) -> TaskId {
    let envelope = Envelope { key: "opened".into(), now: 1, input: Input::Requested { request: Box::new(request()) } };
    let (task, step) = transition(&Task::new(TaskId(0)), &envelope);
    let new = NewTask { task, input_key: "opened".into(), now: 1, step, epoch: 1, host: "".into() };
    let id = store.create(new).await.expect("stored").expect("new");
    let mut task = store.task(id).await.expect("folded");
    for i in 0..EVENTS {
        let outcome = Outcome {
            duration_ms: 12,
            ..Outcome::new(OutcomeStatus::Exited { code: 0 }, "a line of output\n".repeat(20))
        };
        let events = vec![Event::ActionFinished { number: i as u32, outcome }];
        let before = task.seq;
        events.iter().for_each(|event| task.apply(event));
        let step = Step { events, effects: Vec::new() };
        let key = format!("e{i}");
        let append = Append {
            task: task.clone(),
            expected_seq: before,
            input_key: key,
            now: 1,
            step,
            close: None,
            epoch: 1,
            host: "".into(),
        };
        store.append(append).await.expect("stored");
    }
    id
}

pub async fn measure() -> Vec<Line> {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(dir.path()).await.expect("a store");
    let id = filled(&store).await;
    let (mut reads, mut folds) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        let began = Instant::now();
        let log = store.log(id).await.expect("read");
        reads.push(began.elapsed());
        let began = Instant::now();
        let task = Task::fold(id, log.iter().map(|(_, event)| event));
        folds.push(began.elapsed());
        assert!(task.seq as usize > EVENTS);
    }
    let (read, fold) = (quantile(&mut reads, 0.5), quantile(&mut folds, 0.5));
    let share = ratio(fold, read);
    let text = format!("{} against {}: 1/{:.0}", ms(fold), ms(read), 1.0 / share);
    vec![Line::promise(
        "fold of 1,000 task events, against reading them from the file",
        text,
        "≤ 1/20",
        share <= 1.0 / 20.0,
    )]
}
