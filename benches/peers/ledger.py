"""The files of a run: tries as they were made, judgements as they came, and both joined into result lines.

Owns their shapes. A line is on the disk before the next try begins; what is there is never made again, but for tries that were not run.
"""

import json
import os

import systems


class Ledger:
    """`path` holds one header and a line for each try; beside it, `<path>.judged` a line for each judgement."""

    def __init__(self, path):
        self.path, self.judged_path = path, path.with_name(path.name + ".judged")
        lines = read(path)
        self.header = next((line for line in lines if line["kind"] == "run"), None)
        self.tries = {key(line): line for line in lines if line["kind"] == "try"}
        self.judged = {(line["label"], line["task"], line["repeat"]): line for line in read(self.judged_path)}

    def begin(self, header):
        """Refuses to go on where the run that is there was of something else."""
        if self.header is None:
            self.header = {"kind": "run", **header}
            return append(self.path, self.header)
        other = [name for name, value in header.items() if name != "started" and self.header.get(name) != value]
        if other:
            differing = ", ".join(f"{name} was {self.header.get(name)!r}, is {header[name]!r}" for name in other)
            raise SystemExit(f"{self.path} holds another run ({differing}): name another file with --out")

    def missing(self, system, task, repeat):
        line = self.tries.get((system, task, repeat))
        return line is None or bool(line["not_run"])

    def put(self, line):
        append(self.path, line)
        self.tries[key(line)] = line

    def unjudged(self):
        """Tries whose answer nobody has judged yet; one that could not be judged is judged again."""
        done = {it for it, line in self.judged.items() if line["outcome"] != "not-run"}
        return [line for it, line in self.tries.items() if it not in done and not line["not_run"] and line["system"] != "caisson"]

    def rows(self):
        """Result lines. A try that was made and not judged is not run: nothing is known of it."""
        return [joined(line, self.judged.get(it)) for it, line in self.tries.items()]


def key(line):
    return line["system"], line["task"], line["repeat"]


def joined(line, judged):
    row = {name: line[name] for name in ("system", "task", "repeat", "family", "measured")}
    if line["not_run"]:
        return {**row, "outcome": "not-run", "why": line["not_run"]}
    if line["system"] == "caisson":
        return {**row, "outcome": line["outcome"], "why": line["why"]}
    if judged is None:
        return {**row, "outcome": "not-run", "why": "not judged"}
    return {**row, "outcome": judged["outcome"], "why": judged["why"]}


def read(path):
    """Lines of a file, none where there is none. A last line that was cut off in the middle is left out."""
    if not path.is_file():
        return []
    lines, texts = [], path.read_text().splitlines(keepends=True)
    for at, text in enumerate(texts):
        if at == len(texts) - 1 and not text.endswith("\n"):
            break
        lines.append(json.loads(text))
    return lines


def append(path, line):
    with open(path, "ab+") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                # What was being written when a run was ended by force.
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write((json.dumps(line) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def of_caisson(path, names):
    """Result lines out of a file of `caisson eval --out`, of the tasks named; and its header."""
    lines = read(path)
    header = next((line for line in lines if line["kind"] == "header"), None)
    if header is None:
        raise SystemExit(f"{path} has no header: it is no file of `caisson eval --out`")
    if header["recording"]:
        raise SystemExit(f"{path} is of a recording, not of a model: it is compared with nothing")
    if not any(line["kind"] == "end" for line in lines):
        print_warning(f"{path} is of a run that was stopped before its end")
    rows = [line for line in lines if line["kind"] == "task" and line["task"] in names]
    return [from_caisson(row) for row in rows], header


def from_caisson(row):
    return {"system": "caisson", "task": row["task"], "repeat": row["repeat"], "family": (row["about"] or {}).get("family"),
            "outcome": row["outcome"], "why": row["reason"], "measured": row["measured"]}


def judge(ledger, args, scratch):
    """Has `caisson eval --judge` judge what is not judged yet, exactly as it judges its own answers."""
    waiting = ledger.unjudged()
    if not waiting:
        return
    place = systems.fresh(scratch)
    answers, out, log = place / "answers.jsonl", place / "judged.jsonl", place / "log.txt"
    with open(answers, "w") as file:
        for line in waiting:
            answer = {"task": line["task"], "repeat": line["repeat"], "label": line["system"], "patch": line["patch"]}
            file.write(json.dumps(answer) + "\n")
    print_warning(f"judging {len(waiting)} answers")
    argv = [args.caisson_program]
    argv += ["--config", str(args.caisson_config)] if args.caisson_config else []
    argv += ["eval", "--tasks", str(args.tasks), "--judge", str(answers), "--out", str(out)]
    try:
        end, _ = systems.drive(argv, place, dict(os.environ), log, None, gentle=True)
    finally:
        for line in read(out):
            append(ledger.judged_path, line)
            ledger.judged[(line["label"], line["task"], line["repeat"])] = line
    if end != "ended":
        raise SystemExit(f"caisson eval --judge: {end}: {log.read_text(errors='replace').strip()[-600:]}")


def print_warning(text):
    import sys
    print(text, file=sys.stderr, flush=True)
