//! `caisson fetch` into a clone whose ends of lines are set by a person's own configuration of git.

use crate::approved_again::approved;
use crate::orders::{held, order, ran, said};
use crate::rebase::cloned;
use crate::world::{FIX, World, git};

#[tokio::test(flavor = "multi_thread")]
async fn ends_of_lines_as_the_persons_configuration_has_them_are_no_edit() {
    let world = World::new(FIX).await;
    let _serve = held(&world);
    approved(&world).await;
    let (clone, own) = (cloned(&world, "clone"), world.dir.path().join("gitconfig"));
    std::fs::write(&own, "[core]\n\tautocrlf = true\n").expect("written");
    std::fs::remove_file(clone.join("semver.py")).expect("removed");
    git(&clone, &["-c", "core.autocrlf=true", "checkout", "-q", "--", "semver.py"]);
    let text = || std::fs::read_to_string(clone.join("semver.py")).expect("read");
    assert!(text().contains("\r\n"), "{:?}", text());
    let branch = world.task().await.request.expect("asked").branch;
    let mut fetch = order(&world, &["fetch", clone.to_str().expect("UTF-8"), &branch]);
    fetch.env("GIT_CONFIG_GLOBAL", &own);
    let out = ran(fetch).await;
    assert!(out.status.success(), "{}", said(&out));
    assert!(text().contains("parse(a)") && !text().replace("\r\n", "").contains('\n'), "{:?}", text());
}
