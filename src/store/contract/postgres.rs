//! Behaviour that only a server has: it goes away and comes back, and other processes may use it.

use super::*;

/// Ends every other connection to the database.
const END_OTHERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

fn at(server: &server::Server) -> Location {
    Location::Postgres(server.database().parse().expect("an address"))
}

#[tokio::test]
async fn a_server_that_goes_away_is_written_to_again_once_it_is_back() {
    let Some(server) = server::Server::alone() else { return };
    let store = Store::open(at(&server)).await.expect("open");
    let id = acting(&store).await;
    server.restart();
    // Both connections are lost; the next request reports an error, and the following ones work again.
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

/// Their transactions are serialized, so that each number is given once.
#[tokio::test(flavor = "multi_thread")]
async fn several_hosts_write_into_one_database() {
    let Some(fresh) = Fresh::database() else { return };
    let (one, other) = (fresh.open().await, fresh.open().await);
    let many = |store: Store, host: &'static str| async move {
        let mut ids = Vec::new();
        for n in 0..40 {
            ids.push(tests::created_in(host, &store, &format!("opened:{host}:{n}")).await.id.0);
        }
        ids
    };
    let (first, second) = tokio::join!(tokio::spawn(many(one, "a")), tokio::spawn(many(other, "b")));
    let mut ids = [first.expect("done"), second.expect("done")].concat();
    ids.sort_unstable();
    assert_eq!(ids, (1..=80).collect::<Vec<i64>>());
}

#[tokio::test]
async fn a_store_that_is_written_is_not_copied_until_its_writers_are_gone() {
    let (Some(fresh), target) = (Fresh::database(), Fresh::directory()) else { return };
    let writer = fresh.open().await;
    let copied = Store::copy(&fresh.location, &target.location, |_| ()).await;
    let error = copied.expect_err("refused").to_string();
    assert!(error.contains("another caisson writes into this database"), "{error}");
    writer.note_input("comment:1#0", 9).await.expect("it goes on");
    drop(writer);
    Store::copy(&fresh.location, &target.location, |_| ()).await.expect("copied");
}

/// If a process is stopped within a transaction, or its machine is lost, others wait only for seconds.
#[tokio::test]
async fn a_host_that_stands_still_within_a_transaction_holds_up_the_others_for_seconds() {
    let Some(fresh) = Fresh::database() else { return };
    let store = fresh.open().await;
    let mut still = fresh.location.writer().await.expect("open");
    sqlx::Executor::execute(&mut still, fresh.location.begin()).await.expect("begun");
    let began = std::time::Instant::now();
    let written = tokio::time::timeout(std::time::Duration::from_secs(60), async {
        while store.note_input("comment:1#0", 9).await.is_err() {}
    });
    written.await.expect("in time");
    assert!(began.elapsed() > std::time::Duration::from_secs(1), "the other held it");
}

/// While the server receives a value, the session counts as idle to it.
#[tokio::test]
async fn a_large_value_has_longer_to_arrive() {
    let Some(fresh) = Fresh::database() else { return };
    let store = fresh.open().await;
    let id = acting(&store).await;
    let by_hand = fresh.by_hand().await;
    let noted = "CREATE TABLE limits (bytes BIGINT, idle TEXT); \
                 CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 INSERT INTO limits VALUES (NEW.bytes, current_setting('idle_in_transaction_session_timeout')); \
                 RETURN NEW; END $$; \
                 CREATE TRIGGER noted BEFORE INSERT ON pictures FOR EACH ROW EXECUTE FUNCTION noted()";
    sqlx::raw_sql(noted).execute(&by_hand).await.expect("made");
    for (digest, bytes) in [("a", 1), ("b", 2 << 20), ("c", 3)] {
        assert!(store.keep_file(id, digest, vec![7; bytes]).await.expect("kept"));
    }
    let sql = "SELECT bytes, idle FROM limits ORDER BY bytes";
    let limits: Vec<(i64, String)> = sqlx::query_as(sql).fetch_all(&by_hand).await.expect("read");
    assert_eq!(limits, [(1, "5s".to_owned()), (3, "5s".to_owned()), (2 << 20, "1min".to_owned())]);
}

/// A host is notified of what another stores or releases.
#[tokio::test]
async fn hosts_hear_of_deliveries_leases_and_repositories() {
    let Some(fresh) = Fresh::database() else { return };
    let (one, other) = (fresh.open().await, fresh.open().await);
    let mut wakes = other.wakes();
    assert_eq!(wakes.next().await, Word::Unknown, "it only begins to hear");
    one.deliver(delivery("d1", 1, b"{}")).await.expect("stored");
    assert_eq!(wakes.next().await, Word::Delivery);
    one.release("a", 1, Vec::new(), true).await.expect("given back");
    assert_eq!(wakes.next().await, Word::Lease);
    let entry = StoredEntry {
        key: "shop".into(),
        document: "{}".into(),
        sealed: Vec::new(),
        generation: 1,
        written_at: 1,
        written_by: "one".into(),
    };
    one.put_entry(entry).await.expect("stored");
    while wakes.next().await != Word::Repository {}
    let own = std::collections::HashSet::from(["shop".to_owned()]);
    assert_eq!(other.open_deliveries_of(&own, 9, &[]).await.expect("read").len(), 1);
    assert!(other.open_deliveries_of(&Default::default(), 9, &[]).await.expect("read").is_empty());
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

/// PGPASSWORD and `~/.pgpass` are ignored, because the driver would log lines of it that it cannot parse.
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

/// Over a network a server would otherwise hold the lock of a vanished client for two hours.
#[tokio::test]
async fn a_server_takes_the_keepalives_of_a_writer() {
    let Some(fresh) = Fresh::database() else { return };
    let pool = fresh.by_hand().await;
    sqlx::raw_sql(location::KEEPALIVES).execute(&pool).await.expect("taken");
}

/// Changes a setting of the database, for connections that are made from now on.
async fn set(fresh: &Fresh, setting: &str) {
    let Location::Postgres(url) = &fresh.location else { panic!("a server") };
    let sql = format!("ALTER DATABASE {} SET {setting}", url.path().trim_start_matches('/'));
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&fresh.by_hand().await).await.expect("set");
}

/// After a failover the server's name may lead to the former primary for a while, and a connection that is made then would stay there.
#[tokio::test]
async fn a_standby_is_neither_written_to_nor_read_from_and_the_primary_is_found_again() {
    let Some(fresh) = Fresh::database() else { return };
    let store = fresh.open().await;
    assert!(store.note_input("comment:1#0", 9).await.expect("stored"));
    let by_hand = fresh.by_hand().await;
    // Found before the server's own function, so that the server says of itself that it is a standby.
    set(&fresh, "search_path = public, pg_catalog").await;
    let standby = "CREATE FUNCTION public.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT TRUE'";
    sqlx::raw_sql(standby).execute(&by_hand).await.expect("made");
    sqlx::raw_sql(END_OTHERS).execute(&by_hand).await.expect("ended");
    let refused = Store::open(fresh.location.clone()).await.map(|_| ()).expect_err("refused").to_string();
    assert!(refused.contains("this server is a standby"), "{refused}");
    for _ in 0..3 {
        store.note_input("comment:2#0", 9).await.expect_err("not stored");
    }
    store.knows_input("comment:1#0").await.expect_err("not read");
    assert!(Store::look(fresh.location.clone()).await.expect("looked").is_some(), "who only looks may read there");
    sqlx::raw_sql("DROP FUNCTION public.pg_is_in_recovery()").execute(&by_hand).await.expect("dropped");
    assert!(store.note_input("comment:2#0", 9).await.expect("stored"), "nothing of the tries before was");
    assert!(store.knows_input("comment:2#0").await.expect("read"));
}

/// A server that is to be fast would forget what it answered that it stored, if its machine loses power.
#[tokio::test]
async fn what_is_answered_to_be_stored_is_on_the_disk_whatever_the_servers_default_is() {
    let Some(fresh) = Fresh::database() else { return };
    for (default, expected) in [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")] {
        set(&fresh, &format!("synchronous_commit = {default}")).await;
        let mut writer = fresh.location.writer().await.expect("open");
        let current = "SELECT current_setting('synchronous_commit')";
        let found: String = sqlx::query_scalar(current).fetch_one(&mut writer).await.expect("read");
        assert_eq!(found, expected, "where the default is {default}");
    }
}

/// A task whose log cannot be stored would be tried again for ever.
#[tokio::test]
async fn a_database_that_lacks_characters_is_refused() {
    let Some(fresh) = Fresh::database() else { return };
    let Location::Postgres(url) = &fresh.location else { panic!("a server") };
    let by_hand = fresh.by_hand().await;
    let another = async |encoding: &str| {
        let name = format!("{}_{}", url.path().trim_start_matches('/'), encoding.to_lowercase());
        let locale = "LC_COLLATE 'C' LC_CTYPE 'C'";
        let sql = format!("CREATE DATABASE {name} ENCODING '{encoding}' {locale} TEMPLATE template0");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&by_hand).await.expect("made");
        let mut at = url.clone();
        at.set_path(&format!("/{name}"));
        Location::Postgres(at)
    };
    let refused = Store::open(another("LATIN1").await).await.map(|_| ()).expect_err("refused").to_string();
    assert!(refused.contains("LATIN1") && refused.contains("UTF8"), "{refused}");
    let store = Store::open(another("SQL_ASCII").await).await.expect("open");
    let id = acting(&store).await;
    let text = "\u{201c}\u{fc}\u{201d} \u{1f600}";
    store.keep_egress(id, vec![(1, 1, text.to_owned())]).await.expect("kept");
    assert_eq!(store.egress(id).await.expect("read"), [text]);
}

/// A proxy to the server that can fall silent: connections stay open, but pass no bytes. Returns its port.
fn silent_on(server: &std::path::Path, silent: std::sync::Arc<std::sync::atomic::AtomicBool>) -> u16 {
    use std::io::{Read as _, Write as _};
    use std::sync::atomic::Ordering;
    let door = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = door.local_addr().expect("an address").port();
    let socket = server.join(".s.PGSQL.5432");
    std::thread::spawn(move || {
        for near in door.incoming().flatten() {
            let far = std::os::unix::net::UnixStream::connect(&socket).expect("the server");
            let (mut there, mut back) = (far.try_clone().expect("a handle"), far);
            let (mut from, mut to) = (near.try_clone().expect("a handle"), near);
            let quiet = silent.clone();
            // A connection that fell silent stays silent.
            std::thread::spawn(move || {
                let mut piece = [0; 65536];
                while let Ok(length @ 1..) = from.read(&mut piece) {
                    if quiet.load(Ordering::SeqCst) || there.write_all(&piece[..length]).is_err() {
                        return std::thread::park();
                    }
                }
                let _ = there.shutdown(std::net::Shutdown::Both);
            });
            let quiet = silent.clone();
            std::thread::spawn(move || {
                let mut piece = [0; 65536];
                while let Ok(length @ 1..) = back.read(&mut piece) {
                    if quiet.load(Ordering::SeqCst) || to.write_all(&piece[..length]).is_err() {
                        return std::thread::park();
                    }
                }
            });
        }
    });
    port
}

/// The database at this address, reached by such a proxy.
fn through(at: &url::Url, silent: std::sync::Arc<std::sync::atomic::AtomicBool>) -> Location {
    let socket = at.query_pairs().find(|(key, _)| key == "host").map(|(_, at)| at.into_owned()).expect("a socket");
    let port = silent_on(std::path::Path::new(&socket), silent);
    let through = format!("postgres://caisson@127.0.0.1:{port}{}?sslmode=disable", at.path());
    Location::postgres(through.parse().expect("an address"), None)
}

/// Neither its server nor the network closes the connection that it listens on.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_hears_of_the_others_again_after_its_network_fell_silent() {
    let Some(fresh) = Fresh::database() else { return };
    let Location::Postgres(at) = &fresh.location else { panic!("a server") };
    let silent = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (near, far) = (fresh.open().await, Store::open(through(at, silent.clone())).await.expect("open"));
    let mut wakes = far.wakes();
    let all = async {
        assert_eq!(wakes.next().await, Word::Unknown, "it only begins to hear");
        silent.store(true, std::sync::atomic::Ordering::SeqCst);
        near.deliver(delivery("d1", 1, b"{}")).await.expect("stored");
        assert_eq!(wakes.next().await, Word::Unknown, "that was lost on its way");
        silent.store(false, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(wakes.next().await, Word::Unknown, "it begins anew to hear");
        near.deliver(delivery("d2", 2, b"{}")).await.expect("stored");
        assert_eq!(wakes.next().await, Word::Delivery);
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), all).await.expect("it hears again");
}

/// Its machine lost power, so no connection is closed.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_silent_holds_up_nobody_for_good() {
    let Some(server) = server::Server::alone() else { return };
    let at = url::Url::parse(&server.database()).expect("an address");
    let silent = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let store = Store::open(through(&at, silent.clone())).await.expect("open");
    let id = acting(&store).await;
    // As many as there are readers, each with a running query when the server falls silent.
    let slow = || async { store.read(sqlx::query("SELECT pg_sleep(1)").fetch_all(&store.readers())).await.map(drop) };
    let falls = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        silent.store(true, std::sync::atomic::Ordering::SeqCst);
        store.note_input("comment:1#0", 9).await
    };
    let all = async { tokio::join!(slow(), slow(), slow(), slow(), falls) };
    let (read, .., written) =
        tokio::time::timeout(std::time::Duration::from_secs(30), all).await.expect("told in time");
    let (read, written) = (read.expect_err("no answer").to_string(), written.expect_err("no answer").to_string());
    assert!(read.contains("did not answer within") && written.contains("whether this was stored"), "{read} {written}");
    silent.store(false, std::sync::atomic::Ordering::SeqCst);
    // The server does not know, so its old connection holds the lock until it is ended, here by hand.
    let pool = Location::Postgres(at).by_hand().await.expect("open");
    sqlx::raw_sql(END_OTHERS).execute(&pool).await.expect("ended");
    for _ in 0..10 {
        if store.note_input("comment:2#0", 9).await.is_ok() && !store.log(id).await.expect("read").is_empty() {
            return;
        }
    }
    panic!("neither writer nor readers came back");
}
