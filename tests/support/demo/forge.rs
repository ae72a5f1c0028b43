//! The demo's forge: a real Gitea if there is one (`CAISSON_GITEA_BIN`, a `gitea` on the PATH, an image of the container engine), otherwise
//! the built-in one. Creates a person's account with a password.

use super::gitea;
use anyhow::{Context, Result, bail};
use caisson::cli::eval::own::process::run;
use caisson::forge::gitea::admin::Admin;
use caisson::forge::{ForgeReads, Gitea};
use caisson::secret::Secret;
use devforge::{Devforge, Options};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use url::Url;

pub const AGENT: &str = "caisson-demo";
/// Images that contain a Gitea, preferred first.
const IMAGES: [&str; 3] = ["gitea/gitea:1.25", "gitea/gitea:latest", "docker.gitea.com/gitea:latest"];

/// Kept only to be stopped when dropped.
enum Running {
    BuiltIn { _forge: Box<Devforge> },
    Process { _gitea: gitea::RealGitea },
    Container { _gitea: Container },
}

pub struct DemoForge {
    pub url: Url,
    pub admin: Secret,
    /// Its description, for the output.
    pub what: String,
    _running: Running,
}

impl DemoForge {
    pub async fn open() -> Result<DemoForge> {
        let (url, admin, running, what) = if gitea::binary().is_some() {
            let gitea = gitea::start().context("the gitea that was found does not start")?;
            let (url, admin) = (gitea.url.clone(), gitea.admin_token.clone());
            (url, admin, Running::Process { _gitea: gitea }, "a real Gitea (a program of this machine)")
        } else if let Some(image) = IMAGES.into_iter().find(|image| has_image(image)) {
            let gitea = Container::start(image)?;
            let (url, admin) = (gitea.url.clone(), gitea.admin_token.clone());
            (url, admin, Running::Container { _gitea: gitea }, "a real Gitea (an image of the container engine)")
        } else {
            let forge = Box::new(Devforge::start(Options::quiet()).await?);
            let (url, admin) = (forge.url().to_owned(), forge.admin_token().to_owned());
            let what = "the built-in forge (no CAISSON_GITEA_BIN, no gitea on the PATH, no image gitea/gitea)";
            (url, admin, Running::BuiltIn { _forge: forge }, what)
        };
        let (url, admin) = (Url::parse(&url)?, Secret::new(admin));
        let version = version(&url, &admin).await?;
        Ok(DemoForge { url, admin, what: format!("{what}, version {version}"), _running: running })
    }

    /// Creates a person's account; returns the password and a token for the demo's calls in their name.
    pub async fn person(&self, login: &str) -> Result<(Secret, Secret)> {
        let admin = Admin::new(&self.url, self.admin.clone(), AGENT)?;
        let password = Secret::random().map_err(anyhow::Error::msg)?;
        admin.create_account(login, &format!("{login}@localhost.localdomain"), &password).await?;
        let scopes = ["write:issue", "write:repository", "read:user", "read:organization"];
        let token = admin.create_token(login, &password, "demo", &scopes).await?;
        Ok((password, token))
    }
}

/// Waits, because a Gitea creates its database before it listens.
async fn version(url: &Url, admin: &Secret) -> Result<String> {
    let forge = Gitea::new(url, admin.clone(), AGENT)?;
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match forge.version().await {
            Err(error) if error.is_transient() && Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            answer => return Ok(answer?),
        }
    }
}

fn has_image(image: &str) -> bool {
    let mut command = Command::new("docker");
    command.args(["image", "inspect", "-f", "{{.Id}}", image]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// Gitea in a container on the host's network, listening on loopback: webhooks reach the bot there, and nobody else reaches Gitea.
struct Container {
    name: String,
    url: String,
    admin_token: String,
}

impl Container {
    fn start(image: &str) -> Result<Container> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        let mut gitea =
            Container { name: format!("caisson-demo-gitea-{}", std::process::id()), url, admin_token: String::new() };
        let mut command = Command::new("docker");
        command.args(["run", "-d", "--name", &gitea.name, "--network", "host"]);
        let settings = [
            ("server__ROOT_URL", format!("{}/", gitea.url)),
            ("server__HTTP_ADDR", "127.0.0.1".to_owned()),
            ("server__HTTP_PORT", port.to_string()),
            ("server__DISABLE_SSH", "true".to_owned()),
            ("server__OFFLINE_MODE", "true".to_owned()),
            ("database__DB_TYPE", "sqlite3".to_owned()),
            ("security__INSTALL_LOCK", "true".to_owned()),
            ("service__DISABLE_REGISTRATION", "true".to_owned()),
            ("webhook__ALLOWED_HOST_LIST", "loopback".to_owned()),
        ];
        for (key, value) in settings {
            command.args(["-e", &format!("GITEA__{key}={value}")]);
        }
        run(command.arg(image))?;
        gitea.admin_token = gitea.admin()?;
        Ok(gitea)
    }

    /// Creates a site administrator as soon as the database exists.
    fn admin(&self) -> Result<String> {
        let words = "admin user create --username root --email root@localhost.localdomain --admin --random-password \
                     --must-change-password=false --access-token --access-token-name demo --access-token-scopes all";
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let mut command = Command::new("docker");
            command.args(["exec", "-u", "git", &self.name, "gitea"]).args(words.split_whitespace());
            match run(&mut command) {
                Ok(said) => {
                    let token =
                        said.split_whitespace().find(|w| w.len() == 40 && w.bytes().all(|b| b.is_ascii_hexdigit()));
                    return token.map(str::to_owned).context("gitea does not print its admin's token");
                }
                Err(error) if Instant::now() > end => bail!("the Gitea of the container does not come up: {error:#}"),
                Err(_) => std::thread::sleep(Duration::from_millis(500)),
            }
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = run(Command::new("docker").args(["rm", "-f", "-v", &self.name]));
    }
}
