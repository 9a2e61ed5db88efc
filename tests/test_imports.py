"""Who knows whom: delays → race → training, delays → order statistics → theory, all → figures → explore."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "lib" / "sgdrace"

# Each room, the first name of a module after `sgdrace`, with the rooms and modules that it may import.
CHECKS = {"_arguments", "_arrays", "_extras", "_memory", "_quadrature", "variants", "data"}
LAWS = CHECKS | {"delays"}
TIMING = LAWS | {
    "order_statistics",
    "_sorting",
    "_times",
    "_completions",
    "_estimate",
    "_records",
    "jobs",
    "race",
    "stepped_race",
    "protocol",
}
LEARNING = {"problems", "own_problem", "learning_rates"}
MATHEMATICS = LAWS | {"order_statistics", "theory"}
MEASURING = TIMING | LEARNING | MATHEMATICS | {"training", "adasync", "estimates", "runtimes", "contests"}
ALL = MEASURING | {"_comparison", "gpu", "scorecard"}
MAY_IMPORT = {
    "_arguments": set(),
    "_arrays": {"_arguments"},
    "_extras": {"_arguments"},
    "_memory": {"_arguments"},
    "_quadrature": {"_arguments"},
    "variants": {"_arguments"},
    "data": CHECKS,
    "delays": LAWS,
    "order_statistics": LAWS,
    "_sorting": {"_arguments"},
    "_times": LAWS | {"_sorting"},
    "_completions": LAWS | {"_sorting", "_times"},
    "_estimate": set(),
    "_comparison": {"_estimate"},
    "_records": LAWS,
    "jobs": LAWS | {"_records"},
    "protocol": TIMING,
    "race": TIMING,
    "stepped_race": TIMING,
    "problems": CHECKS | {"problems"},
    "own_problem": CHECKS | {"problems"},
    "learning_rates": CHECKS,
    "_prepared": {"problems"},
    "training": TIMING | LEARNING | {"_prepared", "gpu.devices"},
    "theory": MATHEMATICS,
    "adasync": TIMING | LEARNING | {"training", "theory.adasync", "theory.tables"},
    "estimates": CHECKS | {"_estimate", "race", "training"},
    "runtimes": TIMING | MATHEMATICS,
    "contests": TIMING | LEARNING | {"training"},
    "scorecard": ALL,
    "gpu": {"_arguments", "_extras", "_memory", "_arrays", "delays", "gpu"},
    "figures": ALL | {"figures"},
    "explore": ALL | {"figures", "explore"},
    "live": ALL | {"figures", "explore", "live"},
    "answers": {"_arguments"},
}


def imports(source, module, package=False):
    """The modules of sgdrace that a source file imports, wherever in the file it does."""
    found = set()
    here = module.split(".") if package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # `from sgdrace import theory` imports a module, `from sgdrace.theory import p0` a name of one.
            found |= {f"{origin}.{name.name}" if origin == "sgdrace" else origin for name in node.names}
    # The package itself knows everything: `import sgdrace` stays as it is, and nobody may.
    return {name.removeprefix("sgdrace.") for name in found if name.split(".")[0] == "sgdrace"}


@cache
def graph(package=PACKAGE):
    """Every module below the package with what it imports; the package itself only gives names away."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            source = path.read_text(encoding="utf-8")
            modules[name] = imports(source, f"sgdrace.{name}", package=parts[-1] == "__init__")
    return modules


def allowed(module, other):
    room = module.split(".")[0]
    may = MAY_IMPORT[room]
    return other in may or other.split(".")[0] in may


def table(modules, wrong=frozenset()):
    """The graph as text, a line for each module, with what is wrong marked."""
    width = max(map(len, modules))
    return "\n".join(
        f"{module:{width}} <- "
        + (", ".join(f"**{o}**" if (module, o) in wrong else o for o in sorted(others)) or "nothing")
        for module, others in modules.items()
    )


def arrows_against(modules):
    return {
        (module, other)
        for module, others in modules.items()
        for other in others
        if not allowed(module, other)
    }


def cycle(modules):
    """Modules that import each other in a circle, or None."""
    try:
        TopologicalSorter(modules).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_every_module_has_its_room():
    unknown = {module for module in graph() if module.split(".")[0] not in MAY_IMPORT}
    assert not unknown, f"say in MAY_IMPORT what these may know: {sorted(unknown)}"


def test_no_room_is_listed_that_is_gone():
    rooms = {module.split(".")[0] for module in graph()}
    assert set(MAY_IMPORT) <= rooms, sorted(set(MAY_IMPORT) - rooms)


def test_no_module_knows_a_later_one():
    modules = graph()
    wrong = arrows_against(modules)
    assert not wrong, f"arrows against the way of the package:\n{table(modules, wrong)}"


def test_no_modules_import_each_other_in_a_circle():
    modules = graph()
    assert cycle(modules) is None, f"{' <- '.join(cycle(modules))} is a circle:\n{table(modules)}"


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("delays", "from sgdrace.race import simulate"),
        ("delays", "from sgdrace import theory"),
        ("delays", "import sgdrace"),
        ("race", "def late():\n    import sgdrace.training"),
        ("race", "from .training import train"),
        ("order_statistics", "from sgdrace import race"),
        ("theory.bounds", "from sgdrace.race import Race"),
        ("theory.bounds", "from ..runtimes import runtime_table"),
        ("theory.runtime", "from sgdrace.order_statistics import mean\nfrom sgdrace.training import train"),
        ("training", "from sgdrace.theory import p0"),
        ("training", "from sgdrace.figures import curves"),
        ("adasync", "from sgdrace.theory.bounds import best_K"),
        ("estimates", "from sgdrace.theory import p0"),
        ("estimates", "from sgdrace.delays import Pareto"),
        ("runtimes", "from sgdrace.training import train"),
        ("scorecard.records", "from sgdrace.figures import curves"),
        ("scorecard.findings", "from sgdrace.explore import check"),
        ("estimates", "from sgdrace.scorecard import score"),
        ("figures.lines", "from sgdrace.explore import show"),
    ],
)
def test_a_planted_arrow_is_found(module, planted):
    modules = graph() | {module: imports(planted, f"sgdrace.{module}")}
    wrong = arrows_against(modules)
    assert {room for room, _ in wrong} == {module}
    assert "**" in table(modules, wrong)


def test_the_allowed_arrows_are_not_found():
    for module, fine in [
        ("race", "from sgdrace import order_statistics"),
        ("adasync", "from sgdrace.theory.adasync import adasync_K\nfrom sgdrace.training import train"),
        ("runtimes", "import sgdrace.race, sgdrace.theory.tables"),
        ("explore", "from sgdrace.figures import curves\nimport numpy"),
    ]:
        assert not arrows_against({module: imports(fine, f"sgdrace.{module}")})


def test_a_planted_circle_is_found():
    modules = graph() | {"delays": {"traces"}, "traces": {"delays"}}
    assert set(cycle(modules)) == {"delays", "traces"}


def test_to_load_the_package_and_race_takes_no_slow_part_of_scipy():
    """Each kernel of the book would pay for it. To `import scipy` costs nothing until scipy.stats is used."""
    program = "import sys; from sgdrace import Exponential, simulate; "
    program += "simulate('K-async', P=4, K=2, delay=Exponential(), updates=5, seed=0); "
    program += "print([name for name in ('scipy.stats', 'scipy.optimize') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
