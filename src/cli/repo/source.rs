//! What `caisson repo add` copies from: a path of this machine, an address, or `owner/name` on GitHub, which is asked about it.

use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::UpstreamHost;
use crate::git::RemoteUrl;
use crate::upstream::{GitHub, GitHubError, name_in, name_of};
use anyhow::Result;

/// The address, and what to do where git cannot read it.
pub(super) async fn source_of(config: &Process, text: &str, printer: &Printer) -> Result<(RemoteUrl, String)> {
    let hint = "name a git repository that has a commit, by a path or an address that `git ls-remote` can read";
    if let Some(path) = std::fs::canonicalize(text).ok().filter(|_| !text.contains("://")) {
        return Ok((RemoteUrl::parse(&path.display().to_string())?, hint.to_owned()));
    }
    if name_of(text).is_some() {
        return on_github(&config.upstream.github(), text, printer).await;
    }
    let url = RemoteUrl::parse(text)?;
    match config.upstream.github_of(text).zip(name_in(text)) {
        Some((host, name)) => on_github(&host, &name, printer).await,
        None => {
            let private = "; a private one over https needs a token file for its server under [[upstream.hosts]]";
            Ok((url, format!("{hint}{private}")))
        }
    }
}

/// What GitHub says of it. Where it takes no request now, git is tried all the same.
async fn on_github(host: &UpstreamHost, name: &str, printer: &Printer) -> Result<(RemoteUrl, String)> {
    let github = GitHub::open(host).map_err(Complaint::new)?;
    let hint = "for a private repository, write a token that may read its contents into a file (mode 0600), and name it in caisson.toml as \
                token_file of [[upstream.hosts]] with the server's url and api";
    let full_name = match github.repository(name).await {
        Ok(found) => {
            if !found.full_name.eq_ignore_ascii_case(name) {
                printer.warn(&format!("{name} is called {} now; that is taken", found.full_name));
            }
            let seen = if found.private { "private" } else { "public" };
            let archived = if found.archived { ", archived: nothing new will come" } else { "" };
            printer.good(&format!("{} on GitHub: {seen}{archived}", found.full_name));
            found.full_name
        }
        Err(error @ (GitHubError::Limited { .. } | GitHubError::Away { .. })) => {
            printer.warn(&format!("{error}; git is tried"));
            name.to_owned()
        }
        Err(error @ (GitHubError::NotFound { .. } | GitHubError::Refused { .. })) => {
            return Err(Complaint::new(error.to_string()).attempt(hint).into());
        }
    };
    Ok((github.address(&full_name)?, hint.to_owned()))
}
