//! Which issue of an upstream stands as which one here.

use super::*;

fn row(number: u64, issue: u64, closed: bool) -> UpstreamIssueRow {
    UpstreamIssueRow { forge_id: 4, upstream: 1_296_269, number, issue, closed }
}

pub async fn an_upstreams_issue_is_one_issue_here_until_the_repository_is_taken_out(fresh: Fresh) {
    let store = fresh.open().await;
    for (repository, new) in [("shop", row(12, 0, false)), ("shop", row(3, 7, false)), ("till", row(3, 8, false))] {
        store.keep_upstream_issue(repository, new).await.expect("stored");
    }
    let other = UpstreamIssueRow { upstream: 5, ..row(3, 9, false) };
    store.keep_upstream_issue("shop", other).await.expect("stored");
    store.keep_upstream_issue("shop", row(12, 10, false)).await.expect("opened");
    store.keep_upstream_issue("shop", row(3, 7, true)).await.expect("told");
    let of_shop = store.upstream_issues(("shop", 4), 1_296_269).await.expect("read");
    assert_eq!(of_shop, [row(3, 7, true), row(12, 10, false)]);
    assert_eq!(store.upstream_of_issue(("shop", 4), 10).await.expect("read"), Some(row(12, 10, false)));
    assert_eq!(store.upstream_of_issue(("shop", 4), 9).await.expect("read"), Some(other));
    assert_eq!(store.upstream_of_issue(("shop", 4), 8).await.expect("read"), None);
    // A repository that was made anew under the same key has none of them, and its own.
    assert!(store.upstream_issues(("shop", 5), 1_296_269).await.expect("read").is_empty());
    assert_eq!(store.upstream_of_issue(("shop", 5), 10).await.expect("read"), None);
    let anew = UpstreamIssueRow { forge_id: 5, ..row(3, 1, false) };
    store.keep_upstream_issue("shop", anew).await.expect("stored");
    assert_eq!(store.upstream_issues(("shop", 5), 1_296_269).await.expect("read"), [anew]);
    assert_eq!(store.upstream_issues(("shop", 4), 1_296_269).await.expect("read"), of_shop);
    let gone = |key: &str, generation, document: &str| StoredEntry {
        key: key.into(),
        document: document.into(),
        sealed: vec![1],
        generation,
        written_at: 1,
        written_by: "one".into(),
    };
    store.put_entry(gone("shop", 1, "{}")).await.expect("stored");
    store.put_entry(gone("shop", 2, "")).await.expect("taken out");
    assert!(store.upstream_issues(("shop", 4), 1_296_269).await.expect("read").is_empty());
    assert_eq!(store.upstream_issues(("till", 4), 1_296_269).await.expect("read"), [row(3, 8, false)]);
}

pub async fn another_hosts_upstream_issues_are_not_written(fresh: Fresh) {
    let store = fresh.open().await;
    let by_hand = fresh.by_hand().await;
    let sql = "INSERT INTO leases (repository, host, epoch, until) VALUES ('shop', 'two', 99, 0)";
    sqlx::query(sql).execute(&by_hand).await.expect("another host's");
    let refused = store.keep_upstream_issue("shop", row(3, 0, false)).await;
    assert!(matches!(refused, Err(StoreError::Elsewhere { .. })), "{refused:?}");
    assert!(store.upstream_issues(("shop", 4), 1_296_269).await.expect("read").is_empty());
}
