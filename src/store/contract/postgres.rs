//! What only a server has: it goes away and comes back, and another process may be there already.

use super::*;

fn at(server: &server::Server) -> Location {
    Location::Postgres(server.database().parse().expect("an address"))
}

#[tokio::test]
async fn a_server_that_goes_away_is_written_to_again_once_it_is_back() {
    let Some(server) = server::Server::alone() else { return };
    let store = Store::open(at(&server)).await.expect("open");
    let id = acting(&store).await;
    server.restart();
    // Both connections are gone; what asks first is told, and nothing else is needed.
    let mut tries = 0;
    while store.note_input("comment:1#0", 9).await.is_err() {
        tries += 1;
        assert!(tries < 20, "the writer does not come back");
    }
    assert!(tries > 0, "a connection that the server ended was of use");
    assert!(store.knows_input("comment:1#0").await.expect("read"));
    assert_eq!(store.task_row(id).await.expect("read").expect("there").state, "running");
    store.begin_epoch(2).await.expect("begun");
    store.ready().await.expect("ready");
}

#[tokio::test]
async fn a_second_writer_is_refused_by_name_until_the_first_is_gone() {
    let Some(fresh) = Fresh::database() else { return };
    let first = fresh.open().await;
    let second = Store::open(fresh.location.clone()).await.map(|_| ());
    let error = second.expect_err("refused").to_string();
    assert!(error.contains("another caisson writes into this database"), "{error}");
    first.note_input("comment:1#0", 9).await.expect("the first goes on");
    drop(first);
    assert!(fresh.open().await.knows_input("comment:1#0").await.expect("read"));
}

#[tokio::test]
async fn an_empty_database_is_no_store_to_look_at_and_a_missing_one_an_error() {
    let Some(fresh) = Fresh::database() else { return };
    assert!(Store::look(fresh.location.clone()).await.expect("looked").is_none());
    let Location::Postgres(url) = &fresh.location else { panic!("a server") };
    let mut missing = url.clone();
    missing.set_path("/nothing");
    let password = crate::secret::Secret::new("hunter2&x");
    let error =
        Store::open(Location::postgres(missing, Some(&password))).await.map(|_| ()).expect_err("refused").to_string();
    assert!(error.contains("nothing") && !error.contains("hunter2"), "{error}");
}

/// Neither PGPASSWORD nor `~/.pgpass` is looked at: the driver would log what it cannot read there.
#[test]
fn an_address_always_says_its_password_and_never_shows_it() {
    let url: url::Url = "postgres:///caisson?host=/run/postgresql".parse().expect("an address");
    let password = crate::secret::Secret::new("hunter2&x");
    for (password, said) in [(None, ""), (Some(&password), "hunter2&x")] {
        let location = Location::postgres(url.clone(), password);
        let Location::Postgres(address) = &location else { panic!("a server") };
        let named = address.query_pairs().find(|(key, _)| key == "password").map(|(_, value)| value.into_owned());
        assert_eq!(named.as_deref(), Some(said));
        assert_eq!(location.to_string(), url.as_str());
        assert_eq!(format!("{location:?}"), url.as_str());
    }
}

/// Over a network a server would otherwise hold the lock of a client that is gone without a word for two hours.
#[tokio::test]
async fn a_server_takes_the_keepalives_of_a_writer() {
    let Some(fresh) = Fresh::database() else { return };
    let pool = fresh.by_hand().await;
    sqlx::raw_sql(location::KEEPALIVES).execute(&pool).await.expect("taken");
}
