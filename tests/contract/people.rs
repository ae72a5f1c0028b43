//! Who is who, and who may what.

use crate::support::forges::Lab;
use caisson::forge::{Access, Account, Forge, ForgeError, Gitea, RepoRef};
use caisson::secret::Secret;
use serde_json::json;
use std::sync::Arc;

pub async fn the_token_says_who(lab: Arc<Lab>) {
    assert_eq!(lab.bot.whoami().await.unwrap().login, "caisson");
    assert!(lab.bot.version().await.unwrap().starts_with("1."));
    let stranger = Gitea::new(&lab.url, Secret::new("0123456789012345678901234567890123456789"), "test").unwrap();
    let refused = stranger.whoami().await.unwrap_err();
    assert!(matches!(refused, ForgeError::Forbidden(_)), "{refused:?}");
    assert!(!refused.to_string().contains("0123456789"), "the token is in the error");
    let away = Gitea::new(&"http://127.0.0.1:1/".parse().unwrap(), Secret::new("x"), "test").unwrap();
    let gone = away.version().await.unwrap_err();
    assert!(matches!(gone, ForgeError::Unavailable { .. }) && gone.is_transient(), "{gone:?}");
    // Never sent, so not ambiguous either.
    let gone = away.post_comment(&RepoRef::new("a", "b"), 1, "x").await.unwrap_err();
    assert!(matches!(gone, ForgeError::Unavailable { .. }), "{gone:?}");
}

pub async fn a_repository_is_seen_by_those_who_may(lab: Arc<Lab>) {
    let place = lab.place("seen").await;
    let found = lab.bot.repository(&place.repo).await.unwrap();
    assert_eq!((found.owner.as_str(), found.name.as_str()), ("lab", "seen"));
    assert!(found.private && !found.empty && found.id > 0);
    assert_eq!(found.default_branch, "main");
    assert!(found.clone_url.ends_with("/lab/seen.git"), "{}", found.clone_url);
    assert_eq!(lab.as_account("bob").repository(&place.repo).await.unwrap().id, found.id);
    let hidden = lab.as_account("carol").repository(&place.repo).await.unwrap_err();
    assert!(matches!(hidden, ForgeError::NotFound(_)), "{hidden:?}");
    let missing = lab.bot.repository(&RepoRef::new("lab", "missing")).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
}

pub async fn rights_are_those_of_the_moment(lab: Arc<Lab>) {
    let place = lab.place("rights").await;
    for (login, access) in [("alice", Access::Write), ("bob", Access::Read), ("carol", Access::None)] {
        let account = lab.as_account(login).whoami().await.unwrap();
        assert_eq!(lab.bot.permission(&place.repo, &account).await.unwrap(), access, "{login}");
    }
    let own = lab.bot.whoami().await.unwrap();
    assert!(lab.bot.permission(&place.repo, &own).await.unwrap() >= Access::Admin);
    // Another id under a known name, an unknown name, and a ghost have no right.
    let alice = lab.as_account("alice").whoami().await.unwrap();
    for account in [
        Account { id: alice.id + 1000, login: alice.login.clone() },
        Account { id: 77, login: "nobody-here".into() },
        Account { id: -1, login: alice.login.clone() },
    ] {
        assert_eq!(lab.bot.permission(&place.repo, &account).await.unwrap(), Access::None, "{account:?}");
    }
    let (status, _) =
        lab.hand("root").call("DELETE", &format!("/repos/{}/collaborators/alice", place.repo), json!({})).await;
    assert_eq!(status, 204);
    assert_eq!(lab.bot.permission(&place.repo, &alice).await.unwrap(), Access::None);
}

pub async fn a_renamed_repository_is_never_followed(lab: Arc<Lab>) {
    let place = lab.place("oldname").await;
    let issue = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    let (status, _) =
        lab.hand("root").call("PATCH", &format!("/repos/{}", place.repo), json!({ "name": "newname" })).await;
    assert_eq!(status, 200);
    let moved = lab.bot.repository(&place.repo).await.unwrap_err();
    assert!(matches!(moved, ForgeError::Conflict(_)), "{moved:?}");
    let moved = lab.bot.post_comment(&place.repo, issue, "lost?").await.unwrap_err();
    assert!(matches!(moved, ForgeError::Conflict(_)), "{moved:?}");
    assert!(lab.bot.comments(&RepoRef::new("lab", "newname"), issue).await.unwrap().is_empty());
}

pub async fn protection_holds(lab: Arc<Lab>) {
    let place = lab.place("protected").await;
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    lab.bot.ensure_protection(&place.repo, "agent/**", &["caisson"]).await.unwrap();
    // A second time changes nothing.
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    assert!(lab.bot.is_protected(&place.repo, "main", &["caisson-sync"]).await.unwrap());
    assert!(!lab.bot.is_protected(&place.repo, "main", &["alice"]).await.unwrap());
    assert!(!lab.bot.is_protected(&place.repo, "other", &["alice"]).await.unwrap());
    // The one who may not write is dropped without a word; that is noticed.
    let dropped = lab.bot.ensure_protection(&place.repo, "release/**", &["bob"]).await.unwrap_err();
    assert!(matches!(dropped, ForgeError::Conflict(_)), "{dropped:?}");
    lab.branch(&place, "agent/1-x", &[("a.txt", "a\n")]);
    lab.next_on_main(&place);
    for (login, branch, may) in [
        ("alice", "main", false),
        ("caisson", "main", false),
        ("caisson-sync", "main", true),
        ("alice", "agent/1-x", false),
        ("bob", "free", false),
        ("alice", "free", true),
    ] {
        lab.local_branch(&place, branch);
        let pushed = lab.push(&place, login, branch);
        assert_eq!(pushed.is_ok(), may, "{login} pushes {branch}: {pushed:?}");
    }
}
