//! What was refused or cut off is done again with the right words: `caisson setup` makes nothing before it refuses an address, and `caisson
//! repo add` goes on with what an earlier run left.

use super::Home;
use caisson::forge::gitea::admin::Admin;
use caisson::secret::Secret;
use devforge::{Devforge, Options};

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_the_configuration_refuses_is_refused_before_anything_is_made() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let home = Home { dir: tempfile::tempdir().unwrap(), url: forge.url().to_owned() };
    let file = home.dir.path().join("admin-token");
    Secret::new(forge.admin_token()).write(&file).unwrap();
    let file = file.display().to_string();
    let (url, file) = (forge.url(), file.as_str());
    let admin = Admin::new(&url.parse().unwrap(), Secret::new(forge.admin_token()), "test").unwrap();
    let setup = ["setup", "--forge-url", url, "--admin-token-file", file];
    for (more, key) in [
        (["--public-url", "localhost:3000"], "forge.public_url"),
        (["--bot-url", "caisson:8440"], "forge.bot_url"),
        (["--public-url", "ftp://localhost"], "forge.public_url"),
    ] {
        let text = home.bad(&[&setup[..], &more].concat());
        assert!(text.contains(&format!("{key}: an address is http:// or https://")), "{text}");
        assert!(admin.account("caisson").await.unwrap().is_none() && !home.config().exists(), "{text}");
    }
    let text = home.bad(&["setup", "--forge-url", "localhost:3000", "--admin-token-file", file]);
    assert!(text.contains("forge.url: an address is http:// or https://"), "{text}");
    home.good(&[&setup[..], &["--public-url", "http://localhost:3000"]].concat());
}
