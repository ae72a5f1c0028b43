//! Accounts and their rights.

use crate::support::forges::Lab;
use caisson::forge::{Access, Account, ForgeError, ForgeReads, ForgeWrites, Gitea, NewPull, RepoRef};
use caisson::secret::Secret;
use serde_json::json;
use std::sync::Arc;

pub async fn the_token_says_who(lab: Arc<Lab>) {
    assert_eq!(lab.bot.whoami().await.unwrap().login, "caisson");
    // Gitea's begins with 1, Forgejo's with its own number.
    assert!(lab.bot.version().await.unwrap().starts_with(|c: char| c.is_ascii_digit()));
    let stranger = Gitea::new(&lab.url, Secret::new("0123456789012345678901234567890123456789"), "test").unwrap();
    let refused = stranger.whoami().await.unwrap_err();
    assert!(matches!(refused, ForgeError::Forbidden(_)), "{refused:?}");
    assert!(!refused.to_string().contains("0123456789"), "the token is in the error");
    let away = Gitea::new(&"http://127.0.0.1:1/".parse().unwrap(), Secret::new("x"), "test").unwrap();
    let gone = away.version().await.unwrap_err();
    assert!(matches!(gone, ForgeError::Unavailable { .. }) && gone.is_transient(), "{gone:?}");
    // Nothing was sent, so the result is not ambiguous.
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

pub async fn issues_that_are_switched_off_are_not_taken_for_gone(lab: Arc<Lab>) {
    let place = lab.place("switched").await;
    let new = json!({ "title": "one" });
    let (status, _) = lab.hand("alice").call("POST", &format!("/repos/{}/issues", place.repo), new).await;
    assert_eq!(status, 201);
    let missing = lab.bot.issue(&place.repo, 7).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)), "{missing:?}");
    assert_eq!([lab.bot.lists(&place.repo, false).await, lab.bot.lists(&place.repo, true).await], [Ok(()), Ok(())]);
    let off = json!({ "has_issues": false });
    let (status, _) = lab.hand("root").call("PATCH", &format!("/repos/{}", place.repo), off).await;
    assert_eq!(status, 200);
    for refused in [lab.bot.issue(&place.repo, 1).await.map(drop), lab.bot.lists(&place.repo, false).await] {
        assert!(matches!(refused, Err(ForgeError::NotFound(_))), "{refused:?}");
    }
    assert_eq!(lab.bot.lists(&place.repo, true).await, Ok(()));
    // A pull request that cannot be opened for that reason is refused like one of a missing branch.
    let off = json!({ "has_pull_requests": false });
    assert_eq!(lab.hand("root").call("PATCH", &format!("/repos/{}", place.repo), off).await.0, 200);
    lab.branch(&place, "agent/1-x", &[("a.txt", "a\n")]);
    let new = NewPull { title: "t".into(), body: String::new(), head: "agent/1-x".into(), base: "main".into() };
    for refused in [lab.bot.lists(&place.repo, true).await, lab.bot.open_pull(&place.repo, &new).await.map(drop)] {
        assert!(matches!(refused, Err(ForgeError::NotFound(_))), "{refused:?}");
    }
}

pub async fn rights_are_those_of_the_moment(lab: Arc<Lab>) {
    let place = lab.place("rights").await;
    for (login, access) in [("alice", Access::Write), ("bob", Access::Read), ("carol", Access::None)] {
        let account = lab.as_account(login).whoami().await.unwrap();
        assert_eq!(lab.bot.permission(&place.repo, &account).await.unwrap(), access, "{login}");
    }
    let own = lab.bot.whoami().await.unwrap();
    assert!(lab.bot.permission(&place.repo, &own).await.unwrap() >= Access::Admin);
    // A known name with another id, an unknown name, and a deleted account have no rights.
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

/// A person is known by the account's id: another login takes no right away, and gives none to whoever gets the one before.
pub async fn a_renamed_account_keeps_its_rights(lab: Arc<Lab>) {
    let (place, grouped) = (lab.place("renamed-account").await, lab.place("renamed-member").await);
    let (dana, other) = (lab.newcomer("dana").await, lab.newcomer("another").await);
    lab.bot.ensure_collaborator(&place.repo, &dana.login, Access::Write).await.unwrap();
    let (_, member) = team(&lab, "renamers", json!({ "units_map": { "repo.code": "write" } }), &[&grouped.repo]).await;
    for (old, new) in [("dana", "dana-b"), ("another", "dana"), ("of-renamers", "was-of-renamers")] {
        let body = json!({ "new_username": new });
        let (status, said) = lab.hand("root").call("POST", &format!("/admin/users/{old}/rename"), body).await;
        assert_eq!(status, 204, "{old}: {said}");
    }
    assert_eq!(lab.bot.permission(&place.repo, &dana).await.unwrap(), Access::Write, "as she was called before");
    let has_it_now = Account { id: other.id, login: "dana".into() };
    for account in [&other, &has_it_now] {
        assert_eq!(lab.bot.permission(&place.repo, account).await.unwrap(), Access::None, "{account:?}");
    }
    assert_eq!(lab.bot.permission(&grouped.repo, &member).await.unwrap(), Access::Write, "by the team");
}

pub async fn a_renamed_repository_is_never_followed(lab: Arc<Lab>) {
    let place = lab.place("oldname").await;
    let issue = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    let (status, _) =
        lab.hand("root").call("PATCH", &format!("/repos/{}", place.repo), json!({ "name": "newname" })).await;
    assert_eq!(status, 200);
    let moved = lab.bot.repository(&place.repo).await.unwrap_err();
    assert!(matches!(moved, ForgeError::Moved(_)), "{moved:?}");
    let moved = lab.bot.post_comment(&place.repo, issue, "lost?").await.unwrap_err();
    assert!(matches!(moved, ForgeError::Moved(_)), "{moved:?}");
    assert!(lab.bot.comments(&RepoRef::new("lab", "newname"), issue).await.unwrap().is_empty());
}

pub async fn a_repository_is_found_by_its_id(lab: Arc<Lab>) {
    let place = lab.place("findme").await;
    let id = lab.bot.repository(&place.repo).await.unwrap().id;
    let admin = lab.hand("root");
    let (status, _) = admin.call("PATCH", &format!("/repos/{}", place.repo), json!({ "name": "found" })).await;
    assert_eq!(status, 200);
    let found = lab.bot.locate(id).await.unwrap();
    assert_eq!((found.id, found.owner.as_str(), found.name.as_str()), (id, "lab", "found"));
    // The old name is free for another repository, which gets another id.
    lab.bot.create_repository(&place.repo, "main").await.unwrap();
    assert_ne!(lab.bot.repository(&place.repo).await.unwrap().id, id);
    assert_eq!(lab.bot.locate(id).await.unwrap().name, "found");
    let hidden = lab.as_account("carol").locate(id).await.unwrap_err();
    assert!(matches!(hidden, ForgeError::NotFound(_)), "{hidden:?}");
    let (status, _) = admin.call("DELETE", "/repos/lab/found", json!({})).await;
    assert_eq!(status, 204);
    let gone = lab.bot.locate(id).await.unwrap_err();
    assert!(matches!(gone, ForgeError::NotFound(_)), "{gone:?}");
}

pub async fn the_forge_has_a_clock(lab: Arc<Lab>) {
    let (ours, told) = (caisson::clock::now(), lab.bot.clock().await.unwrap());
    assert!((told - ours).abs() < 60_000, "{told} against {ours}");
    let place = lab.place("clock").await;
    let number = lab.hand("alice").open_issue(&place.repo, "t", "b").await;
    let (made, now) = (lab.bot.issue(&place.repo, number).await.unwrap().created_at, lab.bot.clock().await.unwrap());
    assert!(told <= made && made <= now, "{told} {made} {now}: what it tells is by its clock");
}

pub async fn protection_holds(lab: Arc<Lab>) {
    let place = lab.place("protected").await;
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    lab.bot.ensure_own_branches(&place.repo, "agent/**", "caisson").await.unwrap();
    // Repeating it changes nothing.
    lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
    assert!(lab.bot.is_protected(&place.repo, "main", &["caisson-sync"]).await.unwrap());
    assert!(!lab.bot.is_protected(&place.repo, "main", &["alice"]).await.unwrap());
    assert!(!lab.bot.is_protected(&place.repo, "other", &["alice"]).await.unwrap());
    // Whom a team lets push, and files that nobody guards, are seen and taken back.
    let rule = format!("/repos/{}/branch_protections/main", place.repo);
    let units = json!({ "permission": "write", "units_map": { "repo.code": "write" } });
    team(&lab, "pushers", units, &[&place.repo]).await;
    for more in [json!({ "push_whitelist_teams": ["pushers"] }), json!({ "unprotected_file_patterns": "*.txt" })] {
        let (status, now) = lab.hand("root").call("PATCH", &rule, more.clone()).await;
        assert_eq!(status, 200, "{now}");
        assert!(!lab.bot.is_protected(&place.repo, "main", &["caisson-sync"]).await.unwrap(), "{more}: {now}");
        lab.bot.ensure_protection(&place.repo, "main", &["caisson-sync"]).await.unwrap();
        assert!(lab.bot.is_protected(&place.repo, "main", &["caisson-sync"]).await.unwrap(), "{more}");
    }
    assert!(lab.bot.rules_before(&place.repo, "main").await.unwrap().is_empty());
    // Gitea silently drops an account without write access from the list, which must be detected.
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
    for branch in ["agent/1-x", "main"] {
        for login in ["caisson", "caisson-sync"] {
            assert!(lab.push_deletion(&place, login, branch).is_err(), "{login} deletes {branch}");
        }
    }
    lab.push_deletion(&place, "alice", "free").expect("no rule is about it");
    // Work on a newer base takes the place of what the agent's branch had, where the forge lets anybody do that.
    let path = format!("/repos/{}/branch_protections", place.repo);
    let (_, rules) = lab.hand("root").call("GET", &path, json!({})).await;
    let lets = |rule: &serde_json::Value| rule["rule_name"] == "agent/**" && rule["enable_force_push"] == true;
    let replaces = rules.as_array().is_some_and(|all| all.iter().any(lets));
    assert!(replaces || gitea_minor(&lab).await.is_none_or(|minor| minor < 23), "{rules}");
    assert!(lab.bot.are_own_branches(&place.repo, "agent/**", "caisson").await.unwrap());
    lab.push(&place, "caisson", "agent/1-x").unwrap();
    for (login, branch, may) in
        [("alice", "agent/1-x", false), ("caisson", "agent/1-x", replaces), ("caisson-sync", "main", false)]
    {
        lab.rewrite(&place, branch);
        let pushed = lab.push(&place, login, branch);
        assert_eq!(pushed.is_ok(), may, "{login} replaces {branch}: {pushed:?}");
    }
}

/// Creates a team of the organisation with one new member and gives it access to the repositories.
async fn team(lab: &Lab, name: &str, body: serde_json::Value, repos: &[&RepoRef]) -> (i64, Account) {
    let root = lab.hand("root");
    let mut body = body;
    body["name"] = name.into();
    let (status, made) = root.call("POST", "/orgs/lab/teams", body).await;
    assert_eq!(status, 201, "{made}");
    let member = lab.newcomer(&format!("of-{name}")).await;
    for path in std::iter::once(format!("members/{}", member.login)).chain(repos.iter().map(|r| format!("repos/{r}"))) {
        let (status, said) = root.call("PUT", &format!("/teams/{}/{path}", made["id"]), json!({})).await;
        assert_eq!(status, 204, "{path}: {said}");
    }
    (made["id"].as_i64().unwrap(), member)
}

/// A team's right to issues or pull requests gives no right to the code, whatever permission the forge reports for its members.
pub async fn a_team_has_the_right_of_its_code_unit(lab: Arc<Lab>) {
    let (hidden, open) = (lab.place("by-team").await.repo, lab.place("by-team-open").await.repo);
    let (status, said) = lab.hand("root").call("PATCH", &format!("/repos/{open}"), json!({ "private": false })).await;
    assert_eq!(status, 200, "{said}");
    let apart = teams_apart(&lab).await;
    let units = |units: serde_json::Value| json!({ "permission": "write", "units_map": units });
    let (no, read, write) = (Access::None, Access::Read, Access::Write);
    // Each team with its right to the code of a private repository.
    let teams = [
        ("issues", units(json!({ "repo.issues": "write" })), no),
        ("pulls", units(json!({ "repo.pulls": "write" })), no),
        ("triage", units(json!({ "repo.issues": "write", "repo.pulls": "write" })), no),
        ("issues-reads", units(json!({ "repo.code": "read", "repo.issues": "write" })), read),
        ("triage-reads", units(json!({ "repo.code": "read", "repo.issues": "write", "repo.pulls": "write" })), read),
        ("code", units(json!({ "repo.code": "write" })), write),
        ("code-by-one-word", json!({ "permission": "write", "units": ["repo.code", "repo.issues"] }), write),
        ("admins", json!({ "permission": "admin", "units": ["repo.code"] }), Access::Admin),
    ];
    for (name, body, right) in teams {
        let (id, member) = team(&lab, name, body, &[&hidden, &open]).await;
        let told = |access: Access| if right >= Access::Admin { access >= right } else { access == right };
        let seen = lab.bot.permission(&hidden, &member).await.unwrap();
        assert!(told(seen), "{name}, private: {seen:?}");
        let seen = lab.bot.permission(&open, &member).await.unwrap();
        assert!(told(seen) || (right < read && seen == read), "{name}, public: {seen:?}");
        // Only an owner of the organisation sees a team's members; where they cannot be read, the team gives nobody a right.
        let alone = lab.place(&format!("{name}-alone")).await.repo;
        let path = format!("/teams/{id}/repos/{alone}");
        assert_eq!(lab.hand("root").call("PUT", &path, json!({})).await.0, 204, "{name}");
        let admin = json!({ "permission": "admin" });
        let path = format!("/repos/{alone}/collaborators/carol");
        assert_eq!(lab.hand("root").call("PUT", &path, admin).await.0, 204);
        let carol = lab.as_account("carol");
        let seen = carol.permission(&alone, &member).await.unwrap();
        let as_known = if right >= Access::Admin { told(seen) } else { seen == no || (!apart && told(seen)) };
        assert!(as_known, "{name}, not shown: {seen:?}");
        for found in carol.teams(&alone).await.unwrap() {
            assert!(!carol.shows(&found).await.unwrap() && lab.bot.shows(&found).await.unwrap(), "{name}");
        }
        assert_eq!(lab.bot.permission(&alone, &member).await.unwrap() >= write, right >= write, "{name}, alone");
    }
}

/// Rights of a collaborator and of a team add up, and the team's end with the team.
pub async fn a_right_by_team_ends_with_it(lab: Arc<Lab>) {
    let place = lab.place("left-team").await;
    let (id, member) = team(&lab, "leavers", json!({ "units_map": { "repo.code": "write" } }), &[&place.repo]).await;
    lab.bot.ensure_collaborator(&place.repo, &member.login, Access::Read).await.unwrap();
    assert_eq!(lab.bot.permission(&place.repo, &member).await.unwrap(), Access::Write);
    // Another account with the member's name has no right.
    let other = Account { id: member.id + 1000, login: member.login.clone() };
    assert_eq!(lab.bot.permission(&place.repo, &other).await.unwrap(), Access::None);
    let (status, said) =
        lab.hand("root").call("DELETE", &format!("/teams/{id}/members/{}", member.login), json!({})).await;
    assert_eq!(status, 204, "{said}");
    // On the others an account that leaves its last team also loses what it had by name.
    let left = lab.bot.permission(&place.repo, &member).await.unwrap();
    assert!(left == Access::Read || (!teams_apart(&lab).await && left == Access::None), "{left:?}");
}

/// Whether this forge reports a permission without the teams' rights, as Gitea does since 1.24; Forgejo and Gitea before count them.
async fn teams_apart(lab: &Lab) -> bool {
    gitea_minor(lab).await.is_some_and(|minor| minor >= 24)
}

/// The second number of Gitea's version, whose first is 1; none of another forge.
pub async fn gitea_minor(lab: &Lab) -> Option<u32> {
    let version = lab.bot.version().await.expect("a version");
    version.strip_prefix("1.").and_then(|rest| rest.split('.').next())?.parse().ok()
}

/// Whoever is in a team is asked by the team's name; what this account may not see is no answer.
pub async fn a_teams_members_are_known_to_who_may_see_it(lab: Arc<Lab>) {
    let (id, member) = team(&lab, "keepers", json!({ "units_map": { "repo.code": "read" } }), &[]).await;
    let bob = lab.as_account("bob").whoami().await.unwrap();
    for name in ["keepers", "Keepers"] {
        assert_eq!(lab.bot.in_team("lab", name, &member).await.unwrap(), Some(true), "{name}");
        assert_eq!(lab.bot.in_team("lab", name, &bob).await.unwrap(), Some(false), "{name}");
    }
    let other = Account { id: member.id + 1000, login: member.login.clone() };
    assert_eq!(lab.bot.in_team("lab", "keepers", &other).await.unwrap(), Some(false), "another account of that name");
    assert_eq!(lab.bot.in_team("lab", "none-such", &member).await.unwrap(), None);
    assert_eq!(lab.bot.in_team("none-such", "keepers", &member).await.unwrap(), None);
    assert_eq!(lab.as_account("carol").in_team("lab", "keepers", &member).await.unwrap(), None, "she is in no team");
    let path = format!("/teams/{id}/members/{}", member.login);
    assert_eq!(lab.hand("root").call("DELETE", &path, json!({})).await.0, 204);
    assert_eq!(lab.bot.in_team("lab", "keepers", &member).await.unwrap(), Some(false));
}
