"""What a kernel would read as something else is refused before it starts, without a look at the device."""

import subprocess
import sys

import numpy as np
import pytest

from sgdrace.gpu import kernels
from tests.sentences import refused

N, BLOCKS, M, P, UNITS, T = 5, 4, 3, 7, 2, 6
SHAPES = {
    "w": (T, UNITS * P),
    "row": (N,),
    "choice": (N,),
    "X": (BLOCKS, M, P),
    "y": (BLOCKS, M),
    "out": (N, UNITS * P),
}
WHOLE = {"row", "choice"}


class Library:
    """Arrays of a library, which need not have memory."""

    def __init__(self, name, empty):
        self.name, self.empty = name, empty

    def arrays(self, dtype="float32"):
        return {
            name: self.empty(shape, np.int32 if name in WHOLE else dtype) for name, shape in SHAPES.items()
        }


@pytest.fixture(params=["numpy", "cupy"])
def library(request):
    if request.param == "numpy":
        return Library("numpy", np.zeros)
    cupy = request.getfixturevalue("cupy")

    def empty(shape, dtype):
        # An address that is nobody's: whoever looked at it without a GPU would not come back.
        memory = cupy.cuda.UnownedMemory(0x1000, 2**16, None, 0)
        return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0))

    return Library("cupy", empty)


def launched(arrays, link="softmax", scale=0.5, l2=0.1):
    """What would be launched with these arrays."""
    launches = []
    kernels.Kernels(lambda *launch: launches.append(launch)).gradients(link, scale=scale, l2=l2, **arrays)
    return launches


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_are_passed_as_they_are_and_numbers_with_their_types(library, dtype):
    arrays = library.arrays(dtype)
    ((name, grid, block, args, shared),) = launched(arrays)
    assert (name, grid, block) == ("softmax_gradients", (N,), (kernels.THREADS,))
    for arg, name in zip(args[:6], ["X", "y", "w", "row", "choice", "out"], strict=True):
        assert arg is arrays[name]
    assert [type(arg) for arg in args[6:]] == [np.int32] * 4 + [dtype] * 2
    assert args[6:] == (N, M, P, UNITS, dtype(0.5), dtype(0.1))
    assert shared == UNITS * (P + M) * np.dtype(dtype).itemsize


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_of_another_type_is_refused(library, name):
    arrays = library.arrays()
    other = "int64" if name in WHOLE else "float64"
    arrays[name] = library.empty(SHAPES[name], other)
    if name == "X":  # whose type the others must have
        name, wanted, other = "y", "float64", "float32"
    else:
        wanted = "int32" if name in WHOLE else "float32"
    sentence = f"^{name} must be a {library.name} array of {wanted} for a kernel, which converts nothing; "
    refused(lambda: launched(arrays), TypeError, f"{sentence}got a {library.name} array of {other}")


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_with_strides_is_refused(library, name):
    arrays = library.arrays()
    shape = SHAPES[name]
    arrays[name] = library.empty((*shape[:-1], 2 * shape[-1]), arrays[name].dtype)[..., ::2]
    refused(lambda: launched(arrays), ValueError, f"^{name} must be contiguous for a kernel")


@pytest.mark.parametrize("name", ["y", "row", "out"])
def test_an_array_of_another_shape_is_refused(library, name):
    arrays = library.arrays()
    arrays[name] = library.empty((1, *SHAPES[name]), arrays[name].dtype)
    refused(lambda: launched(arrays), ValueError, f"^{name} must have the shape .* for a kernel; got ")


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_of_another_library_is_refused(library, name):
    arrays = library.arrays()
    if library.name == "numpy":
        arrays[name] = arrays[name].tolist()
        sentence = f"^{name} must be a.* array of .* for a kernel.*; got"
    elif name == "X":
        arrays[name] = np.zeros(SHAPES[name], np.float32)
        sentence = "^y must be a numpy array of float32 for a kernel.* got a cupy array"
    else:
        arrays[name] = np.zeros(SHAPES[name], arrays[name].dtype)
        sentence = f"^{name} must be a cupy array of .* for a kernel.* got a numpy array"
    refused(lambda: launched(arrays), TypeError, sentence)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"link": "logit"}, ValueError, "link 'logit' is unknown; did you mean logistic"),
        (
            {"link": "logistic"},
            ValueError,
            'each row of w must hold 7 weights for the link "logistic"; got 14',
        ),
        ({"scale": np.nan}, ValueError, "scale must be a finite number; got nan"),
        ({"l2": "much"}, TypeError, "l2 must be a number; got 'much'"),
    ],
)
def test_a_wrong_link_or_number_is_refused(library, changes, error, sentence):
    refused(lambda: launched(library.arrays(), **changes), error, sentence)


@pytest.mark.parametrize(("name", "shape"), [("w", (T, UNITS * P + 1)), ("w", (T, P - 1))])
def test_weights_that_are_no_multiple_of_the_features_are_refused(library, name, shape):
    arrays = library.arrays() | {name: library.empty(shape, "float32")}
    refused(lambda: launched(arrays), ValueError, "each row of w must hold a multiple of 7 weights")


def test_numbers_that_are_no_floats_are_refused(library):
    arrays = library.arrays("float16")
    sentence = f"X must be an array of float32 or float64 for a kernel; got a {library.name} array of float16"
    refused(lambda: launched(arrays), TypeError, sentence)


def test_more_than_a_kernel_counts_is_refused():
    own, out = kernels.Kernels(lambda *launch: None), np.empty(3)
    own.kth_fastest(1, 0, 0.0, 1.0, K=1, P=2**31 - 1, out=out)
    sentence = r"a kernel counts up to 2\^31 - 1; got 2147483648"
    refused(lambda: own.kth_fastest(1, 0, 0.0, 1.0, K=1, P=2**31, out=out), ValueError, sentence)


# A kernel of random numbers, what it takes besides the array, and the type of the array.
RANDOM = [
    ("words", {}, np.uint32, 2),
    ("delays", {"law": 2, "a": 1.0, "b": 2.0}, np.float64, 4),
    ("kth_fastest", {"law": 2, "a": 1.0, "b": 2.0, "K": 3, "P": 4}, np.float64, 8),
]


@pytest.mark.parametrize(("kernel", "given", "dtype", "blocks"), RANDOM)
def test_random_numbers_go_to_arrays_of_their_type(library, kernel, given, dtype, blocks):
    launches = []
    make = getattr(kernels.Kernels(lambda *launch: launches.append(launch)), kernel)
    make(2**40 + 1, **given, out=library.empty((1000,), dtype))
    ((name, grid, _, args, shared),) = launches
    assert (name, grid, shared) == (f"philox_{kernel}", (blocks,), 0)
    assert args[1:4] == (1000, 1, 256)  # the seed in two words, the lower one first
    assert [type(arg) for arg in args[1:4]] == [np.int64, np.uint32, np.uint32]
    sentence = "^out must be a .* array of .* for a kernel.* array of float32"
    refused(lambda: make(1, **given, out=library.empty((10,), np.float32)), TypeError, sentence)


@pytest.mark.parametrize(
    ("units", "p", "m", "dtype", "sentence"),
    [
        (
            1,
            6113,
            32,
            "float64",
            '8 more than every GPU has; use float32 or smaller mini-batches or device="cpu"',
        ),
        (1, 6144, 1, "float64", '8 more than every GPU has; use float32 or device="cpu"'),
        (1, 12257, 32, np.float32, '4 more than every GPU has; use smaller mini-batches or device="cpu"'),
        (10, 20_000, 32, "float64", '1553408 more than every GPU has; use device="cpu"'),
    ],
)
def test_mini_batches_that_do_not_fit_are_refused_with_what_to_do(units, p, m, dtype, sentence):
    kernels.must_fit(1, 6112, 32, "float64")  # to the last byte
    refused(lambda: kernels.must_fit(units, p, m, dtype), ValueError, sentence)


def test_a_launch_that_does_not_fit_is_refused():
    X, y = np.zeros((1, 1, 7000)), np.zeros((1, 1))
    w, chosen, out = np.zeros((1, 7000)), np.zeros(1, np.int32), np.zeros((1, 7000))
    arrays = {"w": w, "row": chosen, "choice": chosen, "X": X, "y": y, "out": out}
    refused(lambda: launched(arrays, "logistic"), ValueError, "need 56008 bytes of shared memory in float64")


def test_cupy_converts_nothing_in_silence(cupy):
    memory = cupy.cuda.UnownedMemory(0x1000, 64, None, 0)
    array = cupy.ndarray((2,), np.float32, cupy.cuda.MemoryPointer(memory, 0))
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(array)


def test_the_launch_of_cupy_compiles_once_for_each_type(monkeypatch):
    compiled, started = [], []

    class Module:
        def __init__(self, code, options):
            compiled.append(options)
            self.real = options[0]

        def get_function(self, name):
            return lambda *args, shared_mem: started.append((self.real, name, args[0], args[1], shared_mem))

    monkeypatch.setitem(sys.modules, "cupy", type("cupy", (), {"RawModule": Module}))
    kernels._module.cache_clear()
    try:
        own = kernels.Kernels()
        for dtype in ("float32", "float64", "float32"):
            own.gradients("softmax", scale=1.0, l2=0.0, **Library("numpy", np.zeros).arrays(dtype))
        own.words(1, np.empty(3, np.uint32))
    finally:
        kernels._module.cache_clear()
    assert compiled == [kernels.options("float32"), kernels.options("float64")]
    grid, block = (N,), (kernels.THREADS,)
    assert started == [
        ("-DREAL=float", "softmax_gradients", grid, block, UNITS * (P + M) * 4),
        ("-DREAL=double", "softmax_gradients", grid, block, UNITS * (P + M) * 8),
        ("-DREAL=float", "softmax_gradients", grid, block, UNITS * (P + M) * 4),
        ("-DREAL=double", "philox_words", (1,), block, 0),
    ]


def test_cupy_is_not_imported_before_it_is_needed():
    program = (
        "import sys, sgdrace.gpu.kernels; from sgdrace.gpu import philox;"
        "philox.kth_fastest(sgdrace.Pareto(), 2, 3, size=4);"
        "sys.exit('cupy' in sys.modules or 'array_api_compat' in sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)
