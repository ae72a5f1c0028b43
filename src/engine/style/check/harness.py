import importlib
import sys

sys.path[:0] = [".", "src", "lib"]


def _caisson_load(names, heads):
    for name in names:
        try:
            module = importlib.import_module(name)
        except Exception:
            continue
        globals().update({key: value for key, value in vars(module).items() if not key.startswith("__")})
    for head in heads:
        if head not in globals():
            try:
                globals()[head] = importlib.import_module(head)
            except Exception:
                pass


def _caisson_same(got, wanted):
    if wanted in (str(got).strip(), repr(got)):
        return True
    try:
        return bool(got == eval(wanted, globals()))
    except Exception:
        return False


def _caisson_check(number, call, wanted, error):
    try:
        got = eval(call, globals())
        holds, seen = not error and _caisson_same(got, wanted), repr(got)
    except Exception as raised:
        kinds = [kind.__name__ for kind in type(raised).__mro__]
        holds, seen = error and wanted.split(".")[-1] in kinds, f"{kinds[0]}: {raised}"
    seen = " ".join(seen.split())[:200]
    print(f"\ncaisson-example {number} " + ("holds" if holds else f"gives {seen}"), flush=True)


