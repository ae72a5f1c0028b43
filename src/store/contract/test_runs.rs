//! Commands that people have run on a branch.

use super::*;
use domain::*;

fn new(key: &str, repository: &str, now: i64) -> NewTestRun {
    NewTestRun {
        input_key: key.into(),
        repository: repository.into(),
        thread: 3,
        poster: Account { id: 7, login: "alice".into() },
        run: TestRun {
            command: "make test".into(),
            setup: None,
            bug: false,
            branch: "mend".into(),
            commit: Commit::parse(&"a".repeat(40)).expect("a commit"),
            base_branch: "main".into(),
            each_push: false,
        },
        now,
        most: 2,
    }
}

pub async fn a_run_is_taken_up_once_and_goes_on_until_it_is_answered(fresh: Fresh) {
    let store = fresh.open().await;
    assert_eq!(store.take_up_test_run(new("comment:7#0", "shop", 10)).await.expect("asked"), TakenUp::Begun(1));
    assert_eq!(store.take_up_test_run(new("comment:7#0", "shop", 11)).await.expect("again"), TakenUp::Known);
    assert!(store.knows_input("comment:7#0").await.expect("read"));
    store.test_run_begins(1).await.expect("begun");
    let open = store.open_test_runs().await.expect("read");
    assert_eq!((open.len(), open[0].tries, open[0].thread, &open[0].result), (1, 1, 3, &None));
    assert_eq!(open[0].run, new("", "shop", 0).run);
    let result = TestResult::NotRun { why: "the engine was away".into() };
    store.test_run_ended(1, &result, "nothing\0").await.expect("ended");
    assert_eq!(store.open_test_runs().await.expect("read")[0].result, Some(result), "its answer is owed");
    store.test_run_answered(1).await.expect("answered");
    assert!(store.open_test_runs().await.expect("read").is_empty());
    let (row, log) = store.test_run(1).await.expect("read").expect("there");
    assert!(row.login == "alice" && log.is_some_and(|log| log.starts_with("nothing")));
    let old = Before { tasks: Some(11), ..Before::default() };
    while store.prune(old).await.expect("pruned") {}
    assert!(store.test_run(1).await.expect("read").is_none());
    let next = store.take_up_test_run(new("comment:9#0", "shop", 20)).await.expect("asked");
    assert_eq!(next, TakenUp::Begun(2), "a number is given once");
}

pub async fn an_hour_has_room_for_so_many_of_one_repository(fresh: Fresh) {
    let store = fresh.open().await;
    for (key, at) in [("comment:1#0", 1_000), ("comment:2#0", 2_000)] {
        let taken = store.take_up_test_run(new(key, "shop", at)).await.expect("asked");
        assert!(matches!(taken, TakenUp::Begun(_)), "{taken:?}");
    }
    let full = store.take_up_test_run(new("comment:3#0", "shop", 3_000)).await.expect("asked");
    assert_eq!(full, TakenUp::Full(1_000 + HOUR_MS));
    assert!(!store.knows_input("comment:3#0").await.expect("read"), "whoever answers it takes it up");
    let other = store.take_up_test_run(new("comment:3#0", "till", 3_000)).await.expect("asked");
    assert_eq!(other, TakenUp::Begun(3));
    let later = store.take_up_test_run(new("comment:4#0", "shop", 1_000 + HOUR_MS)).await.expect("asked");
    assert_eq!(later, TakenUp::Begun(4));
}

pub async fn a_pull_request_is_watched_with_its_newest_run_until_that_is_taken_back(fresh: Fresh) {
    let store = fresh.open().await;
    let at = |key: &str, digit: &str, each_push: bool| {
        let mut new = NewTestRun { most: 9, ..new(key, "shop", 10) };
        new.run.commit = Commit::parse(&digit.repeat(40)).expect("a commit");
        new.run.each_push = each_push;
        new
    };
    store.take_up_test_run(at("comment:1#0", "a", false)).await.expect("asked");
    assert_eq!(store.watched_pull("shop", 3).await.expect("read"), None, "a single run watches nothing");
    store.take_up_test_run(at("comment:2#0", "a", true)).await.expect("asked");
    let other = NewTestRun { poster: Account { id: 8, login: "bob".into() }, ..at("push:3:b", "b", true) };
    store.take_up_test_run(other.clone()).await.expect("asked");
    let known = NewTestRun { poster: Account { id: 9, login: "eve".into() }, ..other.clone() };
    assert_eq!(store.take_up_test_run(known).await.expect("asked"), TakenUp::Known);
    let found = store.watched_pull("shop", 3).await.expect("read").expect("watched");
    assert_eq!(found, WatchedPull { poster: other.poster, run: other.run });
    assert_eq!(store.watched_pull("till", 3).await.expect("read"), None);
    assert!(store.unwatch_pull("shop", 3).await.expect("taken back"));
    assert!(!store.unwatch_pull("shop", 3).await.expect("taken back twice"));
    assert_eq!(store.watched_pull("shop", 3).await.expect("read"), None);
}
