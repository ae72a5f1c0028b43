"""Tasks as the evaluation has them (docs/evaluation.md), each one's base as a git repository, and an answer as a patch against it.

Owns what is read of a task: never its hidden tests nor its reference. What is a left-over and what becomes a commit is as in
src/cli/eval/tasks.rs, so that an answer's patch applies to the base that `caisson eval --judge` makes.
"""

import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

LEFT_OVER = (".git", "__pycache__", "target", "node_modules")
SOURCES = (".py", ".rs", ".js", ".mjs", ".cjs", ".ts")
# More than this is no patch that anybody would review, in bytes.
MAX_PATCH = 8 << 20
# Bytes of source code for a token, roughly: the evaluation's own measure.
BYTES_PER_TOKEN = 4

GIT = {
    "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Eval", "GIT_AUTHOR_EMAIL": "eval@localhost", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Eval", "GIT_COMMITTER_EMAIL": "eval@localhost", "GIT_COMMITTER_DATE": "1700000000 +0000",
    # The tree may belong to the containers' user.
    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
}


@dataclass
class Task:
    name: str
    family: str
    language: str
    set: str
    large: bool
    names_file: bool
    checks: str
    issue: str
    repository: Path
    base_patch: Path | None


def read(folder, name):
    """One task. Raises OSError, KeyError or ValueError when it cannot be read."""
    place = folder / "tasks" / name
    spec = tomllib.loads((place / "task.toml").read_text())
    patch = place / "base.patch"
    return Task(
        name=name, family=spec["family"], language=spec["language"], set=spec["set"], large=spec["large"],
        names_file=spec["names_file"], checks=" && ".join(spec["checks"]),
        issue=(place / "issue.md").read_text().lstrip("# ").strip() + "\n",
        repository=folder / "repositories" / spec["repository"], base_patch=patch if patch.is_file() else None)


def choose(folder, wanted_set, only):
    """The tasks of a set by name, or those named. `tune` holds the quick ones, as in `caisson eval`."""
    names = sorted(entry.name for entry in (folder / "tasks").iterdir() if entry.is_dir())
    unknown = [name for name in only if name not in names]
    if unknown:
        raise SystemExit(f"there is no task {', '.join(unknown)} in {folder}")
    if only:
        return [read(folder, name) for name in names if name in only]
    tasks = [read(folder, name) for name in names]
    return [task for task in tasks
            if wanted_set in ("all", task.set) or (wanted_set == "tune" and task.set == "quick")]


def git(where, *words, data=None, git_dir=None, config=()):
    """Runs git and gives its output in bytes. Nothing of the machine's configuration or of the tree's own hooks takes part."""
    place = ["--git-dir", str(git_dir), "--work-tree", str(where)] if git_dir else []
    argv = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", *config, *place, *words]
    done = subprocess.run(argv, cwd=where, env=GIT, input=data, capture_output=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def make_base(task, repo, git_dir):
    """Lays the base out at `repo` with a history of its own, and a second copy of that history at `git_dir`, which no container sees."""
    shutil.copytree(task.repository, repo, ignore=shutil.ignore_patterns(*LEFT_OVER))
    git(repo, "init", "-q", "-b", "main")
    for name in ("name", "email"):
        git(repo, "config", f"user.{name}", GIT[f"GIT_AUTHOR_{name.upper()}"])
    commit(repo, "The project")
    if task.base_patch:
        git(repo, "apply", "--index", "--whitespace=nowarn", str(task.base_patch.resolve()))
        commit(repo, "Work goes on")
    exclude = repo / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("\n".join((*LEFT_OVER, "*.pyc", ".aider*")) + "\n")
    shutil.copytree(repo / ".git", git_dir)


def commit(repo, message):
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "--no-gpg-sign", "-m", message)


def patch(repo, git_dir):
    """What stands in `repo` now against the base, as text. "" when nothing was changed."""
    git(repo, "add", "-A", git_dir=git_dir)
    words = ["diff", "--cached", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-renames", "HEAD"]
    found = git(repo, *words, git_dir=git_dir)
    try:
        text = found.decode()
    except UnicodeDecodeError:
        # Text in another encoding: the same as a binary patch, which is plain ASCII.
        (git_dir / "info" / "attributes").write_text("* binary\n")
        text = git(repo, *words, git_dir=git_dir).decode()
    if len(text) > MAX_PATCH:
        raise RuntimeError(f"the patch has {len(text)} bytes, more than {MAX_PATCH}")
    return text


def is_test(path):
    return bool(re.search(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_|[._]test\.|_test\.|\.spec\.", path))


def sources(task, repo, budget):
    """Sources to hand over, and how many there are in all: as many as fit into `budget` tokens, in this order: those whose path or name
    the issue holds, then other code by path, then tests by path. One that does not fit is left out, later ones may fit."""
    listed = git(repo, "ls-files", "-z").decode().split("\0")
    found = [path for path in listed if path.endswith(SOURCES)]
    named = lambda path: path in task.issue or re.search(rf"(?<![\w./-]){re.escape(Path(path).name)}(?![\w-])", task.issue)
    found.sort(key=lambda path: (not named(path), is_test(path), path))
    chosen, left = [], budget * BYTES_PER_TOKEN
    for path in found:
        size = (repo / path).stat().st_size + len(path) + 16
        if size <= left:
            chosen.append(path)
            left -= size
    return chosen, len(found)
