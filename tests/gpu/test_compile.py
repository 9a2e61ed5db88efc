"""NVIDIA's compiler takes every kernel, and expects the arguments that we pass."""

import re

import numpy as np
import pytest

from sgdrace.gpu import kernels
from tests.gpu.emulator import as_passed
from tests.gpu.examples import example

ARCHITECTURES = [70, 75, 80, 86, 90]  # from the V100 to the H100
DTYPES = ["float32", "float64"]
GRADIENTS = set(kernels.LINKS.values())
RANDOM = {"philox_words", "philox_delays", "philox_kth_fastest"}
# Without a word about rounding (.rn), the last step of the compiler may still fuse a product and a sum.
ROUNDED = re.compile(r"\b(fma|mul|add|sub)(\.rn)?\.f64")


@pytest.fixture(scope="session")
def compiled(nvrtc):
    """PTX of every kernel by its name, for an architecture and a type of numbers."""
    made = {}

    def compile_for(architecture, dtype, options=None):
        key = architecture, dtype, options
        if key not in made:
            program = nvrtc.createProgram(kernels.source(), "kernels.cu", [], [])
            flags = [*(options or kernels.options(dtype)), f"-arch=compute_{architecture}"]
            try:
                nvrtc.compileProgram(program, flags)
            except nvrtc.NVRTCError:
                pytest.fail(nvrtc.getProgramLog(program))
            made[key] = _entries(nvrtc.getPTX(program))
            nvrtc.destroyProgram(program)
        return made[key]

    return compile_for


def _entries(ptx):
    text = ptx.decode() if isinstance(ptx, bytes) else ptx
    parts = re.split(r"\.visible \.entry (\w+)", text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def parameters(entry):
    """The class and width of each parameter, such as u64 for an address."""
    return re.findall(r"\.param \.(\w+)", entry.partition(")")[0])


def passed(args):
    """The same of what CuPy would hand over."""
    kinds = [as_passed(arg).dtype for arg in args]
    return [f"{'f' if kind.kind == 'f' else 'u'}{8 * kind.itemsize}" for kind in kinds]


def launches(dtype):
    """Every kernel with the arguments of one launch."""
    launched = {}

    def launch(name, grid, block, args, shared):
        launched[name] = args

    for link in kernels.LINKS:
        example(link, rows=6, p=2, m=3, units=2).gradients(launch, dtype)
    own = kernels.Kernels(launch)
    own.words(2**40, np.empty(3, np.uint32))
    own.delays(2**40, 1, 1.0, 2.5, np.empty(3))
    own.kth_fastest(2**40, 1, 1.0, 2.5, 3, 4, np.empty(3))
    return launched


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_compiles_and_reads_what_we_pass(compiled, architecture, dtype):
    entries, launched = compiled(architecture, dtype), launches(dtype)
    assert entries.keys() == launched.keys() == GRADIENTS | RANDOM
    for name, args in launched.items():
        assert parameters(entries[name]) == passed(args), name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("position", range(12))
def test_a_number_without_a_type_is_found(compiled, dtype, position):
    args = list(launches(dtype)["logistic_gradients"])
    if isinstance(args[position], np.ndarray):
        args[position] = np.int32(0)  # an array that was forgotten
    elif args[position].dtype == np.float64:
        args[position] = 1  # of the same width, but no float
    else:
        args[position] = args[position].item()
    assert parameters(compiled(80, dtype)["logistic_gradients"]) != passed(args)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_in_float32_compute_nothing_in_double(compiled, architecture):
    assert {name for name, text in compiled(architecture, "float32").items() if ".f64" in text} == RANDOM - {
        "philox_words"
    }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_random_numbers_are_rounded_after_every_operation(compiled, architecture):
    entries = compiled(architecture, "float64")
    for name in RANDOM - {"philox_words"}:
        found = set(ROUNDED.findall(entries[name]))
        assert {("mul", ".rn"), ("add", ".rn")} <= found <= {(what, ".rn") for what in ("mul", "add", "sub")}


def test_the_compiler_would_fuse_products_and_sums_if_it_were_not_told(compiled):
    options = tuple(option for option in kernels.options("float64") if option != "-fmad=false")
    assert "fma.rn.f64" in compiled(80, "float64", options)["philox_delays"]


def test_a_mistake_in_the_source_is_found(nvrtc):
    program = nvrtc.createProgram(
        kernels.source().replace("warp_sum(part)", "warp_sun(part)"), "k.cu", [], []
    )
    with pytest.raises(nvrtc.NVRTCError):
        nvrtc.compileProgram(program, list(kernels.options("float32")))
    assert "warp_sun" in nvrtc.getProgramLog(program)
    nvrtc.destroyProgram(program)
