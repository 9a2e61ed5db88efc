"""What is said where there is no GPU to train on, and what `device="auto"` does then."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sgdrace import Exponential, LeastSquares, Quadratic, SoftmaxRegression, simulate, train
from sgdrace._arrays import Arrays
from sgdrace.gpu import devices, kernels
from sgdrace.gpu.devices import NoGPUError, arrays_for, missing

RACE = simulate("K-sync", P=2, K=1, delay=Exponential(), updates=5)
needs_none = pytest.mark.skipif(missing() is None, reason="This machine has a GPU.")


def cupy_that(count, compiler=lambda: (12, 9)):
    """CuPy as far as `devices` asks it whether it can be used."""
    runtime = SimpleNamespace(getDeviceCount=count, runtimeGetVersion=lambda: 13000)
    return SimpleNamespace(
        __version__="14.2.0",
        cuda=SimpleNamespace(runtime=runtime, nvrtc=SimpleNamespace(getVersion=compiler)),
    )


def raising(words):
    def call():
        raise RuntimeError(words)

    return call


@pytest.fixture
def driver(monkeypatch):
    """A machine with a driver, and CuPy as the test wants it."""
    monkeypatch.setattr(devices, "find_spec", lambda name: name)
    monkeypatch.setattr(devices, "_loads", lambda library: True)
    return lambda cupy: monkeypatch.setitem(sys.modules, "cupy", cupy)


def test_without_cupy_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert missing().startswith("training on a GPU needs CuPy, which is not installed; pip install")


def test_without_a_driver_the_sentence_says_so_and_cupy_is_not_even_imported():
    code = (
        "import sys\nfrom sgdrace.gpu import devices\n"
        "devices.find_spec = lambda name: name\ndevices._loads = lambda library: False\n"
        "print(devices.missing(), 'cupy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stderr == "" and "its driver, which is not found here; use device=" in done.stdout
    assert done.stdout.endswith(" False\n")


@pytest.mark.parametrize(
    ("cupy", "sentence"),
    [
        (
            cupy_that(raising("cudaErrorInsufficientDriver: CUDA driver version is insufficient")),
            r"too old for CuPy 14\.2\.0, which was built for CUDA 13; pip install .*gpu-cuda12.* mends it\.",
        ),
        (
            cupy_that(lambda: 1, raising("Could not find library libnvrtc.so.12.")),
            r"finds no CUDA compiler to make kernels with \(Could not find library libnvrtc\.so\.12\); pip ",
        ),
        (
            cupy_that(raising("cudaErrorSystemNotReady:\n system not yet initialized.")),
            r"cannot use the GPU of this machine: cudaErrorSystemNotReady: system not yet initialized; look",
        ),
        (cupy_that(lambda: 0), r"the driver shows no GPU to this program; .*CUDA_VISIBLE_DEVICES"),
    ],
    ids=["an old driver", "no compiler", "a broken machine", "hidden GPUs"],
)
def test_what_the_driver_and_cupy_say_becomes_one_sentence(cupy, sentence, driver):
    driver(cupy)
    with pytest.raises(NoGPUError, match=sentence) as told:
        train(Quadratic(), RACE, device="gpu")
    assert str(told.value).count("\n") == 0 and str(told.value) == missing()
    assert train(Quadratic(), RACE, device="auto").device == "cpu"


def test_a_gpu_has_a_name_kernels_and_room_for_what_is_free(driver):
    pytest.importorskip("array_api_compat.cupy")
    card = cupy_that(lambda: 1)
    card.cuda.runtime.getDevice = lambda: 0
    card.cuda.runtime.getDeviceProperties = {0: {"name": b"Tesla T4"}}.__getitem__
    card.cuda.runtime.memGetInfo = lambda: (900, 1000)
    card.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 100)
    card.asnumpy = np.asarray
    driver(card)
    assert missing() is None
    there = arrays_for(LeastSquares(np.eye(3), np.ones(3), m=1), "auto", "float32")
    assert (there.name, there.precision, there.room) == ("Tesla T4", "float32", 800)
    assert isinstance(there.kernels, kernels.Kernels) and not there.on_host


@needs_none
def test_where_there_is_no_gpu_auto_trains_with_numpy_and_says_so():
    assert train(Quadratic(), RACE, device="auto") == train(Quadratic(), RACE)
    assert repr(train(Quadratic(), RACE, device="auto", dtype="float32")).endswith("float32 on cpu)")
    with pytest.raises(NoGPUError):
        train(Quadratic(), RACE, device="gpu")


def test_auto_trains_with_numpy_what_the_gpu_has_no_fast_memory_for(monkeypatch):
    monkeypatch.setattr(
        devices, "gpu", lambda dtype: Arrays(np, dtype, name="a GPU", kernels=kernels.Kernels(print))
    )
    large = SoftmaxRegression(np.eye(700), np.arange(700) % 20, m=32)
    assert arrays_for(LeastSquares(np.eye(3), np.ones(3), m=1), "auto", "float64").name == "a GPU"
    assert arrays_for(large, "auto", "float64").name == "cpu"
    with pytest.raises(ValueError, match=r"bytes of shared memory in float64, .* more than every GPU has"):
        train(large, RACE, device="gpu")


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"device": "cuda"}, ValueError, r"device must be one of cpu, gpu, auto; got 'cuda'\."),
        ({"device": 0}, TypeError, r"device must be one of cpu, gpu, auto; got 0\."),
        ({"dtype": "float16"}, ValueError, r"dtype 'float16' is unknown; did you mean float64\?"),
        ({"dtype": np.float32}, TypeError, r"dtype must be one of float64, float32; got "),
    ],
)
def test_devices_and_precisions_have_names(given, error, sentence):
    with pytest.raises(error, match=sentence):
        train(Quadratic(), RACE, **given)
