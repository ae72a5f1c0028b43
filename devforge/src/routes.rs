//! The routes of API, pages and git.

use crate::api::{Shared, accounts, actions, issues, outage, pulls, repos, teams};
use crate::attachments;
use crate::dependencies;
use crate::faults;
use crate::{forks, pages, smart_http};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, patch, post, put};
use std::sync::Arc;

/// Large enough for the repositories of tests and the demo.
const MAX_BODY: usize = 512 << 20;

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let api = Router::new().merge(of_accounts()).nest("/repos/{owner}/{repo}", of_repository());
    let git = Router::new()
        .route("/{owner}/{repo}/info/refs", get(smart_http::info))
        .route("/{owner}/{repo}/git-upload-pack", post(smart_http::upload))
        .route("/{owner}/{repo}/git-receive-pack", post(smart_http::receive));
    let before = axum::middleware::from_fn_with_state(Arc::clone(&shared), faults::before);
    let away = axum::middleware::from_fn_with_state(Arc::clone(&shared), outage);
    Router::new()
        .nest("/api/v1", api)
        .merge(git)
        .route("/attachments/{uuid}", get(attachments::download))
        .route_layer(before)
        .route_layer(away)
        .route("/api/healthz", get(|| async { "{\"status\":\"pass\"}" }))
        .route("/", get(pages::home))
        .route("/{owner}/{repo}", get(pages::repo))
        .route("/{owner}/{repo}/compare/{*range}", get(pages::compare))
        .route("/{owner}/{repo}/commit/{id}", get(pages::commit))
        .route("/{owner}/{repo}/{kind}/{number}", get(pages::thread).post(pages::say))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(shared)
}

fn of_accounts() -> Router<Arc<Shared>> {
    Router::new()
        .route("/version", get(accounts::version))
        .route("/user", get(accounts::me))
        .route("/user/hooks", get(accounts::own_hooks))
        .route("/repositories/{id}", get(faults::by_id))
        .route("/users/search", get(accounts::search))
        .route("/users/{login}", get(accounts::user))
        .route("/users/{login}/tokens", get(accounts::tokens).post(accounts::create_token))
        .route("/users/{login}/tokens/{name}", delete(accounts::delete_token))
        .route("/admin/users", post(accounts::create_user))
        .route("/admin/users/{login}", patch(accounts::edit_user))
        .route("/admin/users/{login}/rename", post(accounts::rename_user))
        .route("/admin/users/{login}/orgs", post(accounts::create_org_for))
        .route("/orgs/{org}", get(accounts::org))
        .route("/orgs/{org}/members/{login}", get(accounts::org_member))
        .route("/orgs/{org}/labels", get(accounts::org_labels).post(accounts::create_org_label))
        .route("/orgs/{org}/hooks", get(accounts::org_hooks).post(accounts::create_org_hook))
        .route("/orgs/{org}/hooks/{id}", delete(accounts::delete_org_hook))
        .route("/orgs/{org}/repos", post(accounts::create_org_repo))
        .route("/orgs/{org}/teams", get(teams::list).post(teams::create))
        .route("/teams/{id}", get(teams::get))
        .route("/teams/{id}/members/{login}", get(teams::member).put(teams::add_member).delete(teams::remove_member))
        .route("/teams/{id}/repos/{org}/{repo}", put(teams::add_repository))
}

fn of_repository() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(repos::get).patch(repos::edit).delete(repos::delete))
        .route("/forks", post(forks::create))
        .route("/collaborators", get(repos::collaborators))
        .route("/collaborators/{login}", put(repos::add_collaborator).delete(repos::remove_collaborator))
        .route("/collaborators/{login}/permission", get(repos::permission))
        .route("/teams", get(teams::of_repository))
        .route("/labels", get(repos::labels).post(repos::create_label))
        .route("/labels/{id}", patch(repos::edit_label))
        .route("/hooks", get(repos::hooks).post(repos::create_hook))
        .route("/hooks/{id}", delete(repos::delete_hook))
        .route("/hooks/{id}/tests", post(repos::test_hook))
        .route("/keys", get(repos::keys).post(repos::create_key))
        .route("/push_mirrors", get(repos::push_mirrors))
        .route("/branch_protections", get(repos::protections).post(repos::create_protection))
        .route(
            "/branch_protections/{name}",
            get(repos::protection).patch(repos::edit_protection).delete(repos::delete_protection),
        )
        .route("/branches/{name}", get(repos::branch))
        .route("/commits/{sha}/statuses", get(repos::statuses))
        .route("/statuses/{sha}", post(repos::create_status))
        .route("/actions/runs", get(actions::runs))
        .route("/actions/runs/{run}/jobs", get(actions::jobs))
        .route("/actions/jobs/{id}/logs", get(actions::log))
        .route("/issues/comments/{id}/assets", get(attachments::list_of_comment).post(attachments::upload_to_comment))
        .route("/issues", get(issues::list).post(issues::create))
        .route("/issues/comments", get(issues::comments_of_repo))
        .route("/issues/comments/{id}", get(issues::comment).patch(issues::edit_comment).delete(issues::delete_comment))
        .route("/issues/{number}", get(issues::get).patch(issues::edit).delete(faults::delete_issue))
        .route("/issues/{number}/comments", get(issues::comments).post(issues::create_comment))
        .route("/issues/{number}/assets", get(attachments::list).post(attachments::upload))
        .route("/issues/{number}/labels", get(issues::labels).post(issues::add_labels))
        .route("/issues/{number}/labels/{id}", delete(issues::remove_label))
        .route("/issues/{number}/dependencies", get(dependencies::list).post(dependencies::create))
        .route("/issues/{number}/timeline", get(issues::timeline))
        .route("/pulls", get(pulls::list).post(pulls::create))
        .route("/pulls/{number}", get(pulls::get).patch(pulls::edit))
        .route("/pulls/{number}/merge", post(pulls::merge))
        .route("/pulls/{number}/requested_reviewers", post(pulls::request_reviewers))
        .route("/pulls/{number}/reviews", get(pulls::reviews).post(pulls::create_review))
        .route("/pulls/{number}/reviews/{id}", delete(pulls::delete_review))
        .route("/pulls/{number}/reviews/{id}/dismissals", post(pulls::dismiss_review))
        .route("/pulls/{number}/reviews/{id}/comments", get(pulls::review_comments))
}
