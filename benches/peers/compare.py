"""Numbers out of result lines: sums for each system, and Caisson held against the better peer by a paired bootstrap over tasks.

Owns the statistics and the Markdown. Tries that were not run are in no sum; only tasks that both ran are compared.
"""

import random
from collections import defaultdict

DRAWS, SEED = 10_000, 0x5EED
FAMILIES = ("feature", "fix", "refactor")


def ran(rows):
    return [row for row in rows if row["outcome"] != "not-run"]


def shares(rows):
    """Task -> share of its tries that solved it."""
    by_task = defaultdict(list)
    for row in ran(rows):
        by_task[row["task"]].append(row["outcome"] == "solved")
    return {task: sum(tries) / len(tries) for task, tries in by_task.items()}


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def lower_bound(differences):
    """The fifth percentile of the mean over draws with replacement: one-sided, 95 %."""
    draw = random.Random(SEED)
    means = sorted(mean(draw.choices(differences, k=len(differences))) for _ in range(DRAWS))
    return means[DRAWS // 20]


def cost(rows, key="model_seconds_by_formula"):
    """Model-seconds for each solved try; None where nothing was solved or nothing was counted."""
    counted = ran(rows)
    solved = sum(row["outcome"] == "solved" for row in counted)
    if not solved or any(row["measured"].get(key) is None for row in counted):
        return None
    return sum(row["measured"][key] for row in counted) / solved


def compare(ours, theirs):
    """Caisson's rows against a peer's: over the tasks that both ran, the difference of the mean shares, its bound, and each family's."""
    mine, other = shares(ours), shares(theirs)
    families = {row["task"]: row["family"] for row in ours + theirs}
    common = sorted(set(mine) & set(other))
    if not common:
        return None
    difference = {task: mine[task] - other[task] for task in common}
    by_family = {}
    for family in FAMILIES:
        of = [difference[task] for task in common if families[task] == family]
        if of:
            by_family[family] = mean(of)
    return {"tasks": len(common), "ours": mean(mine[task] for task in common), "theirs": mean(other[task] for task in common),
            "difference": mean(difference.values()), "at_least": lower_bound(list(difference.values())), "families": by_family}


def better(by_system):
    """The peer that solved more of what it was given; of two alike, the cheaper one."""
    peers = [name for name in by_system if name != "caisson" and ran(by_system[name])]
    key = lambda name: (mean(shares(by_system[name]).values()), -(cost(by_system[name]) or float("inf")))
    return max(peers, key=key, default=None)


def report(rows, about):
    """The whole Markdown."""
    by_system = defaultdict(list)
    for row in rows:
        by_system[row["system"]].append(row)
    text = [about, "", "| system | solved | " + " | ".join(FAMILIES) + " | read | cached | written | model s | by formula"
            " | for each solved | without foreign cache | own s | not run |", "|" + "---|" * (len(FAMILIES) + 11)]
    text += [line(name, by_system[name]) for name in sorted(by_system)]
    text += ["", "Tokens and seconds are sums over the tries that were run. *By formula*: (read − cached) / 120 + written / 25. *Without foreign"
             " cache*: the same for each solved one, counting as cached only what the try itself had sent before."]
    return "\n".join([*text, *strangers(by_system), *against(by_system)]) + "\n"


def line(name, rows):
    counted = ran(rows)
    total = lambda key: sum(row["measured"].get(key) or 0 for row in counted)
    cells = [name, solved_of(counted)]
    cells += [solved_of([row for row in counted if row["family"] == family]) for family in FAMILIES]
    cells += [f"{total(key):.0f}" for key in ("tokens_read", "tokens_cached", "tokens_written", "model_seconds",
                                              "model_seconds_by_formula")]
    cells += [seconds(cost(counted)), seconds(cost(counted, "model_seconds_without_foreign_cache"))]
    cells += [f"{total('own_seconds'):.0f}", str(len(rows) - len(counted))]
    return "| " + " | ".join(cells) + " |"


def solved_of(rows):
    if not rows:
        return "—"
    solved = sum(row["outcome"] == "solved" for row in rows)
    return f"{solved} of {len(rows)} ({100 * solved / len(rows):.0f} %)"


def seconds(value):
    return "—" if value is None else f"{value:.1f}"


def strangers(by_system):
    """What may not be overlooked: whom an agent tried to reach, and answers whose tokens nobody told."""
    text = []
    for name, rows in sorted(by_system.items()):
        home = sorted({host for row in rows for host in row["measured"].get("called_home") or []})
        if home:
            text += ["", f"{name} tried to reach {', '.join(home)}; it was refused."]
        unmeasured = sum(row["measured"].get("unmeasured") or 0 for row in rows)
        if unmeasured:
            text += ["", f"{name}: {unmeasured} answers came WITHOUT A COUNT of their tokens: its cost is too low."]
    return text


def against(by_system):
    best = better(by_system)
    ours = by_system.get("caisson") or []
    if best is None or not ran(ours):
        return ["", "Nothing to compare: there has to be a peer and caisson."]
    text = ["", "| caisson against | tasks | caisson | peer | difference | at least (95 %) | " + " | ".join(FAMILIES) + " |",
            "|" + "---|" * (len(FAMILIES) + 6)]
    for name in sorted(by_system):
        found = compare(ours, by_system[name]) if name != "caisson" else None
        if found:
            cells = [f"**{name}**" if name == best else name, str(found["tasks"]), percent(found["ours"]), percent(found["theirs"]),
                     points(found["difference"]), points(found["at_least"])]
            cells += [points(found["families"].get(family)) for family in FAMILIES]
            text.append("| " + " | ".join(cells) + " |")
    return [*text, *goals(by_system, best, ours)]


def goals(by_system, best, ours):
    found = compare(ours, by_system[best])
    if found is None:
        return ["", f"The better peer is {best}; caisson and it have no task in common."]
    worst = min(found["families"].values())
    aiders = [value for name, rows in by_system.items() if name.startswith("aider") and (value := cost(rows)) is not None]
    own = cost(ours)
    text = ["", f"The better peer is {best}.", "",
            f"- more solved, bound above 0: {said(found['at_least'] > 0)} ({points(found['at_least'])})",
            f"- no family ten points worse: {said(worst > -0.10)} (worst {points(worst)})"]
    if own is None or not aiders:
        return [*text, "- cost: cannot be said, one of the two solved nothing"]
    held = by_system[best] if best.startswith("aider") and cost(by_system[best]) is not None else None
    base = cost(held) if held else min(aiders)
    return [*text, f"- at most three times aider's model-seconds for each solved task: {said(own <= 3 * base)} ({own:.1f} / {base:.1f} = {own / base:.2f})"]


def said(met):
    return "met" if met else "NOT MET"


def percent(value):
    return f"{100 * value:.1f} %"


def points(value):
    return "—" if value is None else f"{100 * value:+.1f}"
