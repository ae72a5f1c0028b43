//! Copying from one database to the other and back.

use super::retention::rows;
use super::*;

/// A store with tasks, texts, deliveries and deleted numbers: rows in every table.
async fn filled(fresh: &Fresh) -> domain::TaskId {
    let store = fresh.open().await;
    store.begin_epoch(1).await.expect("begun");
    store.begin_epoch(2).await.expect("begun");
    let id = acting(&store).await;
    store.keep_egress(id, vec![(1, 1, "a\0b".to_owned())]).await.expect("kept");
    store.remember_post(id, "review:1", 5).await.expect("kept");
    store.deliver(delivery("d1", 1, b"\x00\xff{}")).await.expect("stored");
    store.set_watermark("shop", 9).await.expect("set");
    store.could_not_read("shop", 4, 1).await.expect("noted");
    store
        .keep_address(Address { repository: "shop".into(), forge_id: 3, owner: "o".into(), name: "n".into() })
        .await
        .expect("kept");
    let entry = StoredEntry {
        key: "till".into(),
        document: "{}".into(),
        sealed: vec![0, 255],
        generation: 1,
        written_at: 5,
        written_by: "one".into(),
    };
    store.put_entry(entry).await.expect("stored");
    let gone = tests::created(&store, "opened:77").await;
    feed_at(40, &store, &gone, "closed:77", domain::Input::IssueClosed).await;
    store.delete_task(gone.id).await.expect("deleted");
    id
}

async fn copied(from: &Fresh, to: &Fresh) -> Vec<Copied> {
    let mut told = Vec::new();
    Store::copy(&from.location, &to.location, |table| told.push(table)).await.expect("copied");
    told
}

async fn moves(from: Fresh, to: Fresh) {
    let id = filled(&from).await;
    let told = copied(&from, &to).await;
    assert_eq!(told.len(), copy::TABLES.len());
    let (before, after) = (rows(&from.by_hand().await).await, rows(&to.by_hand().await).await);
    assert_eq!(before, after);
    assert_eq!(told.iter().map(|one| (one.table, one.rows as i64)).collect::<Vec<_>>(), after);
    let (old, new) = (from.open().await, to.open().await);
    assert_eq!(old.log(id).await.expect("read"), new.log(id).await.expect("read"));
    assert_eq!(new.egress(id).await.expect("read"), ["a\u{fffd}b"]);
    assert_eq!(new.open_deliveries(9, &[]).await.expect("read")[0].body, b"\x00\xff{}");
    // Numbering continues: of effects, lives and tasks.
    assert_eq!(new.begin_epoch(3).await.expect("begun"), 3);
    let next = created(&new, "opened:8").await.id;
    assert_eq!(next.0, id.0 + 2, "the deleted task's number is nobody's");
    let last = "SELECT MAX(id) FROM effects WHERE task = $1";
    let effect: i64 = sqlx::query_scalar(last).bind(next.0).fetch_one(&new.readers()).await.expect("read");
    let highest: i64 = sqlx::query_scalar("SELECT MAX(id) FROM effects").fetch_one(&old.readers()).await.expect("read");
    assert!(effect > highest + 1, "those of the deleted task too: {effect} after {highest}");
    let full = Store::copy(&from.location, &to.location, |_| ()).await;
    assert!(matches!(full, Err(StoreError::NotEmpty { .. })), "{full:?}");
}

#[tokio::test]
async fn a_store_moves_to_postgres_and_nothing_is_lost() {
    if let Some(to) = Fresh::database() {
        moves(Fresh::directory(), to).await;
    }
}

#[tokio::test]
async fn a_store_moves_back_to_a_file_and_nothing_is_lost() {
    if let Some(from) = Fresh::database() {
        moves(from, Fresh::directory()).await;
    }
}

#[tokio::test]
async fn what_is_there_is_never_copied_over() {
    let (from, to) = (Fresh::directory(), Fresh::directory());
    filled(&from).await;
    let other = filled(&to).await;
    let full = Store::copy(&from.location, &to.location, |_| ()).await;
    assert!(matches!(full, Err(StoreError::NotEmpty { table: "actions", .. })), "{full:?}");
    assert!(to.open().await.task_row(other).await.expect("read").is_some());
}

/// Detects a table that a later migration adds.
#[tokio::test]
async fn every_table_is_named() {
    let fresh = Fresh::directory();
    let store = fresh.open().await;
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx%' ORDER BY name";
    let mut names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&store.readers()).await.expect("read");
    // Present hosts and leases are not copied.
    names.retain(|name| !["hosts", "leases"].contains(&name.as_str()));
    assert_eq!(names, copy::TABLES);
}

#[tokio::test]
async fn nothing_is_made_or_changed_where_a_copy_is_refused() {
    let (none, to) = (Fresh::directory(), Fresh::directory());
    let refused = Store::copy(&none.location, &to.location, |_| ()).await;
    assert!(matches!(refused, Err(StoreError::NoStore { .. })), "{refused:?}");
    let file = |fresh: &Fresh| fresh.directory.as_ref().map(|dir| dir.path().join("caisson.db"));
    assert!(file(&none).is_some_and(|path| !path.exists()) && file(&to).is_some_and(|path| !path.exists()));
    let older = Fresh::directory();
    drop(older.open().await);
    let newest = "DELETE FROM _sqlx_migrations WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";
    sqlx::query(newest).execute(&older.by_hand().await).await.expect("done");
    let refused = Store::copy(&older.location, &to.location, |_| ()).await;
    assert!(matches!(refused, Err(StoreError::Shape { .. })), "{refused:?}");
    assert!(
        matches!(Store::look(older.location.clone()).await.map(|_| ()), Err(StoreError::Shape { .. })),
        "as it was"
    );
}

#[tokio::test]
async fn a_database_that_somebody_writes_into_is_no_target_though_it_is_empty() {
    let Some(to) = Fresh::database() else { return };
    let from = Fresh::directory();
    filled(&from).await;
    let _writes = to.open().await;
    let refused = Store::copy(&from.location, &to.location, |_| ()).await;
    let text = refused.expect_err("refused").to_string();
    assert!(text.contains("another caisson writes into this database"), "{text}");
}

/// Column names of the source become SQL.
#[tokio::test]
async fn a_column_of_a_strange_name_is_refused() {
    let (from, to) = (Fresh::directory(), Fresh::directory());
    filled(&from).await;
    drop(to.open().await);
    let strange = "ALTER TABLE actions ADD COLUMN \"1; DROP TABLE tasks\" TEXT";
    sqlx::query(strange).execute(&to.by_hand().await).await.expect("done");
    let refused = Store::copy(&from.location, &to.location, |_| ()).await;
    assert!(refused.expect_err("refused").to_string().contains("a column of another name than ours"));
}
