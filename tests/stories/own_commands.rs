//! Commands of the repository's own: files of `.caisson/commands` on its default branch.

use crate::hosts::told;
use crate::orders::{caisson, said};
use crate::terms::tables;
use crate::triggers::{begin_once_wherever_killed, tasks};
use crate::world::{FIX, PATIENCE, REPO, World, git, held};
use caisson::config::project::{FILE, Network, Project};
use caisson::thread::decision_key;
use devforge::Access;
use domain::{Commit, Event, Request, Source, Task, TaskId, TaskKind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TITLE: &str = "Versions compare as text";
const TEXT: &str = "Compare versions as numbers in {words}. Nothing else.\n";

/// A command with these settings beside its description.
pub fn command(head: &str, text: &str) -> String {
    format!("+++\ndescription = \"Compares | versions, @alice\"\n{head}+++\n\n{text}")
}

fn project(world: &World) -> PathBuf {
    world.dir.path().join("project")
}

/// Pushes these files of the folder.
pub fn push(world: &World, files: &[(&str, &str)]) {
    let paths: Vec<String> = files.iter().map(|(name, _)| format!(".caisson/commands/{name}")).collect();
    let files: Vec<(&str, &str)> = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
    world.push(&files);
}

/// An issue of a reader's.
fn opened(world: &World) -> u64 {
    world.bob().open_issue(REPO, TITLE, "It does.").expect("issue")
}

/// An issue with this text of alice's in it.
pub fn asked(world: &World, text: &str) -> u64 {
    let issue = opened(world);
    world.alice().comment(REPO, issue, text).expect("said");
    issue
}

async fn begun(world: &World, id: i64) -> Request {
    until(world, id, |task| task.request.is_some()).await.request.expect("asked")
}

/// Waits until something holds of the task of this number.
pub async fn until(world: &World, id: i64, holds: impl Fn(&Task) -> bool) -> Task {
    let end = Instant::now() + PATIENCE;
    loop {
        let task = world.store().task(TaskId(id)).await.expect("read");
        if holds(&task) {
            return task;
        }
        assert!(Instant::now() < end, "waited in vain; task {id} is {:?}", task.state);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_command_begins_a_task_of_its_kind_with_its_text_and_the_words_in_it() {
    let script = r#"
name = "an own command"
[[turn]]
expects = ["as this repository's command /compare asks\" trust=\"write access\"]]\nCompare versions as numbers in `semver.py`, please. Nothing else.\n[[end "]
forbids = ["{words}"]
call = [{ name = "read_file", arguments = { path = "semver.py" } }, { name = "list_files", arguments = { path = "." } }, { name = "list_files", arguments = { path = "tests" } }]
"#;
    let world = World::new(script).await;
    push(&world, &[("compare.md", &command("checkpoint = 2\nbudget = \"1usd,30actions\"\n", TEXT))]);
    let issue = asked(&world, "/compare `semver.py`, please");
    let task = world.until_state("awaiting-review").await;
    assert_eq!((task.actions, task.granted.actions, task.granted.micro_usd), (2, 30, 1_000_000));
    assert_eq!(task.granted.tokens, world.config.budget.tokens, "what the file does not say is the operator's");
    let request = task.request.as_ref().expect("asked");
    assert_eq!((request.kind, request.asker.login.as_str(), request.every), (TaskKind::Fix, "alice", 2));
    assert_eq!(request.words, "Compare versions as numbers in `semver.py`, please. Nothing else.");
    let own = request.own.as_ref().expect("an own command");
    let of = |name: &str| git(&project(&world), &["rev-parse", name]);
    assert_eq!(own.commit, Commit::parse(&of("HEAD")).expect("a commit"));
    assert_eq!((own.name.as_str(), own.blob.as_str()), ("compare", of("HEAD:.caisson/commands/compare.md").as_str()));
    let first = world.until_said(issue, "is on it").await;
    let because =
        format!("as `/compare` of this repository asks (`.caisson/commands/compare.md` at `{}`)", own.commit.short());
    assert!(first.contains(&because) && first.contains("after at most 2 actions"), "{first}");
    assert!(!first.contains("asks for hosts"), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_replace_what_the_file_says_and_are_judged_as_ever() {
    let dir = tempfile::tempdir().expect("a directory");
    let world = World::of_models(FIX, &tables(dir.path())).await;
    let vendor = command("model = \"vendor\"\n", TEXT);
    push(&world, &[("compare.md", &command("model = \"local\"\nbudget = \"1usd\"\n", TEXT)), ("vendor.md", &vendor)]);
    let refused = asked(&world, "/vendor semver.py");
    let told = world.until_said(refused, "asks for the model `vendor` in `.caisson/commands/vendor.md`").await;
    assert!(told.contains("people may name `local`") && told.contains("Nothing was started"), "{told}");
    world.alice().comment(REPO, refused, "/compare --budget 500usd semver.py").expect("said");
    world.until_said(refused, "can't begin with that `--budget`").await;
    world.alice().comment(REPO, refused, "/compare --frob 1 semver.py").expect("said");
    world.until_said(refused, "`/compare` could not be followed: there is no option").await;
    world.alice().comment(REPO, refused, &format!("/compare {}", "x".repeat(15_990))).expect("said");
    world.until_said(refused, "its text and your words in it are more than").await;
    assert_eq!(tasks(&world).await, [0; 0]);
    asked(&world, "/compare --budget 2usd semver.py");
    let request = begun(&world, 1).await;
    let own = request.own.as_ref().expect("an own command");
    assert_eq!(
        (request.terms.model.as_deref(), request.budget.micro_usd, own.budget.micro_usd),
        (Some("local"), 2_000_000, 0)
    );
    assert_eq!(world.task().await.model.as_deref(), Some("local"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_names_the_role_whose_model_answers_and_a_kind_that_only_reads() {
    let dir = tempfile::tempdir().expect("a directory");
    let answers = dir.path().join("planner.toml");
    let script = "name = \"who plans\"\n[[turn]]\ncall = [{ name = \"done\", arguments = { summary = \"Nothing to write.\" } }]\n";
    std::fs::write(&answers, script).expect("written");
    let models = format!(
        "[[model]]\nid = \"small\"\nkind = \"scripted\"\nscript = \"script.toml\"\nroles = [\"worker\"]\nstyle = \"tools\"\n\
         [[model]]\nid = \"large\"\nkind = \"scripted\"\nscript = \"{}\"\nroles = [\"planner\"]\nstyle = \"tools\"\n",
        answers.display()
    );
    let world = World::of_models(FIX, &models).await;
    push(
        &world,
        &[("compare.md", &command("role = \"planner\"\n", TEXT)), ("old.md", &command("kind = \"deps\"\n", TEXT))],
    );
    let answered = |event: &Event| match event {
        Event::TurnCompleted { model, .. } => Some(model.clone()),
        _ => None,
    };
    asked(&world, "/compare semver.py");
    let task = until(&world, 1, |task| task.used > 0 || task.state.name() != "running" && task.base.is_some()).await;
    assert_eq!((task.kind, task.request.and_then(|it| it.own?.role)), (TaskKind::Fix, Some("planner".to_owned())));
    let end = Instant::now() + PATIENCE;
    let model = loop {
        if let Some(model) = world.log().await.iter().find_map(answered) {
            break model;
        }
        assert!(Instant::now() < end, "no model answered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(model.contains("who plans"), "{model}");
    asked(&world, "/old semver.py");
    assert_eq!(begun(&world, 2).await.kind, TaskKind::Deps);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_narrows_who_may_and_widens_it_for_nobody() {
    let world = World::with(FIX, "[who]\nfix = [\"admins\", \"@alice\"]").await;
    let all = command("who = [\"writers\", \"@bob\"]\n", TEXT);
    push(&world, &[("admins.md", &command("who = [\"admins\"]\n", TEXT)), ("all.md", &all)]);
    let first = opened(&world);
    world.bob().comment(REPO, first, "/all it").expect("said");
    world.until_said(first, "`bob`: `/all` is for those who may write to the repository").await;
    world.alice().comment(REPO, first, "/admins it").expect("said");
    let told = world.until_said(first, "`alice`: `/admins` is for administrators of the repository here").await;
    assert!(told.contains("as `.caisson/commands/admins.md` says") && told.contains("Nothing was started"), "{told}");
    world.forge.add_collaborator(REPO, "bob", Access::Write).expect("a right");
    let second = opened(&world);
    world.bob().comment(REPO, second, "/all it").expect("said");
    let told = world.until_said(second, "`bob`: `/fix` is for").await;
    assert!(told.contains("`who.fix`") && told.contains("`/all` begins what `/fix` begins"), "{told}");
    assert_eq!(tasks(&world).await, [0; 0]);
    world.forge.add_collaborator(REPO, "eve", Access::Admin).expect("a right");
    let third = opened(&world);
    world.forge.as_person("eve").comment(REPO, third, "/admins it").expect("said");
    let request = begun(&world, 1).await;
    assert_eq!((request.issue, request.own.expect("own").who), (third, vec!["admins".to_owned()]));
    // A new attempt is for the same people.
    world.until_state("awaiting-review").await;
    world.alice().comment(REPO, third, "/retry").expect("said");
    world.until_said(third, "`alice`: `/admins` is for administrators").await;
    assert_eq!(tasks(&world).await, [third]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reads_changes_nothing() {
    let script = r#"
name = "an explanation"
[[turn]]
expects = ["asks you to look and to answer", "Say what is wrong. why is 1.10 below 1.9?"]
call = [{ name = "read_file", arguments = { path = "semver.py" } }, { name = "write_file", arguments = { path = "semver.py", content = "" } }]
[[turn]]
expects = ["read-only"]
call = [{ name = "done", arguments = { summary = "Text is compared as text (`semver.py:2`)." } }]
"#;
    let world = World::new(script).await;
    push(&world, &[("why.md", &command("read_only = true\n", "Say what is wrong. {words}\n"))]);
    let issue = asked(&world, "/why why is 1.10 below 1.9?");
    world.until_said(issue, "### Answer 1").await;
    let task = world.until_state("awaiting-review").await;
    assert!(task.kind == TaskKind::Explain && task.pull.is_none() && task.pushed.is_none());
    let refused = |event: &Event| matches!(event, Event::CallAnswered { answer, .. } if answer.contains("read-only"));
    assert_eq!((task.actions, world.log().await.iter().filter(|event| refused(event)).count()), (1, 1), "the write");
    assert!(world.said(issue).await[0].contains("It only reads"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_is_answered_with_its_line_and_takes_no_other_command() {
    let world = World::new(FIX).await;
    let broken = command("kind = \"dance\"\n", TEXT);
    push(
        &world,
        &[
            ("broken.md", &broken),
            ("compare.md", &command("", TEXT)),
            ("fix.md", &command("kind = \"plan\"\n", "Own.")),
        ],
    );
    let issue = asked(&world, "/broken it");
    let told = world.until_said(issue, "`/broken` could not be followed").await;
    assert!(told.contains("`.caisson/commands/broken.md:3`") && told.contains("Nothing was changed"), "{told}");
    world.alice().comment(REPO, issue, "/compar it").expect("said");
    world.until_said(issue, "`/compar` is no command. Did you mean `/compare`?").await;
    world.alice().comment(REPO, issue, "Please.\n\n/compare it").expect("said");
    world.until_said(issue, "it counts only as the first word of a text").await;
    world.heard(issue).await;
    let all = world.said(issue).await;
    assert_eq!(all.iter().filter(|text| text.contains("`/broken`")).count(), 1, "{all:#?}");
    world.bob().comment(REPO, issue, "/help").expect("said");
    let help = world.until_said(issue, "This repository's own commands").await;
    assert!(help.starts_with("| command | who | what it does |"), "{help}");
    let row = help.lines().find(|line| line.starts_with("| `/compare [options] [words]`")).expect("a row");
    assert!(row.contains("as `/fix`") && row.contains("`@alice`") && row.matches(" | ").count() == 2, "{row}");
    assert!(help.contains("`.caisson/commands/broken.md:3`") && !help.contains("| `/broken"), "{help}");
    assert_eq!(tasks(&world).await, [0; 0]);
    // The bot's own names take precedence.
    world.alice().comment(REPO, issue, "/fix it").expect("said");
    let request = begun(&world, 1).await;
    assert_eq!((request.kind, request.words.as_str(), request.own), (TaskKind::Fix, "it", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mended_file_begins_at_once_and_a_change_of_it_later_changes_no_task() {
    let mut world = World::new(&held()).await;
    push(&world, &[("compare.md", "no settings")]);
    let issue = asked(&world, "/compare semver.py");
    world.until_said(issue, "`.caisson/commands/compare.md:1`").await;
    push(&world, &[("compare.md", &command("checkpoint = 2\nkind = \"fix\"\n", TEXT))]);
    let tip = git(&project(&world), &["rev-parse", "HEAD"]);
    world.alice().comment(REPO, issue, "/compare semver.py").expect("said");
    world.until("an action that runs", |task| task.running.is_some()).await;
    push(&world, &[("compare.md", &command("kind = \"explain\"\n", "Something else."))]);
    world.alice().comment(REPO, issue, "/compare again").expect("said");
    let told = world.until_said(issue, "a command of this repository and begins a task, and one is at work here").await;
    assert!(told.starts_with("`/compare` could not be followed"), "{told}");
    world.alice().comment(REPO, issue, "/help").expect("said");
    world.until_said(issue, "| `/compare [options] [words]`").await;
    world.kill();
    world.start().await;
    std::fs::write(world.broker.workspace("task-1-1").join("go"), "").expect("let go");
    let task = world.until_state("awaiting-review").await;
    let request = task.request.as_ref().expect("asked");
    assert_eq!((task.kind, request.every), (TaskKind::Fix, 2));
    assert_eq!(request.words, "Compare versions as numbers in semver.py. Nothing else.");
    assert_eq!(request.own.as_ref().expect("own").commit.as_str(), tip);
    let all = world.said(issue).await;
    assert_eq!(all.iter().filter(|text| text.contains("one is at work here")).count(), 1, "{all:#?}");
    // A new attempt is of the same file, too.
    world.alice().comment(REPO, issue, "/retry").expect("said");
    let second = begun(&world, 2).await;
    assert_eq!((second.words, second.every), (request.words.clone(), 2));
    assert_eq!(second.own.expect("own").commit.as_str(), tip);
}

/// Ends the task, and waits until its sandbox is gone.
async fn stopped(world: &World, id: i64, issue: u64) {
    world.alice().comment(REPO, issue, "/stop").expect("said");
    until(world, id, |task| task.state.ended()).await;
    world.nothing_left().await;
}

/// What the router was told since then to open.
pub fn opened_since(world: &World, since: usize) -> Vec<String> {
    told(world).split_off(since).into_iter().filter(|words| words.starts_with("open")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_command_wait_for_the_accepted_hash_which_is_that_of_its_wishes() {
    let mut world = World::networked(&held(), "").await;
    let wishing = |host: &str| command(&format!("network = [\"{host}\"]\n"), TEXT);
    push(&world, &[("compare.md", &wishing("docs.example.org"))]);
    let issue = asked(&world, "/compare it");
    world.until("an action that runs", |task| task.running.is_some()).await;
    let first = world.until_said(issue, "is on it").await;
    assert!(first.contains("goes on without them: `docs.example.org`") && first.contains("--accept"), "{first}");
    assert!(!opened_since(&world, 0).iter().any(|words| words.contains("docs.example.org")), "{:#?}", told(&world));
    stopped(&world, 1, issue).await;
    let hosts = vec!["docs.example.org".to_owned()];
    let wish = Network { name: "compare".to_owned(), kind: TaskKind::Fix, who: Vec::new(), hosts };
    let hash = Project::default().with_networks(vec![wish]).hash();
    let accepted = format!("default_branch = \"main\"\naccepted = \"{hash}\"\n");
    world.reconfigure(|text| text.replace("default_branch = \"main\"\n", &accepted)).await;
    // Only for tasks of this command.
    for (id, text, reached) in [(2, "/compare it", true), (3, "/fix it", false)] {
        let since = told(&world).len();
        let issue = asked(&world, text);
        until(&world, id, |task| task.running.is_some()).await;
        let opened = opened_since(&world, since);
        assert_eq!(opened.iter().any(|words| words.contains("docs.example.org")), reached, "{text}: {opened:#?}");
        assert!(!world.until_said(issue, "is on it").await.contains("without them"));
        stopped(&world, id, issue).await;
    }
    // An unaccepted wish removes the accepted one beside it.
    push(&world, &[("compare.md", &wishing("evil.example")), ("other.md", &wishing("docs.example.org"))]);
    for (id, text) in [(4, "/compare it"), (5, "/other it")] {
        let since = told(&world).len();
        let issue = asked(&world, text);
        until(&world, id, |task| task.running.is_some()).await;
        let opened = opened_since(&world, since);
        assert!(!opened.iter().any(|words| words.contains(".example")), "{text}: {opened:#?}");
        world.until_said(issue, "goes on without them").await;
        stopped(&world, id, issue).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_keeps_what_it_was_granted_whatever_commands_wish_for_and_setup_has_none_of_their_hosts() {
    let mut world = World::networked(&held(), "").await;
    let file = "setup = [\"true\"]\negress = [\"wanted.example\"]\n";
    let hosts = vec!["docs.example.org".to_owned()];
    let wish = Network { name: "compare".to_owned(), kind: TaskKind::Fix, who: Vec::new(), hosts };
    world.push(&[(FILE, file)]);
    push(&world, &[("compare.md", &command("network = [\"docs.example.org\"]\n", TEXT))]);
    let plain = Project::parse(FILE, file).expect("a file");
    let both = plain.clone().with_networks(vec![wish]).hash();
    let mut before = "default_branch = \"main\"\n".to_owned();
    for (id, hash, reached) in [(1, both, true), (2, plain.hash(), false)] {
        let accepted = format!("default_branch = \"main\"\naccepted = \"{hash}\"\n");
        world.reconfigure(|text| text.replace(&before, &accepted)).await;
        before = accepted;
        let since = told(&world).len();
        let issue = asked(&world, "/compare it");
        until(&world, id, |task| task.running.is_some()).await;
        let opened = opened_since(&world, since);
        let of_command = |words: &&String| words.contains("docs.example.org");
        assert!(opened.iter().all(|words| words.contains("wanted.example")), "{opened:#?}");
        assert_eq!(opened.iter().any(|words| of_command(&words)), reached, "{opened:#?}");
        if reached {
            // The first is the one of setup, whose result is kept for the second task.
            let (first, last) = (opened.first().expect("setup's"), opened.last().expect("the task's"));
            assert!(opened.len() >= 2 && !of_command(&first) && of_command(&last), "{opened:#?}");
        }
        stopped(&world, id, issue).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_people_allowed_are_not_told_as_lacking() {
    let world = World::networked(&held(), "").await;
    let hosts = "network = [\"docs.example.org\", \"more.example\"]\n";
    push(&world, &[("compare.md", &command(hosts, TEXT))]);
    let first = asked(&world, "/compare it");
    until(&world, 1, |task| task.running.is_some()).await;
    world.alice().comment(REPO, first, "/allow docs.example.org repo").expect("said");
    world.until_said(first, "It can be reached now.").await;
    stopped(&world, 1, first).await;
    let second = asked(&world, "/compare it");
    let told = world.until_said(second, "is on it").await;
    assert!(told.contains("goes on without them: `more.example`."), "{told}");
    until(&world, 2, |task| task.running.is_some()).await;
    stopped(&world, 2, second).await;
    let third = asked(&world, "/compare it\n/allow more.example");
    let told = world.until_said(third, "is on it").await;
    assert!(!told.contains("without them"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_was_no_command_begins_nothing_once_it_is_one() {
    let mut world = World::new(FIX).await;
    let closed = opened(&world);
    world.bob().close(REPO, closed).expect("closed");
    let said = world.alice().comment(REPO, closed, "/compare it").expect("said");
    let end = Instant::now() + PATIENCE;
    while !world.store().knows_input(&decision_key(&Source::Comment(said))).await.expect("read") {
        assert!(Instant::now() < end, "it is looked up for ever");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Written before this version of the bot first looked at the repository.
    world.kill();
    let old = asked(&world, "/api-v2 fails");
    let older = asked(&world, "/compare it");
    world.forge.age(REPO, 1_000).expect("aged");
    let database = world.by_hand().await;
    let sql = "UPDATE watermarks SET at = 0 WHERE repository LIKE 'first:%'";
    sqlx::query(sql).execute(&database).await.expect("written");
    database.close().await;
    push(&world, &[("compare.md", &command("", TEXT)), ("api-v2.md", &command("", TEXT))]);
    world.start().await;
    world.alice().set_open(REPO, closed, true).expect("reopened");
    for issue in [closed, old, older] {
        world.bob().comment(REPO, issue, "Any news?").expect("said");
        world.heard(issue).await;
    }
    assert!(world.until_said(older, "`/compare` is").await.contains("command"));
    let all = world.said(old).await;
    assert_eq!(all.len(), 1, "the answer to /status alone: {all:#?}");
    assert_eq!(tasks(&world).await, [0; 0]);
    world.alice().comment(REPO, closed, "/compare it").expect("said");
    assert_eq!(begun(&world, 1).await.issue, closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_said_to_a_task_waits_for_a_fetch() {
    let world = World::new(&held()).await;
    let issue = asked(&world, "/fix");
    world.until("an action that runs", |task| task.running.is_some()).await;
    push(&world, &[("compare.md", &command("", TEXT))]);
    let fetched = || world.forge.requests(|path| path.contains("git-upload-pack"));
    let before = fetched();
    world.alice().comment(REPO, issue, "/compare it").expect("said");
    world.until_said(issue, "`/compare` is no command").await;
    world.alice().comment(REPO, issue, "/stop\n/help\n/frob").expect("said");
    world.until("the end", |task| task.state.ended()).await;
    assert_eq!(fetched(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_command_begins_one_task_wherever_the_bot_is_killed() {
    let mut world = World::with(FIX, "max_tasks = 4").await;
    push(&world, &[("compare.md", &command("", TEXT))]);
    let issues: Vec<u64> = (0..5).map(|_| opened(&world)).collect();
    let ask = |world: &World, issue: u64| {
        world.alice().comment(REPO, issue, "/compare it").expect("said");
    };
    begin_once_wherever_killed(&mut world, &issues, ask, "is on it, as `/compare` of this repository asks").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_task_begins_an_own_command_is_answered_and_what_stands_beside_one_is_told() {
    let world = World::new(FIX).await;
    push(&world, &[("compare.md", &command("", TEXT))]);
    let closed = opened(&world);
    world.bob().close(REPO, closed).expect("closed");
    world.alice().comment(REPO, closed, "/compare it").expect("said");
    world.until_said(closed, "this issue is closed").await;
    let issue = opened(&world);
    let said = world.alice().comment(REPO, issue, "/compare this").expect("said");
    world.until_said(issue, "is on it").await;
    assert_eq!(begun(&world, 1).await.number, said);
    world.alice().comment(REPO, issue, "/stop").expect("said");
    world.until("the end", |task| task.state.ended()).await;
    let second = asked(&world, "/compare that\n/budget 1 usd\n/help");
    let told = world.until_said(second, "Not carried out: `/budget`, because `/compare` counted").await;
    assert!(told.contains("This repository's own commands") && !told.contains("is no command"), "{told}");
    assert_eq!(begun(&world, 2).await.words, "Compare versions as numbers in that. Nothing else.");
}

/// Without a configuration, a forge or a bot.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_checked_before_it_is_pushed() {
    let world = World::new(FIX).await;
    let (folder, dir) = (project(&world).join(".caisson/commands"), project(&world).display().to_string());
    let none = caisson(&world, &["command", "check", &dir]).await;
    assert!(none.status.success() && said(&none).contains("no .caisson/commands in"), "{}", said(&none));
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("compare.md"), command("kind = \"plan\"\n", TEXT)).expect("written");
    let good = caisson(&world, &["command", "check", &dir]).await;
    assert!(good.status.success(), "{}", said(&good));
    assert!(said(&good).contains("/compare  plan: Compares | versions"), "{}", said(&good));
    std::fs::write(folder.join("broken.md"), command("# one\n\ncheckpoint = 9\n", TEXT)).expect("written");
    let bad = caisson(&world, &["command", "check", &dir]).await;
    let text = said(&bad);
    assert_eq!(bad.status.code(), Some(1), "{text}");
    assert!(
        text.contains(".caisson/commands/broken.md:5: `checkpoint`: a checkpoint comes after 1 to 5 actions"),
        "{text}"
    );
    assert!(text.contains("/compare  plan") && text.contains("1 mistake in .caisson"), "{text}");
    let help = caisson(&world, &["command", "check", "--help"]).await;
    assert!(
        help.status.success() && said(&help).contains("description = \"Writes the notes of a release\""),
        "{}",
        said(&help)
    );
    let nowhere = caisson(&world, &["command", "check", &format!("{dir}/none")]).await;
    assert!(!nowhere.status.success() && said(&nowhere).contains("cannot be read"), "{}", said(&nowhere));
}
