"""Tests of this script: `python3 benches/peers/peers.py --self-test`. No model, no container, no network beyond loopback."""

import http.client
import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import compare
import ledger as ledgers
import tasks as task_files
from proxy import Lines, Proxy, Usage, formula


def row(system, task, outcome, family="fix", repeat=1, seconds=1.0):
    return {"system": system, "task": task, "repeat": repeat, "family": family, "outcome": outcome, "why": "",
            "measured": {"model_seconds_by_formula": seconds}}


def of(system, solved, **more):
    return [row(system, f"t{at}", "solved" if it else "unsolved", **more) for at, it in enumerate(solved)]


class Statistics(unittest.TestCase):
    def test_a_clear_gain_has_a_bound_above_nothing_and_noise_has_not(self):
        found = compare.compare(of("caisson", [True] * 12 + [False] * 8), of("mini", [False] * 20))
        self.assertEqual((found["tasks"], found["difference"]), (20, 0.6))
        # The fifth percentile of a binomial with n = 20 and p = 0.6 is 8.
        self.assertAlmostEqual(found["at_least"], 0.4, delta=0.051)
        even = [at % 2 == 0 for at in range(20)]
        self.assertLess(compare.compare(of("caisson", even), of("mini", [not it for it in even]))["at_least"], 0)

    def test_only_what_both_ran_counts_and_tries_are_shares(self):
        ours = of("caisson", [True, False]) + [row("caisson", "t1", "solved", repeat=2), row("caisson", "t2", "not-run")]
        found = compare.compare(ours, of("mini", [True, True, True]))
        self.assertEqual((found["tasks"], found["ours"], found["theirs"]), (2, 0.75, 1.0))
        self.assertIsNone(compare.compare(ours, []))

    def test_the_better_peer_is_the_one_that_solves_more_then_the_cheaper(self):
        by_system = {"aider-files": of("aider-files", [True, False], seconds=9), "aider-map": of("aider-map", [True, False]),
                     "mini": of("mini", [False, False]), "caisson": of("caisson", [True, True])}
        self.assertEqual(compare.better(by_system), "aider-map")
        self.assertEqual(compare.cost(by_system["aider-files"]), 18)
        self.assertIsNone(compare.cost(by_system["mini"]))

    def test_a_report_says_which_goals_are_met(self):
        rows = of("caisson", [True] * 9 + [False], seconds=4) + of("aider-files", [False] * 9 + [True], seconds=1)
        text = compare.report(rows, "about")
        self.assertIn("bound above 0: met", text)
        self.assertIn("no family ten points worse: met", text)
        self.assertIn("for each solved task: met (4.4 / 10.0", text)
        worse = [{**it, "family": "refactor"} if it["task"] == "t9" else it for it in rows]
        self.assertIn("no family ten points worse: NOT MET (worst -100.0)", compare.report(worse, "about"))
        self.assertIn("Nothing to compare", compare.report(of("mini", [True]), "about"))


class Counting(unittest.TestCase):
    def test_usage_is_summed_and_what_others_left_in_the_cache_is_told_apart(self):
        usage = Usage()
        usage.add({"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 90}}, 1.0)
        usage.add({"prompt_tokens": 200, "completion_tokens": 25, "prompt_tokens_details": {"cached_tokens": 149}}, 1.0)
        usage.add(None, 1.0)
        told = usage.told()
        self.assertEqual((told["tokens_read"], told["tokens_cached"], told["tokens_written"]), (300, 239, 75))
        self.assertEqual((told["tokens_cached_own"], told["unmeasured"], told["answers"]), (149, 1, 3))
        self.assertEqual(told["model_seconds_by_formula"], formula(300, 239, 75))
        self.assertEqual(formula(240, 120, 50), 3.0)

    def test_a_stream_in_pieces_gives_its_usage_and_hides_it_from_who_did_not_ask(self):
        events = [{"choices": [{"delta": {"content": "é"}}]}, {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}]
        data = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"
        for hide in (True, False):
            lines = Lines(hide)
            out = b"".join(lines.feed(data[at:at + 5]) for at in range(0, len(data), 5))
            self.assertEqual((lines.usage["prompt_tokens"], lines.done, b"prompt_tokens" in out), (7, True, not hide))
            self.assertIn(b"[DONE]", out)

    def test_both_kinds_of_answers_are_counted_through_the_proxy_and_a_way_out_is_refused(self):
        upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        proxy = Proxy(f"http://127.0.0.1:{upstream.server_address[1]}/v1")
        try:
            proxy.begin()
            for stream in (False, True):
                status, text = ask(proxy, "POST", "/v1/chat/completions", {"stream": stream})
                self.assertEqual((status, "hello" in text), (200, True))
                self.assertEqual("usage" in text, not stream, "a streamed one did not ask for it")
            self.assertEqual(ask(proxy, "POST", "/v1/chat/completions", {"fail": True})[0], 400)
            self.assertEqual(ask(proxy, "GET", "http://example.org/x", None)[0], 403)
            self.assertEqual(ask(proxy, "CONNECT", "example.com:443", None)[0], 403)
            told = proxy.end().told()
            self.assertEqual((told["requests"], told["answers"], told["refused"], told["unmeasured"]), (3, 2, 1, 0))
            self.assertEqual((told["tokens_read"], told["tokens_cached"], told["tokens_written"]), (20, 8, 6))
            self.assertEqual(told["called_home"], ["example.org", "example.com:443"])
            proxy.begin()
            self.assertEqual(proxy.end().told()["answers"], 0)
        finally:
            proxy.close()
            upstream.shutdown()
        gone = Proxy(f"http://127.0.0.1:{upstream.server_address[1]}/v1")
        upstream.server_close()
        self.assertEqual(ask(gone, "POST", "/v1/chat/completions", {})[0], 502)
        self.assertEqual(gone.end().failed, 1)
        gone.close()


def ask(proxy, method, path, body):
    connection = http.client.HTTPConnection(proxy.at.removeprefix("http://"), timeout=10)
    connection.request(method, path, body=None if body is None else json.dumps(body))
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


class Upstream(BaseHTTPRequestHandler):
    """A model's server that answers one word, and tells what it took."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
        text = json.dumps({"choices": [{"message": {"content": "hello"}}], "usage": usage})
        if asked.get("stream"):
            last = {"choices": [], "usage": usage} if asked["stream_options"]["include_usage"] else {"choices": []}
            text = f"data: {json.dumps({'choices': [{'delta': {'content': 'hello'}}]})}\n\ndata: {json.dumps(last)}\n\ndata: [DONE]\n\n"
        self.send_response(400 if asked.get("fail") else 200)
        self.send_header("Content-Type", "text/event-stream" if asked.get("stream") else "application/json")
        self.end_headers()
        self.wfile.write(text.encode())


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.at = Path(self.dir.name)
        self.addCleanup(self.dir.cleanup)

    def test_a_base_becomes_a_repository_and_its_changes_a_patch(self):
        plain = self.at / "plain"
        (plain / "tests").mkdir(parents=True)
        for path, size in (("a.py", 40), ("b.py", 4000), ("c.py", 40), ("tests/test_a.py", 40)):
            (plain / path).write_text("#" * size)
        (plain / ".gitignore").write_text("made.txt\n")
        task = task_files.Task("t", "fix", "python", "tune", False, True, "true", "Look into c.py.\n", plain, None)
        repo, git_dir = self.at / "repo", self.at / "git"
        task_files.make_base(task, repo, git_dir)
        self.assertEqual(task_files.patch(repo, git_dir), "")
        self.assertEqual(task_files.sources(task, repo, 100), (["c.py", "a.py", "tests/test_a.py"], 4), "b.py does not fit")
        (repo / "a.py").write_bytes("été\n".encode("latin-1"))
        (repo / "new.py").write_text("x\n")
        (repo / "made.txt").write_text("x\n")
        (repo / "__pycache__").mkdir()
        (repo / "__pycache__" / "a.pyc").write_text("x")
        (repo / "c.py").unlink()
        (repo / ".git" / "config").write_text("what a container leaves there is nobody's")
        patch = task_files.patch(repo, git_dir)
        self.assertEqual(sorted(line.split()[2] for line in patch.splitlines() if line.startswith("diff --git")),
                         ["a/a.py", "a/c.py", "a/new.py"])

    def test_a_run_goes_on_where_its_file_ends(self):
        path = self.at / "out.jsonl"
        ledger = ledgers.Ledger(path)
        ledger.begin({"window": 1})
        line = {"kind": "try", "system": "mini", "task": "t", "repeat": 1, "family": "fix", "not_run": "", "measured": {}, "patch": "p"}
        ledger.put(line)
        ledger.put({**line, "task": "u", "not_run": "away"})
        with open(path, "a") as file:
            file.write("{\"kind\": \"tr")
        again = ledgers.Ledger(path)
        self.assertEqual([again.missing("mini", name, 1) for name in "tuv"], [False, True, True])
        self.assertEqual([it["task"] for it in again.unjudged()], ["t"])
        self.assertEqual([it["why"] for it in again.rows()], ["not judged", "away"])
        with self.assertRaises(SystemExit):
            again.begin({"window": 2})
        again.put({**line, "task": "u"})
        self.assertEqual(len(ledgers.read(path)), 4, "the line that was cut off is gone")


def run():
    suite = unittest.defaultTestLoader.loadTestsFromModule(__import__(__name__))
    return 0 if unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful() else 1
