// CUDA on a CPU, for tests: every CUDA thread of a block is a fiber, and one runs at a time.
//
// A fiber runs until it waits, at a barrier of its block or in an exchange of its warp, and the order in which fibers
// run is chosen by the test. A kernel that forgets a barrier then reads what nobody has written yet: shared memory is
// NaN at first, and some order brings the reader before the writer. Little is included: each mutant is compiled anew.
#pragma once
#undef _FORTIFY_SOURCE  // glibc would take a jump to another stack for an attack
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __syncthreads() emulator::wait(emulator::AT_BARRIER, __LINE__)
#define __shfl_xor_sync(mask, value, distance) emulator::exchange(value, distance, __LINE__)

extern "C" double exp(double), floor(double);
inline float exp(float x) { return __builtin_expf(x); }

struct Index {
    unsigned x;
};
Index threadIdx, blockIdx, blockDim, gridDim;

const size_t MOST_SHARED = 48 * 1024, GUARD = 1024;
alignas(16) REAL shared[(MOST_SHARED + GUARD) / sizeof(REAL)];

template <class To, class From>
To same_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    memcpy(&to, &from, sizeof to);
    return to;
}
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
inline double __longlong_as_double(long long bits) { return same_bits<double>(bits); }

namespace emulator {

enum State { READY, AT_BARRIER, IN_EXCHANGE, DONE };
enum Outcome { FINE = 0, DIVERGED = 1, BEYOND_SHARED = 2, BAD_LAUNCH = 3 };
enum Order { FORWARD = 0, BACKWARD = 1 };  // from 2 on: shuffled anew whenever all wait, with that seed

const unsigned WARP_SIZE = 32, MOST_THREADS = 1024;

struct Fiber {
    ucontext_t first;  // how it is entered
    jmp_buf here;      // where it goes on; a jump is far cheaper than swapcontext, which calls the system
    bool entered;
    State state;
    int line;          // of the source, where it waits
    unsigned exchanges;
    char stack[32 * 1024];
};

Fiber fibers[MOST_THREADS];
ucontext_t home;
jmp_buf scheduler;
void (*body)(void**);
void** given;
unsigned long long offered[2][MOST_THREADS];  // what each lane offers, in this exchange and in the one before

inline void leave() {
    if (!_setjmp(fibers[threadIdx.x].here))
        _longjmp(scheduler, 1);
}

inline void wait(State state, int line) {
    fibers[threadIdx.x].state = state;
    fibers[threadIdx.x].line = line;
    leave();
}

inline void live() {
    body(given);
    wait(DONE, 0);
}

inline void resume(unsigned thread) {
    threadIdx.x = thread;
    if (_setjmp(scheduler))
        return;  // the fiber waits or is done
    if (fibers[thread].entered)
        _longjmp(fibers[thread].here, 1);
    fibers[thread].entered = true;
    swapcontext(&home, &fibers[thread].first);
}

// Two sets of places in turn suffice: no lane can be two exchanges ahead of another of its warp.
template <class T>
T exchange(T value, unsigned distance, int line) {
    const unsigned me = threadIdx.x;
    unsigned long long* places = offered[fibers[me].exchanges++ % 2];
    memcpy(&places[me], &value, sizeof value);
    wait(IN_EXCHANGE, line);
    memcpy(&value, &places[me ^ distance], sizeof value);
    return value;
}

// Let the threads from `begin` to `end` go on if they all wait for the same thing at the same line.
inline bool release(unsigned begin, unsigned end, State state) {
    for (unsigned t = begin; t < end; ++t)
        if (fibers[t].state != state || fibers[t].line != fibers[begin].line)
            return false;
    for (unsigned t = begin; t < end; ++t)
        fibers[t].state = READY;
    return true;
}

inline void prepare(unsigned thread) {
    Fiber& fiber = fibers[thread];
    getcontext(&fiber.first);
    fiber.first.uc_stack.ss_sp = fiber.stack;
    fiber.first.uc_stack.ss_size = sizeof fiber.stack;
    makecontext(&fiber.first, live, 0);
    fiber.entered = false;
    fiber.state = READY;
    fiber.exchanges = 0;
}

inline void shuffle(unsigned* turns, unsigned size, unsigned& random) {
    for (unsigned left = size; left > 1; --left) {
        random = random * 1664525u + 1013904223u;
        std::swap(turns[left - 1], turns[(random >> 8) % left]);
    }
}

inline Outcome run_block(unsigned threads, unsigned order, unsigned& random) {
    static unsigned turns[MOST_THREADS];
    for (unsigned t = 0; t < threads; ++t) {
        prepare(t);
        turns[t] = order == BACKWARD ? threads - 1 - t : t;
    }
    while (true) {
        if (order > BACKWARD)
            shuffle(turns, threads, random);
        for (unsigned i = 0; i < threads; ++i)
            if (fibers[turns[i]].state == READY)
                resume(turns[i]);
        if (release(0, threads, DONE))
            return FINE;
        bool any = release(0, threads, AT_BARRIER);
        for (unsigned t = 0; t < threads; t += WARP_SIZE)
            any |= release(t, t + WARP_SIZE, IN_EXCHANGE);
        if (!any)
            return DIVERGED;
    }
}

inline Outcome run_grid(unsigned blocks, unsigned threads, size_t bytes, unsigned order) {
    if (!blocks || !threads || threads > MOST_THREADS || threads % WARP_SIZE || bytes > MOST_SHARED)
        return BAD_LAUNCH;
    blockDim.x = threads;
    gridDim.x = blocks;
    unsigned random = order;
    const char* memory = reinterpret_cast<const char*>(shared);
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        memset(shared, 0xff, sizeof shared);  // NaN in float and in double
        const Outcome outcome = run_block(threads, order, random);
        if (outcome != FINE)
            return outcome;
        for (size_t at = bytes; at < sizeof shared; ++at)
            if (memory[at] != char(0xff))
                return BEYOND_SHARED;
    }
    return FINE;
}

// As the driver does it: `arguments` has the address of each argument, and the kernel knows their types.
template <auto kernel, class... Types, size_t... I>
void call(void (*)(Types...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<Types*>(arguments[I])...);
}

template <auto kernel, class... Types>
void unpack(void (*)(Types...), void** arguments) {
    call<kernel>(kernel, arguments, std::index_sequence_for<Types...>{});
}

template <auto kernel>
int launch(void** arguments, unsigned blocks, unsigned threads, size_t bytes, unsigned order) {
    body = [](void** all) { unpack<kernel>(kernel, all); };
    given = arguments;
    return run_grid(blocks, threads, bytes, order);
}

template <class... Types>
const int* sizes(void (*)(Types...)) {
    static const int all[] = {int(sizeof(Types))..., 0};
    return all;
}

}  // namespace emulator

// What ctypes finds: for each kernel a function that launches it, and one with the sizes of its arguments, then 0.
#define EMULATED(kernel)                                                                                              \
    extern "C" int launch_##kernel(                                                                                   \
        void** arguments, unsigned blocks, unsigned threads, size_t bytes, unsigned order) {                          \
        return emulator::launch<kernel>(arguments, blocks, threads, bytes, order);                                    \
    }                                                                                                                 \
    extern "C" const int* sizes_##kernel() { return emulator::sizes(kernel); }
