"""The emulator sees what a GPU would not tell: threads that miss each other, memory never asked for."""

import numpy as np
import pytest

KERNEL = 'extern "C" __global__ void kernel(double* out, int n) {{ extern __shared__ REAL shared[]; {} }}'


def run(emulated, body, n=1, shared=1024):
    out = np.zeros(64)
    emulated(source=KERNEL.format(body))("kernel", (1,), (64,), (out, np.int32(n)), shared)
    return out


def test_threads_of_a_block_meet_at_a_barrier(emulated):
    body = "shared[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = shared[63 - threadIdx.x];"
    np.testing.assert_array_equal(run(emulated, body), np.arange(64)[::-1])


def test_lanes_of_a_warp_exchange_numbers(emulated):
    body = "out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (double)threadIdx.x, 5);"
    np.testing.assert_array_equal(run(emulated, body), np.arange(64) ^ 5)


def test_shared_memory_is_not_a_number_before_somebody_writes(emulated):
    assert np.isnan(run(emulated, "out[threadIdx.x] = shared[threadIdx.x];")).all()


@pytest.mark.parametrize(
    "body",
    [
        "if (threadIdx.x < 40) __syncthreads();",
        "if (threadIdx.x < 32)\n __syncthreads();\n else\n __syncthreads();",
        "if (threadIdx.x == 0) out[0] = __shfl_xor_sync(0xffffffffu, 1.0, 1);",
        "if (threadIdx.x == 33) return; __syncthreads();",
    ],
)
def test_threads_that_wait_for_others_in_vain_are_found(emulated, body):
    with pytest.raises(RuntimeError, match="its threads wait at different barriers, or some never come"):
        run(emulated, body)


def test_memory_beyond_what_was_asked_for_is_found(emulated):
    with pytest.raises(RuntimeError, match="it writes beyond the shared memory that it asked for"):
        run(emulated, "shared[threadIdx.x] = 1;", shared=63 * 8)


@pytest.mark.parametrize("shared", [0, 48 * 1024, 48 * 1024 + 8])
def test_a_launch_that_no_gpu_allows_is_refused(emulated, shared):
    if shared <= 48 * 1024:
        run(emulated, "out[0] = n;", shared=shared)
    else:
        with pytest.raises(RuntimeError, match="no GPU could launch it so"):
            run(emulated, "out[0] = n;", shared=shared)


@pytest.mark.parametrize("n", [1, 1.0, np.int64(1)])
def test_an_argument_of_the_wrong_size_is_found(emulated, n):
    with pytest.raises(TypeError, match=r"kernel reads arguments of \[8, 4\] bytes; got \[8, 8\]"):
        emulated(source=KERNEL.format("out[0] = n;"))("kernel", (1,), (32,), (np.zeros(1), n), 0)


def test_a_source_that_is_no_program_is_refused(emulated):
    with pytest.raises(RuntimeError, match=r"g\+\+ refuses the kernels"):
        emulated(source="this is no program")
