import ast
import contextlib
import importlib
import io
import sys

sys.path[:0] = [".", "src", "lib"]
_caisson = {"print": print, "repr": repr, "str": str, "eval": eval, "exec": exec}
_caisson_scope = {"__name__": "__caisson__"}
_caisson_ready = [True]


def _caisson_load(names, heads):
    for name in names:
        try:
            module = importlib.import_module(name)
        except BaseException:
            continue
        _caisson_scope.update({key: value for key, value in vars(module).items() if not key.startswith("__")})
    for head in heads:
        if head not in _caisson_scope:
            try:
                _caisson_scope[head] = importlib.import_module(head)
            except BaseException:
                pass


def _caisson_do(code):
    try:
        _caisson["exec"](code, _caisson_scope)
    except BaseException:
        # What comes after it is not what was meant.
        _caisson_ready[0] = False


def _caisson_same(got, wanted):
    try:
        value = ast.literal_eval(wanted)
    except Exception:
        if wanted in (_caisson["str"](got).strip(), _caisson["repr"](got)):
            return True
        with contextlib.suppress(BaseException):
            return bool(got == _caisson["eval"](wanted, _caisson_scope))
        return False
    if isinstance(value, bool) or value is None:
        return got is value
    return bool(got == value) and not isinstance(got, bool)


def _caisson_check(number, call, wanted, how):
    if not _caisson_ready[0]:
        return
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            got = _caisson["eval"](call, _caisson_scope)
        seen = _caisson["repr"](got)
        shown = (_caisson["str"](got).strip(), printed.getvalue().strip())
        holds = how != "error" and (_caisson_same(got, wanted) or how == "printed" and wanted in shown)
    except BaseException as raised:
        kinds = [kind.__name__ for kind in type(raised).__mro__]
        holds, seen = how == "error" and wanted.split(".")[-1] in kinds, f"{kinds[0]}: {raised}"
    seen = " ".join(seen.split())[:200]
    _caisson["print"](f"\ncaisson-example {number} " + ("holds" if holds else f"gives {seen}"), flush=True)


