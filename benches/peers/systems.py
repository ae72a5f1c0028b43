"""How each system is run at one task: aider with files or with its map, mini-swe-agent, and Caisson itself.

Owns their command lines and environments. Neither peer inherits a variable of this machine, and both are told to use the proxy for everything,
so that whatever they would fetch is refused and named. The options are those of the versions below.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import tasks as task_files

PACKAGES = {"aider": "aider-chat==0.86.2", "mini": "mini-swe-agent==2.4.6"}
# Of the window, what the files handed over may fill; the rest is for the prompt, the answer and what follows.
SHARE_FOR_FILES = 0.5
# A peer's own start, until its first request, is not in its limit as Caisson's is not in its own; in seconds, at most.
START = 60
# Starting an installation, proving the barrier and judging, beside the limit, in seconds.
CAISSON_BESIDE = 600


def install(work):
    """A virtual environment for each peer, made once."""
    for name, package in PACKAGES.items():
        place = work / "venv" / name
        if (place / "made").is_file() and (place / "made").read_text() == package:
            continue
        print(f"installing {package}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        subprocess.run([str(place / "bin" / "pip"), "install", "-q", package], check=True, stdin=subprocess.DEVNULL)
        (place / "made").write_text(package)


def environment(proxy, home, more):
    home.mkdir(exist_ok=True)
    passed = {name: os.environ[name] for name in ("DOCKER_HOST", "TMPDIR") if name in os.environ}
    ways_out = {name: proxy.at for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")}
    return {
        **task_files.GIT, **passed, **ways_out, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HOME": str(home), "TERM": "dumb",
        "SHELL": "/bin/sh", "PYTHONUNBUFFERED": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "none", **more,
    }


def drive(argv, cwd, env, log, seconds, gentle=False, usage=None):
    """Runs one process group to its end, or until its time is up: `seconds` after its start, with `usage` after its first request.
    Gives how it ended, and the seconds it took."""
    began = time.monotonic()
    with open(log, "wb") as out:
        child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            end = until(child, lambda: began + START + seconds if usage and usage.first is None
                        else (usage.first if usage else began) + (seconds or float("inf")))
        finally:
            # Also on Ctrl-C, and what a process that ended by itself has left behind. Caisson takes its own things down first.
            if gentle and child.poll() is None:
                signal_group(child, signal.SIGINT)
                try:
                    child.wait(timeout=120)
                except subprocess.TimeoutExpired:
                    pass
            signal_group(child, signal.SIGKILL)
            child.wait()
    return end, time.monotonic() - began


def until(child, deadline):
    while time.monotonic() < deadline():
        try:
            code = child.wait(timeout=0.2)
            return "ended" if code == 0 else f"exit {code}"
        except subprocess.TimeoutExpired:
            pass
    return "limit"


def signal_group(child, which):
    try:
        os.killpg(child.pid, which)
    except ProcessLookupError:
        pass


class Peer:
    """One of the other agents. `run` gives how it ended, its own seconds, a note, and its patch."""

    def __init__(self, name, args, proxy, boxes):
        self.name, self.args, self.proxy, self.boxes = name, args, proxy, boxes

    def run(self, task, place):
        repo, git_dir = place / "repo", place / "git"
        task_files.make_base(task, repo, git_dir)
        argv, env, cwd, note = (self.mini if self.name == "mini" else self.aider)(task, place, repo)
        self.proxy.begin()
        try:
            end, seconds = drive(argv, cwd, env, place / "log.txt", self.args.limit, usage=self.proxy.usage)
        finally:
            usage = self.proxy.end()
            self.boxes.remove_all()
        if self.name == "mini":
            end = mini_end(place / "trajectory.json", end)
        return {"end": end, "own_seconds": round(seconds, 2), "note": note, "usage": usage,
                "patch": task_files.patch(repo, git_dir)}

    def aider(self, task, place, repo):
        model = f"openai/{self.args.model_name}"
        known = {"max_input_tokens": self.args.window, "max_tokens": self.args.window, "input_cost_per_token": 0,
                 "output_cost_per_token": 0, "litellm_provider": "openai", "mode": "chat"}
        (place / "metadata.json").write_text(json.dumps({model: known}))
        (place / "message.md").write_text(task.issue)
        (place / "nothing.yml").write_text("{}\n")
        (place / "nothing.env").write_text("")
        tools = self.boxes.checks(task, repo, place)
        argv = [
            str(self.args.work / "venv" / "aider" / "bin" / "aider"), "--config", str(place / "nothing.yml"),
            "--env-file", str(place / "nothing.env"), "--model", model, "--openai-api-base", f"{self.proxy.at}/v1",
            "--model-metadata-file", str(place / "metadata.json"), "--no-show-model-warnings",
            # Nothing leaves this machine.
            "--analytics-disable", "--no-analytics", "--no-check-update", "--no-show-release-notes", "--no-detect-urls",
            "--disable-playwright",
            # Nobody is asked, and nothing is run outside of a container.
            "--yes-always", "--no-suggest-shell-commands", "--no-stream", "--no-pretty", "--no-fancy-input", "--no-gitignore",
            # As its own benchmark does: a commit would ask the model for a message.
            "--no-auto-commits", "--no-dirty-commits",
            "--input-history-file", str(place / "input.txt"), "--chat-history-file", str(place / "chat.md"),
            "--auto-test", "--test-cmd", f"run-checks  # {task.checks}", "--message-file", str(place / "message.md"),
        ]
        note = ""
        if self.name == "aider-files":
            chosen, of = task_files.sources(task, repo, int(self.args.window * SHARE_FOR_FILES))
            note = f"{len(chosen)} of {of} sources"
            for path in chosen:
                argv += ["--file", path]
        env = environment(self.proxy, place / "home", {"PATH": f"{tools}:{task_files.GIT['PATH']}"})
        return argv, env, repo, note

    def mini(self, task, place, repo):
        self.boxes.give(repo)
        config = {
            "agent": {"mode": "yolo", "confirm_exit": False, "cost_limit": 0},
            "environment": {
                "environment_class": "docker", "image": self.boxes.image(task.language), "cwd": "/repo",
                "run_args": [*self.boxes.flags(), "--volume", f"{repo}:/repo"], "interpreter": ["bash", "-c"],
            },
            "model": {
                "model_class": "litellm_textbased", "model_name": f"openai/{self.args.model_name}", "cost_tracking": "ignore_errors",
                "model_kwargs": {"api_base": f"{self.proxy.at}/v1", "api_key": "none"},
            },
        }
        # JSON is YAML.
        (place / "config.yaml").write_text(json.dumps(config, indent=1))
        argv = [
            str(self.args.work / "venv" / "mini" / "bin" / "mini"), "-c", "mini_textbased.yaml", "-c", str(place / "config.yaml"),
            "--yolo", "--exit-immediately", "-o", str(place / "trajectory.json"), f"--task={task.issue}",
        ]
        more = {"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1", "MSWEA_GLOBAL_CONFIG_DIR": str(place / "home")}
        return argv, environment(self.proxy, place / "home", more), place, ""


def mini_end(trajectory, end):
    try:
        return json.loads(trajectory.read_text())["info"]["exit_status"] or end
    except (OSError, ValueError, KeyError):
        return end


class Caisson:
    """`caisson eval --only`, one try, through the proxy as well. Its line holds the judgement and its own count."""

    name = "caisson"

    def __init__(self, args, proxy):
        self.args, self.proxy = args, proxy

    def run(self, task, place):
        out = place / "results.jsonl"
        argv = [self.args.caisson_program]
        argv += ["--config", str(self.args.caisson_config)] if self.args.caisson_config else []
        argv += ["eval", "--tasks", str(self.args.tasks), "--only", task.name, "--limit", str(self.args.limit), "--out", str(out)]
        env = {**os.environ, "CAISSON_MODEL_BASE_URL": f"{self.proxy.at}/v1"}
        self.proxy.begin()
        try:
            end, _ = drive(argv, place, env, place / "log.txt", self.args.limit + CAISSON_BESIDE, gentle=True)
        finally:
            usage = self.proxy.end()
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []
        row = next((line for line in lines if line.get("kind") == "task"), None)
        if row is None:
            tail = (place / "log.txt").read_text(errors="replace").strip()[-300:]
            raise RuntimeError(f"caisson eval gave no line ({end}): {tail}")
        return {"row": row, "usage": usage}


def clean(place):
    """What a try's folder need not keep: the tree can be had from the patch."""
    for name in ("repo", "git", "compiled", "home", "tools"):
        shutil.rmtree(place / name, ignore_errors=True)


def fresh(place: Path):
    """An empty folder, whatever a try that was stopped has left there."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place
