//! `caisson repo check` finds by a test delivery that somebody changed a hook's secret, and `--fix` writes it anew; where no bot answers it
//! says that this was not examined.

use super::{Home, project};
use axum::Router;
use axum::routing::get;
use caisson::forge::{Gitea, RepoRef};
use caisson::secret::Secret;
use caisson::server::{ClientLimits, Hooks, LimitedListener, Limits, Peer, hook_router};
use caisson::store::Store;
use devforge::{Devforge, Options};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;

const CHECK: [&str; 3] = ["repo", "check", "my-shop"];
const FIX: [&str; 4] = ["repo", "check", "my-shop", "--fix"];
const WRONG: &str = "signs with another secret";
const UNEXAMINED: &str = "my-shop: whether its hook signs with the right secret was not examined: ";

fn free() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// What a bot listens with, without a broker: its hooks' router over a store, health, and the recorder's metrics.
async fn listen([hooks_at, ops_at]: [SocketAddr; 2], secrets: Vec<Secret>, dir: &Path) -> Store {
    let store = Store::open(dir).await.unwrap();
    let secrets = HashMap::from([("my-shop".to_owned(), secrets)]);
    let clients = ClientLimits::new(Limits { connections: 16, bad_signatures: 4, ..Limits::default() });
    let hooks = Hooks {
        secrets: Arc::new(secrets.into()),
        store: store.clone(),
        bell: Arc::default(),
        clients: clients.clone(),
    };
    let listener = TcpListener::bind(hooks_at).await.unwrap();
    let app = hook_router(Arc::new(hooks), 1 << 20).into_make_service_with_connect_info::<Peer>();
    tokio::spawn(async move { axum::serve(LimitedListener { listener, clients }, app).await });
    let metrics = caisson::telemetry::recorder().unwrap();
    let ops =
        Router::new().route("/healthz", get(async || "ok")).route("/metrics", get(async move || metrics.render()));
    let listener = TcpListener::bind(ops_at).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, ops).await });
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hooks_secret_that_somebody_changed_is_found_and_written_anew() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let home = Home::set_up(forge.url(), forge.admin_token()).await;
    let at = [free(), free()];
    let text = std::fs::read_to_string(home.config()).unwrap();
    let text = text.replace("bot_url = \"http://127.0.0.1:9/\"", &format!("bot_url = \"http://{}\"", at[0]));
    assert!(text.contains(&at[0].to_string()), "{text}");
    let listeners = format!("\n[listen]\nwebhooks = \"{}\"\nops = \"{}\"\n", at[0], at[1]);
    std::fs::write(home.config(), text + &listeners).unwrap();
    let source = project(home.dir.path(), "test = \"true\"\n").display().to_string();
    home.good(&["repo", "add", &source, "--writer", "dev"]);
    let token = std::fs::read_to_string(home.dir.path().join("secrets/forge-token")).unwrap();
    let bot = Gitea::new(&forge.url().parse().unwrap(), Secret::new(token.trim()), "test").unwrap();
    let repo = RepoRef::new("caisson-projects", "my_shop");
    let url = format!("http://{}/webhooks/gitea/my-shop", at[0]);
    let hook = async || bot.hooks(&repo).await.unwrap();
    // Everything else of the hook is as it was made.
    let spoil = async || bot.replace_hook(&repo, &url, &Secret::new("guessed")).await.unwrap().id;

    let spoilt = spoil().await;
    for args in [&CHECK[..], &FIX[..]] {
        let text = home.good(args);
        assert!(text.contains(&format!("{UNEXAMINED}no `caisson serve` answers on {}", at[1])), "{text}");
        assert!(!text.contains("changed:") && !text.contains(WRONG), "{text}");
    }
    assert_eq!(hook().await[0].id, spoilt);

    let (_, secrets) = home.entry().await;
    let store = listen(at, secrets.clone(), &home.dir.path().join("bot")).await;
    let text = home.bad(&CHECK);
    assert!(text.contains(&format!("my-shop: the hook to {url} {WRONG}")), "{text}");
    assert!(!text.contains("changed:") && !text.contains(UNEXAMINED), "{text}");
    assert_eq!(hook().await[0].id, spoilt);
    let text = home.good(&FIX);
    let said = format!("my-shop: changed: the secret of the hook to {url} was written anew");
    assert!(text.contains(&said) && text.matches("changed:").count() == 1, "{text}");
    assert!(!text.contains(UNEXAMINED) && !text.contains(secrets[0].expose()), "{text}");
    let now = hook().await;
    assert!(now.len() == 1 && now[0].url == url && now[0].faults().is_empty() && now[0].id != spoilt, "{now:?}");
    let arrived = store.open_deliveries(10, &[]).await.unwrap();
    assert!(arrived.len() == 1 && arrived[0].repository == "my-shop", "{}", arrived.len());
    for args in [&CHECK[..], &FIX[..]] {
        let text = home.good(args);
        assert!(!text.contains("changed:") && !text.contains(UNEXAMINED), "{text}");
    }
    assert_eq!(hook().await[0].id, now[0].id);

    // After too many wrong signatures within a minute the bot reads nothing from the forge's address.
    spoil().await;
    for _ in 0..4 {
        reqwest::Client::new().post(&url).body("{}").send().await.unwrap();
    }
    let text = home.good(&FIX);
    assert!(text.contains(&format!("{UNEXAMINED}the bot turns the forge away")), "{text}");
    assert!(!text.contains("changed:"), "{text}");
}
