// The arithmetic of sgdrace on a GPU: gradients of many mini-batches at once, and random delays.
//
// One source for two readers: NVRTC compiles it for a GPU, and g++ for the tests, which run each CUDA thread as a
// fiber on the CPU. So it includes nothing, takes the type of its numbers from -DREAL=float or -DREAL=double, and uses
// no shared memory but what the launch asks for. No atomics: the same input gives the same bits, whoever is first.
// Indices are int; whatever finds its place in a large array is long long, because T·d may exceed 2^31.


// ---- Gradients of mini-batches ----
//
//     G[n] = scale · Σ_i r_i x_i + l2 · w[row[n]]        x_i: the m rows of block choice[n], r_i: their residuals
//
// A block of threads makes one gradient after the other: n = blockIdx.x, blockIdx.x + gridDim.x, ...
// In shared memory it keeps the weights (units, p), then z (units, m), first x_i · w, then the residuals.
// The array of all rows of all mini-batches, (N, m, p), is never formed: rows are read where they are.

const unsigned WARP = 32;
const unsigned WHOLE_WARP = 0xffffffffu;

#define MINI_BATCHES                                                                                                  \
    const REAL* __restrict__ X,     /* (blocks, m, p), short blocks end in rows of zeros */                           \
    const REAL* __restrict__ y,     /* (blocks, m), targets or numbers of classes */                                  \
    const REAL* __restrict__ w,     /* (T, units·p), past weights */                                                  \
    const int* __restrict__ row,    /* (N,), at which weights */                                                      \
    const int* __restrict__ choice, /* (N,), on which block */                                                        \
    REAL* __restrict__ G,           /* (N, units·p) */                                                                \
    int N, int m, int p, int units, REAL scale, REAL l2

// The sum of one number from each lane of a warp. Five exchanges do it, always in the same order.
__device__ __forceinline__ REAL warp_sum(REAL part) {
    for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
        part += __shfl_xor_sync(WHOLE_WARP, part, distance);
    return part;
}

// Copy d weights to shared memory: neighboring threads read neighboring numbers, in one transaction of memory.
__device__ __forceinline__ void load(REAL* weights, const REAL* from, int d) {
    for (int k = threadIdx.x; k < d; k += blockDim.x)
        weights[k] = from[k];
}

// z[u, i] = x_i · w_u. A warp takes a row, so that its lanes read neighboring features.
__device__ __forceinline__ void multiply(REAL* z, const REAL* weights, const REAL* x, int m, int p, int units) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    for (int i = warp; i < m; i += warps)
        for (int u = 0; u < units; ++u) {
            REAL part = 0;
            for (int j = lane; j < p; j += WARP)
                part += x[(long long)i * p + j] * weights[u * p + j];
            const REAL sum = warp_sum(part);
            if (lane == 0)
                z[u * m + i] = sum;
        }
}

// What each loss makes of the linear functions z of one row, which are `stride` apart: its derivative.
struct LeastSquares {
    static __device__ __forceinline__ void residual(REAL* z, REAL y, int, int) { z[0] -= y; }
};

struct Logistic {
    // Where exp overflows, 1/inf = 0 is right.
    static __device__ __forceinline__ void residual(REAL* z, REAL y, int, int) {
        z[0] = REAL(1) / (REAL(1) + exp(-z[0])) - y;
    }
};

struct Softmax {
    static __device__ __forceinline__ void residual(REAL* z, REAL y, int units, int stride) {
        REAL largest = z[0], sum = 0;
        for (int u = 1; u < units; ++u)
            largest = z[u * stride] > largest ? z[u * stride] : largest;
        for (int u = 0; u < units; ++u) {
            z[u * stride] = exp(z[u * stride] - largest);  // at most 1: nothing overflows
            sum += z[u * stride];
        }
        for (int u = 0; u < units; ++u)
            z[u * stride] = z[u * stride] / sum - (u == (int)y ? REAL(1) : REAL(0));
    }
};

// One thread for each weight. Rows of zeros add nothing, so nobody has to know how short a block is.
__device__ __forceinline__ void add_up(
    REAL* gradient, const REAL* residuals, const REAL* weights, const REAL* x, int m, int p, int units, REAL scale,
    REAL l2) {
    for (int k = threadIdx.x; k < units * p; k += blockDim.x) {
        const int u = k / p, j = k % p;
        REAL sum = 0;
        for (int i = 0; i < m; ++i)
            sum += residuals[u * m + i] * x[(long long)i * p + j];
        gradient[k] = scale * sum + l2 * weights[k];
    }
}

template <class Loss>
__device__ __forceinline__ void gradients(MINI_BATCHES) {
    extern __shared__ REAL shared[];
    const int d = units * p;
    REAL* weights = shared;
    REAL* z = shared + d;
    for (long long n = blockIdx.x; n < N; n += gridDim.x) {
        const REAL* x = X + (long long)choice[n] * m * p;
        const REAL* targets = y + (long long)choice[n] * m;

        load(weights, w + (long long)row[n] * d, d);
        // Every warp multiplies by all weights, and other warps loaded most of them.
        __syncthreads();
        multiply(z, weights, x, m, p, units);
        // The thread of row i below is not the one that wrote z of row i above.
        __syncthreads();
        for (int i = threadIdx.x; i < m; i += blockDim.x)
            Loss::residual(z + i, targets[i], units, m);
        // Every thread adds up the residuals of all rows.
        __syncthreads();
        add_up(G + n * d, z, weights, x, m, p, units, scale, l2);
        // No barrier here. The next round begins with weights, and each thread overwrites only those that it alone
        // was still reading; z is overwritten behind the first barrier, when everybody has added up.
    }
}

extern "C" __global__ void least_squares_gradients(MINI_BATCHES) {
    gradients<LeastSquares>(X, y, w, row, choice, G, N, m, p, units, scale, l2);
}

extern "C" __global__ void logistic_gradients(MINI_BATCHES) {
    gradients<Logistic>(X, y, w, row, choice, G, N, m, p, units, scale, l2);
}

extern "C" __global__ void softmax_gradients(MINI_BATCHES) {
    gradients<Softmax>(X, y, w, row, choice, G, N, m, p, units, scale, l2);
}


// ---- Random numbers that are the same on every machine ----
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011) has no state: ten rounds scramble a counter, which says where a
// number is wanted, with a key, which is the seed. So a thread can make any number without those before it.
// All that follows is in double, of additions, multiplications and divisions in a fixed order, which IEEE 754 rounds
// in one way only: `philox.py` does the same in NumPy and gets the same bits. The library's log and exp would not,
// and neither would a compiler that fuses a product and a sum into one rounding (hence -fmad=false).

struct Words {
    unsigned of[4];
};

__device__ __forceinline__ Words philox(Words counter, unsigned key0, unsigned key1) {
    unsigned* c = counter.of;
    for (int round = 0; round < 10; ++round) {
        const unsigned long long first = 0xD2511F53ull * c[0], third = 0xCD9E8D57ull * c[2];
        const unsigned c1 = c[1], c3 = c[3];
        c[0] = (unsigned)(third >> 32) ^ c1 ^ key0;
        c[1] = (unsigned)third;
        c[2] = (unsigned)(first >> 32) ^ c3 ^ key1;
        c[3] = (unsigned)first;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

// The four words at a place. The last word of the counter keeps apart what is drawn for different purposes.
const unsigned DRAWS = 0, ORDER_STATISTICS = 1;

__device__ __forceinline__ Words words_at(
    long long place, unsigned step, unsigned purpose, unsigned key0, unsigned key1) {
    return philox(Words{{(unsigned)place, (unsigned)(place >> 32), step, purpose}}, key0, key1);
}

const double LN2_HIGH = 0x1.62e42fefap-1;           // 37 bits of log 2, so that a small integer times it is exact
const double LN2_LOW = 0x1.cf79abc9e3b3ap-40;       // the next 53
const double LOG2_E = 0x1.71547652b82fep+0;
const long long ROOT_HALF = 0x3FE6A09E667F3BCDll;   // the bits of the square root of 1/2
const long long OCTAVE = 1ll << 52;                 // added to the bits of a number, doubles it

// log x for x > 0. With x = 2^k (1 + f) and s = f/(2 + f), log(1 + f) = 2 artanh s = 2s + 2s³/3 + 2s⁵/5 + ...
// Since 2s = f - s·f, the leading term is f itself, without rounding, and the rest is small: within 1 ulp.
__device__ __forceinline__ double logarithm(double x) {
    const long long bits = __double_as_longlong(x);
    const long long k = (bits - ROOT_HALF) >> 52;
    const double f = __longlong_as_double(bits - k * OCTAVE) - 1.0;  // between √½ - 1 and √2 - 1
    const double s = f / (2.0 + f);
    const double square = s * s;
    double series = 0.0;
    for (int n = 10; n > 0; --n)
        series = (series + 2.0 / (2 * n + 1)) * square;
    return k * LN2_HIGH + (f - (s * (f - series) - k * LN2_LOW));
}

// x = k log 2 + r with |r| at most log(2)/2, and e^r - 1 = r + r²/2 + r³/6 + ..., from the smallest term to r itself.
struct Reduced {
    long long k;
    double minus_1;  // e^r - 1
};

__device__ __forceinline__ Reduced reduced(double x) {
    x = x < -1400.0 ? -1400.0 : x > 1400.0 ? 1400.0 : x;  // beyond, e^x is 0 or infinite anyway
    const double k = floor(x * LOG2_E + 0.5);
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double series = 1.0;
    for (int n = 13; n > 2; --n)
        series = 1.0 + r * (1.0 / n) * series;
    return Reduced{(long long)k, r + 0.5 * r * r * series};
}

__device__ __forceinline__ double power_of_2(long long k) {
    return __longlong_as_double((k + 1023) * OCTAVE);
}

__device__ __forceinline__ double exponential(double x) {
    const Reduced e = reduced(x);
    const long long half = e.k >> 1;  // 2^k itself may be no double where e^x still is one
    return (1.0 + e.minus_1) * power_of_2(half) * power_of_2(e.k - half);
}

// e^x - 1 = 2^k (e^r - 1) + (2^k - 1) for x >= 0. From e^x the 1 would already have taken the digits of a small x;
// from a large one, nobody misses it.
__device__ __forceinline__ double exponential_minus_1(double x) {
    const Reduced e = reduced(x);
    if (e.k > 60)
        return exponential(x);
    const double octaves = power_of_2(e.k);
    return octaves * e.minus_1 + (octaves - 1.0);
}

// A unit exponential variable: -log of a uniform one from the middles of 2^52 equal parts of (0, 1), never 0 or 1.
__device__ __forceinline__ double unit_exponential(unsigned high, unsigned low) {
    const unsigned long long part = (unsigned long long)high << 20 | low >> 12;
    return -logarithm((part + 0.5) * 0x1p-52);
}

// Delays of the common laws are increasing functions of a unit exponential variable e.
enum Law { EXPONENTIAL = 0, PARETO = 1, LOMAX = 2, WEIBULL = 3 };

__device__ __forceinline__ double delay(int law, double a, double b, double e) {
    switch (law) {
        case EXPONENTIAL: return a + e / b;                       // shift, rate
        case PARETO: return a * exponential(e / b);               // scale, shape, as below
        case LOMAX: return a * exponential_minus_1(e / b);
        default: return a * exponential(logarithm(e) / b);        // Weibull
    }
}

// out[i] = the i-th word of the stream; a thread makes the four of one place.
extern "C" __global__ void philox_words(unsigned* out, long long size, unsigned key0, unsigned key1) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x; 4 * place < size; place += threads) {
        const Words words = words_at(place, 0, DRAWS, key0, key1);
        for (int i = 0; i < 4 && 4 * place + i < size; ++i)
            out[4 * place + i] = words.of[i];
    }
}

// out[i] = the i-th delay of the stream, from its words 2i and 2i + 1.
extern "C" __global__ void philox_delays(
    double* out, long long size, unsigned key0, unsigned key1, int law, double a, double b) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x; 2 * place < size; place += threads) {
        const Words words = words_at(place, 0, DRAWS, key0, key1);
        for (int i = 0; i < 2 && 2 * place + i < size; ++i)
            out[2 * place + i] = delay(law, a, b, unit_exponential(words.of[2 * i], words.of[2 * i + 1]));
    }
}

// out[i] = an independent K-th smallest of P delays. Of P unit exponentials the first ends after E/P, the next E/(P-1)
// later, and so on (Rényi): K sums, no sort. An increasing function of the K-th smallest is the K-th smallest of the
// functions, so this serves every law.
extern "C" __global__ void philox_kth_fastest(
    double* out, long long size, unsigned key0, unsigned key1, int law, double a, double b, int K, int P) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x; place < size; place += threads) {
        double e = 0.0;
        for (int done = 0; done < K; done += 2) {
            const Words words = words_at(place, done / 2, ORDER_STATISTICS, key0, key1);
            for (int i = 0; i < 2 && done + i < K; ++i)
                e += unit_exponential(words.of[2 * i], words.of[2 * i + 1]) / (P - done - i);
        }
        out[place] = delay(law, a, b, e);
    }
}
