//! A command of the repository's own that began a task.

use crate::common::{BASE, commit, request};
use caisson_domain::*;

fn own() -> OwnCommand {
    OwnCommand {
        name: "compare".into(),
        commit: commit(BASE),
        blob: "b".repeat(40),
        who: vec!["admins".into()],
        every: Some(2),
        budget: Budget { actions: 30, ..Budget::default() },
        network: vec!["docs.example.org".into()],
        lacks: vec!["docs.example.org".into()],
        closed: Vec::new(),
        model: None,
        role: None,
    }
}

#[test]
fn a_log_keeps_it_and_an_older_one_has_none() {
    let asked = Request { own: Some(Box::new(own())), ..request(TaskKind::Fix) };
    let event = Event::Requested { request: Box::new(asked.clone()) };
    let stored = serde_json::to_string(&event).expect("written");
    assert_eq!(serde_json::from_str::<Event>(&stored).expect("read"), event);
    let task = Task::fold(TaskId(1), &[event]);
    assert_eq!(task.request.and_then(|request| request.own), asked.own);
    let plain = serde_json::to_value(request(TaskKind::Fix)).expect("written");
    assert!(plain.get("own").is_none(), "a host of an earlier version reads what it always did");
    assert_eq!(serde_json::from_value::<Request>(plain).expect("read").own, None);
    let least = format!(r#"{{"name":"compare","commit":"{BASE}","blob":"b"}}"#);
    let least: OwnCommand = serde_json::from_str(&least).expect("read");
    assert_eq!((least.every, least.budget, least.network.len()), (None, Budget::default(), 0));
}

#[test]
fn it_narrows_and_widens_nothing() {
    let usual = Budget { actions: 20, micro_usd: 5, ..Budget::default() };
    assert_eq!(own().narrowed(&usual), usual);
    assert_eq!(own().narrowed(&Budget { actions: 100, ..usual }).actions, 30);
    assert_eq!((own().at_most(5), own().at_most(1)), (2, 1));
    let large = Budget { actions: 30, micro_usd: 9, tokens: 7, work_ms: 0 };
    assert_eq!(large.above(&usual), [("money", 9, 5), ("actions", 30, 20)], "tokens have no limit");
    assert!(usual.above(&usual).is_empty());
    let open = OwnCommand { every: None, budget: Budget::default(), ..own() };
    assert_eq!((open.at_most(3), open.narrowed(&usual)), (3, usual));
    assert_eq!(OwnCommand { every: Some(0), ..own() }.at_most(5), 1, "whatever a log says");
}
