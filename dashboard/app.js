// The page of `caisson dashboard`: tasks, their actions, and their events as they happen. It reads and orders nothing. All that it shows
// came from issues, models and commands, so it is put into the page as text, never as markup.
"use strict";

const at = (id) => document.getElementById(id);
const KEY = "session";
const REFRESH_MS = 2000;
const SOON_MS = 300;
const PATIENCE_MS = 10000;
const MOST_EVENTS = 500;
const LONGEST = 400;
const WAITING = new Set(["awaiting-review", "final-review", "asking", "paused"]);
const GOOD = new Set(["approved", "delivered"]);
const BAD = new Set(["failed", "declined", "expired", "cancelled"]);

let open = null;
let stream = null;
let listing = false;
let renewing = false;
let changed = false;
// Numbers of the requests for details: the newest one, and the one whose answer is shown.
let newest = 0;
let shown = 0;
// What each line of a list was made from.
const drawn = new WeakMap();

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const dollars = (micro) => "$" + (micro / 1e6).toFixed(4);
const spent = (task) => {
  if (!task.unpriced) return dollars(task.micro_usd);
  return task.micro_usd ? dollars(task.micro_usd) + " and more, price unknown" : "price unknown";
};
const moment = (ms) => new Date(ms).toLocaleString();
const cut = (text) => (text.length > LONGEST ? text.slice(0, LONGEST) + " …" : text);

function stateClass(state) {
  if (WAITING.has(state)) return "wait";
  if (GOOD.has(state)) return "good";
  return BAD.has(state) ? "bad" : "";
}

class SignedOut extends Error {}

// A bot that hangs, or a browser that has no connection left, is told of instead of waited for.
async function get(path, signal = AbortSignal.timeout(PATIENCE_MS)) {
  const headers = { authorization: "Bearer " + sessionStorage.getItem(KEY) };
  const answer = await fetch("/dashboard/api" + path, { headers, signal, cache: "no-store" });
  if (answer.status === 401) throw new SignedOut();
  if (!answer.ok) throw new Error((await answer.text()) || "the bot answered " + answer.status);
  return answer;
}

function signOut() {
  sessionStorage.removeItem(KEY);
  if (stream) stream.abort();
  at("tasks").hidden = true;
  at("sign-in").hidden = false;
  at("status").textContent = "";
  at("code").focus();
}

function trouble(error) {
  if (error instanceof SignedOut) return signOut();
  if (error.name !== "AbortError") at("status").textContent = "not up to date: " + error.message;
}

at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = JSON.stringify({ code: at("code").value });
  at("refused").textContent = "";
  try {
    const answer = await fetch("/dashboard/session", { method: "POST", headers: { "content-type": "application/json" }, body });
    const text = await answer.text();
    if (!answer.ok) {
      at("refused").textContent = text;
      return;
    }
    sessionStorage.setItem(KEY, JSON.parse(text).session);
    at("code").value = "";
    begin();
  } catch (error) {
    at("refused").textContent = "the bot does not answer: " + error.message;
  }
});

// Makes anew only the lines that changed, so that focus, selection and what is unfolded stay.
function renew(list, values, make) {
  values.forEach((value, place) => {
    const before = list.children[place];
    const text = JSON.stringify(value);
    if (before && drawn.get(before) === text) return;
    const made = make(value);
    drawn.set(made, text);
    if (!before) return list.append(made);
    const focused = before.contains(document.activeElement);
    const unfolded = before.querySelector("details[open]") !== null;
    before.replaceWith(made);
    if (unfolded) made.querySelector("details").open = true;
    if (focused) made.querySelector("button, summary").focus({ preventScroll: true });
  });
  while (list.children.length > values.length) list.lastElementChild.remove();
}

function row(task) {
  const made = element("tr");
  if (task.current) made.setAttribute("aria-current", "true");
  const cells = [task.id, task.state, task.repository + "#" + task.issue, task.actions, spent(task)];
  for (const text of cells) made.append(element("td", text));
  made.children[1].className = stateClass(task.state);
  const title = element("td");
  const button = element("button", task.title);
  button.type = "button";
  button.addEventListener("click", () => show(task.id));
  title.append(button);
  made.append(title);
  return made;
}

async function list() {
  const tasks = await (await get("/tasks")).json();
  renew(at("list"), tasks.map((task) => ({ ...task, current: open === task.id })), row);
  at("none").hidden = tasks.length > 0;
  const live = tasks.filter((task) => task.live).length;
  at("status").textContent = live === 1 ? "1 live task" : live + " live tasks";
}

// The fields of an action as lines, its longest texts as they are.
function asked(input) {
  try {
    const { kind, ...fields } = JSON.parse(input);
    const line = ([name, value]) => name + ": " + (typeof value === "string" ? value : JSON.stringify(value));
    return Object.entries(fields).map(line).join("\n");
  } catch {
    return input;
  }
}

function action(one) {
  const made = element("li");
  const good = one.status === null || one.status === "ok" || one.exit_code === 0;
  const ended = one.status === null ? "running" : one.exit_code === null ? one.status : "exit " + one.exit_code;
  const details = element("details");
  const summary = element("summary");
  summary.append(element("span", one.number, "n"), one.kind + " ", element("span", ended, good ? "" : "bad"));
  if (one.duration_ms !== null) summary.append(" " + one.duration_ms + " ms");
  details.append(summary, element("pre", asked(one.input)));
  if (one.output !== null) details.append(element("pre", one.output));
  made.append(details);
  return made;
}

async function details(id) {
  const mine = ++newest;
  const { task, actions } = await (await get("/tasks/" + id)).json();
  // An answer that was overtaken by a later one is older.
  if (open !== id || mine < shown) return;
  shown = mine;
  at("title").textContent = "task " + task.id + ": " + task.title;
  const facts = [
    ["state", task.state],
    ["issue", task.repository + "#" + task.issue + ", asked by " + task.asker],
    ["pull request", task.pull === null ? "none yet" : task.pull],
    ["branch", task.branch],
    ["spent", task.tokens + " tokens, " + spent(task)],
    ["began", moment(task.created_at)],
  ];
  at("facts").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
  renew(at("actions"), actions, action);
}

// Asks for the details soon, once for all events that come until then: a long log comes in many parts.
async function renewDetails() {
  changed = true;
  if (renewing) return;
  renewing = true;
  while (changed) {
    await new Promise((soon) => setTimeout(soon, SOON_MS));
    changed = false;
    if (!sessionStorage.getItem(KEY)) break;
    try {
      await details(open);
    } catch (error) {
      trouble(error);
      // Asked for again, because no further event may come.
      changed = true;
      await new Promise((again) => setTimeout(again, REFRESH_MS));
    }
  }
  renewing = false;
}

function event(line) {
  const { event: name, ...rest } = line.event;
  const made = element("li");
  made.append(element("span", line.seq, "n"), moment(line.at_ms) + " ", element("strong", name), " " + cut(JSON.stringify(rest)));
  return made;
}

// Server-sent events by hand: an EventSource can't send the session's header.
async function follow(id, after, signal) {
  const answer = await get("/tasks/" + id + "/events?after=" + after, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return after;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (!data) continue;
      const line = JSON.parse(data);
      after = line.seq;
      at("events").prepend(event(line));
      while (at("events").children.length > MOST_EVENTS) at("events").lastChild.remove();
    }
    renewDetails();
  }
}

async function show(id) {
  if (stream) stream.abort();
  stream = new AbortController();
  const { signal } = stream;
  open = id;
  at("events").replaceChildren();
  at("actions").replaceChildren();
  at("task").hidden = false;
  let after = 0;
  try {
    await Promise.all([list(), details(id)]);
  } catch (error) {
    trouble(error);
  }
  while (!signal.aborted) {
    try {
      after = await follow(id, after, signal);
    } catch (error) {
      trouble(error);
      after = Number(at("events").firstChild?.querySelector(".n")?.textContent ?? 0);
    }
    await new Promise((again) => setTimeout(again, REFRESH_MS));
  }
}

function begin() {
  at("sign-in").hidden = true;
  at("tasks").hidden = false;
  // What was open when a session ended is followed again, because nothing else would renew what the page shows of it.
  if (open === null) list().catch(trouble);
  else show(open);
}

setInterval(async () => {
  if (listing || !sessionStorage.getItem(KEY)) return;
  listing = true;
  await list().catch(trouble);
  listing = false;
}, REFRESH_MS);

if (sessionStorage.getItem(KEY)) begin();
else signOut();
