/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward and decoding: a thread block is a block of queries of one head, past which keys and values go.
 *
 *     m' = max(m, max_n s(n))    l' = exp(m - m') l + sum_n exp(s(n) - m')
 *     o' = exp(m - m') o + sum_n exp(s(n) - m') (U v_n + V)
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_stream.h"
#include "cuda/launch.h"

/* The running maximum and sum of the rows of a lane: rows g and g + 8 of each 16. Sums are of its own columns
 * until the end. */
template <int MS>
struct softmax_rows {
    float max[MS][2], sum[MS][2];
};

/* The keys or values that pass by. */
template <typename T>
static __device__ __forceinline__ row_source<T> passing_rows(const cuda_attention &problem, const sequence &s,
                                                             int64_t head, bool value)
{
    const int64_t of_keys = head / (problem.heads / problem.key_value_heads), chunk = 16 / sizeof(T);
    if (!problem.lengths)
        return packed_source<T>(value ? problem.packed.value : problem.packed.key,
                                packed_key(problem, s, of_keys, 0), (int)problem.width);
    const rotary_attention_const_view &cache = value ? problem.value : problem.key;
    const T *first = vector_of<T>(cache, s.batch, 0, of_keys);
    const bool aligned =
        (uintptr_t)first % 16 == 0 && cache.time_stride % chunk == 0 && problem.head_dim % chunk == 0;
    return {first, cache.time_stride, s.keys, s.ring_first, problem.capacity, (int)problem.head_dim, aligned};
}

/* ---- A tile. ---- */

/* Makes scores of products: scores[i][j][e] is of query first.query + row and key first.key + column. */
template <enum work WORK, typename T, int MS, int NS>
static __device__ __forceinline__ void score_tile(const cuda_attention &problem, const sequence &s,
                                                  const element &first, float (&scores)[MS][NS][4])
{
    columns visible[MS][2];
#pragma unroll
    for (int i = 0; i < MS; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t query = first.query + fragment_row(i, 2 * half);
            visible[i][half] = columns_of(keys_of(problem, s, query), first.key, s.keys, query < s.queries);
        }
    each_element<MS, NS>([&](int i, int j, int e) {
        const int column = fragment_column(j, e);
        const columns &own = visible[i][e / 2];
        if (column < own.begin || column >= own.end)
            scores[i][j][e] = -INFINITY;
        else if (WORK == PLAIN_WORK)
            scores[i][j][e] *= problem.scale;
        else
            scores[i][j][e] =
                score_of<T>(problem, s, {first.head, first.query + fragment_row(i, e), first.key + column},
                            scores[i][j][e])
                    .value;
    });
}

/* Replaces the scores of a row by exp(s - max), with the maximum of all keys so far, and returns by what its
 * sums of before are multiplied. */
template <typename T, int NS>
static __device__ __forceinline__ float weigh_row(float &max, float &sum, float (&s)[NS][4], int half)
{
    float largest = max, added = 0.0f;
#pragma unroll
    for (int j = 0; j < NS; j++)
        largest = fmaxf(largest, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
    largest = quad_max(largest);
    const float offset = largest == -INFINITY ? 0.0f : largest, shrink = exponential<T>(max - offset);
#pragma unroll
    for (int j = 0; j < NS; j++)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; e++) {
            s[j][e] = exponential<T>(s[j][e] - offset);
            added += s[j][e];
        }
    max = largest;
    sum = fmaf(sum, shrink, added);
    return shrink;
}

template <typename T, int MS, int NS, int OS>
static __device__ __forceinline__ void update_softmax(softmax_rows<MS> &rows, float (&s)[MS][NS][4],
                                                      float (&output)[MS][OS][4])
{
#pragma unroll
    for (int i = 0; i < MS; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float shrink = weigh_row<T>(rows.max[i][half], rows.sum[i][half], s[i], half);
#pragma unroll
            for (int j = 0; j < OS; j++) {
                output[i][j][2 * half] *= shrink;
                output[i][j][2 * half + 1] *= shrink;
            }
        }
}

template <int MS, int NS>
static __device__ __forceinline__ void drop_weights(const cuda_attention &problem, const sequence &s,
                                                    const element &first, float (&weights)[MS][NS][4])
{
    each_element<MS, NS>([&](int i, int j, int e) {
        weights[i][j][e] *= dropout_factor(
            problem, s, {first.head, first.query + fragment_row(i, e), first.key + fragment_column(j, e)});
    });
}

/* A row of sums of a lane += w V. */
template <int OS>
static __device__ __forceinline__ void add_vector(float (&sums)[OS][4], int half, float w,
                                                  const float *vector, int64_t channels)
{
#pragma unroll
    for (int j = 0; j < OS; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int channel = fragment_column(j, c);
            if (channel < channels)
                sums[j][2 * half + c] = fmaf(w, vector[channel], sums[j][2 * half + c]);
        }
}

/* Adds sum_n w(n) V(n - m) of a tile. A weight of a row is with one of the four lanes that share it. */
template <int MS, int NS, int OS>
static __device__ __forceinline__ void
add_distance_values(const cuda_attention &problem, const sequence &s, const element &first,
                    const float (&weights)[MS][NS][4], float (&output)[MS][OS][4])
{
    const int quad = lane_of_thread() / 4 * 4;
    each_element<MS, NS>([&](int i, int j, int e) {
        for (int lane = 0; lane < 4; lane++) {
            const element at = {first.head, first.query + fragment_row(i, e),
                                first.key + 8 * j + 2 * lane + e % 2};
            const float w = __shfl_sync(WHOLE_WARP, weights[i][j][e], quad + lane);
            add_vector(output[i], e / 2, w, distance_vector(problem.distance_values, s, at),
                       problem.head_dim);
        }
    });
}

/* ---- The end of rows. ---- */

/* What sums are multiplied by, and the log-sum-exp, of a row whose exponentials sum to exp(offset) sum. */
struct finished_row {
    float factor, log_sum_exp;
};

static __device__ inline finished_row finish_softmax(const cuda_attention &problem, int64_t head,
                                                     float offset, float sum)
{
    const float sink = problem.sinks ? problem.sinks[head] : -INFINITY;
    if (sum == 0.0f)
        return {0.0f, sink};
    const float of_keys = offset + logf(sum);
    if (sink == -INFINITY)
        return {1.0f / sum, of_keys};
    const float max = fmaxf(of_keys, sink), keys = expf(of_keys - max), total = keys + expf(sink - max);
    return {keys / total / sum, max + logf(total)};
}

/* Divides the sums of rows by those of their weights, and writes their log-sum-exp. */
template <int MS, int OS>
static __device__ __forceinline__ void finish_sums(const cuda_attention &problem, const sequence &s,
                                                   const element &first, const softmax_rows<MS> &rows,
                                                   float (&output)[MS][OS][4])
{
#pragma unroll
    for (int i = 0; i < MS; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const finished_row row =
                finish_softmax(problem, first.head, rows.max[i][half], quad_sum(rows.sum[i][half]));
            const int64_t query = first.query + fragment_row(i, 2 * half);
            if (problem.log_sum_exp && lane_of_thread() % 4 == 0 && query < s.queries)
                problem.log_sum_exp[head_row(problem, s, first.head) + query] = row.log_sum_exp;
#pragma unroll
            for (int j = 0; j < OS; j++) {
                output[i][j][2 * half] *= row.factor;
                output[i][j][2 * half + 1] *= row.factor;
            }
        }
}

/* A lane clears channels that it stored. */
template <typename T>
static __device__ __forceinline__ void clear_other_channels(const cuda_attention &problem, T *output)
{
    for (int channel = lane_of_thread(); channel < problem.head_dim; channel += WARP)
        if (channel < problem.value_begin || channel >= problem.value_end)
            output[channel] = T{};
}

template <class MEMORY, typename T, int MS, int OS>
static __device__ __forceinline__ void store_outputs(const cuda_attention &problem, const sequence &s,
                                                     const element &first, const float (&output)[MS][OS][4])
{
    stage_sums<MEMORY>(output);
    for (int row = 0; row < 16 * MS && first.query + row < s.queries; row++) {
        const int64_t query = first.query + row, time = s.query + query;
        T *to = vector_of<T>(problem.output, s.batch, time, first.head);
        store_row<MEMORY>(to,
                          rotation_row_of(problem.output_rotation, s.batch * problem.shape.queries + time,
                                          s.first_query + query),
                          row, 1.0f, nullptr, problem.head_dim);
        clear_other_channels(problem, to);
    }
}

/* ---- Kernel and launch. ---- */

template <enum work WORK, typename T, int WIDTH, int MS, int NS>
__global__ void __launch_bounds__(THREADS, 1)
    attention_forward_kernel(const __grid_constant__ cuda_attention problem)
{
    typedef tile_memory<T, WIDTH, MS, NS, 1> memory;
    const block_of_rows block = block_of(problem.longest_queries, memory::ROWS);
    const sequence s = sequence_at(problem, block.sequence);
    const int64_t head = blockIdx.y, mine = block.first + warp_of_thread() * 16 * MS;
    if (block.first >= s.queries)
        return;
    const row_source<T> keys = passing_rows<T>(problem, s, head, false),
                        values = passing_rows<T>(problem, s, head, true);
    softmax_rows<MS> rows;
    float output[MS][WIDTH / 8][4];
    clear(output);
#pragma unroll
    for (int i = 0; i < MS; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            rows.max[i][half] = -INFINITY, rows.sum[i][half] = 0.0f;
    load_rows<WIDTH>(
        memory::staying(0),
        packed_source<T>(problem.packed.query, packed_query(problem, s, head, block.first), WIDTH), 0,
        memory::ROWS);
    each_tile(
        visible_keys(problem, s, block.first, memory::ROWS), memory::COLUMNS,
        [&](int stage, int64_t first) {
            load_rows<WIDTH>(memory::passing(stage, 0), keys, first, memory::COLUMNS);
            if (!problem.key_is_value)
                load_rows<WIDTH>(memory::passing(stage, 1), values, first, memory::COLUMNS);
        },
        [&](int stage, int64_t first) {
            const element at = {head, mine, first};
            float weights[MS][NS][4];
            clear(weights);
            add_scores<WIDTH>(weights, memory::of_warp(0), memory::passed(stage, 0));
            score_tile<WORK, T>(problem, s, at, weights);
            update_softmax<T>(rows, weights, output);
            if (WORK == ALL_WORK && problem.dropout.threshold > 0)
                drop_weights(problem, s, at, weights);
            add_vectors<WIDTH>(output, weights, memory::passed(stage, problem.key_is_value ? 0 : 1));
            if (WORK == ALL_WORK && problem.distance_values.data)
                add_distance_values(problem, s, at, weights, output);
        });
    finish_sums(problem, s, {head, mine, 0}, rows, output);
    store_outputs<memory, T>(problem, s, {head, mine, 0}, output);
}

template <enum work WORK, typename T, int WIDTH, int MS, int NS>
static rotary_status launch(const struct backend *backend, const cuda_attention &problem, rotary_error *error)
{
    typedef tile_memory<T, WIDTH, MS, NS, 1> memory;
    const unsigned blocks = cuda_blocks(problem.longest_queries, memory::ROWS) * (unsigned)problem.sequences;
    return cuda_run(backend,
                    {"attention_forward", dim3(blocks, (unsigned)problem.heads), THREADS, memory::BYTES},
                    error, attention_forward_kernel<WORK, T, WIDTH, MS, NS>, problem);
}

/* The kernel for the work and the width of a problem. */
template <enum work WORK, typename T, int MS, int NS>
static rotary_status launch_of_width(const struct backend *backend, const cuda_attention &problem,
                                     rotary_error *error)
{
    enum { OF_WIDEST = MS > 1 ? NS / 2 : NS }; /* more would take more registers than there are */
    return problem.width == 32   ? launch<WORK, T, 32, MS, NS>(backend, problem, error)
           : problem.width == 64 ? launch<WORK, T, 64, MS, NS>(backend, problem, error)
                                 : launch<WORK, T, 128, MS, OF_WIDEST>(backend, problem, error);
}

rotary_status cuda_attention_forward_rows(const struct backend *backend, const struct cuda_attention *problem,
                                          rotary_error *error)
{
    if (is_plain(*problem))
        return problem->bf16 ? launch_of_width<PLAIN_WORK, bf16, 2, 8>(backend, *problem, error)
                             : launch_of_width<PLAIN_WORK, float, 1, 4>(backend, *problem, error);
    return problem->bf16 ? launch_of_width<ALL_WORK, bf16, 1, 2>(backend, *problem, error)
                         : launch_of_width<ALL_WORK, float, 1, 2>(backend, *problem, error);
}
