#!/usr/bin/env python3
"""Runs other coding agents and Caisson over the same tasks with the same model server, and compares them. README.md says how.

Owns flags, the order of tries and the end by Ctrl-C. No part of the product.
"""

import argparse
import datetime
import json
import shutil
import signal
import sys
import time
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import compare
import ledger as ledgers
import systems
import tasks as task_files
from boxes import IMAGES, Boxes
from proxy import Proxy

SYSTEMS = ("aider-files", "aider-map", "mini", "caisson")
# How long the server may need to drop what a try left, in seconds.
IDLE = 60
ROOT = Path(__file__).resolve().parents[2]


def flags():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--server", metavar="URL", default="http://127.0.0.1:8088/v1", help="the model's server, OpenAI's wire")
    add("--model-name", help="what it is called in requests; otherwise what the server calls it")
    add("--window", type=int, help="tokens it holds; otherwise what the server tells")
    add("--tasks", type=Path, default=ROOT / "eval", help="the folder with tasks and repositories")
    add("--set", choices=["quick", "tune", "held-out", "all"], default="quick", dest="wanted_set")
    add("--only", action="append", default=[], metavar="TASK", help="one task; may be repeated")
    add("--systems", default="aider-files,aider-map,mini", help=f"of {', '.join(SYSTEMS)}, with commas between")
    add("--limit", type=int, default=180, help="seconds for a task and try")
    add("--seeds", type=int, default=3, help="tries at each task: aider and caisson")
    add("--mini-seeds", type=int, default=1, help="tries at each task: mini-swe-agent")
    add("--work", type=Path, required=True, help="a folder for virtual environments and the tries' own files")
    add("--out", type=Path, required=True, help="JSON lines; a run goes on where this file ends")
    add("--caisson", type=Path, metavar="FILE", help="finished lines of `caisson eval --out`, in place of running it")
    add("--caisson-program", default="caisson", help="for judging, and for the system caisson")
    add("--caisson-config", type=Path, help="its configuration, otherwise what it finds")
    add("--image", action="append", default=[], metavar="LANGUAGE=IMAGE", help=f"for containers: {', '.join(IMAGES)}")
    add("--memory-mib", type=int, default=2048)
    add("--pids", type=int, default=256)
    add("--keep", action="store_true", help="keep each try's tree")
    add("--no-judge", action="store_true", help="only make the tries; the same command without it judges them later")
    add("--self-test", action="store_true", help="no model: tests of this script")
    return parser


def settle(args):
    """Whole paths, known names."""
    args.work, args.out, args.tasks = args.work.resolve(), args.out.resolve(), args.tasks.resolve()
    args.caisson_config = args.caisson_config.resolve() if args.caisson_config else None
    if "/" in args.caisson_program:
        args.caisson_program = str(Path(args.caisson_program).resolve())
    elif not args.no_judge and not shutil.which(args.caisson_program):
        raise SystemExit(f"there is no program {args.caisson_program}: name it with --caisson-program")
    args.systems = [name for name in args.systems.split(",") if name]
    images = dict(pair.split("=", 1) for pair in args.image if "=" in pair)
    unknown = [name for name in args.systems if name not in SYSTEMS] + [name for name in images if name not in IMAGES]
    if unknown or len(images) != len(args.image):
        raise SystemExit(f"unknown: {', '.join(unknown) or 'an --image without ='}")
    if args.caisson and "caisson" in args.systems:
        raise SystemExit("either --caisson FILE, or caisson among --systems")
    return images


def told(args, path):
    """What the server answers there, {} where it does not."""
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(args.server.rstrip("/").removesuffix("/v1") + path, timeout=10) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return {}


def until_idle(args):
    """llama.cpp's server reads a part of a prompt to its end though nobody waits for it any more: not at the next try's cost."""
    for _ in range(IDLE):
        slots = told(args, "/slots")
        if not isinstance(slots, list) or not any(slot.get("is_processing") for slot in slots):
            return
        time.sleep(1)


def ask_server(args):
    """The model's name and window, as the server tells them, where no flag does."""
    models = [model["id"] for model in told(args, "/v1/models").get("data", [])]
    if not models:
        raise SystemExit(f"{args.server} gives no answer, or has no model")
    # A file's path is no name: what it is called without folder and ending.
    args.model_name = args.model_name or Path(models[0]).name.removesuffix(".gguf")
    args.window = args.window or told(args, "/props").get("default_generation_settings", {}).get("n_ctx")
    if not args.window:
        raise SystemExit("the server does not tell its window: name it with --window")
    return models[0]


def order(args, chosen, ledger):
    """Tries that are still to be made: each task once by every system before any is tried again, and no system always first."""
    for repeat in range(1, max(args.seeds, args.mini_seeds) + 1):
        for at, task in enumerate(chosen):
            turn = (at + repeat) % len(args.systems) if args.systems else 0
            for name in args.systems[turn:] + args.systems[:turn]:
                most = args.mini_seeds if name == "mini" else args.seeds
                if repeat <= most and ledger.missing(name, task.name, repeat):
                    yield name, task, repeat


def attempt(system, task, repeat, args):
    """One try, as a line. Whatever goes wrong is this try's alone."""
    place = systems.fresh(args.work / "tries" / f"{system.name}-{task.name}-{repeat}")
    line = {"kind": "try", "system": system.name, "task": task.name, "repeat": repeat, "family": task.family,
            "language": task.language, "set": task.set, "large": task.large, "not_run": "", "end": "", "note": "", "patch": "",
            "measured": {}}
    try:
        done = system.run(task, place)
    except (LookupError, OSError, RuntimeError, ValueError) as why:
        return {**line, "not_run": f"{type(why).__name__}: {why}"}
    usage = done["usage"]
    if system.name == "caisson":
        row = ledgers.from_caisson(done["row"])
        not_run = row["why"] or "?" if row["outcome"] == "not-run" else ""
        return {**line, "end": done["row"]["end"], "outcome": row["outcome"], "why": row["why"], "not_run": not_run,
                "measured": row["measured"], "seen_by_proxy": usage.told()}
    if usage.failed:
        line["not_run"] = "the model's server could not be reached"
    elif not usage.requests or not (usage.answers or usage.refused or done["end"] == "limit"):
        tail = (place / "log.txt").read_text(errors="replace").strip()[-300:]
        line["not_run"] = f"the model gave it no answer ({done['end']}): {tail}"
    if not args.keep:
        systems.clean(place)
    return {**line, "end": done["end"], "note": done["note"], "patch": done["patch"],
            "measured": {**usage.told(), "own_seconds": done["own_seconds"]}}


def make_tries(args, chosen, ledger, images):
    todo = list(order(args, chosen, ledger))
    if not todo:
        return
    served = ask_server(args)
    ledger.begin({"started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "served": served,
                  "model_name": args.model_name, "window": args.window, "limit_s": args.limit, "packages": systems.PACKAGES})
    if set(args.systems) - {"caisson"}:
        systems.install(args.work)
    boxes, proxy = Boxes(images, args.memory_mib, args.pids), Proxy(args.server)
    peers = {name: systems.Caisson(args, proxy) if name == "caisson" else systems.Peer(name, args, proxy, boxes)
             for name in args.systems}
    try:
        for at, (name, task, repeat) in enumerate(todo, 1):
            until_idle(args)
            line = attempt(peers[name], task, repeat, args)
            ledger.put(line)
            numbers = line["measured"]
            print(f"{at}/{len(todo)} {name} {task.name} #{repeat}: {line['not_run'] and 'NOT RUN: ' + line['not_run'] or line['end']}, "
                  f"{numbers.get('own_seconds', 0):.0f} s, read {numbers.get('tokens_read', 0)}, "
                  f"written {numbers.get('tokens_written', 0)}, patch {len(line['patch'])} bytes {line['note']}",
                  file=sys.stderr, flush=True)
    finally:
        boxes.remove_all()
        proxy.close()


def main():
    if "--self-test" in sys.argv[1:]:
        import self_test
        return self_test.run()
    args = flags().parse_args()
    images = settle(args)
    args.work.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = task_files.choose(args.tasks, args.wanted_set, args.only)
    names = {task.name for task in chosen}
    ledger = ledgers.Ledger(args.out)
    make_tries(args, chosen, ledger, images)
    if not args.no_judge:
        ledgers.judge(ledger, args, args.work / "judging")
    rows = [row for row in ledger.rows() if row["task"] in names]
    about = f"model: {(ledger.header or {}).get('served', '?')} · {len(chosen)} tasks · {(ledger.header or {}).get('limit_s', args.limit)} s a try"
    if args.caisson:
        ours, header = ledgers.of_caisson(args.caisson, names)
        rows = [row for row in rows if row["system"] != "caisson"] + ours
        if header["limit_s"] != (ledger.header or {}).get("limit_s", args.limit):
            ledgers.print_warning(f"caisson had {header['limit_s']} s a try: THE LIMITS DIFFER")
        about += f" · caisson's lines: {header['model'].get('answered') or header['model']['label']}, {header['limit_s']} s"
    print(compare.report(rows, about))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; what was started has been ended, the same command goes on from here")
