//! The bare repositories below a directory, and git's own `http-backend` to serve them. Owns every git process of the built-in forge.
//! Rights are checked by the caller; references that may not be written are given as a list, which a pre-receive hook refuses as Gitea's
//! does.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

const PRE_RECEIVE: &str = r#"#!/bin/sh
# Refuses what the forge's branch protection forbids: the lists come from the forge, one reference a line.
while read -r old new ref; do
  if [ -z "$(printf '%s' "$new" | tr -d 0)" ] && printf '%s\n' "$DEVFORGE_KEPT" | grep -qxF -- "$ref"; then
    echo "Gitea: branch ${ref#refs/heads/} is protected from deletion" >&2
    exit 1
  fi
  if printf '%s\n' "$DEVFORGE_FORWARD" | grep -qxF -- "$ref" && [ -n "$(git rev-list --max-count=1 "$old" "^$new" 2>/dev/null)" ]; then
    echo "Gitea: branch ${ref#refs/heads/} is protected from force push" >&2
    exit 1
  fi
  if printf '%s\n' "$DEVFORGE_DENIED" | grep -qxF -- "$ref"; then
    echo "Gitea: Not allowed to push to protected branch ${ref#refs/heads/}" >&2
    exit 1
  fi
done
exit 0
"#;

/// One request for `git http-backend`.
#[derive(Debug, Default)]
pub(crate) struct GitRequest {
    pub method: String,
    pub path_info: String,
    pub query: String,
    pub content_type: String,
    pub content_encoding: String,
    pub protocol: String,
    pub user: Option<String>,
    pub denied: Vec<String>,
    /// References that may only move forward.
    pub forward: Vec<String>,
    /// References that may not be deleted.
    pub kept: Vec<String>,
    pub body: bytes::Bytes,
}

pub(crate) struct GitAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Directory of a repository; its names were checked when it was created.
pub(crate) fn path(root: &Path, owner: &str, name: &str) -> PathBuf {
    root.join(owner.to_lowercase()).join(format!("{}.git", name.to_lowercase()))
}

/// Git by its path: a child that is given a `PATH` is started without a fork only then, and a fork copies the page tables of everything that
/// is tested in this process.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|it| it.is_file());
        found.unwrap_or_else(|| PathBuf::from("git"))
    })
}

fn git(dir: &Path) -> Command {
    let mut command = Command::new(program());
    command.arg("-C").arg(dir).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    for name in ["PATH", "HOME", "TMPDIR"] {
        std::env::var_os(name).map(|value| command.env(name, value));
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
    command
}

async fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().await.context("git cannot be started; install git")?;
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) async fn init(dir: &Path, default_branch: &str) -> anyhow::Result<()> {
    tokio::fs::create_dir_all(dir).await.with_context(|| format!("cannot make {}", dir.display()))?;
    let branch = format!("--initial-branch={default_branch}");
    run(git(dir).args(["init", "-q", "--bare", &branch, "."])).await?;
    let settings = "[http]\n\treceivepack = true\n[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n\
                    [receive]\n\tadvertisePushOptions = true\n[gc]\n\tauto = 0\n";
    let config = dir.join("config");
    let mut text = tokio::fs::read_to_string(&config).await?;
    text.push_str(settings);
    tokio::fs::write(&config, text).await?;
    let hook = dir.join("hooks").join("pre-receive");
    tokio::fs::create_dir_all(dir.join("hooks")).await?;
    tokio::fs::write(&hook, PRE_RECEIVE).await?;
    use std::os::unix::fs::PermissionsExt;
    tokio::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).await?;
    Ok(())
}

/// Copies branches and tags of one repository into another, which is empty.
pub(crate) async fn copy(dir: &Path, from: &Path) -> anyhow::Result<()> {
    let fetch = ["fetch", "-q", "--no-tags", "--end-of-options"];
    let refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
    run(git(dir).args(fetch).arg(from).args(refs)).await.map(drop)
}

/// Gives a branch another name; `HEAD` follows it.
pub(crate) async fn rename_branch(dir: &Path, from: &str, to: &str) -> anyhow::Result<()> {
    run(git(dir).args(["branch", "-m", "--end-of-options", from, to])).await.map(drop)
}

/// Sets `refs/pull/<number>/head` to a commit of `from`, whose objects are brought along.
pub(crate) async fn keep_head(dir: &Path, from: &Path, number: u64, commit: &str) -> anyhow::Result<()> {
    let spec = format!("+{commit}:refs/pull/{number}/head");
    run(git(dir).args(["fetch", "-q", "--no-tags", "--end-of-options"]).arg(from).arg(spec)).await.map(drop)
}

/// Every branch and tag with its object id, which for an annotated tag is the tag's own.
pub(crate) async fn refs(dir: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text =
        run(git(dir).args(["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"])).await?;
    Ok(text.lines().filter_map(|l| l.split_once(' ')).map(|(sha, name)| (name.to_owned(), sha.to_owned())).collect())
}

/// Messages of the commits that `new` has and `old` has not.
pub(crate) async fn messages(dir: &Path, old: &str, new: &str) -> anyhow::Result<String> {
    run(git(dir).args(["log", "--format=%B", "--end-of-options", &format!("{old}..{new}")])).await
}

pub(crate) async fn has_commit(dir: &Path, sha: &str) -> bool {
    let hex = sha.len() == 40 && sha.bytes().all(|b| b.is_ascii_hexdigit());
    hex && run(git(dir).args(["cat-file", "-e", &format!("{sha}^{{commit}}")])).await.is_ok()
}

/// The diff of a pull request: changes of `head` since it left `base`.
pub(crate) async fn diff(dir: &Path, base: &str, head: &str) -> anyhow::Result<String> {
    let range = format!("{base}...{head}");
    run(git(dir).args(["diff", "--text", "--no-ext-diff", "--no-color", "--end-of-options", &range])).await
}

/// Whether the differences of some files of a pull request have a line of 64 KiB or more; none where git takes one of their names for no path.
pub(crate) async fn have_long_line(dir: &Path, (base, head): (&str, &str), files: &[&str]) -> Option<bool> {
    let range = format!("refs/heads/{base}...{head}");
    let options = ["diff", "--no-ext-diff", "--no-color", "--no-renames", &range, "--"];
    let diff = run(git(dir).args(options).args(files)).await;
    diff.ok().map(|diff| diff.lines().any(|line| line.len() >= 64 << 10))
}

/// Merges `head` into the branch `base` by a merge commit; returns it. A conflict is an error.
pub(crate) async fn merge(dir: &Path, base: &str, head: &str, who: &str, message: &str) -> anyhow::Result<String> {
    let base_ref = format!("refs/heads/{base}");
    let old = run(git(dir).args(["rev-parse", "--verify", &base_ref])).await?.trim().to_owned();
    let tree = run(git(dir).args(["merge-tree", "--write-tree", &old, head])).await.context("the branches conflict")?;
    let email = format!("{who}@noreply.localhost");
    let commit = run(git(dir)
        .args(["commit-tree", tree.trim(), "-p", &old, "-p", head, "-m", message])
        .envs([("GIT_AUTHOR_NAME", who), ("GIT_AUTHOR_EMAIL", &email)])
        .envs([("GIT_COMMITTER_NAME", who), ("GIT_COMMITTER_EMAIL", &email)]))
    .await?;
    run(git(dir).args(["update-ref", &base_ref, commit.trim(), &old])).await?;
    Ok(commit.trim().to_owned())
}

/// The references that a `git-receive-pack` request writes: its packet lines up to the first flush.
pub(crate) fn pushed_refs(mut body: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((length, rest)) = body.split_at_checked(4) {
        let length = std::str::from_utf8(length).ok().and_then(|t| usize::from_str_radix(t, 16).ok()).unwrap_or(0);
        if length <= 4 || length - 4 > rest.len() {
            break;
        }
        let line = String::from_utf8_lossy(&rest[..length - 4]);
        // `<old> <new> <ref>`; the first line also has capabilities after a zero byte.
        names.extend(line.split('\0').next().and_then(|l| l.trim_end().splitn(3, ' ').nth(2)).map(str::to_owned));
        body = &rest[length - 4..];
    }
    names
}

/// Runs `git http-backend` for one request.
pub(crate) async fn serve(root: &Path, request: GitRequest) -> anyhow::Result<GitAnswer> {
    let mut command = git(root);
    command.arg("http-backend").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1").env("PATH_INFO", &request.path_info);
    command.env("REQUEST_METHOD", &request.method).env("QUERY_STRING", &request.query);
    command.env("CONTENT_TYPE", &request.content_type).env("CONTENT_LENGTH", request.body.len().to_string());
    command.env("GIT_PROTOCOL", &request.protocol).env("DEVFORGE_DENIED", request.denied.join("\n"));
    command.env("DEVFORGE_FORWARD", request.forward.join("\n")).env("DEVFORGE_KEPT", request.kept.join("\n"));
    if !request.content_encoding.is_empty() {
        command.env("HTTP_CONTENT_ENCODING", &request.content_encoding);
    }
    request.user.as_ref().map(|user| command.env("REMOTE_USER", user));
    let mut child = command.spawn().context("git cannot be started; install git")?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    let body = request.body;
    // Both directions at once, because a full pipe in one would block the other for ever.
    let feed = async move {
        let written = stdin.write_all(&body).await;
        drop(stdin);
        written
    };
    let mut out = Vec::new();
    let (_, read) = tokio::join!(feed, stdout.read_to_end(&mut out));
    read.context("git's answer cannot be read")?;
    child.wait().await?;
    split(&out)
}

fn split(out: &[u8]) -> anyhow::Result<GitAnswer> {
    let end = out.windows(4).position(|w| w == b"\r\n\r\n").context("git http-backend gave no answer")?;
    let head = String::from_utf8_lossy(&out[..end]).into_owned();
    let mut answer = GitAnswer { status: 200, headers: Vec::new(), body: out[end + 4..].to_vec() };
    for (name, value) in head.lines().filter_map(|l| l.split_once(':')) {
        if name.eq_ignore_ascii_case("status") {
            answer.status = value.trim().split(' ').next().and_then(|s| s.parse().ok()).unwrap_or(500);
        } else {
            answer.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::pushed_refs;

    #[test]
    fn a_push_request_names_its_references() {
        let zero = "0".repeat(40);
        let first = format!("{zero} {zero} refs/heads/main\0 report-status agent=git\n");
        let second = format!("{zero} {zero} refs/heads/agent/1-x");
        let mut body = format!("{:04x}{first}{:04x}{second}0000", first.len() + 4, second.len() + 4).into_bytes();
        body.extend_from_slice(b"PACK\0\0");
        assert_eq!(pushed_refs(&body), ["refs/heads/main", "refs/heads/agent/1-x"]);
        assert!(pushed_refs(b"0000").is_empty() && pushed_refs(b"zz").is_empty());
    }
}
