//! What `caisson repo add` copies from: a path of this machine, an address, or `owner/name` on GitHub, which is asked about it.

use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::{Repository as Entry, UpstreamHost};
use crate::git::RemoteUrl;
use crate::upstream::{Answers, GitHub, GitHubError, name_in, name_of};
use anyhow::Result;

/// What to do where git cannot read it.
const HINT: &str = "name a git repository that has a commit, by a path or an address that `git ls-remote` can read";

/// What is copied.
pub(super) struct Source {
    /// Its address.
    pub address: RemoteUrl,
    /// GitHub's number of it; 0 = not on GitHub, or GitHub does not say.
    pub id: u64,
    /// What to do where git cannot read it.
    pub hint: String,
}

pub(super) async fn source_of(config: &Process, text: &str, printer: &Printer) -> Result<Source> {
    if let Some(path) = std::fs::canonicalize(text).ok().filter(|_| !text.contains("://")) {
        return Ok(Source { address: RemoteUrl::parse(&path.display().to_string())?, id: 0, hint: HINT.to_owned() });
    }
    if name_of(text).is_some() {
        return on_github(&config.upstream.github(), text, printer).await;
    }
    let url = RemoteUrl::parse(text)?;
    match config.upstream.github_of(text).zip(name_in(text)) {
        Some((host, name)) => on_github(&host, &name, printer).await,
        None => Ok(Source { address: url, id: 0, hint: hint_for(text) }),
    }
}

/// What to do where git cannot read an address that is on no GitHub.
fn hint_for(address: &str) -> String {
    let private = "a private one over https needs a token file for its server under [[upstream.hosts]]";
    let web = address.starts_with("http://") || address.starts_with("https://");
    let ending = match web && !address.trim_end_matches('/').ends_with(".git") {
        true => "; git follows no redirection here, so write .git at the end where the server wants that (GitLab does)",
        false => "",
    };
    format!("{HINT}; {private}{ending}")
}

/// What GitHub says of it. Where it takes no request now, git is tried all the same.
async fn on_github(host: &UpstreamHost, name: &str, printer: &Printer) -> Result<Source> {
    let github = GitHub::open(host, &Answers::default()).map_err(Complaint::new)?;
    let hint = "for a private repository, write a token that may read its contents into a file (mode 0600), and name it in caisson.toml as \
                token_file of [[upstream.hosts]] with the server's url and api";
    let (full_name, id) = match github.repository(name).await {
        Ok(found) => {
            if !found.full_name.eq_ignore_ascii_case(name) {
                printer.warn(&format!("{name} is called {} now; that is taken", found.full_name));
            }
            let seen = if found.private { "private" } else { "public" };
            let archived = if found.archived { ", archived: nothing new will come" } else { "" };
            printer.good(&format!("{} on GitHub: {seen}{archived}", found.full_name));
            (found.full_name, found.id)
        }
        Err(error @ (GitHubError::Limited { .. } | GitHubError::Away { .. })) => {
            printer.warn(&format!("{error}; git is tried"));
            (name.to_owned(), 0)
        }
        Err(error @ (GitHubError::NotFound { .. } | GitHubError::Refused { .. })) => {
            return Err(Complaint::new(error.to_string()).hint(hint).into());
        }
    };
    Ok(Source { address: github.address(&full_name)?, id, hint: hint.to_owned() })
}

/// An error where the source is another one than an entry was added from, which has to be said: by its number where both are known, otherwise
/// by its address.
pub(super) fn is_the_same(known: &Entry, source: &Source) -> Result<()> {
    let (key, from) = (&known.key, known.origin());
    let same_address = same_source(from, source.address.as_str());
    match (known.upstream_id, source.id) {
        (known, found) if known != 0 && found != 0 && known != found && same_address => {
            let complaint = Complaint::new(format!("{from} is another repository on GitHub now"))
                .because(format!("it has the number {found} there, and {key} was copied from {known}"));
            Err(complaint.hint("look at it first; --moved takes it in the place of the one before").into())
        }
        (known, found) if known == found && known != 0 && same_server(from, source.address.as_str()) => Ok(()),
        _ if same_address => Ok(()),
        _ => {
            let hint =
                "choose another --name for this one; or say --moved where it is the same repository at a new address";
            let complaint = Complaint::new(match from {
                "" => format!("{key} lives on the forge alone, and is no copy of another repository"),
                from => format!("{key} was copied from {from}"),
            });
            let hint = if from.is_empty() { "choose another --name for this one" } else { hint };
            Err(complaint.hint(hint).into())
        }
    }
}

/// Whether both are on one server: each counts its repositories for itself.
fn same_server(one: &str, other: &str) -> bool {
    let origin = |address: &str| url::Url::parse(address).ok().map(|url| url.origin());
    origin(one).is_some_and(|one| Some(one) == origin(other))
}

/// Whether both name one repository: an address on GitHub is written with its `.git` since it is asked about there.
fn same_source(one: &str, other: &str) -> bool {
    let plain = |address: &str| {
        let address = address.trim_end_matches('/');
        address.strip_suffix(".git").unwrap_or(address).to_owned()
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GitLab redirects git from an address without it.
    #[test]
    fn an_address_without_git_at_its_end_may_need_that() {
        for (address, asked) in [
            ("https://gitlab.com/lab/shop", true),
            ("https://gitlab.com/lab/shop/", true),
            ("https://gitlab.com/lab/shop.git", false),
            ("git@gitlab.com:lab/shop", false),
        ] {
            assert_eq!(hint_for(address).contains("write .git at the end"), asked, "{address}");
        }
    }

    #[test]
    fn a_repository_is_the_same_by_its_number_and_otherwise_by_its_address() {
        assert!(same_source("https://github.com/lab/shop", "https://github.com/lab/shop.git"));
        assert!(same_source("/srv/git/shop/", "/srv/git/shop") && !same_source("https://h/a/shop", "https://h/b/shop"));
        let refusal = |known: u64, name: &str, found: u64| {
            let upstream = "https://github.com/lab/shop.git".to_owned();
            let entry = Entry { key: "shop".into(), upstream, upstream_id: known, ..Entry::default() };
            let address = RemoteUrl::parse(&format!("https://github.com/{name}.git")).unwrap();
            is_the_same(&entry, &Source { address, id: found, hint: String::new() }).err().map(|it| it.to_string())
        };
        assert_eq!((refusal(7, "lab/shop", 7), refusal(7, "lab/store", 7)), (None, None), "a rename is no other one");
        assert_eq!((refusal(0, "lab/shop", 7), refusal(7, "lab/shop", 0)), (None, None));
        let entry = Entry { upstream: "https://git.example/lab/shop.git".into(), upstream_id: 7, ..Entry::default() };
        let address = RemoteUrl::parse("https://github.com/lab/other.git").unwrap();
        let elsewhere = is_the_same(&entry, &Source { address, id: 7, hint: String::new() });
        assert!(elsewhere.is_err(), "each server counts for itself");
        assert!(refusal(7, "lab/shop", 9).is_some_and(|why| why.contains("another repository on GitHub now")));
        for (known, found) in [(0, 9), (7, 0), (7, 9)] {
            assert!(refusal(known, "lab/store", found).is_some_and(|why| why.contains("was copied from")), "{known}");
        }
    }
}
