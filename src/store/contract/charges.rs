//! Costs of model calls, compared with the log.

use super::*;
use domain::*;

const DAY: i64 = 24 * 3600 * 1000;

async fn say(store: &Store, id: TaskId, at: i64, key: &str, input: Input) {
    let task = store.task(id).await.expect("folded");
    assert_eq!(feed_at(at, store, &task, key, input).await, Appended::Done, "{key}");
}

fn answer(micro_usd: u64, model: &str) -> Input {
    let usage = Usage { input: 10, output: 2, cache_read: 5, cache_write: 1, reasoning: 1, unpriced: 0 };
    let (text, calls) = (String::new(), Vec::new());
    Input::ModelAnswered { turn: 1, text, calls, usage, micro_usd, duration_ms: 3, model: model.into(), vendor: None }
}

async fn running(store: &Store, key: &str) -> TaskId {
    let id = created(store, key).await.id;
    let prepared = Input::Prepared {
        base: Commit::parse(&"a".repeat(40)).expect("an id"),
        boot: "b".into(),
        image: "i".into(),
        every: 5,
        note: None,
        budget: None,
        rules: domain::Rules::default(),
        pictures: Vec::new(),
        difference: None,
        scan: None,
        on_base: None,
        conflicts: Vec::new(),
    };
    say(store, id, DAY + 1, &format!("place:{key}"), Input::SlotFree).await;
    say(store, id, DAY + 2, &format!("prepared:{key}"), prepared).await;
    id
}

/// One call was lost, one refused without cost, one answered a day later.
pub async fn what_was_charged_is_what_the_log_says_was_spent(fresh: Fresh) {
    let store = fresh.open().await;
    let id = running(&store, "opened:3").await;
    let starting = |worst: u64| Input::ModelCallStarting { turn: 1, worst_micro_usd: worst };
    say(&store, id, DAY + 3, "start:1", starting(100)).await;
    assert_eq!(store.spent_since(DAY, None).await.expect("read"), 100, "its worst case, while it is under way");
    say(&store, id, DAY + 4, "start:2", starting(200)).await;
    say(&store, id, DAY + 5, "refused:2", Input::ModelCallRefused { turn: 1, fallback: None }).await;
    assert_eq!(store.spent_since(DAY, None).await.expect("read"), 100);
    say(&store, id, 2 * DAY + 6, "start:3", starting(300)).await;
    say(&store, id, 2 * DAY + 7, "answer", answer(70, "a model")).await;
    let task = store.task(id).await.expect("folded");
    assert_eq!((task.spent.micro_usd, task.spent.tokens), (170, 18));
    assert_eq!(store.spent_since(0, None).await.expect("read"), 170);
    assert_eq!(store.spent_since(0, Some("shop")).await.expect("read"), 170);
    assert_eq!(store.spent_since(0, Some("till")).await.expect("read"), 0);
    assert_eq!(store.spent_since(day_began(2 * DAY + 7), None).await.expect("read"), 70);
    let costs = async |by| {
        let rows = store.costs(by, 0).await.expect("read");
        rows.into_iter()
            .map(|row| (row.of, row.calls, row.input, row.output, row.reasoning, row.micro_usd))
            .collect::<Vec<_>>()
    };
    assert_eq!(costs(CostBy::Day).await, [("2".into(), 1, 10, 2, 1, 70), ("1".into(), 1, 0, 0, 0, 100)]);
    assert_eq!(costs(CostBy::Model).await, [(String::new(), 1, 0, 0, 0, 100), ("a model".into(), 1, 10, 2, 1, 70)]);
    assert_eq!(costs(CostBy::Repository).await, [("shop".into(), 2, 10, 2, 1, 170)]);
    assert_eq!(costs(CostBy::Task).await, [(id.to_string(), 2, 10, 2, 1, 170)]);
}

/// Months are calendar months; the cost of a deleted task counts until its month ends and is then deleted.
pub async fn a_deleted_task_is_charged_until_its_month_ends(fresh: Fresh) {
    let store = fresh.open().await;
    let began = month_began(crate::clock::now());
    let id = running(&store, "opened:3").await;
    for (turn, (at, worst)) in [(began - 1, 100), (began, 30)].into_iter().enumerate() {
        let starting = Input::ModelCallStarting { turn: 1, worst_micro_usd: worst };
        say(&store, id, at, &format!("start:{turn}"), starting).await;
    }
    let spent = async |since| store.spent_since(since, Some("shop")).await.expect("read");
    assert_eq!((spent(0).await, spent(began).await), (130, 30));
    say(&store, id, began + 1, "closed", Input::IssueClosed).await;
    assert_eq!(store.delete_task(id).await.expect("deleted"), Deleted::Gone { repository: "shop".into() });
    assert_eq!((spent(0).await, spent(began).await), (30, 30));
    let sql = "UPDATE charges SET at = $1";
    sqlx::query(sql).bind(began - 1).execute(&fresh.by_hand().await).await.expect("written");
    while store.prune(Before { tasks: Some(1), ..Before::default() }).await.expect("pruned") {}
    assert_eq!(spent(0).await, 0);
}

/// A person's question runs beside the work, and their charges must not be confused.
pub async fn a_question_beside_a_call_is_charged_by_itself(fresh: Fresh) {
    let store = fresh.open().await;
    let id = running(&store, "opened:4").await;
    let asks = |call: u32| Input::ReplyStarting { number: 7, call, worst_micro_usd: 50 };
    say(&store, id, DAY + 3, "lost", asks(1)).await;
    say(&store, id, DAY + 4, "start", Input::ModelCallStarting { turn: 1, worst_micro_usd: 100 }).await;
    say(&store, id, DAY + 5, "asks", asks(2)).await;
    assert_eq!(store.spent_since(DAY, None).await.expect("read"), 200);
    say(&store, id, DAY + 6, "answer", answer(70, "the worker")).await;
    let usage = Usage { input: 3, output: 4, ..Usage::default() };
    let (text, model) = ("it does".to_owned(), "who answers".to_owned());
    say(&store, id, DAY + 7, "said", Input::Replied { number: 7, call: 2, text, usage, micro_usd: 9, model }).await;
    let task = store.task(id).await.expect("folded");
    assert_eq!(
        (task.spent.micro_usd, task.spent.tokens, task.spent.actions),
        (129, 25, 0),
        "the lost one stays charged"
    );
    assert_eq!(store.spent_since(DAY, None).await.expect("read"), 129);
    let costs = store.costs(CostBy::Model, 0).await.expect("read");
    let costs: Vec<(&str, i64, i64)> = costs.iter().map(|row| (row.of.as_str(), row.calls, row.micro_usd)).collect();
    assert_eq!(costs, [("the worker", 1, 70), ("", 1, 50), ("who answers", 1, 9)]);
}

/// A call of unknown price costs 0 in the sums, which say how many tokens that is about.
pub async fn tokens_of_unknown_price_are_counted_apart(fresh: Fresh) {
    let store = fresh.open().await;
    let id = running(&store, "opened:5").await;
    let start = |turn| Input::ModelCallStarting { turn, worst_micro_usd: 0 };
    say(&store, id, DAY + 3, "start:1", start(1)).await;
    let usage = Usage { input: 10, output: 2, unpriced: 12, ..Usage::default() };
    let action = Action::Bash { command: "true".into() };
    let (id_of_call, name, arguments) = ("c".to_owned(), "bash".to_owned(), serde_json::Value::Null);
    let calls = vec![CallRequest { id: id_of_call, name, arguments, call: Call::Action { action } }];
    let (text, model) = (String::new(), "own".to_owned());
    let said = Input::ModelAnswered { turn: 1, text, calls, usage, micro_usd: 0, duration_ms: 3, model, vendor: None };
    say(&store, id, DAY + 4, "answer", said).await;
    let task = store.task(id).await.expect("folded");
    assert_eq!((task.spent.micro_usd, task.spent.tokens, task.spent.unpriced), (0, 12, 12));
    let row = store.task_row(id).await.expect("read").expect("a task");
    assert_eq!((row.micro_usd, row.unpriced), (0, 12));
    let actions = store.actions(id).await.expect("read");
    assert_eq!(actions.iter().map(|it| (it.micro_usd, it.unpriced)).collect::<Vec<_>>(), [(0, 12)]);
    let costs = store.costs(CostBy::Model, 0).await.expect("read");
    assert_eq!(
        costs.iter().map(|it| (it.of.as_str(), it.micro_usd, it.unpriced)).collect::<Vec<_>>(),
        [("own", 0, 12)]
    );
}
