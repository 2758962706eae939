/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradients of score terms. A thread block has what it sums to itself: the entry of a table by distance, a
 * segment, the unrotated gradient of one query or key. It computes ds of the elements that it needs from packed
 * rows, one element a thread, with plain multiply-adds: as slow as that is, each ds is exact to f32, and sums
 * are in one order.
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_stream.h"
#include "cuda/launch.h"

template <typename T>
static __device__ float dot_rows(const T *a, const T *b, int64_t channels)
{
    float sum = 0.0f;
    for (int64_t i = 0; i < channels; i++)
        sum = fmaf(to_float(a[i]), to_float(b[i]), sum);
    return sum;
}

/* The packed row of the gradient of an output. */
template <typename T>
static __device__ __forceinline__ const T *packed_gradient(const cuda_attention &problem, const sequence &s,
                                                           const element &at)
{
    return (const T *)problem.packed.output_gradient + packed_query(problem, s, at.head, at.query);
}

template <typename T>
static __device__ __noinline__ weight_gradient element_gradient(const cuda_attention &problem,
                                                                const sequence &s, const element &at)
{
    if (!sees(problem, s, at.query, at.key))
        return {0.0f, 0.0f, 0.0f};
    int64_t key = packed_key(problem, s, at.head / (problem.heads / problem.key_value_heads), at.key);
    const T *g = packed_gradient<T>(problem, s, at),
            *query = (const T *)problem.packed.query + packed_query(problem, s, at.head, at.query);
    float product = dot_rows(query, (const T *)problem.packed.key + key, problem.head_dim),
          dp = dot_rows(g, (const T *)problem.packed.value + key, problem.head_dim);
    if (problem.distance_values.data) {
        const float *vector = distance_vector(problem.distance_values, s, at);
        for (int64_t i = 0; i < problem.head_dim; i++)
            dp = fmaf(to_float(g[i]), vector[i], dp);
    }
    return weight_gradient_of<T>(problem, s, at,
                                 saved_row_at(saved_rows_of(problem, s, at.head, at.query), 0), product, dp);
}

/* ---- What is not rotated of the gradients of queries and keys. ---- */

/* sum_n ds(m, n) A(n - m) of query blockIdx.x of all, head blockIdx.y. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    attention_unrotated_queries_kernel(const __grid_constant__ cuda_attention problem)
{
    const shared_array<float> ds = shared_at<float>(0, THREADS);
    block_of_rows block = block_of(problem.longest_queries, 1);
    sequence s = sequence_at(problem, block.sequence);
    element at = {(int64_t)blockIdx.y, block.first, 0};
    int channel = (int)threadIdx.x;
    float sum = 0.0f;
    if (at.query >= s.queries)
        return;
    for (int64_t first = 0; first < s.keys; first += THREADS) {
        at.key = first + channel;
        ds[channel] = element_gradient<T>(problem, s, at).score;
        __syncthreads();
        for (int i = 0; i < THREADS && first + i < s.keys && channel < problem.head_dim; i++) {
            at.key = first + i;
            sum = fmaf(ds[i], distance_vector(problem.distance_keys, s, at)[channel], sum);
        }
        __syncthreads();
    }
    if (channel < problem.head_dim)
        problem.unrotated_query[packed_query(problem, s, at.head, at.query) + channel] = problem.scale * sum;
}

/* sum_m ds(m, n) B(n - m) over the heads that share a key. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    attention_unrotated_keys_kernel(const __grid_constant__ cuda_attention problem)
{
    const shared_array<float> ds = shared_at<float>(0, THREADS);
    block_of_rows block = block_of(problem.longest_keys, 1);
    sequence s = sequence_at(problem, block.sequence);
    int64_t key_value_head = blockIdx.y, group = problem.heads / problem.key_value_heads;
    element at = {key_value_head * group, 0, block.first};
    int channel = (int)threadIdx.x;
    float sum = 0.0f;
    if (at.key >= s.stored_keys)
        return;
    for (; at.head < (key_value_head + 1) * group; at.head++)
        for (int64_t first = 0; first < s.queries; first += THREADS) {
            at.query = first + channel;
            ds[channel] = element_gradient<T>(problem, s, at).score;
            __syncthreads();
            for (int i = 0; i < THREADS && first + i < s.queries && channel < problem.head_dim; i++) {
                at.query = first + i;
                sum = fmaf(ds[i], distance_vector(problem.distance_queries, s, at)[channel], sum);
            }
            __syncthreads();
        }
    if (channel < problem.head_dim)
        problem.unrotated_key[packed_key(problem, s, key_value_head, at.key) + channel] = problem.scale * sum;
}

/* The gradient of query_bias of head blockIdx.x: the sum of the unrotated gradients of its queries, by sequences, so
 * that packed ones have the bits that they have alone. */
__global__ void __launch_bounds__(THREADS, 1)
    attention_query_bias_kernel(const __grid_constant__ cuda_attention problem)
{
    const int64_t head = blockIdx.x;
    const int channel = (int)threadIdx.x;
    float sum = 0.0f;
    if (channel >= problem.head_dim)
        return;
    for (int64_t index = 0; index < problem.sequences; index++) {
        const sequence s = sequence_at(problem, index);
        const float *from = problem.unrotated_query + packed_query(problem, s, head, 0) + channel;
        float own = 0.0f;
        for (int64_t query = 0; query < s.queries; query++)
            own += from[query * problem.width];
        sum += own;
    }
    problem.query_bias_gradient[head * problem.head_dim + channel] += sum;
}

/* ---- Tables by distance. ---- */

enum table { BIASES, KEY_VECTORS, QUERY_VECTORS, VALUE_VECTORS, INPUTS };

/* A table by distance and its gradient, whose entries have `channels` floats each. */
struct distance_table {
    enum table table;
    int64_t distances, first, head_stride, distance_stride, channels;
    float *gradient;
    bool shared; /* by all heads */
};

/* The keys whose distance from a query has an entry. */
static __device__ range keys_of_entry(const distance_table &table, const sequence &s, int64_t query,
                                      int64_t entry)
{
    int64_t key = query + s.query_offset + table.first + entry;
    range range = {key, key + 1};
    if (entry == 0)
        range.begin = 0;
    if (entry == table.distances - 1)
        range.end = s.keys;
    return {larger(range.begin, 0), smaller(range.end, s.keys)};
}

/* What an element adds to its entry is a number, by which a vector is multiplied where entries are vectors. */
template <typename T>
static __device__ float entry_factor(const cuda_attention &problem, const sequence &s, const element &at,
                                     enum table table)
{
    const weight_gradient made = element_gradient<T>(problem, s, at);
    if (table == VALUE_VECTORS)
        return made.weight;
    if (table == KEY_VECTORS || table == QUERY_VECTORS)
        return problem.scale * made.score;
    if (table == BIASES)
        return made.score;
    piece piece = piece_of(problem.piecewise_bias, s, at);
    return made.score * problem.piecewise_bias.slopes[piece.segment] *
           problem.piecewise_bias.query_scales[piece.scale];
}

template <typename T>
static __device__ float entry_channel(const cuda_attention &problem, const sequence &s, const element &at,
                                      enum table table, int channel)
{
    int64_t group = problem.heads / problem.key_value_heads;
    if (table == KEY_VECTORS)
        return to_float(vector_of<T>(problem.query, s.batch, s.query + at.query, at.head)[channel]) +
               (problem.query_bias ? problem.query_bias[at.head * problem.head_dim + channel] : 0.0f);
    if (table == QUERY_VECTORS)
        return to_float(vector_of<T>(problem.key, s.batch, s.key + at.key, at.head / group)[channel]);
    if (table == VALUE_VECTORS)
        return to_float(packed_gradient<T>(problem, s, at)[channel]);
    return 1.0f;
}

/* The sum of an entry's channel over one sequence and head. Queries are taken THREADS at a time, one a thread,
 * and of each its keys one after another. */
template <typename T>
static __device__ float entry_sum(const cuda_attention &problem, const distance_table &table,
                                  const sequence &s, int64_t head, int64_t entry, shared_array<float> factors)
{
    int mine = (int)threadIdx.x;
    float sum = 0.0f;
    for (int64_t first = 0; first < s.queries; first += THREADS) {
        int64_t count = smaller(THREADS, s.queries - first), most = 0;
        for (int64_t i = 0; i < count; i++) {
            range keys = keys_of_entry(table, s, first + i, entry);
            most = larger(most, keys.end - keys.begin);
        }
        range own = keys_of_entry(table, s, first + mine, entry);
        for (int64_t step = 0; step < most; step++) {
            bool exists = mine < count && own.begin + step < own.end;
            element at = {head, first + mine, own.begin + step};
            factors[mine] = exists ? entry_factor<T>(problem, s, at, table.table) : 0.0f;
            __syncthreads();
            for (int64_t i = 0; i < count && mine < table.channels; i++) {
                at.query = first + i;
                at.key = keys_of_entry(table, s, at.query, entry).begin + step;
                if (factors[i] != 0.0f)
                    sum = fmaf(factors[i], entry_channel<T>(problem, s, at, table.table, mine), sum);
            }
            __syncthreads();
        }
    }
    return sum;
}

/* Entry blockIdx.x of head blockIdx.y, or of all heads. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    attention_entry_kernel(const __grid_constant__ cuda_attention problem,
                           const __grid_constant__ distance_table table)
{
    const shared_array<float> factors = shared_at<float>(0, THREADS);
    int64_t entry = blockIdx.x, begin = table.shared ? 0 : blockIdx.y,
            end = table.shared ? problem.heads : begin + 1;
    float sum = 0.0f;
    for (int64_t index = 0; index < problem.sequences; index++) {
        float own = 0.0f;
        for (int64_t head = begin; head < end; head++)
            own += entry_sum<T>(problem, table, sequence_at(problem, index), head, entry, factors);
        sum += own;
    }
    if ((int64_t)threadIdx.x < table.channels)
        table.gradient[begin * table.head_stride + entry * table.distance_stride + threadIdx.x] += sum;
}

/* ---- The segments and the scales of a piecewise bias. ---- */

/* Segment blockIdx.x of head blockIdx.y: the sums of ds and of ds x. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    attention_segment_kernel(const __grid_constant__ cuda_attention problem)
{
    const shared_array<float> shared = shared_at<float>(0, MAX_WARPS);
    const rotary_attention_piecewise_bias &bias = problem.piecewise_bias;
    int64_t head = blockIdx.y, segment = head * bias.segments + blockIdx.x;
    float intercept = 0.0f, slope = 0.0f;
    for (int64_t index = 0; index < problem.sequences; index++) {
        sequence s = sequence_at(problem, index);
        float own_intercept = 0.0f, own_slope = 0.0f;
        for (int64_t i = threadIdx.x; i < s.queries * s.keys; i += THREADS) {
            element at = {head, i / s.keys, i % s.keys};
            piece piece = piece_of(bias, s, at);
            if (piece.segment != segment)
                continue;
            float ds = element_gradient<T>(problem, s, at).score;
            own_intercept += ds;
            own_slope = fmaf(ds, piece.x, own_slope);
        }
        intercept += block_sum(own_intercept, shared);
        slope += block_sum(own_slope, shared);
    }
    if (threadIdx.x == 0 && bias.intercept_gradient)
        bias.intercept_gradient[segment] += intercept;
    if (threadIdx.x == 0 && bias.slope_gradient)
        bias.slope_gradient[segment] += slope;
}

/* The scale of position blockIdx.x. */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    attention_scale_kernel(const __grid_constant__ cuda_attention problem)
{
    const shared_array<float> shared = shared_at<float>(0, MAX_WARPS);
    const rotary_attention_piecewise_bias &bias = problem.piecewise_bias;
    int64_t position = blockIdx.x;
    float sum = 0.0f;
    for (int64_t index = 0; index < problem.sequences; index++) {
        sequence s = sequence_at(problem, index);
        float own = 0.0f;
        for (int64_t row = 0; row < s.queries * problem.heads; row++) {
            const int64_t head = row / s.queries, query = row % s.queries;
            if (clipped(s.first_query + query, bias.positions) != position)
                continue;
            for (int64_t key = threadIdx.x; key < s.keys; key += THREADS) {
                element at = {head, query, key};
                piece piece = piece_of(bias, s, at);
                own = fmaf(element_gradient<T>(problem, s, at).score * bias.slopes[piece.segment],
                           bias.distance_inputs[piece.input], own);
            }
        }
        sum += block_sum(own, shared);
    }
    if (threadIdx.x == 0)
        bias.scale_gradient[position] += sum;
}

/* ---- Launches. ---- */

static distance_table vector_table(enum table table, const rotary_attention_distance_vectors &vectors,
                                   int64_t head_dim)
{
    distance_table made = {};
    made.table = table;
    made.distances = vectors.distances;
    made.first = vectors.first;
    made.head_stride = vectors.head_stride;
    made.distance_stride = vectors.distance_stride;
    made.channels = head_dim;
    made.gradient = vectors.data ? vectors.gradient : nullptr;
    made.shared = vectors.head_stride == 0;
    return made;
}

/* A table of numbers is one of vectors with one channel. */
static distance_table number_table(enum table table, int64_t distances, int64_t first, int64_t head_stride,
                                   float *gradient)
{
    rotary_attention_distance_vectors vectors = {};
    vectors.data = vectors.gradient = gradient;
    vectors.distances = distances;
    vectors.first = first;
    vectors.head_stride = head_stride;
    vectors.distance_stride = 1;
    return vector_table(table, vectors, 1);
}

template <typename T>
static rotary_status launch_tables(const struct backend *backend, const cuda_attention &problem,
                                   rotary_error *error)
{
    const rotary_attention_distance_bias &bias = problem.distance_bias;
    const rotary_attention_piecewise_bias &pieces = problem.piecewise_bias;
    const distance_table tables[] = {
        number_table(BIASES, bias.distances, bias.first, bias.head_stride,
                     bias.data ? bias.gradient : nullptr),
        vector_table(KEY_VECTORS, problem.distance_keys, problem.head_dim),
        vector_table(QUERY_VECTORS, problem.distance_queries, problem.head_dim),
        vector_table(VALUE_VECTORS, problem.distance_values, problem.head_dim),
        number_table(INPUTS, pieces.distances, pieces.first, 0,
                     pieces.intercepts ? pieces.input_gradient : nullptr),
    };
    rotary_status status = ROTARY_OK;
    for (const distance_table &table : tables) {
        const dim3 grid((unsigned)table.distances, table.shared ? 1u : (unsigned)problem.heads);
        if (status == ROTARY_OK && table.gradient)
            status = cuda_run(backend, {"attention_entry", grid, THREADS, THREADS * sizeof(float)}, error,
                              attention_entry_kernel<T>, problem, table);
    }
    return status;
}

template <typename T>
static rotary_status launch_pieces(const struct backend *backend, const cuda_attention &problem,
                                   rotary_error *error)
{
    const rotary_attention_piecewise_bias &bias = problem.piecewise_bias;
    const size_t bytes = MAX_WARPS * sizeof(float);
    rotary_status status = ROTARY_OK;
    if (bias.intercepts && (bias.intercept_gradient || bias.slope_gradient))
        status = cuda_run(
            backend,
            {"attention_segment", dim3((unsigned)bias.segments, (unsigned)problem.heads), THREADS, bytes},
            error, attention_segment_kernel<T>, problem);
    if (status == ROTARY_OK && bias.intercepts && bias.scale_gradient)
        status = cuda_run(backend, {"attention_scale", dim3((unsigned)bias.positions), THREADS, bytes}, error,
                          attention_scale_kernel<T>, problem);
    return status;
}

template <typename T>
static rotary_status launch_unrotated(const struct backend *backend, const cuda_attention &problem,
                                      rotary_error *error)
{
    const size_t bytes = THREADS * sizeof(float);
    const dim3 queries((unsigned)(problem.longest_queries * problem.sequences), (unsigned)problem.heads),
        keys((unsigned)(problem.longest_keys * problem.sequences), (unsigned)problem.key_value_heads);
    rotary_status status = ROTARY_OK;
    if (problem.unrotated_query)
        status = cuda_run(backend, {"attention_unrotated_queries", queries, THREADS, bytes}, error,
                          attention_unrotated_queries_kernel<T>, problem);
    if (status == ROTARY_OK && problem.unrotated_query && problem.query_bias_gradient)
        status = cuda_run(backend, {"attention_query_bias", dim3((unsigned)problem.heads), THREADS, 0}, error,
                          attention_query_bias_kernel, problem);
    if (status == ROTARY_OK && problem.unrotated_key)
        status = cuda_run(backend, {"attention_unrotated_keys", keys, THREADS, bytes}, error,
                          attention_unrotated_keys_kernel<T>, problem);
    return status;
}

template <typename T>
static rotary_status launch_terms(const struct backend *backend, const cuda_attention &problem,
                                  rotary_error *error)
{
    rotary_status status = launch_unrotated<T>(backend, problem, error);
    if (status == ROTARY_OK)
        status = launch_tables<T>(backend, problem, error);
    return status ? status : launch_pieces<T>(backend, problem, error);
}

rotary_status cuda_attention_backward_terms(const struct backend *backend,
                                            const struct cuda_attention *problem, rotary_error *error)
{
    return problem->bf16 ? launch_terms<bf16>(backend, *problem, error)
                         : launch_terms<float>(backend, *problem, error);
}
