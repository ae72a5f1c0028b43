//! Commands that people have run on a branch.

use super::*;
use domain::*;

fn new(key: &str, repository: &str, now: i64) -> NewTestRun {
    NewTestRun {
        cause: Cause::Text(key.into()),
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

pub async fn a_run_is_overtaken_by_a_later_one_of_its_commit_that_has_begun(fresh: Fresh) {
    let store = fresh.open().await;
    for (number, bug, digit) in [(1, false, "a"), (2, true, "a"), (3, false, "b"), (4, false, "a")] {
        let mut new = NewTestRun { most: 9, ..new(&format!("comment:{number}#0"), "shop", 10) };
        (new.run.bug, new.run.commit) = (bug, Commit::parse(&digit.repeat(40)).expect("a commit"));
        store.take_up_test_run(new).await.expect("asked");
    }
    let first = store.open_test_runs().await.expect("read").remove(0);
    for id in [2, 3] {
        store.test_run_begins(id).await.expect("begun");
    }
    assert!(!store.is_overtaken(&first).await.expect("read"), "by another kind, or on another commit");
    store.test_run_begins(4).await.expect("begun");
    assert!(store.is_overtaken(&first).await.expect("read"));
}

/// A run at each push, on the commit of this digit.
fn watching(cause: Cause, digit: &str, bug: bool) -> NewTestRun {
    let mut new = NewTestRun { most: 9, cause, ..new("", "shop", 10) };
    new.run.commit = Commit::parse(&digit.repeat(40)).expect("a commit");
    (new.run.each_push, new.run.bug) = (true, bug);
    new
}

fn text(key: &str) -> Cause {
    Cause::Text(key.into())
}

async fn watched(store: &Store) -> Vec<WatchedPull> {
    store.watched_pull("shop", 3).await.expect("read")
}

pub async fn a_pull_request_is_watched_with_its_newest_run_until_that_is_taken_back(fresh: Fresh) {
    let store = fresh.open().await;
    store.take_up_test_run(new("comment:1#0", "shop", 10)).await.expect("asked");
    assert!(watched(&store).await.is_empty(), "a single run watches nothing");
    store.take_up_test_run(watching(text("comment:2#0"), "a", false)).await.expect("asked");
    store.take_up_test_run(watching(text("comment:3#0"), "a", true)).await.expect("asked");
    let seen = watched(&store).await;
    assert_eq!(seen.iter().map(|it| it.run.bug).collect::<Vec<_>>(), [false, true], "one of each");
    let push = watching(Cause::Push(seen[0].clone()), "b", false);
    let begun = store.take_up_test_run(push.clone()).await.expect("asked");
    assert!(matches!(begun, TakenUp::Begun(_)), "{begun:?}");
    assert_eq!(store.take_up_test_run(push.clone()).await.expect("asked"), TakenUp::Known, "a push is tested once");
    let moved = watched(&store).await;
    assert_eq!((&moved[0].run, &moved[0].poster), (&push.run, &push.poster));
    store.unwatch_seen("shop", 3, &seen[0]).await.expect("taken back");
    assert_eq!(watched(&store).await.len(), 2, "it is not watched so any more");
    store.unwatch_seen("shop", 3, &seen[1]).await.expect("taken back");
    assert_eq!(watched(&store).await, [moved[0].clone()]);
    store.unwatch_pull("shop", 3, "comment:4#0~off", 11).await.expect("taken back");
    assert!(watched(&store).await.is_empty());
    let late = watching(Cause::Push(moved[0].clone()), "c", false);
    assert_eq!(store.take_up_test_run(late).await.expect("asked"), TakenUp::Known, "it was taken back meanwhile");
    assert!(watched(&store).await.is_empty());
    store.take_up_test_run(watching(text("comment:5#0"), "c", false)).await.expect("asked");
    store.unwatch_pull("shop", 3, "comment:4#0~off", 12).await.expect("again");
    assert_eq!(watched(&store).await.len(), 1, "what was asked for later stays");
}

pub async fn a_repository_that_is_taken_out_is_watched_no_more(fresh: Fresh) {
    let store = fresh.open().await;
    store.take_up_test_run(watching(text("comment:2#0"), "a", false)).await.expect("asked");
    let entry = |document: &str, generation| StoredEntry {
        key: "shop".into(),
        document: document.into(),
        sealed: Vec::new(),
        generation,
        written_at: 1,
        written_by: "a test".into(),
    };
    store.take_up_test_run(new("comment:3#0", "till", 10)).await.expect("asked");
    store.put_entry(entry("[x]", 1)).await.expect("put");
    let open = async || {
        let rows = store.open_test_runs().await.expect("read");
        rows.into_iter().map(|row| row.repository).collect::<Vec<_>>()
    };
    assert_eq!(watched(&store).await.len(), 1);
    assert_eq!(open().await, ["shop", "till"]);
    store.put_entry(entry("", 2)).await.expect("taken out");
    assert!(watched(&store).await.is_empty());
    // Who asked for it cannot be answered, and another repository may get the key.
    assert_eq!(open().await, ["till"]);
}
