/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward, in two passes that each write what they alone sum: a thread block is a block of keys, past which
 * the queries of all heads that share them go, or a block of queries, past which keys go. Scores are computed
 * in both, which is two products of seven more than a pass that adds to the same sums from several blocks, in
 * whatever order these come.
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_stream.h"
#include "cuda/launch.h"

/* dp += g . V; the row of g is in a tile. */
template <typename T>
static __device__ __noinline__ float add_distance_value(const cuda_attention &problem, const sequence &s,
                                                        const element &at, shared_array<const T> g, float dp)
{
    const float *vector = distance_vector(problem.distance_values, s, at);
    for (int64_t i = 0; i < problem.head_dim; i++) {
        const T channel = g[i];
        dp = fmaf(to_float(channel), vector[i], dp);
    }
    return dp;
}

/* The weight and the gradient of an element that is seen. */
template <enum work WORK, typename T>
static __device__ __forceinline__ weight_gradient weights_of(const cuda_attention &problem, const sequence &s,
                                                             const element &at, const saved_row &row,
                                                             float product, float dp, shared_array<const T> g)
{
    if (WORK == PLAIN_WORK) {
        const float p = exponential<T>(fmaf(product, problem.scale, -row.log_sum_exp)),
                    ds = p * (dp - row.delta);
        return {p, ds, ds};
    }
    if (problem.distance_values.data)
        dp = add_distance_value(problem, s, at, g, dp);
    return weight_gradient_of<T>(problem, s, at, row, product, dp);
}

/* ---- Keys and values. ---- */

/* Makes weights and gradients of the products of a transposed tile, whose rows are keys. */
template <enum work WORK, int STRIDE, typename T, int NS>
static __device__ __forceinline__ void weigh_keys(const cuda_attention &problem, const sequence &s,
                                                  const element &first, shared_array<const T> g,
                                                  float (&products)[1][NS][4], float (&dp)[1][NS][4])
{
    const saved_rows rows = saved_rows_of(problem, s, first.head, first.query);
    columns visible[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t key = first.key + fragment_row(0, 2 * half);
        visible[half] = columns_of(queries_of(problem, s, key), first.query, s.queries, key < s.keys);
    }
#pragma unroll
    for (int j = 0; j < NS; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int column = fragment_column(j, c);
            const saved_row saved = saved_row_at(rows, column);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int e = 2 * half + c;
                const element at = {first.head, first.query + column, first.key + fragment_row(0, e)};
                weight_gradient made = {0.0f, 0.0f, 0.0f};
                if (column >= visible[half].begin && column < visible[half].end)
                    made = weights_of<WORK>(problem, s, at, saved, products[0][j][e], dp[0][j][e],
                                            g + column * STRIDE);
                products[0][j][e] = made.weight;
                dp[0][j][e] = made.product;
            }
        }
}

/* Which sums a kernel makes: where calls need registers, those of keys and of values of 128 channels are too many
 * for one. Keys that are the values have one sum, of scale ds q + w g. */
enum sums { ALL_SUMS, KEY_SUMS, VALUE_SUMS, SHARED_SUMS };

/* Writes the gradients of a warp's keys, or of their values. */
template <class MEMORY, typename T, int OS>
static __device__ __forceinline__ void store_keys(const cuda_attention &problem, const sequence &s,
                                                  const element &first, const float (&sums)[1][OS][4],
                                                  enum sums which)
{
    const bool value = which == VALUE_SUMS;
    const cuda_attention_rotation &rotation = value ? problem.value_rotation : problem.key_rotation;
    const rotary_attention_view &gradient = value ? problem.value_gradient : problem.key_gradient;
    const float *unrotated = value ? nullptr : problem.unrotated_key;
    stage_sums<MEMORY>(sums);
    for (int row = 0; row < 16 && first.key + row < s.stored_keys; row++) {
        const int64_t key = first.key + row, time = s.key + key;
        store_row<MEMORY>(vector_of<T>(gradient, s.batch, time, first.head),
                          rotation_row_of(rotation, s.batch * problem.shape.keys + time,
                                          s.first_query - s.query_offset + key),
                          row, which == KEY_SUMS ? problem.scale : 1.0f,
                          unrotated ? unrotated + packed_key(problem, s, first.head, key) : nullptr,
                          problem.head_dim);
    }
}

template <enum work WORK, enum sums SUMS, typename T, int WIDTH, int NS>
__global__ void __launch_bounds__(THREADS, 1)
    attention_backward_keys_kernel(const __grid_constant__ cuda_attention problem)
{
    typedef tile_memory<T, WIDTH, 1, NS, 2> memory;
    const block_of_rows block = block_of(problem.longest_keys, memory::ROWS);
    const sequence s = sequence_at(problem, block.sequence);
    const int64_t key_value_head = blockIdx.y, group = problem.heads / problem.key_value_heads,
                  mine = block.first + warp_of_thread() * 16,
                  rows = packed_key(problem, s, key_value_head, block.first);
    if (block.first >= s.stored_keys)
        return;
    float key_sums[1][WIDTH / 8][4], value_sums[1][WIDTH / 8][4];
    clear(key_sums);
    clear(value_sums);
    load_rows<WIDTH>(memory::staying(0), packed_source<T>(problem.packed.key, rows, WIDTH), 0, memory::ROWS);
    load_rows<WIDTH>(memory::staying(1), packed_source<T>(problem.packed.value, rows, WIDTH), 0,
                     memory::ROWS);
    for (int64_t head = key_value_head * group; head < (key_value_head + 1) * group; head++) {
        each_tile(
            visible_queries(problem, s, block.first, memory::ROWS), memory::COLUMNS,
            [&](int stage, int64_t first) {
                const int64_t at = packed_query(problem, s, head, 0);
                load_rows<WIDTH>(memory::passing(stage, 0), packed_source<T>(problem.packed.query, at, WIDTH),
                                 first, memory::COLUMNS);
                load_rows<WIDTH>(memory::passing(stage, 1),
                                 packed_source<T>(problem.packed.output_gradient, at, WIDTH), first,
                                 memory::COLUMNS);
            },
            [&](int stage, int64_t first) {
                const shared_array<const T> query = memory::passed(stage, 0), g = memory::passed(stage, 1);
                float weights[1][NS][4], dp[1][NS][4];
                clear(weights);
                clear(dp);
                add_scores<WIDTH>(weights, memory::of_warp(0), query);
                add_scores<WIDTH>(dp, memory::of_warp(1), g);
                weigh_keys<WORK, memory::STRIDE>(problem, s, {head, first, mine}, g, weights, dp);
                if (SUMS == SHARED_SUMS)
                    each_element<1, NS>([&](int i, int j, int e) { dp[i][j][e] *= problem.scale; });
                if (SUMS == SHARED_SUMS)
                    add_vectors<WIDTH>(key_sums, weights, g);
                else if (SUMS != KEY_SUMS)
                    add_vectors<WIDTH>(value_sums, weights, g);
                if (SUMS != VALUE_SUMS)
                    add_vectors<WIDTH>(key_sums, dp, query);
            });
    }
    const element at = {key_value_head, 0, mine};
    if (SUMS == ALL_SUMS || SUMS == VALUE_SUMS)
        store_keys<memory, T>(problem, s, at, value_sums, VALUE_SUMS);
    if (SUMS != VALUE_SUMS)
        store_keys<memory, T>(problem, s, at, key_sums, SUMS == SHARED_SUMS ? SHARED_SUMS : KEY_SUMS);
}

/* ---- Queries. ---- */

/* Makes gradients of the products of a tile, whose rows are queries. */
template <enum work WORK, int STRIDE, typename T, int NS>
static __device__ __forceinline__ void
weigh_queries(const cuda_attention &problem, const sequence &s, const element &first, shared_array<const T> g,
              const saved_row (&saved)[2], const float (&products)[1][NS][4], float (&dp)[1][NS][4])
{
    columns visible[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t query = first.query + fragment_row(0, 2 * half);
        visible[half] = columns_of(keys_of(problem, s, query), first.key, s.keys, query < s.queries);
    }
    each_element<1, NS>([&](int i, int j, int e) {
        const int row = fragment_row(i, e), column = fragment_column(j, e);
        const columns &own = visible[e / 2];
        weight_gradient made = {0.0f, 0.0f, 0.0f};
        if (column >= own.begin && column < own.end)
            made = weights_of<WORK>(problem, s, {first.head, first.query + row, first.key + column},
                                    saved[e / 2], products[i][j][e], dp[i][j][e], g + row * STRIDE);
        dp[i][j][e] = made.product;
    });
}

template <class MEMORY, typename T, int OS>
static __device__ __forceinline__ void store_queries(const cuda_attention &problem, const sequence &s,
                                                     const element &first, const float (&sums)[1][OS][4])
{
    const float *unrotated = problem.unrotated_query;
    stage_sums<MEMORY>(sums);
    for (int row = 0; row < 16 && first.query + row < s.queries; row++) {
        const int64_t query = first.query + row, time = s.query + query;
        store_row<MEMORY>(vector_of<T>(problem.query_gradient, s.batch, time, first.head),
                          rotation_row_of(problem.query_rotation, s.batch * problem.shape.queries + time,
                                          s.first_query + query),
                          row, problem.scale,
                          unrotated ? unrotated + packed_query(problem, s, first.head, query) : nullptr,
                          problem.head_dim);
    }
}

template <enum work WORK, typename T, int WIDTH, int NS>
__global__ void __launch_bounds__(THREADS, 1)
    attention_backward_queries_kernel(const __grid_constant__ cuda_attention problem)
{
    typedef tile_memory<T, WIDTH, 1, NS, 2> memory;
    const block_of_rows block = block_of(problem.longest_queries, memory::ROWS);
    const sequence s = sequence_at(problem, block.sequence);
    const int64_t head = blockIdx.y, mine = block.first + warp_of_thread() * 16,
                  rows = packed_query(problem, s, head, block.first),
                  at = packed_key(problem, s, head / (problem.heads / problem.key_value_heads), 0);
    if (block.first >= s.queries)
        return;
    const saved_rows all = saved_rows_of(problem, s, head, block.first);
    const saved_row saved[2] = {saved_row_at(all, (int)(mine - block.first) + fragment_row(0, 0)),
                                saved_row_at(all, (int)(mine - block.first) + fragment_row(0, 2))};
    float sums[1][WIDTH / 8][4];
    clear(sums);
    load_rows<WIDTH>(memory::staying(0), packed_source<T>(problem.packed.query, rows, WIDTH), 0,
                     memory::ROWS);
    load_rows<WIDTH>(memory::staying(1), packed_source<T>(problem.packed.output_gradient, rows, WIDTH), 0,
                     memory::ROWS);
    each_tile(
        visible_keys(problem, s, block.first, memory::ROWS), memory::COLUMNS,
        [&](int stage, int64_t first) {
            load_rows<WIDTH>(memory::passing(stage, 0), packed_source<T>(problem.packed.key, at, WIDTH),
                             first, memory::COLUMNS);
            if (!problem.key_is_value)
                load_rows<WIDTH>(memory::passing(stage, 1), packed_source<T>(problem.packed.value, at, WIDTH),
                                 first, memory::COLUMNS);
        },
        [&](int stage, int64_t first) {
            float scores[1][NS][4], dp[1][NS][4];
            clear(scores);
            clear(dp);
            add_scores<WIDTH>(scores, memory::of_warp(0), memory::passed(stage, 0));
            add_scores<WIDTH>(dp, memory::of_warp(1), memory::passed(stage, problem.key_is_value ? 0 : 1));
            weigh_queries<WORK, memory::STRIDE>(problem, s, {head, mine, first}, memory::of_warp(1), saved,
                                                scores, dp);
            add_vectors<WIDTH>(sums, dp, memory::passed(stage, 0));
        });
    store_queries<memory, T>(problem, s, {head, mine, 0}, sums);
}

/* ---- Launches. ---- */

template <enum work WORK, enum sums SUMS, typename T, int WIDTH, int NS>
static rotary_status launch_keys(const struct backend *backend, const cuda_attention &problem,
                                 rotary_error *error)
{
    typedef tile_memory<T, WIDTH, 1, NS, 2> memory;
    const unsigned blocks = cuda_blocks(problem.longest_keys, memory::ROWS) * (unsigned)problem.sequences;
    return cuda_run(
        backend,
        {"attention_backward_keys", dim3(blocks, (unsigned)problem.key_value_heads), THREADS, memory::BYTES},
        error, attention_backward_keys_kernel<WORK, SUMS, T, WIDTH, NS>, problem);
}

template <enum work WORK, typename T, int WIDTH, int NS>
static rotary_status launch_queries(const struct backend *backend, const cuda_attention &problem,
                                    rotary_error *error)
{
    typedef tile_memory<T, WIDTH, 1, NS, 2> memory;
    const unsigned blocks = cuda_blocks(problem.longest_queries, memory::ROWS) * (unsigned)problem.sequences;
    return cuda_run(
        backend,
        {"attention_backward_queries", dim3(blocks, (unsigned)problem.heads), THREADS, memory::BYTES}, error,
        attention_backward_queries_kernel<WORK, T, WIDTH, NS>, problem);
}

template <enum work WORK, typename T, int NS>
static rotary_status launch_shared_keys(const struct backend *backend, const cuda_attention &problem,
                                        rotary_error *error)
{
    return problem.width == 32   ? launch_keys<WORK, SHARED_SUMS, T, 32, NS>(backend, problem, error)
           : problem.width == 64 ? launch_keys<WORK, SHARED_SUMS, T, 64, NS / 2>(backend, problem, error)
                                 : launch_keys<WORK, SHARED_SUMS, T, 128, NS / 2>(backend, problem, error);
}

/* The kernel for the work and the width of a problem. */
template <enum work WORK, typename T, int NS>
static rotary_status launch_keys_of_width(const struct backend *backend, const cuda_attention &problem,
                                          rotary_error *error)
{
    if (problem.key_is_value)
        return launch_shared_keys<WORK, T, NS>(backend, problem, error);
    if (problem.width == 32)
        return launch_keys<WORK, ALL_SUMS, T, 32, NS>(backend, problem, error);
    if (problem.width == 64)
        return launch_keys<WORK, ALL_SUMS, T, 64, NS / 2>(backend, problem, error);
    if constexpr (WORK == PLAIN_WORK)
        return launch_keys<PLAIN_WORK, ALL_SUMS, T, 128, NS / 2>(backend, problem, error);
    else {
        rotary_status status = launch_keys<ALL_WORK, KEY_SUMS, T, 128, NS / 2>(backend, problem, error);
        return status ? status : launch_keys<ALL_WORK, VALUE_SUMS, T, 128, NS / 2>(backend, problem, error);
    }
}

template <enum work WORK, typename T, int NS>
static rotary_status launch_queries_of_width(const struct backend *backend, const cuda_attention &problem,
                                             rotary_error *error)
{
    return problem.width == 32   ? launch_queries<WORK, T, 32, NS>(backend, problem, error)
           : problem.width == 64 ? launch_queries<WORK, T, 64, NS>(backend, problem, error)
                                 : launch_queries<WORK, T, 128, NS>(backend, problem, error);
}

rotary_status cuda_attention_backward_keys(const struct backend *backend,
                                           const struct cuda_attention *problem, rotary_error *error)
{
    if (is_plain(*problem))
        return problem->bf16 ? launch_keys_of_width<PLAIN_WORK, bf16, 8>(backend, *problem, error)
                             : launch_keys_of_width<PLAIN_WORK, float, 4>(backend, *problem, error);
    return problem->bf16 ? launch_keys_of_width<ALL_WORK, bf16, 4>(backend, *problem, error)
                         : launch_keys_of_width<ALL_WORK, float, 2>(backend, *problem, error);
}

rotary_status cuda_attention_backward_queries(const struct backend *backend,
                                              const struct cuda_attention *problem, rotary_error *error)
{
    if (is_plain(*problem))
        return problem->bf16 ? launch_queries_of_width<PLAIN_WORK, bf16, 8>(backend, *problem, error)
                             : launch_queries_of_width<PLAIN_WORK, float, 4>(backend, *problem, error);
    return problem->bf16 ? launch_queries_of_width<ALL_WORK, bf16, 4>(backend, *problem, error)
                         : launch_queries_of_width<ALL_WORK, float, 2>(backend, *problem, error);
}
