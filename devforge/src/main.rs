//! `caisson-devforge`: the built-in forge as a program, for the demo without a Gitea.
//! Prints its address; writes the accounts' secrets to files of mode 0600 and never to the screen.

use anyhow::{Context, bail};
use caisson_devforge::{Devforge, Options, Traps};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const HELP: &str = "caisson-devforge: a small forge with Gitea's API, for trying Caisson out

usage: caisson-devforge --dir DIR [--port PORT] [--listen ADDRESS] [--url URL] [--human NAME] [--traps]

  --dir DIR         where repositories and secrets are put (made if it isn't there)
  --port PORT       0 = any free one (default)
  --listen ADDRESS  default 127.0.0.1; never an address that others can reach
  --url URL         what the forge calls itself, if others reach it under another name
  --human NAME      the person's account (default: dev)
  --traps           lose nothing, but be late and double as a real forge can be

Prints `url …`, then runs until it gets Ctrl-C or SIGTERM. DIR/admin-token and DIR/NAME-password hold the secrets.";

struct Args {
    dir: PathBuf,
    port: u16,
    listen: IpAddr,
    url: Option<String>,
    human: String,
    traps: bool,
}

fn parse() -> anyhow::Result<Args> {
    let (mut dir, mut traps, mut url) = (None, false, None);
    let (mut port, mut listen, mut human) = (0, IpAddr::V4(Ipv4Addr::LOCALHOST), "dev".to_owned());
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().with_context(|| format!("{name} needs a value"));
        match name.as_str() {
            "--dir" => dir = Some(PathBuf::from(value()?)),
            "--port" => port = value()?.parse().context("--port wants a number from 0 to 65535")?,
            "--listen" => listen = value()?.parse().context("--listen wants an IP address")?,
            "--url" => url = Some(value()?.trim_end_matches('/').to_owned()),
            "--human" => human = value()?,
            "--traps" => traps = true,
            "--help" | "-h" => {
                println!("{HELP}");
                std::process::exit(0);
            }
            other => bail!("{other} is not known; see --help"),
        }
    }
    let dir = dir.context("--dir is missing; see --help")?;
    Ok(Args { dir, port, listen, url, human, traps })
}

fn keep(path: &Path, secret: &str) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(secret.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = parse()?;
    std::fs::create_dir_all(&args.dir).with_context(|| format!("cannot make {}", args.dir.display()))?;
    // git runs in other directories, where a relative path would differ.
    args.dir = args.dir.canonicalize().with_context(|| format!("cannot open {}", args.dir.display()))?;
    let traps = if args.traps { Traps::default() } else { Traps::none() };
    let listen = (args.listen, args.port).into();
    let options = Options { traps, listen, dir: Some(args.dir.join("repositories")), url: args.url };
    let forge = Devforge::start(options).await?;
    let password = uuid::Uuid::new_v4().simple().to_string();
    forge.add_person(&args.human, &password).map_err(|e| anyhow::anyhow!("{}: {}", args.human, e.message))?;
    keep(&args.dir.join("admin-token"), forge.admin_token())?;
    keep(&args.dir.join(format!("{}-password", args.human)), &password)?;
    println!("url {}", forge.url());
    println!("human {} (password in {})", args.human, args.dir.join(format!("{}-password", args.human)).display());
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
