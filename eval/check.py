#!/usr/bin/env python3
"""Shows that every task of the evaluation is sound.

For each folder below `tasks/`: the base is built in a temporary folder (repository, then `base.patch`) and must be what
the task declares: its own checks pass (only a task of the family "fix" may begin with a failing suite) and the hidden tests
fail. With `reference.patch` both pass, and so do the base's own tests, less those in `skip_base`.

    python3 eval/check.py [--only NAME]... [--set quick|tune|held-out]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

EVAL = Path(__file__).resolve().parent
FAMILIES = {"feature", "fix", "refactor"}
LANGUAGES = {"python", "rust", "javascript"}
SETS = {"quick", "tune", "held-out"}
WANTED = {"name": str, "family": str, "language": str, "repository": str, "set": str, "names_file": bool,
          "large": bool, "checks": list, "hidden": str}
LARGE = 30_000 * 4
SECONDS = 300


class Wrong(Exception):
    """What is wrong with a task, in words."""


def repository_bytes(name):
    return sum(path.stat().st_size for path in (EVAL / "repositories" / name).rglob("*") if path.is_file())


def declared(folder):
    """The task's own words, checked for their form."""
    task = tomllib.loads((folder / "task.toml").read_text())
    for key, kind in WANTED.items():
        if not isinstance(task.get(key), kind):
            raise Wrong(f"task.toml: {key} is missing or no {kind.__name__}")
    unknown = set(task) - set(WANTED) - {"skip_base"}
    if unknown:
        raise Wrong(f"task.toml: unknown {sorted(unknown)}")
    for key, known in (("family", FAMILIES), ("language", LANGUAGES), ("set", SETS)):
        if task[key] not in known:
            raise Wrong(f"task.toml: {key} = {task[key]!r}")
    if task["name"] != folder.name:
        raise Wrong(f"task.toml: the name is {task['name']!r}")
    if not (EVAL / "repositories" / task["repository"]).is_dir():
        raise Wrong(f"no repository {task['repository']}")
    if task["large"] != (repository_bytes(task["repository"]) > LARGE):
        raise Wrong(f"large is not true to {repository_bytes(task['repository'])} bytes")
    issue = (folder / "issue.md").read_text()
    if len(issue.strip().splitlines()) < 2:
        raise Wrong("issue.md needs a title and a body")
    hidden = [path for path in (folder / "hidden").rglob("*") if path.is_file()]
    if not hidden:
        raise Wrong("no hidden tests")
    if any(path.name in issue or path.stem in issue for path in hidden):
        raise Wrong("issue.md names the hidden tests")
    named(folder, task, issue)
    return task


def named(folder, task, issue):
    """Whether the issue names a source that the reference changes must be as declared."""
    patch = (folder / "reference.patch").read_text()
    sources = {path for path in re.findall(r"^--- a/(.+)$", patch, re.M) if not is_test(path) and path != "README.md"}
    words = {word for path in sources for word in (path, path.split("/")[-1])}
    found = sorted(word for word in words if re.search(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])", issue))
    if bool(found) != task["names_file"]:
        raise Wrong(f"names_file is {task['names_file']}, the issue names {found or 'none'} of {sorted(sources)}")


def git(tree, *words):
    done = subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def surroundings(tree):
    """Nothing of the caller's configuration, and build output beside the tree.

    No two tasks share a target folder: to Cargo two trees of one name are the same package, and it would take the
    build of another task's reference for that of this base.
    """
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME", "LANG") if key in os.environ}
    target = tree.parent / "target"
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never",
                   "NO_COLOR": "1", "TZ": "UTC"}


def run(command, tree):
    """(passed, what it printed)"""
    try:
        done = subprocess.run(["nice", "-n", "12", "sh", "-c", command], cwd=tree, env=surroundings(tree), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired:
        return False, f"{command}: not done after {SECONDS} s"
    return done.returncode == 0, done.stdout


def suite(task, tree):
    for command in task["checks"]:
        passed, said = run(command, tree)
        if not passed:
            return False, said
    return True, ""


def hidden_tests(folder, task, tree):
    # With the time of now: builds go by it.
    shutil.copytree(folder / "hidden", tree, dirs_exist_ok=True, copy_function=shutil.copyfile)
    return run(task["hidden"], tree)


def failed_tests(said):
    """The tests that a run of unittest, cargo test or node --test reports as failed."""
    unittest = re.findall(r"^(?:FAIL|ERROR): \S+ \(([^)]*)\)", said, re.M)
    cargo = re.findall(r"^test (\S+) \.\.\. FAILED", said, re.M) + re.findall(r"^---- (\S+) stdout ----", said, re.M)
    node = re.findall(r"^ *not ok \d+ - (.+)$", said, re.M)
    return set(unittest) | set(cargo) | set(node)


def is_test(path):
    parts = path.split("/")
    name = parts[-1]
    return bool({"test", "tests"} & set(parts[:-1])) or name.startswith("test") or ".test." in name


def base_tests_on_reference(task, tree):
    """The base's own tests against the reference; what fails must be named in `skip_base`."""
    changed = git(tree, "diff", "--name-only", "--diff-filter=MD", "base", "reference").splitlines()
    tests = [path for path in changed if is_test(path)]
    skipped = set(task.get("skip_base", []))
    if not tests:
        if skipped:
            raise Wrong("skip_base names tests, but the reference changes none")
        return
    git(tree, "checkout", "-q", "reference", "--", ".")
    git(tree, "clean", "-qfdx")
    git(tree, "checkout", "-q", "base", "--", *tests)
    passed, said = suite(task, tree)
    failed = failed_tests(said)
    if not passed and not failed:
        raise Wrong(f"the base's tests don't run on the reference:\n{said[-2000:]}")
    if failed != skipped:
        raise Wrong(f"the base's tests fail on the reference: {sorted(failed)}, skip_base says {sorted(skipped)}")


def commit(tree, name):
    git(tree, "add", "-A", "-f")
    git(tree, "-c", "user.name=eval", "-c", "user.email=eval@localhost", "commit", "-q", "--allow-empty", "-m", name)
    git(tree, "tag", name)


def check(folder):
    """The task, and whether its base's own suite is green; raises Wrong."""
    task = declared(folder)
    with tempfile.TemporaryDirectory(prefix="caisson-eval-") as temporary:
        tree = Path(temporary) / task["repository"]
        shutil.copytree(EVAL / "repositories" / task["repository"], tree)
        git(tree, "init", "-q")
        if (folder / "base.patch").exists():
            git(tree, "apply", "--whitespace=nowarn", str(folder / "base.patch"))
        commit(tree, "base")

        green, said = suite(task, tree)
        if not green and task["family"] != "fix":
            raise Wrong(f"the base's checks fail:\n{said[-2000:]}")
        git(tree, "clean", "-qfdx")
        passed, _ = hidden_tests(folder, task, tree)
        if passed:
            raise Wrong("the hidden tests pass on the base")
        git(tree, "reset", "-q", "--hard", "base")
        git(tree, "clean", "-qfdx")

        git(tree, "apply", "--whitespace=nowarn", str(folder / "reference.patch"))
        commit(tree, "reference")
        passed, said = suite(task, tree)
        if not passed:
            raise Wrong(f"the checks fail with the reference:\n{said[-2000:]}")
        passed, said = hidden_tests(folder, task, tree)
        if not passed:
            raise Wrong(f"the hidden tests fail with the reference:\n{said[-3000:]}")
        git(tree, "reset", "-q", "--hard", "reference")
        base_tests_on_reference(task, tree)
    return task, green


def split(tasks):
    """No repository may stand in both sets."""
    sides = {}
    for task in tasks:
        sides.setdefault(task["repository"], set()).add(task["set"] == "held-out")
    return [name for name, side in sides.items() if len(side) > 1]


def summary(tasks):
    for side, chosen in (("tune", [t for t in tasks if t["set"] != "held-out"]),
                         ("held-out", [t for t in tasks if t["set"] == "held-out"])):
        counts = {}
        for task in chosen:
            for word in (task["family"], task["language"], "file named" if task["names_file"] else "file not named",
                         "large" if task["large"] else "small", *(["quick"] if task["set"] == "quick" else [])):
                counts[word] = counts.get(word, 0) + 1
        repositories = len({task["repository"] for task in chosen})
        print(f"{side}: {len(chosen)} tasks in {repositories} repositories;",
              ", ".join(f"{word} {count}" for word, count in sorted(counts.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="this task (may be given more than once)")
    parser.add_argument("--set", choices=sorted(SETS), help="the tasks of one set")
    wanted = parser.parse_args()
    folders = sorted(path for path in (EVAL / "tasks").iterdir() if path.is_dir())
    if wanted.only:
        folders = [path for path in folders if path.name in wanted.only]
    if wanted.set:
        folders = [path for path in folders if tomllib.loads((path / "task.toml").read_text())["set"] == wanted.set]
    if not folders:
        print("no such task")
        return 1
    good, wrong = [], 0
    for folder in folders:
        try:
            task, green = check(folder)
            good.append(task)
            print(f"ok     {task['name']:<34} {task['set']:<9} {task['family']:<9} {task['language']:<11}"
                  f"{'named' if task['names_file'] else '-':<6} {'large' if task['large'] else '-':<6}"
                  f"{'base green' if green else 'base red'}", flush=True)
        except (Wrong, OSError, tomllib.TOMLDecodeError) as why:
            wrong += 1
            print(f"WRONG  {folder.name}: {why}", flush=True)
    for name in split(good):
        wrong += 1
        print(f"WRONG  the repository {name} stands on both sides")
    summary(good)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
