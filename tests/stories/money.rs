//! What a day and a month may cost, for all repositories and for one.

use crate::orders::{caisson, said};
use crate::world::{FIX, REPO, World};
use domain::{PauseReason, State, Task};

/// One dollar per million tokens.
const DOLLAR: u64 = 1_000_000;

fn waits_for_money(task: &Task) -> bool {
    matches!(&task.state, State::Paused { reason: PauseReason::DaySpent { .. }, .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_is_spent_pauses_before_the_next_call_and_more_lets_it_go_on() {
    let mut world = World::with(FIX, "budget.day_dollars = 0.000001").await;
    world.model.set_price(DOLLAR, DOLLAR);
    world.reconfigure(|text| text).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until("a pause", waits_for_money).await;
    assert_eq!((task.spent.micro_usd, task.turn), (0, 0), "nothing was asked of the model");
    let text = world.until_said(issue, "The day's money is used up").await;
    assert!(text.contains("one call may cost") && text.contains("budget.day_dollars"), "{text}");
    world.reconfigure(|text| text.replace("0.000001", "50.0")).await;
    world.alice().comment(REPO, issue, "/resume").expect("said");
    let task = world.until_state("awaiting-review").await;
    assert!(task.spent.micro_usd > 0);
    let cost = caisson(&world, &["cost", "--by", "repository", "--json"]).await;
    let row: serde_json::Value = serde_json::from_str(said(&cost).lines().next().expect("a line")).expect("JSON");
    assert_eq!((row["of"].as_str(), row["micro_usd"].as_u64()), (Some("shop"), Some(task.spent.micro_usd)), "{row}");
    // The repository's own limit per day, while the one for all is not reached.
    world.reconfigure(|text| format!("{text}\n[repositories.budget]\nday_dollars = 0.000001\n")).await;
    let table = said(&caisson(&world, &["cost"]).await);
    assert!(table.contains("for all repositories") && table.contains("for shop"), "{table}");
    world.approve().await;
    let paused = world.until("a pause", waits_for_money).await;
    world.until_said(paused.pull.expect("a pull request"), "repositories.budget.day_dollars").await;
    assert_eq!(world.task().await.spent.micro_usd, task.spent.micro_usd);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_that_is_spent_pauses_with_what_is_left_to_do() {
    let mut world = World::new(FIX).await;
    world.model.set_price(DOLLAR, DOLLAR);
    world.reconfigure(|text| text).await;
    let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    let task = world.until_state("awaiting-review").await;
    assert!(task.spent.micro_usd > 0);
    world.reconfigure(|text| format!("{text}\n[repositories.budget]\nmonth_dollars = 0.000001\n")).await;
    let table = said(&caisson(&world, &["cost"]).await).to_owned();
    assert!(table.contains("this month: ") && table.contains(" for shop") && !table.contains("today: "), "{table}");
    world.approve().await;
    let paused = |task: &Task| matches!(&task.state, State::Paused { reason: PauseReason::MonthSpent { .. }, .. });
    let task = world.until("a pause", paused).await;
    let text = world.until_said(task.pull.unwrap_or(issue), "The month's money is used up").await;
    assert!(text.contains("repositories.budget.month_dollars"), "{text}");
    assert!(text.contains("What it planned") && text.contains("run the tests"), "{text}");
    let pull = task.pull.unwrap_or(issue);
    world.alice().comment(REPO, pull, "/ask what is left to do?").expect("said");
    let text = world.until_said(pull, "your question is not answered, because").await;
    assert!(text.contains("a whole month only") && text.contains("repositories.budget.month_dollars"), "{text}");
    world.reconfigure(|text| text.replace("month_dollars = 0.000001", "month_dollars = 50.0")).await;
    world.alice().comment(REPO, task.pull.unwrap_or(issue), "/resume").expect("said");
    world.until("work", |now| now.turn > task.turn).await;
}

/// Every call is charged in the log: the tables' sums equal those of the tasks' logs.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_call_is_charged_stands_in_the_costs_too() {
    let mut world = World::new(FIX).await;
    world.model.set_price(DOLLAR, DOLLAR);
    world.cuts.set({
        let mut left = 2;
        move |row, at| {
            let here = row.effect.kind() == "converse" && matches!(at, caisson::task::Boundary::Done) && left > 0;
            left -= u32::from(here);
            here
        }
    });
    world.reconfigure(|text| text).await;
    world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
    for lost in 1..=2 {
        world.until("a charge", |task| task.model_starts == lost).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        world.kill();
        world.start().await;
    }
    let task = world.until_state("awaiting-review").await;
    let costs = world.store().costs(caisson::store::CostBy::Model, 0).await.expect("read");
    let lost = costs.iter().find(|row| row.of.is_empty()).expect("calls without an answer");
    assert_eq!(lost.calls, 2);
    let all: i64 = costs.iter().map(|row| row.micro_usd).sum();
    assert_eq!(all, task.spent.micro_usd as i64, "{costs:?}");
}

/// What each surface writes about a model whose price is unknown, and about one that is free.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_price_is_never_shown_as_free() {
    for unpriced in [true, false] {
        let mut world = World::new(FIX).await;
        if unpriced {
            world.model.set_unpriced();
        }
        world.reconfigure(|text| text).await;
        let issue = world.alice().open_issue(REPO, "Versions compare as text", "/fix").expect("issue");
        let task = world.until_state("awaiting-review").await;
        assert_eq!((task.spent.micro_usd, task.spent.unpriced), (0, if unpriced { task.spent.tokens } else { 0 }));
        let pull = task.pull.expect("a pull request");
        let mut shown = vec![world.until_said(pull, "### Checkpoint 1 ").await];
        world.alice().comment(REPO, pull, "/cost").expect("said");
        shown.push(world.until_said(pull, "What task 1 has used so far").await);
        world.alice().comment(REPO, pull, "/status").expect("said");
        shown.push(world.until_said(pull, "Task 1 is ").await);
        let money = if unpriced { "| money | price unknown" } else { "| money | $0.00" };
        shown.push(world.until_said(issue, money).await);
        for arguments in
            [&["cost"][..], &["task", "cost", "1"], &["task", "list"], &["task", "show", "1"], &["task", "replay", "1"]]
        {
            shown.push(said(&caisson(&world, arguments).await).to_owned());
        }
        for text in shown {
            assert_eq!((text.contains("price unknown"), text.contains("$0.00")), (unpriced, !unpriced), "{text}");
        }
    }
}
