use super::process::{ModelKind, Network, Repository};
use super::*;
use std::path::Path;

fn load(text: &str) -> Result<Process, ConfigError> {
    Process::from_layers(Path::new("/etc/caisson/caisson.toml"), text, &|_| None)
}

fn refused(text: &str) -> String {
    load(text).unwrap_err().to_string()
}

#[test]
fn the_defaults_load_and_are_safe() {
    let config = load("").unwrap();
    assert_eq!(config.state_dir, Path::new("/etc/caisson/state"));
    assert_eq!(config.broker.socket, Path::new("/etc/caisson/state/broker.sock"));
    assert!(config.egress.allow.is_empty());
    assert_eq!(config.sandbox.network, Network::Router);
    assert!(config.listen.webhooks.ip().is_loopback() && config.listen.ops.ip().is_loopback());
    assert!(config.budget.dollars > 0.0);
    assert_eq!(config.forge.url, None);
    assert_eq!(config.hook_url("semver"), "http://127.0.0.1:8440/webhooks/gitea/semver");
}

#[test]
fn a_folder_of_advisories_has_to_be_there() {
    assert_eq!(load("").unwrap().advisories.dir, None);
    let dir = tempfile::tempdir().unwrap();
    let named = |path: &Path| format!("[advisories]\ndir = \"{}\"\n", path.display());
    assert_eq!(load(&named(dir.path())).unwrap().advisories.dir.as_deref(), Some(dir.path()));
    let gone = refused(&named(&dir.path().join("gone")));
    assert!(gone.contains("advisories.dir") && gone.contains("no such folder"), "{gone}");
}

#[test]
fn a_folder_of_newest_versions_has_to_be_there() {
    assert_eq!(load("").unwrap().advisories.newest_dir, None);
    let dir = tempfile::tempdir().unwrap();
    let named = |path: &Path| format!("[advisories]\nnewest_dir = \"{}\"\n", path.display());
    assert_eq!(load(&named(dir.path())).unwrap().advisories.newest_dir.as_deref(), Some(dir.path()));
    let gone = refused(&named(&dir.path().join("gone")));
    assert!(gone.contains("advisories.newest_dir") && gone.contains("caisson deps newest"), "{gone}");
}

#[test]
fn a_fetch_has_a_limit() {
    assert_eq!(load("").unwrap().git.max_pack_mib, 8192);
    assert_eq!(load("[git]\nmax_pack_mib = 20\n").unwrap().git.max_pack_mib, 20);
    let none = refused("[git]\nmax_pack_mib = 0\n");
    assert!(none.contains("git.max_pack_mib: nothing could be fetched"), "{none}");
}

#[test]
fn a_limit_that_would_turn_every_hook_away_is_refused() {
    for key in ["connections_per_address", "bad_signatures_per_minute"] {
        assert!(load(&format!("[listen]\n{key} = 1\n")).is_ok());
        let none = refused(&format!("[listen]\n{key} = 0\n"));
        assert!(none.contains(&format!(":2: listen.{key}: every hook would be turned away")), "{none}");
    }
}

#[test]
fn every_default_is_documented() {
    let mut comment = false;
    for line in DEFAULTS.lines() {
        let is_key = line.contains(" = ") && !line.starts_with('#');
        let documented = comment || line.contains('#') || !is_key;
        // A run of keys shares the comment above its first; an empty line ends it.
        comment = line.starts_with('#') || (comment && is_key);
        let plain = ["memory_mib", "pids", "cpus", "workspace_mib", "tmp_mib", "nofile", "image ="];
        assert!(documented || plain.iter().any(|key| line.starts_with(key)) || line.starts_with("network"), "{line}");
    }
}

#[test]
fn the_file_lies_over_the_defaults_and_the_environment_over_both() {
    let text =
        "max_tasks = 2\n[model]\nkind = \"scripted\"\nscript = \"demo.json\"\n[egress]\nallow = [\"a.example\"]\n";
    let environment = |name: &str| match name {
        "CAISSON_MAX_TASKS" => Some("7".to_owned()),
        "CAISSON_FORGE_URL" => Some("http://127.0.0.1:3000".to_owned()),
        "CAISSON_EGRESS_DENY" => Some("b.example, c.example".to_owned()),
        _ => None,
    };
    let config = Process::from_layers(Path::new("/x/caisson.toml"), text, &environment).unwrap();
    assert_eq!(config.max_tasks, 7);
    assert_eq!(config.models.worker().kind, ModelKind::Scripted);
    assert_eq!(config.models.worker().script.as_deref(), Some(Path::new("/x/demo.json")));
    assert_eq!(config.forge.url.unwrap().as_str(), "http://127.0.0.1:3000/");
    assert_eq!(config.egress.deny, ["b.example", "c.example"]);
    let bad =
        Process::from_layers(Path::new("/x/c.toml"), "", &|name| (name == "CAISSON_MAX_TASKS").then(|| "x".into()));
    assert_eq!(
        bad.unwrap_err().to_string(),
        "/x/c.toml: max_tasks: CAISSON_MAX_TASKS holds no integer; change or unset it"
    );
}

#[test]
fn the_environment_may_say_a_fraction_where_the_file_says_a_whole_number() {
    let environment = |name: &str| match name {
        "CAISSON_SANDBOX_CPUS" => Some("1.5".to_owned()),
        "CAISSON_MODEL_PRICE_INPUT" => Some("0.5".to_owned()),
        "CAISSON_MODEL_VISION" => Some("auto".to_owned()),
        _ => None,
    };
    let text = "[sandbox]\ncpus = 2\n[model]\nprice_input = 3\nvision = true\n";
    let config = Process::from_layers(Path::new("/x/c.toml"), text, &environment).unwrap();
    let model = config.models.worker();
    assert_eq!((config.sandbox.cpus, model.price_input), (1.5, Some(0.5)));
}

#[test]
fn what_is_wrong_is_named_by_file_line_and_key() {
    let at = "/etc/caisson/caisson.toml";
    assert_eq!(
        refused("max_tasks = 1\n\n[forge]\nulr = \"x\"\n"),
        format!("{at}:4: forge.ulr: no such key; `caisson config --defaults` lists them all")
    );
    assert_eq!(
        refused("[[repositories]]\nkey = \"a\"\nhook = 1\n"),
        format!("{at}:3: repositories.0.hook: no such key; `caisson config --defaults` lists them all")
    );
    assert!(refused("[forge]\nurl = \"ftp://x\"\n").starts_with(&format!("{at}:2: forge.url: ")));
    assert!(refused("max_tasks = \"many\"\n").starts_with(&format!("{at}:1: max_tasks: ")));
    assert!(refused("[sandbox]\n\nnetwork = \"open\"\n").starts_with(&format!("{at}:3: sandbox.network: ")));
    assert!(refused("a = = 1\n").starts_with(&format!("{at}:1: this is no TOML: ")));
    assert_eq!(
        refused("max_tasks = 0\n[model]\nkind = \"scripted\"\n"),
        format!(
            "{at}:1: max_tasks: with 0 no task would ever run; set at least 1\n\
             {at}:2: model.script: kind = \"scripted\" needs the file with the recording"
        )
    );
    let rule = "[[policy]]\nname = \"a\"\nthen = \"ask\"\nbecause = \"b\"\nrepeated = 5\n";
    let said = refused(&format!("{rule}{}", rule.replace("ask", "allow")));
    assert!(said.starts_with(&format!("{at}:8: policy.1.then: unknown variant")), "{said}");
    let said = refused("[[egress.rule]]\nhost = \"a.test\"\nreason = \"r\"\n[[egress.rule]]\nhost = \"b.test\"\n");
    assert!(said.starts_with(&format!("{at}:4: egress.rule.1: missing field `reason`")), "{said}");
    let error = Process::load(Path::new("/nowhere/caisson.toml")).unwrap_err().to_string();
    assert!(error.contains("caisson setup"), "{error}");
}

#[test]
fn a_rule_that_cannot_be_read_is_refused_when_it_is_loaded() {
    for (key, text) in [
        ("egress.deny", "[egress]\ndeny = [\"ok.example\", \"https://evil.example/x\"]\n"),
        ("egress.allow", "[egress]\nallow = [\"10.0.0.1\"]\n"),
        ("egress.private_ranges", "[egress]\nprivate_ranges = [\"10.0.0.0\"]\n"),
        ("router.pool", "[router]\npool = \"10.0.0.0/33\"\n"),
        ("router.upstream", "[router]\nupstream = \"dns.example\"\n"),
    ] {
        let said = refused(text);
        assert!(said.starts_with(&format!("/etc/caisson/caisson.toml:2: {key}: ")), "{said}");
    }
}

#[test]
fn a_rule_says_why_it_stands_and_its_examples_are_tried() {
    let rules = "[egress]\nallow = [\"plain.test\", \"preset:cargo\"]\n\
        [[egress.rule]]\nhost = \"*.a.test\"\nreason = \"our mirror\"\n\
        example = [\"x.a.test\", \"X.a.test:80\", \"!a.test\", \"!x.a.test:22\", \"! xa.test\"]\n\
        [[egress.rule]]\nhost = \"b.test\"\nreason = \"leaks\"\ndeny = true\nexample = [\"b.test:22\", \"!x.b.test\"]\n";
    let egress = load(rules).unwrap().egress;
    let told =
        |rules: Vec<protocol::router::Rule>| rules.iter().map(|r| format!("{r} ({})", r.reason)).collect::<Vec<_>>();
    assert_eq!(told(egress.allowed()), ["*.a.test (our mirror)", "plain.test (allowed by the operator)"]);
    assert_eq!(told(egress.denied()), ["b.test (leaks)"]);
    assert_eq!(egress.allowed_words(), ["*.a.test", "plain.test", "preset:cargo"]);
    let wild = "`*.a.test` allows every name below `a.test`, not `a.test` itself, on ports 443 and 80";
    let example = |example: &str| format!("host = \"*.a.test\"\nreason = \"r\"\nexample = [\"{example}\"]");
    let deny = "host = \"b.test:22\"\nreason = \"r\"\ndeny = true\nexample = [\"b.test\", \"b.test:443\"]";
    for (rule, line, said) in [
        (example("a.test"), 4, format!("example: `a.test` must match, but does not: {wild}")),
        (example("!x.a.test"), 4, format!("example: `x.a.test` must not match, but does: {wild}")),
        (example("x.a.test:22"), 4, format!("example: `x.a.test:22` must match, but does not: {wild}")),
        (
            example("*.x.a.test"),
            4,
            "example: `*.x.a.test` is a rule; an example is a name, such as `a.x.a.test`".into(),
        ),
        (example("10.0.0.1"), 4, "example: `10.0.0.1` is an address".into()),
        (
            deny.into(),
            5,
            "example: `b.test:443` must match, but does not: `b.test:22` denies `b.test` and no other name on port 22"
                .into(),
        ),
        ("host = \"preset:npm\"\nreason = \"r\"".into(), 2, "host: `preset:npm` has its own reasons".into()),
        ("host = \"*.co.uk\"\nreason = \"r\"".into(), 2, "host: `*.co.uk` would allow names that anyone".into()),
        ("host = \"a.test\"\nreason = \" \"".into(), 3, "reason: say in one line".into()),
        ("host = \"a.test\"\nreason = \"r\"\ndown = 0".into(), 4, "down: caps are bytes above 0".into()),
        ("host = \"a.test\"\nreason = \"r\"\nwhy = 0".into(), 4, "why: no such key".into()),
    ] {
        let text = refused(&format!("[[egress.rule]]\n{rule}\n"));
        let at = format!("/etc/caisson/caisson.toml:{line}: egress.rule.0.{said}");
        assert!(text.starts_with(&at), "{text}\n{at}");
    }
    assert!(refused("[[egress.rule]]\nhost = \"a.test\"\n").contains("missing field `reason`"));
    assert!(refused("[[egress.rules]]\nhost = \"a.test\"\n").contains(":1: egress.rules: no such key"));
}

#[test]
fn the_caps_are_the_routers_own_and_stay_within_what_it_can_hold() {
    let config = load("").unwrap();
    assert_eq!(config.egress.caps, protocol::router::Caps::default());
    assert!(!config.egress.refuse_ech);
    let text = "[egress]\nrefuse_ech = true\n[egress.caps]\nconnections = 9\nup = 5\n";
    let environment = |name: &str| (name == "CAISSON_EGRESS_CAPS_UP").then(|| "7".to_owned());
    let egress = Process::from_layers(Path::new("/x/c.toml"), text, &environment).unwrap().egress;
    let defaults = protocol::router::Caps::default();
    assert_eq!(egress.caps, protocol::router::Caps { connections: 9, up: 7, ..defaults });
    assert!(egress.refuse_ech);
    for (key, value) in [
        ("connections", "0"),
        ("connections", "1024"),
        ("names", "0"),
        ("names", "16384"),
        ("wildcard_names_per_minute", "0"),
        ("up", "0"),
        ("down", "0"),
        ("down", "-1"),
        ("bytes", "1"),
    ] {
        let said = refused(&format!("[egress.caps]\n{key} = {value}\n"));
        assert!(said.starts_with(&format!("/etc/caisson/caisson.toml:2: egress.caps.{key}: ")), "{said}");
    }
    assert!(load("[egress.caps]\nnames = 16383\n").is_ok(), "eight subnets share 131070 names");
}

#[test]
fn a_password_in_an_address_is_refused() {
    let text = refused("[forge]\nurl = \"http://bot:hunter2@forge.example\"\n");
    assert!(text.contains("no password") && !text.contains("hunter2"), "{text}");
}

#[test]
fn secrets_are_read_from_closed_files_and_never_shown() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets/token");
    Secret::new("hunter2").write(&path).unwrap();
    let secret = Secret::read(&path).unwrap();
    assert_eq!(secret.expose(), "hunter2");
    assert!(!format!("{secret:?}").contains("hunter2"));
    assert!(Secret::new("other").write(&path).is_err(), "an existing secret is never replaced");
    for mode in [0o644, 0o640, 0o604, 0o660] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let why = Secret::read(&path).unwrap_err();
        assert!(matches!(why, SecretError::Open { .. }), "{why}");
        assert!(why.to_string().ends_with(&format!("(mode {mode:o}); run: chmod 600 {}", path.display())), "{why}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(Secret::read(&path).unwrap().expose(), "hunter2");
    let made = folder.path().join("mark.key");
    let first = Secret::read_or_make(&made).unwrap();
    assert_eq!(first.expose().len(), 64);
    assert_eq!(Secret::read_or_make(&made).unwrap(), first);
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    std::fs::set_permissions(&empty, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(Secret::read(&empty), Err(SecretError::Empty { .. })));
}

#[test]
fn a_value_is_set_without_losing_a_comment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("caisson.toml");
    let fresh = write::Fresh {
        forge_url: "http://127.0.0.1:3000".into(),
        token_file: "secrets/bot".into(),
        ..Default::default()
    };
    write::write_fresh(&path, &fresh).unwrap();
    assert!(matches!(write::write_fresh(&path, &fresh), Err(write::WriteError::Exists { .. })));
    let text = std::fs::read_to_string(&path).unwrap() + "\n[budget]\ndollars = 2.0 # enough for now\n";
    std::fs::write(&path, text).unwrap();
    write::set(&path, "budget.dollars", 3.0).unwrap();
    write::set(&path, "sandbox.image", "mine").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("dollars = 3.0 # enough for now"), "{text}");
    let config = Process::load(&path).unwrap();
    assert_eq!(config.sandbox.image, "mine");
}

#[test]
fn tables_of_another_file_are_taken_over_with_their_paths() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, ours) = (dir.path().join("theirs/caisson.toml"), dir.path().join("ours.toml"));
    std::fs::create_dir(dir.path().join("theirs")).unwrap();
    let text = "[forge]\nurl = \"http://theirs\"\n[model]\nkind = \"openai\"\nname = \"m\"\nkey_file = \"model.key\"\nbase_url = \"http://127.0.0.1:1\"\n";
    std::fs::write(&theirs, format!("{text}[sandbox.toolchains]\npython = \"mine\"\n")).unwrap();
    std::fs::write(&ours, "[forge]\nurl = \"http://ours\"\n\n[model]\nkind = \"anthropic\"\nscript = \"x\"\n").unwrap();
    write::carry_over(&theirs, &ours, &["model", "sandbox", "budget"], &["key_file", "script"]).unwrap();
    let config = Process::from_layers(&ours, &std::fs::read_to_string(&ours).unwrap(), &|_| None).unwrap();
    assert_eq!(config.forge.url.unwrap().as_str(), "http://ours/");
    let model = config.models.worker();
    assert_eq!((model.kind, &model.script), (ModelKind::Openai, &None));
    assert_eq!(model.key_file.as_deref().unwrap(), dir.path().join("theirs/model.key"));
    assert_eq!(config.sandbox.toolchains["python"], "mine");
}

#[test]
fn a_database_is_named_without_a_password_and_says_how_the_way_there_is_protected() {
    let url = |text: &str| load(&format!("[store]\nurl = \"{text}\"\n"));
    let with_password = |text: &str| load(&format!("[store]\nurl = \"{text}\"\npassword_file = \"pg\"\n"));
    for fit in [
        "postgres:///caisson?host=/run/postgresql",
        "postgres://caisson@localhost/caisson",
        "postgres://caisson@[::1]/caisson",
        "postgresql://caisson@127.0.0.1:5433/caisson",
        "postgres://%2Frun%2Fpostgresql/caisson",
        "postgres://caisson@db.example.org/caisson?sslmode=verify-full",
    ] {
        let store = url(fit).unwrap().store;
        assert_eq!(store.url.unwrap().as_str(), fit);
        let tcp = ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| fit.contains(host));
        match with_password(fit) {
            Ok(config) => {
                assert_eq!((config.store.password_file.as_deref(), tcp), (Some(Path::new("/etc/caisson/pg")), false))
            }
            Err(error) => assert!(tcp && error.to_string().contains("is told the password"), "{fit}: {error}"),
        }
    }
    assert!(with_password("postgres://caisson@localhost/caisson?sslmode=verify-full").is_ok());
    for (unfit, word) in [
        ("mysql://localhost/caisson", "postgres://"),
        ("postgres://localhost", "/its-name"),
        ("postgres:///caisson", "name the server"),
        ("postgres://caisson:hunter2@localhost/caisson", "0600"),
        ("postgres:///caisson?host=/run&password=hunter2", "0600"),
        ("postgres://db.example.org/caisson", "sslmode=verify-full"),
        ("postgres://localhost/caisson?host=db.example.org", "sslmode=verify-full"),
        ("postgres://localhost/caisson?host=/run&hostaddr=198.51.100.7", "sslmode=verify-full"),
        ("postgres://localhost/caisson?Password=hunter2", "0600"),
        (
            "postgres://db.example.org/caisson?sslmode=verify-full&sslpassword=hunter2",
            "`sslpassword` means nothing here",
        ),
        ("postgres:///caisson?host=/run&require_auth=scram-sha-256", "`require_auth` means nothing here"),
        ("postgres:///caisson?host=/run#hunter2", "/its-name"),
    ] {
        let error = url(unfit).unwrap_err().to_string();
        assert!(error.contains("store.url") && error.contains(word) && !error.contains("hunter2"), "{unfit}: {error}");
    }
}

const ENTRY: &str =
    "[[repositories]]\nkey = \"shop\"\nowner = \"lab\"\nname = \"shop\"\nid = 1\nsecret_files = [\"s\"]\n";

#[test]
fn what_a_repository_has_of_its_own_lies_over_the_operators_tables() {
    let own = "[repositories.sandbox]\nimage = \"big\"\nimages = [\"other\"]\nmemory_mib = 9000\nnetwork = \"none\"\n\
               [repositories.budget]\ndollars = 9.0\n[repositories.checkpoint]\nevery = 2\n\
               [repositories.start]\nby = [\"label:agent\", \"assigned\"]\nbegins = \"plan\"\n";
    let second = ENTRY.replace("shop", "till").replace("id = 1", "id = 2");
    let environment = |name: &str| (name == "CAISSON_SANDBOX_PIDS").then(|| "77".to_owned());
    let text = format!("[sandbox]\ncpus = 3.0\n{ENTRY}{own}{second}");
    let config = Process::from_layers(Path::new("/x/caisson.toml"), &text, &environment).unwrap();
    let (shop, till) = (config.sandbox_of("shop"), config.sandbox_of("till"));
    assert_eq!((shop.memory_mib, shop.pids, shop.cpus, shop.networked()), (9000, 77, 3.0, false));
    assert_eq!((till.memory_mib, till.pids, till.networked()), (config.sandbox.memory_mib, 77, true));
    assert_eq!(config.sandbox_of("nobody's"), &config.sandbox);
    assert_eq!((config.budget_of("shop").dollars, config.budget_of("till").dollars), (9.0, config.budget.dollars));
    assert_eq!(config.budget_of("shop").tokens, config.budget.tokens);
    assert_eq!((config.every_of("shop"), config.every_of("till")), (2, 5));
    let start = config.start_of("shop");
    assert_eq!(start.triggers(), [domain::Trigger::Label { name: "agent".into() }, domain::Trigger::Assigned]);
    assert_eq!((start.kind(), config.start_of("till").triggers().len()), (domain::TaskKind::Plan, 0));
    let listed = config.listed_images();
    assert!(listed.contains(&"big".to_owned()) && listed.contains(&"other".to_owned()), "{listed:?}");
    assert!(listed.contains(&config.sandbox.image) && config.images().contains(&"big".to_owned()));
}

#[test]
fn the_bot_merges_only_where_that_is_set_and_never_into_a_copy() {
    let bar = |more: &str| {
        let text = format!("{ENTRY}{more}");
        let config = Process::from_layers(Path::new("/x/caisson.toml"), &text, &|_| None).unwrap();
        let entry = config.repository("shop").unwrap();
        (config.merge_bar(&entry), config.merges_when_approved(&entry))
    };
    let off = Some(domain::MergeBar::Off { repository: "shop".into() });
    assert_eq!(bar(""), (off.clone(), false));
    assert_eq!(bar("merge = \"never\"\n"), (off, false));
    assert_eq!(bar("merge = \"command\"\n"), (None, false));
    assert_eq!(bar("merge = \"final_approval\"\n"), (None, true));
    for source in ["https://git.example/shop.git", "/srv/shop.git"] {
        let more = format!("merge = \"final_approval\"\nupstream = \"{source}\"\n");
        assert_eq!(bar(&more), (Some(domain::MergeBar::Copied), false), "{source}");
    }
    let stored = Repository { key: "shop".into(), copied_from: "/srv/shop.git".into(), ..Repository::default() };
    let text = "[[repositories]]\nkey = \"shop\"\nmerge = \"command\"\n";
    let config = Process::from_layers(Path::new("/x/caisson.toml"), text, &|_| None).unwrap();
    assert_eq!(config.merge_bar(&stored), Some(domain::MergeBar::Copied), "it was added from a path");
    assert_eq!(config.merge_bar(&Repository { copied_from: String::new(), ..stored }), None);
    let wrong = format!("{ENTRY}merge = \"always\"\n");
    let refused = Process::from_layers(Path::new("/x/caisson.toml"), &wrong, &|_| None).err().unwrap().to_string();
    assert!(refused.contains("/x/caisson.toml:7") && refused.contains("always"), "{refused}");
}

#[test]
fn what_a_repository_cannot_have_of_its_own_is_refused_with_its_line() {
    for (own, line, words) in [
        ("[repositories.sandbox]\nhardening = \"debug\"\n", 8, "no such key"),
        ("[repositories.sandbox.toolchains]\nrust = \"x\"\n", 8, "no such key"),
        ("[repositories.egress]\nprivate_ranges = []\n", 8, "no such key"),
        ("[repositories.egress]\nallow = [\"10.0.0.1\"]\n", 8, "address"),
        ("[repositories.egress]\ndeny = [\"https://a.test/x\"]\n", 8, "URL"),
        ("[repositories.egress]\nallow = [\"preset:cargo\"]\n", 8, "for every repository"),
        ("[repositories.sandbox]\nnetwork = \"none\"\n[repositories.egress]\nallow = [\"a.test\"]\n", 10, "no network"),
        ("[repositories.sandbox]\nsetup_wall_s = 0\n", 8, "at least 1 second"),
        ("[repositories.sandbox]\nworkspace_mib = 512\n", 8, "workspaces of one kind"),
        ("[repositories.checkpoint]\nevery = 6\n", 8, "set 1 to 5"),
        ("[repositories.checkpoint]\nevery = 0\n", 8, "set 1 to 5"),
        ("[repositories.slots]\nper_repository = 5\n", 8, "set 0 (no limit of its own) to 4"),
        ("[repositories.slots]\nper_person = 1\n", 8, "no such key"),
        ("[repositories.start]\nby = [\"everybody\"]\n", 8, "is none of"),
        ("[repositories.start]\nby = [\"label:\"]\n", 8, "none of"),
        ("[repositories.start]\nby = [\"writer\", \"writer\"]\n", 8, "twice"),
        ("[repositories.start]\nby = []\nbegins = \"test\"\n", 9, "neither"),
        ("[repositories.start]\nwhen = 1\n", 8, "no such key"),
        ("[repositories.budget]\ntokens = 0\n", 8, "above 0"),
        ("[repositories.sandbox]\nmemory_mib = 3\n", 8, "nothing runs"),
    ] {
        let error = refused(&format!("{ENTRY}{own}"));
        assert!(error.contains(&format!(":{line}: repositories.0.")) && error.contains(words), "{own}: {error}");
    }
    let error =
        refused(&format!("[sandbox]\nnetwork = \"none\"\n{ENTRY}[repositories.sandbox]\nnetwork = \"router\"\n"));
    assert!(error.contains("repositories.0.sandbox.network") && error.contains("no router"), "{error}");
}

#[test]
fn a_repositorys_hosts_are_added_to_those_of_all_and_what_all_are_denied_stays_denied() {
    let own = "[repositories.egress]\nallow = [\"docs.test\"]\ndeny = [\"*.all.test\"]\n\
               [repositories.sandbox]\nsetup_wall_s = 60\nworkspace_mib = 64\n";
    let second = ENTRY.replace("shop", "till").replace("id = 1", "id = 2");
    let all = "[egress]\nallow = [\"b.all.test\"]\ndeny = [\"evil.test\"]\n[sandbox]\nworkspace_mib = 512\n";
    let text = format!("{all}{ENTRY}{own}{second}");
    let config = Process::from_layers(Path::new("/x/caisson.toml"), &text, &|_| None).unwrap();
    let hosts = |rules: Vec<protocol::router::Rule>| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(hosts(config.allowed_of("shop")), ["b.all.test", "docs.test"]);
    assert_eq!(hosts(config.denied_of("shop")), ["evil.test", "*.all.test"]);
    assert_eq!(hosts(config.refusals_of("shop")), ["!*.all.test"], "the router has the rest in its policy");
    assert_eq!(hosts(config.allowed_of("till")), ["b.all.test"]);
    assert_eq!(hosts(config.denied_of("till")), ["evil.test"]);
    assert!(config.refusals_of("till").is_empty());
    let (shop, till) = (config.sandbox_of("shop"), config.sandbox_of("till"));
    assert_eq!((shop.setup_wall_s, shop.workspace_mib, till.setup_wall_s, till.workspace_mib), (60, 64, 900, 512));
    let over = refused(&format!(
        "[egress]\ndeny = [\"*.docs.test\"]\n{ENTRY}[repositories.egress]\nallow = [\"a.docs.test\"]\n"
    ));
    assert!(
        over.contains("repositories.0.egress.allow: `a.docs.test` is denied to every repository by `*.docs.test`"),
        "{over}"
    );
    let disk = refused(&format!("{all}{ENTRY}[repositories.sandbox]\nworkspace_mib = 0\n"));
    assert!(
        disk.contains("repositories.0.sandbox.workspace_mib: the barrier is proven with workspaces of one kind"),
        "{disk}"
    );
}

#[test]
fn an_entry_that_is_taken_out_leaves_the_operators_tables_and_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("caisson.toml");
    let till = ENTRY.replace("shop", "till").replace("id = 1", "id = 2");
    let text = format!(
        "# ours\nmax_tasks = 2 # two\n\n{till}\n{ENTRY}models = [\"main\"]\n[repositories.budget]\ndollars = 9.0 # enough\n"
    );
    std::fs::write(&path, text).unwrap();
    assert!(write::take_out_repository(&path, "shop").unwrap());
    assert!(!write::take_out_repository(&path, "nobody").unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("# ours\nmax_tasks = 2 # two") && text.contains("dollars = 9.0 # enough"), "{text}");
    let config = Process::load(&path).unwrap();
    assert_eq!((config.keys(), config.budget_of("shop").dollars), (vec!["till".to_owned()], 9.0));
    assert!(config.models_of("shop").is_within() && !config.models_of("till").is_within());
    assert!(write::take_out_repository(&path, "till").unwrap());
    let config = Process::load(&path).unwrap();
    assert!(config.keys().is_empty() && config.in_file().next().is_none() && config.max_tasks == 2);
}
