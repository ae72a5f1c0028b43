//! The offered tools, and calls with every kind of error.

use super::*;
use domain::{Action, LineRange, TextEdit};

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), arguments, malformed: None }
}

fn read(name: &str, arguments: Value) -> Action {
    match parse(&call(name, arguments)).unwrap() {
        Call::Action { action } => action,
        other => panic!("no action: {other:?}"),
    }
}

fn refusal(name: &str, arguments: Value) -> String {
    parse(&call(name, arguments)).unwrap_err()
}

#[test]
fn a_tool_that_asks_for_an_action_has_its_name() {
    for tool in TOOLS {
        assert!(tool.action.is_none_or(|action| action.name() == tool.name), "{}", tool.name);
    }
}

#[test]
fn a_read_only_task_is_offered_nothing_that_writes() {
    let names = |kind| specs(kind).into_iter().map(|s| s.name).collect::<Vec<_>>().join(" ");
    assert_eq!(
        names(TaskKind::Fix),
        "bash read_file write_file edit_file move_file delete_file list_files search web_fetch update_plan recall answer_remark ask done"
    );
    assert_eq!(names(TaskKind::Plan), "read_file list_files search web_fetch update_plan recall ask done");
}

/// The lists in docs/models.md.
#[test]
fn a_short_prompt_offers_few_tools_and_few_arguments() {
    let names = |kind| brief(kind).into_iter().map(|s| s.name).collect::<Vec<_>>().join(" ");
    assert_eq!(names(TaskKind::Fix), "bash read_file write_file edit_file search recall answer_remark ask done");
    assert_eq!(names(TaskKind::Plan), "read_file list_files search recall ask done");
    let done = brief(TaskKind::Fix).into_iter().find(|tool| tool.name == "done").unwrap();
    let claim = json!({ "claim": { "type": "string" }, "action": { "type": "integer" } });
    let claims = json!({ "type": "array", "items": { "type": "object", "properties": claim, "required": ["claim"] } });
    assert_eq!(done.parameters["properties"], json!({ "summary": { "type": "string" }, "claims": claims }));
    let done = brief(TaskKind::Plan).into_iter().find(|tool| tool.name == "done").unwrap();
    assert_eq!(done.parameters["properties"], json!({ "summary": { "type": "string" } }));
}

#[test]
fn a_short_prompt_offers_what_its_summaries_of_older_turns_name() {
    let recall = brief(TaskKind::Fix).into_iter().find(|tool| tool.name == "recall").unwrap();
    let properties = json!({ "number": { "type": "integer" }, "words": { "type": "string" } });
    assert_eq!(recall.parameters, json!({ "type": "object", "properties": properties, "required": [] }));
    let lists = brief(TaskKind::Plan).into_iter().find(|tool| tool.name == "list_files").unwrap();
    assert_eq!(lists.parameters["properties"], json!({ "path": { "type": "string" } }));
}

#[test]
fn the_schemas_are_what_the_vendors_ask_for() {
    for tool in specs(TaskKind::Fix) {
        let schema = &tool.parameters;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for name in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{}: {name}", tool.name);
        }
        assert!(properties.values().all(|p| p["type"].is_string() && p["description"].is_string()), "{}", tool.name);
        assert!(tool.description.len() < 1024 && !tool.description.contains("  "), "{}", tool.name);
    }
}

#[test]
fn every_tool_has_a_reading() {
    let with_all = json!({ "command": "c", "path": "p", "content": "", "old": "o", "new": "n", "to": "t", "pattern": "x", "url": "https://h", "plan": "p", "summary": "s", "question": "q", "remark": "r2", "text": "t", "addressed": true });
    for tool in specs(TaskKind::Fix) {
        let mut with_all = with_all.clone();
        // Takes both a path and a line.
        if tool.name == "read_file" {
            with_all["summary"] = json!(true);
        }
        with_all["from"] = if tool.name == "move_file" { json!("f") } else { json!(1) };
        assert!(parse(&call(&tool.name, with_all.clone())).is_ok(), "{}", tool.name);
    }
}

#[test]
fn a_file_is_told_in_short_where_that_is_asked_for() {
    let told = |arguments| read("read_file", arguments);
    assert_eq!(told(json!({"path": "a", "summary": true})), Action::Summarize { path: "a".into(), from: 1 });
    assert_eq!(
        told(json!({"path": "a", "summary": "true", "from": 7})),
        Action::Summarize { path: "a".into(), from: 7 }
    );
    assert_eq!(told(json!({"path": "a", "summary": false})), Action::ReadFile { path: "a".into(), from: 1, lines: 0 });
    assert!(parse(&call("read_file", json!({"path": "a", "summary": "all"}))).is_err());
}

#[test]
fn defaults_are_filled_in() {
    assert_eq!(read("read_file", json!({"path": " a "})), Action::ReadFile { path: "a".into(), from: 1, lines: 0 });
    assert_eq!(read("list_files", json!({})), Action::ListFiles { path: ".".into(), glob: None, depth: 3 });
    let named = |arguments| match read("list_files", arguments) {
        Action::ListFiles { depth, .. } => depth,
        other => panic!("no listing: {other:?}"),
    };
    assert_eq!(named(json!({"glob": "src/**/*.py"})), 0, "a pattern is looked for everywhere");
    assert_eq!(named(json!({"glob": "*.py", "depth": 2})), 2);
    let search = read("search", json!({"pattern": "x", "path": "", "glob": null}));
    assert_eq!(search, Action::Search { pattern: "x".into(), path: ".".into(), glob: None });
}

#[test]
fn habits_from_elsewhere_are_understood() {
    let edit = read(
        "functions.edit_file",
        json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": "true"}),
    );
    assert_eq!(edit, Action::EditFile { path: "a".into(), old: "x".into(), new: "y".into(), all: true });
    let lines = read("read_file", json!({"path": "a", "from": "3", "lines": 2.0}));
    assert_eq!(lines, Action::ReadFile { path: "a".into(), from: 3, lines: 2 });
    let serve = json!({"cmd": "make serve", "background": "true"});
    assert_eq!(read("bash", serve), Action::Background { command: "make serve".into() });
    assert_eq!(read("bash", json!({"command": "ls", "background": false})), Action::Bash { command: "ls".into() });
    let one = |old: &str| TextEdit { old: old.into(), new: "y".into(), all: old == "all" };
    let listed = json!([{"old_str": "x", "new_str": "y"}, {"old": "all", "new": "y", "all": true}]);
    let several = |edits| Action::EditPlaces { path: "a".into(), edits };
    assert_eq!(read("edit_file", json!({"path": "a", "edits": listed})), several(vec![one("x"), one("all")]));
    let and_more = json!({"path": "a", "old": "first", "new": "y", "edits": listed.to_string()});
    assert_eq!(read("edit_file", and_more), several(vec![one("first"), one("x"), one("all")]));
    let alone = read("edit_file", json!({"path": "a", "edits": [{"old": "x", "new": "y"}]}));
    assert_eq!(alone, Action::EditFile { path: "a".into(), old: "x".into(), new: "y".into(), all: false });
    let range = |from, lines| LineRange { from, lines };
    let parts = read("read_file", json!({"path": "a", "ranges": [{"from": 3, "lines": "2"}, {"from": 9}]}));
    assert_eq!(parts, Action::ReadRanges { path: "a".into(), ranges: vec![range(3, 2), range(9, 0)] });
    let gone = read("delete_file", json!({"file_path": "a/", "recursive": true}));
    assert_eq!(gone, Action::DeleteFile { path: "a/".into(), recursive: true });
    assert!(refusal("edit_file", json!({"path": "a", "edits": {"old": "x"}})).contains("must be a list of objects"));
    let many = vec![json!({"old": "x", "new": "y"}); 21];
    assert!(refusal("edit_file", json!({"path": "a", "edits": many})).contains("20 fit"));
    for remark in [json!("r2"), json!("2"), json!(2)] {
        let said =
            parse(&call("answer_remark", json!({"remark": remark, "text": " it is renamed ", "addressed": "true"})));
        let answer = domain::RemarkAnswer { remark: 2, text: "it is renamed".into(), addressed: true };
        assert_eq!(said.unwrap(), Call::AnswerRemark { answer });
    }
    assert!(refusal("answer_remark", json!({"remark": "the first", "text": "x"})).contains("such as \"r2\""));
    let plan = parse(&call("update_plan", json!({"plan": ["one", "two"]}))).unwrap();
    assert_eq!(plan, Call::UpdatePlan { plan: "- one\n- two".into() });
}

#[test]
fn refusals_say_what_to_do() {
    insta::assert_snapshot!(
        [
            refusal("python", json!({})),
            refusal("bash", json!({})),
            refusal("bash", json!({"command": ["ls", "-l"]})),
            refusal("bash", json!({"command": "  "})),
            refusal("read_file", json!({"file": 3})),
            refusal("read_file", json!({"path": "a", "from": -1})),
            refusal("edit_file", json!({"path": "a", "old": "", "new": "b"})),
            refusal("edit_file", json!({"path": "a", "old": "b", "new": "b"})),
            refusal("edit_file", json!({"path": "a", "old": "b", "new": "c", "all": 1})),
            refusal("web_fetch", json!({"url": "file:///etc/passwd"})),
            refusal("web_fetch", json!({"url": "https://me:pw@h"})),
            refusal("web_fetch", json!({"url": "h"})),
            refusal("write_file", json!({"path": "a", "content": "x".repeat(1 << 20)})),
            refusal("done", json!({"note": "x"})),
            parse(&ToolCall { malformed: Some("{\"command\": \"ls".into()), ..call("bash", json!({})) }).unwrap_err(),
        ]
        .join("\n")
    );
}

#[test]
fn what_cannot_be_read_is_kept_as_malformed() {
    let stored = request(&call("nothing", json!({"a": 1})));
    assert_eq!((stored.id.as_str(), stored.name.as_str(), &stored.arguments), ("c1", "nothing", &json!({"a": 1})));
    assert!(matches!(stored.call, Call::Malformed { reason } if reason.contains("the tools are bash")));
}
