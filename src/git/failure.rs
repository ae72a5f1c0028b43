//! Whether a failed git command may succeed later. Git tells the reason only in words: those of git 2.38 to 2.51, libcurl 7.88 to 8.14 and
//! OpenSSH, in English, which `run.rs` sets, and those of GitHub and GitLab over ssh.

use super::GitError;

/// Reason of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The other side, the network or this machine was busy, full or unreachable.
    Away,
    /// The repository has another address.
    Moved,
    /// The repository does not exist according to the other side, which may also say so while it starts.
    Missing,
    /// The other side refuses the credential, which it may also do while it starts or a token is renewed.
    Forbidden,
    /// The failure is permanent.
    Lasting,
}

const AWAY: [&str; 42] = [
    "Could not resolve host",
    "Could not resolve proxy",
    "Temporary failure in name resolution",
    "Failed to connect",
    "Could not connect",
    "Couldn't connect",
    "Connection refused",
    "Connection reset",
    "Connection was reset",
    "Connection closed by",
    "Connection timed out",
    "timed out",
    "Network is unreachable",
    "No route to host",
    "Empty reply from server",
    "Recv failure",
    "Send failure",
    "SSL_ERROR_SYSCALL",
    "SSL connection timeout",
    "Timeout was reached",
    "unexpected eof while reading",
    "gnutls_handshake() failed",
    "GnuTLS, handshake failed",
    "GnuTLS recv error",
    "TLS connection was non-properly terminated",
    "Failed sending data to the peer",
    "Failure when receiving data from the peer",
    "HTTP2 framing layer",
    "unexpected disconnect",
    "early EOF",
    "the remote end hung up",
    "transfer closed with",
    "was not closed cleanly",
    "No space left on device",
    "Disk quota exceeded",
    "Cannot allocate memory",
    "Too many open files",
    // Another git, which is writing here at the same time.
    "Another git process seems to be running",
    " but expected ",
    "returned error: 5",
    "returned error: 408",
    "returned error: 429",
];
const MOVED: [&str; 2] = ["returned error: 30", "unable to update url base from redirection"];
const MISSING: [&str; 6] = [
    "returned error: 404",
    "/' not found",
    "Cannot find repository",
    "Repository not found",
    "does not appear to be a git repository",
    "could not be found or you don't have permission to view it",
];
const FORBIDDEN: [&str; 8] = [
    "returned error: 401",
    "returned error: 403",
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "Permission denied (",
    "Host key verification failed",
    "enforced SAML SSO",
];

impl GitError {
    /// The reason of this failure, and so whether a retry can help.
    pub fn meaning(&self) -> Meaning {
        match self {
            Self::TimedOut { .. } | Self::Io(_) => Meaning::Away,
            Self::Failed { stderr, .. } => meaning(stderr),
            Self::Missing | Self::Invalid(_) | Self::TooLarge { .. } | Self::Oversized { .. } | Self::NotFound(_) => {
                Meaning::Lasting
            }
        }
    }
}

fn meaning(stderr: &str) -> Meaning {
    let has = |signs: &[&str]| signs.iter().any(|sign| stderr.contains(sign));
    match () {
        // A hook's answer to a push means that the connection works; its words may contain anything.
        () if stderr.contains("[remote rejected]") && !stderr.contains("No space left on device") => Meaning::Lasting,
        () if has(&AWAY) && !is_refused(stderr) => Meaning::Away,
        () if has(&MOVED) => Meaning::Moved,
        () if has(&FORBIDDEN) => Meaning::Forbidden,
        () if has(&MISSING) => Meaning::Missing,
        () => Meaning::Lasting,
    }
}

/// Whether the other side answered, and not that it is busy. Behind such an answer to a push git says that the connection ended, as where it broke.
fn is_refused(stderr: &str) -> bool {
    let is = |status: &str| stderr.contains(&format!("returned error: {status}"));
    is("4") && !is("408") && !is("429")
}

#[cfg(test)]
mod tests {
    use super::{GitError, Meaning};

    fn failed(stderr: &str) -> Meaning {
        GitError::Failed { verb: "fetch", code: 128, stderr: stderr.to_owned() }.meaning()
    }

    #[test]
    fn what_is_away_is_no_refusal() {
        for stderr in [
            "fatal: unable to access 'http://h/a/b.git/': Empty reply from server",
            "error: RPC failed; curl 56 Recv failure: Connection reset by peer; fatal: expected 'packfile'",
            "fatal: write error: No space left on device; fatal: index-pack failed",
            "fatal: unable to access 'http://h/a/b.git/': The requested URL returned error: 503",
            "fatal: the remote end hung up unexpectedly",
            "Connection closed by 192.0.2.7 port 22; fatal: Could not read from remote repository.",
            "error: unable to write file: No space left on device; ! [remote rejected] a -> a (unpacker error)",
            "fatal: unable to access 'https://h/a/b.git/': GnuTLS recv error (-54): Error in the pull function.",
            "fatal: unable to access 'https://h/a/b.git/': GnuTLS, handshake failed: Error in the pull function.",
            "fatal: unable to access 'https://h/a/b.git/': SSL connection timeout",
            "fatal: unable to access 'https://h/a/b.git/': TLS connect error: error:0A000126:SSL routines::unexpected eof while reading",
            "error: RPC failed; HTTP 429 curl 22 The requested URL returned error: 429; fatal: the remote end hung up unexpectedly",
            "error: cannot lock ref 'refs/remotes/origin/main': is at 1f but expected 2e",
            "fatal: Unable to create '/x/packed-refs.lock': File exists.; Another git process seems to be running in this repository, e.g.",
        ] {
            assert_eq!(failed(stderr), Meaning::Away, "{stderr}");
        }
        assert_eq!(GitError::Io("write: No space left on device".into()).meaning(), Meaning::Away);
    }

    #[test]
    fn a_refusal_is_told_from_what_lasts() {
        let access =
            |code: u16| failed(&format!("fatal: unable to access 'x': The requested URL returned error: {code}"));
        assert_eq!([access(401), access(403), access(404)], [Meaning::Forbidden, Meaning::Forbidden, Meaning::Missing]);
        assert_eq!([access(301), access(307)], [Meaning::Moved; 2]);
        // What git prints of a push that a proxy before the forge finds too large, or refuses.
        let push = |code: u16| {
            failed(&format!(
                "error: RPC failed; HTTP {code} curl 22 The requested URL returned error: {code}; send-pack: unexpected disconnect while \
                 reading sideband packet; fatal: the remote end hung up unexpectedly; Everything up-to-date"
            ))
        };
        assert_eq!([push(413), push(403), push(502)], [Meaning::Lasting, Meaning::Forbidden, Meaning::Away]);
        assert_eq!(failed("fatal: Authentication failed for 'http://h/a/b.git/'"), Meaning::Forbidden);
        assert_eq!(failed("remote: Not found.; fatal: repository 'http://h/a/b.git/' not found"), Meaning::Missing);
        let ssh = |words: &str| failed(&format!("{words}; fatal: Could not read from remote repository."));
        assert_eq!(ssh("git@github.com: Permission denied (publickey)."), Meaning::Forbidden);
        assert_eq!(ssh("Host key verification failed."), Meaning::Forbidden);
        assert_eq!(ssh("ERROR: Repository not found."), Meaning::Missing);
        assert_eq!(ssh("fatal: '/srv/shop.git' does not appear to be a git repository"), Meaning::Missing);
        assert_eq!(failed("! [remote rejected] a -> a (pre-receive hook declined: timed out)"), Meaning::Lasting);
        assert_eq!(failed("fatal: remote error: upload-pack: not our ref"), Meaning::Lasting);
    }

    /// What GitLab and GitHub say over ssh, as git prints it.
    #[test]
    fn the_reason_is_found_among_what_says_nothing() {
        let frame = "remote: ========================================================================";
        let access = "Please make sure you have the correct access rights\nand the repository exists.";
        let gitlab = format!(
            "remote: \n{frame}\nremote: \nremote: ERROR: The project you were looking for could not be found or you don't have permission to \
             view it.\nremote: \n{frame}\nremote: \nfatal: Could not read from remote repository.\n\n{access}\n"
        );
        let github = format!(
            "ERROR: The `lab' organization has enabled or enforced SAML SSO. To access\nthis repository, you must use the HTTPS remote with a \
             personal access token\nor SSH with an SSH key and passphrase\nthat has been authorized for this organization. Visit\n\
             https://docs.github.com/x for more information.\n\nfatal: Could not read from remote repository.\n\n{access}\n"
        );
        for (stderr, meaning, begins) in [
            (&gitlab, Meaning::Missing, "remote: ERROR: The project you were looking for"),
            (&github, Meaning::Forbidden, "ERROR: The `lab' organization"),
        ] {
            let error = GitError::failed("ls-remote", 128, stderr);
            assert_eq!(error.meaning(), meaning, "{error}");
            let GitError::Failed { stderr, .. } = &error else { panic!("{error}") };
            assert!(stderr.starts_with(begins), "{stderr}");
            assert!(stderr.ends_with("fatal: Could not read from remote repository."), "{stderr}");
        }
    }
}
