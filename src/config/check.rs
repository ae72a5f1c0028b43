//! Validation across values that types cannot express; each message says what to do.

use super::bounds;
use super::problem::Problem;
use super::process::{Advisories, Budget, Model, Models, Process, Repository, Role, Sandbox};
use domain::ACTIONS_PER_CHECKPOINT;
use protocol::router::{Rule, SUBNET_CONNECTIONS, SYNTHETIC};
use std::net::IpAddr;
use std::path::PathBuf;

/// More people hardly ever have the time.
const MOST_APPROVALS: u8 = 5;

/// All problems, not only the first.
pub(super) fn problems(config: &Process) -> Vec<Problem> {
    let mut found = ProblemList(Vec::new());
    found.general(config);
    found.listen(config);
    found.models(&config.models);
    for (kind, id) in config.commands.named() {
        let known = config.models.by_id(id).is_some();
        found.when(
            !known,
            &format!("commands.{}.model", kind.name()),
            &format!("there is no model `{id}`; name the id of one"),
        );
    }
    for (command, why) in config.who.problems() {
        found.when(true, &format!("who.{command}"), &why);
    }
    if let Err((at, key, why)) = crate::policy::Rules::read(&config.policy) {
        found.when(true, &format!("policy.{at}.{key}"), &why);
    }
    found.when(
        config.upstream.sync_s > 7 * 86_400,
        "upstream.sync_s",
        "set at most a week, 604800; 0 = only when asked",
    );
    for (at, host) in config.upstream.hosts.iter().enumerate() {
        if let Some((key, what)) = host.problem() {
            found.when(true, &format!("upstream.hosts.{at}.{key}"), what);
        }
    }
    found.advisories(&config.advisories);
    found.limits(config);
    found.network(config);
    found.egress(config);
    for (at, repository) in config.repositories.iter().enumerate() {
        found.repository(&format!("repositories.{at}"), repository);
        found.own(at, repository, config);
        for id in repository.models.iter().filter(|id| config.models.by_id(id).is_none()) {
            let what = format!("there is no model `{id}`; name ids of [[model]]");
            found.when(true, &format!("repositories.{at}.models"), &what);
        }
        let same = |r: &Repository| r.key == repository.key || (r.id == repository.id && r.is_whole());
        let twin = config.repositories[..at].iter().any(same);
        found.when(
            twin,
            &format!("repositories.{at}.key"),
            "another repository has the same key or id; remove one of them",
        );
    }
    found.0
}

struct ProblemList(Vec<Problem>);

impl ProblemList {
    fn when(&mut self, wrong: bool, key: &str, what: &str) {
        if wrong {
            self.0.push(Problem { line: None, key: key.to_owned(), what: what.to_owned() });
        }
    }

    fn general(&mut self, config: &Process) {
        let name = &config.installation;
        let fit = !name.is_empty() && name.len() <= 20 && is_key(name);
        self.when(
            !fit,
            "installation",
            "take up to 20 lower-case letters, digits and hyphens, beginning with a letter",
        );
        self.when(config.max_tasks == 0, "max_tasks", "with 0 no task would ever run; set at least 1");
        self.when(
            config.tests.at_once == 0,
            "tests.at_once",
            "with 0 none would ever run; set at least 1, or tests.per_hour = 0",
        );
        self.share("slots.per_repository", config.slots.per_repository, config);
        self.share("slots.per_person", config.slots.per_person, config);
        self.when(config.forge.poll_s == 0, "forge.poll_s", "the bot would read without a pause; set at least 1");
        let none = config.forge.status_edit_s == 0;
        self.when(none, "forge.status_edit_s", "each action would edit a comment; set at least 1");
        let none = config.forge.waiting_s == 0;
        self.when(none, "forge.waiting_s", "every task would be read in every round; set at least 1");
        let open = config.store.url.as_ref().filter(|_| config.store.password_file.is_some());
        let open = open.and_then(|url| super::address::unprotected(url, true));
        self.when(open.is_some(), "store.url", open.unwrap_or_default());
        let both = config.forge.token_file.is_some() && config.forge.token_file == config.forge.sync_token_file;
        self.when(
            both,
            "forge.sync_token_file",
            "must be another account's token than forge.token_file; run `caisson setup`",
        );
    }

    fn listen(&mut self, config: &Process) {
        let listen = &config.listen;
        self.when(
            listen.webhooks == listen.ops && listen.ops.port() != 0,
            "listen.ops",
            "must differ from listen.webhooks; take another port",
        );
        let small = listen.max_body_bytes < 4096;
        self.when(small, "listen.max_body_bytes", "no hook is that small; set at least 4096");
        let none = "every hook would be turned away; set at least 1";
        self.when(listen.connections_per_address == 0, "listen.connections_per_address", none);
        self.when(listen.bad_signatures_per_minute == 0, "listen.bad_signatures_per_minute", none);
    }

    /// A share above the number of slots is a mistake, because it would have no effect.
    fn share(&mut self, key: &str, most: usize, config: &Process) {
        let what = format!("set 0 (no limit of its own) to {}, which is max_tasks", config.max_tasks);
        self.when(most > config.max_tasks, key, &what);
    }

    fn models(&mut self, models: &Models) {
        for (at, model) in models.all().iter().enumerate() {
            let table = if models.listed { format!("model.{at}") } else { "model".to_owned() };
            self.model(&table, model);
            let before = &models.all()[..at];
            let twin = before.iter().any(|other| other.id == model.id);
            self.when(twin, &format!("{table}.id"), "another model has the same id; give each its own");
            for (at, id) in model.fallback.iter().enumerate() {
                let twice = format!("{id} stands in it twice");
                self.when(model.fallback[..at].contains(id), &format!("{table}.fallback"), &twice);
                let what = format!("{id} is no other model; name ids of other entries");
                self.when(*id == model.id || models.by_id(id).is_none(), &format!("{table}.fallback"), &what);
            }
            for role in &model.roles {
                let of = before.iter().find(|other| other.roles.contains(role)).map(|other| &other.id);
                let what = of.map(|id| format!("{} is the role of `{id}` already; one model has it", role.word()));
                self.when(what.is_some(), &format!("{table}.roles"), &what.unwrap_or_default());
            }
        }
        let worker = models.all().iter().any(|model| model.roles.contains(&Role::Worker));
        let only = matches!(models.all(), [only] if only.roles.is_empty());
        let what = "no model works on /fix; give one of them roles = [\"worker\"]";
        self.when(!worker && !only, if models.listed { "model" } else { "model.roles" }, what);
    }

    fn model(&mut self, table: &str, model: &Model) {
        let key = |name: &str| format!("{table}.{name}");
        let fit = is_key(&model.id) && model.id.len() <= 40;
        self.when(!fit, &key("id"), "take up to 40 lower-case letters, digits and hyphens");
        let none = model.kind.is_recording() && model.script.is_none();
        self.when(none, &key("script"), "kind = \"scripted\" needs the file with the recording");
        let nothing = model.kind.has_local_servers() && model.base_url.is_none() && model.key_file.is_none();
        self.when(nothing, &key("key_file"), "set the file with the key, or base_url of a local server");
        let [input, output] = [model.price_input, model.price_output].map(Option::unwrap_or_default);
        let prices = [input, output, model.price_cache_read, model.price_cache_write];
        let odd = prices.iter().any(|price| !price.is_finite() || *price < 0.0);
        self.when(odd, &key("price_input"), "prices are dollars for a million tokens, 0 or more");
        let small = model.context_tokens < model.max_output_tokens.saturating_mul(2) || model.max_output_tokens == 0;
        self.when(small, &key("context_tokens"), "must be at least twice max_output_tokens, and that above 0");
    }

    fn advisories(&mut self, advisories: &Advisories) {
        let gone = |dir: Option<&PathBuf>| dir.is_some_and(|dir| !dir.is_dir());
        self.when(
            gone(advisories.dir.as_ref()),
            "advisories.dir",
            "there is no such folder; unpack the advisories there first, or write \"\" for none",
        );
        self.when(
            gone(advisories.newest_dir.as_ref()),
            "advisories.newest_dir",
            "there is no such folder; make it, then `caisson deps newest` fills it, or write \"\" for none",
        );
    }

    fn limits(&mut self, config: &Process) {
        let sandbox = &config.sandbox;
        self.sandbox("sandbox", sandbox);
        self.when(config.git.max_pack_mib == 0, "git.max_pack_mib", "nothing could be fetched; set at least 1");
        let refused = sandbox.workspace_mib == 0 && !config.broker.plain_workspaces;
        let allow = "sandbox.workspace_mib = 0 puts workspaces on the engine's disk; allow that here, or give them memory there";
        self.when(refused, "broker.plain_workspaces", allow);
        self.when(sandbox.setup_mib == 0, "sandbox.setup_mib", "nothing could be kept; set at least 1");
        let fit = sandbox.setup_total_mib >= sandbox.setup_mib.saturating_mul(2);
        self.when(!fit, "sandbox.setup_total_mib", "set at least twice sandbox.setup_mib: each result is two archives");
        self.budget("budget", &config.budget);
        self.when(
            !(1..=62).contains(&config.router.subnets),
            "router.subnets",
            "set 1 to 62; two more are the barrier's",
        );
    }

    /// Checks `[sandbox]`, or that of one repository.
    fn sandbox(&mut self, table: &str, sandbox: &Sandbox) {
        let key = |name: &str| format!("{table}.{name}");
        self.when(sandbox.image.is_empty(), &key("image"), "name the image that tasks run in");
        self.when(sandbox.memory_mib < 64, &key("memory_mib"), "nothing runs in less than 64");
        self.when(sandbox.pids < 16, &key("pids"), "a shell and its commands need at least 16");
        self.when(sandbox.action_wall_s == 0, &key("action_wall_s"), "set at least 1 second");
        self.when(sandbox.verify_wall_s == 0, &key("verify_wall_s"), "set at least 1 second");
        self.when(!(1..=768).contains(&sandbox.action_output_kib), &key("action_output_kib"), "set 1 to 768");
        let workspace = "no repository fits; set at least 16, or 0 for one on disk, which disk_mib bounds";
        self.when((1..16).contains(&sandbox.workspace_mib), &key("workspace_mib"), workspace);
        self.when(sandbox.setup_wall_s == 0, &key("setup_wall_s"), "set at least 1 second");
        for (name, what) in bounds::of_sandbox(sandbox) {
            self.when(true, &key(name), &what);
        }
    }

    fn budget(&mut self, table: &str, budget: &Budget) {
        let key = |name: &str| format!("{table}.{name}");
        self.when(!(budget.dollars.is_finite() && budget.dollars >= 0.0), &key("dollars"), "set 0 (no limit) or more");
        let most = budget.most_dollars;
        self.when(!(most.is_finite() && most >= 0.0), &key("most_dollars"), "set 0 (no ceiling) or more");
        let day = budget.day_dollars;
        self.when(!(day.is_finite() && day >= 0.0), &key("day_dollars"), "set 0 (no limit) or more");
        let month = budget.month_dollars;
        self.when(!(month.is_finite() && month >= 0.0), &key("month_dollars"), "set 0 (no limit) or more");
        self.when(budget.tokens == 0, &key("tokens"), "set a number above 0");
        self.when(budget.actions == 0, &key("actions"), "set a number above 0");
        self.when(budget.minutes == 0, &key("minutes"), "set a number above 0");
    }

    /// An unreadable rule would silently not deny, so the whole configuration is refused.
    fn network(&mut self, config: &Process) {
        for (key, rules) in [("egress.allow", &config.egress.allow), ("egress.deny", &config.egress.deny)] {
            for rule in rules {
                // Presets are read later, and refused when the policy is made.
                if rule.starts_with(protocol::router::PRESET) {
                    continue;
                }
                if let Err(why) = Rule::parse(rule) {
                    self.when(true, key, &why.to_string());
                }
            }
        }
        for range in config.egress.private_ranges.iter().filter(|range| !is_range(range)) {
            self.when(
                true,
                "egress.private_ranges",
                &format!("{range:?} is no range of addresses such as 10.1.0.0/16"),
            );
        }
        for (key, what) in bounds::of_installation(config) {
            self.when(true, key, &what);
        }
    }

    fn egress(&mut self, config: &Process) {
        for (at, rule) in config.egress.rules.iter().enumerate() {
            for (key, what) in rule.problems() {
                self.when(true, &format!("egress.rule.{at}.{key}"), &what);
            }
        }
        let caps = &config.egress.caps;
        let most = SUBNET_CONNECTIONS - 1;
        let fit = (1..=most).contains(&caps.connections);
        self.when(!fit, "egress.caps.connections", &format!("set 1 to {most}; the packet filter lets no more through"));
        let share = SYNTHETIC.size().saturating_sub(2) / u64::from(config.router.subnets.max(1));
        let fit = (1..=share).contains(&u64::from(caps.names));
        self.when(
            !fit,
            "egress.caps.names",
            &format!("set 1 to {share}, each subnet's share of the addresses for names"),
        );
        for (key, cap) in [("up", caps.up), ("down", caps.down)] {
            self.when(cap == 0, &format!("egress.caps.{key}"), "nothing could be reached; set bytes above 0");
        }
        let none = caps.wildcard_names_per_minute == 0;
        let key = "egress.caps.wildcard_names_per_minute";
        self.when(none, key, "no name under `*.suffix` could be reached; set a number above 0, or write no such rule");
    }

    /// Checks a repository's own tables.
    fn own(&mut self, at: usize, repository: &Repository, config: &Process) {
        let table = |name: &str| format!("repositories.{at}.{name}");
        if let Some(sandbox) = &repository.sandbox {
            self.sandbox(&table("sandbox"), sandbox);
            let none = sandbox.networked() && !config.sandbox.networked();
            let what = "there is no router: set sandbox.network = \"router\" for the installation, and \"none\" where a repository has none";
            self.when(none, &table("sandbox.network"), what);
            let other = (sandbox.workspace_mib == 0) != (config.sandbox.workspace_mib == 0);
            let what = "the barrier is proven with workspaces of one kind: in memory for every repository (sandbox.workspace_mib above 0, and \
                        another number above 0 here), or on the engine's disk for every one (0, and nothing here)";
            self.when(other, &table("sandbox.workspace_mib"), what);
        }
        self.own_egress(&table("egress"), repository, config);
        if let Some(budget) = &repository.budget {
            self.budget(&table("budget"), budget);
        }
        self.share(&table("slots.per_repository"), repository.slots.per_repository.unwrap_or(0), config);
        let fit = repository.checkpoint.every.is_none_or(|every| (1..=ACTIONS_PER_CHECKPOINT).contains(&every));
        self.when(
            !fit,
            &table("checkpoint.every"),
            &format!("set 1 to {ACTIONS_PER_CHECKPOINT}: a person is asked at least so often"),
        );
        let fit = repository.checkpoint.approvals.is_none_or(|approvals| (1..=MOST_APPROVALS).contains(&approvals));
        self.when(!fit, &table("checkpoint.approvals"), &format!("set 1 to {MOST_APPROVALS}"));
        if let Some((key, why)) = repository.start.problem() {
            self.when(true, &table(&format!("start.{key}")), &why);
        }
        if let Some((key, why)) = repository.ci.problem() {
            self.when(true, &table(&format!("ci.{key}")), &why);
        }
        if let Some((key, why)) = repository.artifacts.problem() {
            self.when(true, &table(&format!("artifacts.{key}")), &why);
        }
        if let Some(why) = repository.tests.problem() {
            self.when(true, &table("tests.hosts"), &why);
        }
        let closed =
            !repository.tests.hosts.is_empty() && !repository.sandbox.as_ref().unwrap_or(&config.sandbox).networked();
        self.when(
            closed,
            &table("tests.hosts"),
            "sandboxes of this repository have no network: set sandbox.network = \"router\"",
        );
        for (command, why) in repository.who.problems() {
            self.when(true, &table(&format!("who.{command}")), &why);
        }
        if let Some((key, why)) = repository.upstream_issues.problem() {
            self.when(true, &table(&format!("upstream_issues.{key}")), why);
        }
    }

    fn own_egress(&mut self, table: &str, repository: &Repository, config: &Process) {
        for (key, why) in repository.egress.problems(&config.egress.denied()) {
            self.when(true, &format!("{table}.{key}"), &why);
        }
        let networked = repository.sandbox.as_ref().unwrap_or(&config.sandbox).networked();
        self.when(
            !repository.egress.allow.is_empty() && !networked,
            &format!("{table}.allow"),
            "sandboxes of this repository have no network: set sandbox.network = \"router\"",
        );
    }

    /// Checks a whole entry, or tables for an entry of the store.
    fn repository(&mut self, table: &str, repository: &Repository) {
        let key = |name: &str| format!("{table}.{name}");
        if !repository.is_whole() {
            self.key(table, repository);
            let only = repository.is_tables_only();
            let what = "give the whole entry (owner, name, id, secret_files), or nothing but tables such as [repositories.budget] for a \
                        repository that `caisson repo add` put into the store";
            self.when(!only, &key("key"), what);
            return;
        }
        self.entry(table, repository);
        let secrets = repository.secret_files.len();
        self.when(
            !(1..=2).contains(&secrets),
            &key("secret_files"),
            "name one file, or two while the secret is being changed",
        );
    }

    fn key(&mut self, table: &str, repository: &Repository) {
        let fit = is_key(&repository.key) && repository.key.len() <= 40;
        self.when(
            !fit,
            &format!("{table}.key"),
            "take up to 40 lower-case letters, digits and hyphens, beginning with a letter or digit",
        );
    }

    /// Checks the values that every entry has, in file and store.
    fn entry(&mut self, table: &str, repository: &Repository) {
        let key = |name: &str| format!("{table}.{name}");
        self.key(table, repository);
        self.when(repository.owner.is_empty(), &key("owner"), "name the owner on the forge");
        self.when(repository.name.is_empty(), &key("name"), "name the repository on the forge");
        self.when(
            repository.id < 1,
            &key("id"),
            "is the forge's number of the repository, above 0; run `caisson repo add`",
        );
    }
}

/// Like entries of the file, but more strictly, because anybody who can write into the database could have chosen them.
pub(super) fn stored(entry: &Repository) -> Vec<Problem> {
    let mut found = ProblemList(Vec::new());
    found.entry("entry", entry);
    for (key, name) in [("entry.owner", &entry.owner), ("entry.name", &entry.name)] {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let fit = plain && name.len() <= 100 && name != "." && name != "..";
        found.when(!fit, key, "is no name that a forge gives: letters, digits and -_. , up to 100");
    }
    let odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let wrong = |branch: &String| {
        branch.is_empty()
            || branch.len() > 200
            || branch.starts_with('-')
            || branch.contains("..")
            || branch.chars().any(odd)
    };
    found.when(wrong(&entry.default_branch), "entry.default_branch", "is no branch's name");
    found.when(entry.branches.iter().any(wrong), "entry.branches", "holds what is no branch's name");
    let fit = super::project::may_be_accepted(&entry.accepted);
    found.when(!fit, "entry.accepted", "is no SHA-256 in hexadecimal, nor two with a dash between them");
    let upstream = &entry.upstream;
    let fit = upstream.is_empty() || is_remote(upstream);
    found.when(!fit, "entry.upstream", "is no address of another machine (https://…, ssh://…, user@host:path)");
    let long = |text: &String| text.len() > 1000 || text.chars().any(char::is_control);
    let shown = [&entry.copied_from].into_iter().chain(&entry.accepted_foreign).any(long);
    found.when(shown, "entry", "holds a text of more than 1000 bytes or with control characters");
    found.0
}

/// Whether it is a git address on a named machine, without a password, and no path.
pub(super) fn is_remote(text: &str) -> bool {
    let word = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let printable = text.len() <= 1000 && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    let fit = match text.split_once("://") {
        Some(_) => url::Url::parse(text).is_ok_and(|url| {
            let user = url.username().is_empty() || (url.scheme() == "ssh" && word(url.username()));
            let host = url.host_str().is_some_and(|host| !host.is_empty() && !host.starts_with('-'));
            matches!(url.scheme(), "https" | "http" | "ssh") && user && host && url.password().is_none()
        }),
        None => text.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?))).is_some_and(
            |(user, (host, path))| word(user) && word(host) && !path.is_empty() && !path.starts_with(['-', ':']),
        ),
    };
    printable && fit
}

fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let longest = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= longest)
}

fn is_key(text: &str) -> bool {
    let good = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    good && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}
