/* SPDX-License-Identifier: Apache-2.0
 *
 * What attention does row by row before its tiles: packed rows of rotated vectors, and dout . out.
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_stream.h"
#include "cuda/launch.h"

enum { ROWS_PER_BLOCK = 32 };

/* ---- Packing. ---- */

/* A tensor to pack. */
struct packing {
    rotary_attention_const_view view;
    cuda_attention_rotation rotation;
    void *packed; /* NULL: it is not */
    int64_t heads;
    bool of_keys;
    int64_t begin, end; /* the channels that are not 0 */
};

struct packings {
    packing tensor[4];
};

/* A row of a sequence: zeros for a key beyond its length, and for other channels. */
template <typename T>
static __device__ void pack_row(const cuda_attention &problem, const packing &packing, const sequence &s,
                                int64_t row)
{
    const int64_t tokens = packing.of_keys ? problem.shape.keys : problem.shape.queries,
                  time = (packing.of_keys ? s.key : s.query) + row, place = s.batch * tokens + time,
                  position = s.first_query - (packing.of_keys ? s.query_offset : 0) + row, head = blockIdx.y,
                  width = problem.width;
    const bool exists = row < (packing.of_keys ? s.keys : s.queries);
    rotation_row angles = {};
    if (exists)
        angles = rotation_row_of(packing.rotation, place, position);
    const T *from = vector_of<T>(packing.view, s.batch, time, head);
    T *to = (T *)packing.packed + (head * packed_rows(problem, tokens) + place) * width;
    for (int channel = lane_of_thread(); channel < width; channel += WARP)
        to[channel] = exists && channel >= packing.begin && channel < packing.end
                          ? from_float<T>(rotated_channel(angles, 1.0f, channel,
                                                          [&](int c) { return to_float(from[c]); }))
                          : T{};
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    attention_pack_kernel(const __grid_constant__ cuda_attention problem,
                          const __grid_constant__ packings all)
{
    const packing &packing = all.tensor[blockIdx.z];
    if (!packing.packed || (int64_t)blockIdx.y >= packing.heads)
        return;
    const int64_t tokens = packing.of_keys ? problem.shape.keys : problem.shape.queries;
    if (blockIdx.x == 0) { /* the rows that tiles may read beyond the last token */
        T *end =
            (T *)packing.packed +
            (((int64_t)blockIdx.y + 1) * packed_rows(problem, tokens) - CUDA_ATTENTION_PAD) * problem.width;
        for (int64_t at = threadIdx.x; at < CUDA_ATTENTION_PAD * problem.width; at += THREADS)
            end[at] = T{};
    }
    const block_of_rows block =
        block_of(packing.of_keys ? problem.longest_keys : problem.longest_queries, ROWS_PER_BLOCK);
    if (block.sequence >= problem.sequences)
        return;
    const sequence s = sequence_at(problem, block.sequence);
    const int64_t rows = packing.of_keys ? s.stored_keys : s.queries;
    for (int row = warp_of_thread(); row < ROWS_PER_BLOCK && block.first + row < rows; row += WARPS)
        pack_row<T>(problem, packing, s, block.first + row);
}

template <typename T>
static rotary_status launch_pack(const struct backend *backend, const cuda_attention &problem,
                                 const packings &all, rotary_error *error)
{
    const int64_t longest = max_i64(problem.longest_queries, problem.longest_keys);
    const unsigned blocks = cuda_blocks(longest, ROWS_PER_BLOCK) * (unsigned)problem.sequences;
    return cuda_run(backend, {"attention_pack", dim3(blocks, (unsigned)problem.heads, 4), THREADS, 0}, error,
                    attention_pack_kernel<T>, problem, all);
}

rotary_status cuda_attention_pack(const struct backend *backend, const struct cuda_attention *problem,
                                  rotary_error *error)
{
    const int64_t heads = problem->heads, shared = problem->key_value_heads, width = problem->head_dim;
    const packings all = {
        {{problem->query, problem->query_rotation, problem->packed.query, heads, false, 0, width},
         {problem->key, problem->key_rotation, problem->packed.key, shared, true, 0, width},
         {problem->value, problem->value_rotation, problem->key_is_value ? nullptr : problem->packed.value,
          shared, true, 0, width},
         {problem->output_gradient, problem->output_rotation, problem->packed.output_gradient, heads, false,
          problem->value_begin, problem->value_end}}};
    return problem->bf16 ? launch_pack<bf16>(backend, *problem, all, error)
                         : launch_pack<float>(backend, *problem, all, error);
}

/* ---- dout . out. ---- */

/* A warp has a row. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    attention_delta_kernel(const __grid_constant__ cuda_attention problem)
{
    const int64_t row = (int64_t)blockIdx.x * WARPS + warp_of_thread(), head = blockIdx.y,
                  batch = row / problem.shape.queries, query = row % problem.shape.queries;
    if (batch >= problem.shape.batch)
        return;
    const T *output = vector_of<T>(problem.saved_output, batch, query, head),
            *gradient = vector_of<T>(problem.output_gradient, batch, query, head);
    float sum = 0.0f;
    for (int64_t channel = lane_of_thread(); channel < problem.head_dim; channel += WARP)
        sum = fmaf(to_float(output[channel]), to_float(gradient[channel]), sum);
    sum = warp_sum(sum);
    if (lane_of_thread() == 0)
        problem.delta[(batch * problem.heads + head) * problem.shape.queries + query] = sum;
}

/* - sum_m exp(sink - lse(m)) delta(m) of a head, by one warp. */
__global__ void __launch_bounds__(WARP) attention_sink_kernel(const __grid_constant__ cuda_attention problem)
{
    const int64_t head = blockIdx.x, queries = problem.shape.queries;
    const float sink = problem.sinks[head];
    float sum = 0.0f;
    for (int64_t row = lane_of_thread(); row < problem.shape.batch * queries; row += WARP) {
        const int64_t at = (row / queries * problem.heads + head) * queries + row % queries;
        if (sink > -INFINITY)
            sum = fmaf(-expf(sink - problem.log_sum_exp[at]), problem.delta[at], sum);
    }
    sum = warp_sum(sum);
    if (lane_of_thread() == 0)
        problem.sinks_gradient[head] += sum;
}

rotary_status cuda_attention_delta(const struct backend *backend, const struct cuda_attention *problem,
                                   rotary_error *error)
{
    const unsigned blocks = cuda_blocks(problem->shape.batch * problem->shape.queries, WARPS);
    const cuda_launch launch = {"attention_delta", dim3(blocks, (unsigned)problem->heads), THREADS, 0};
    rotary_status status = problem->bf16
                               ? cuda_run(backend, launch, error, attention_delta_kernel<bf16>, *problem)
                               : cuda_run(backend, launch, error, attention_delta_kernel<float>, *problem);
    if (status == ROTARY_OK && problem->sinks && problem->sinks_gradient)
        status = cuda_run(backend, {"attention_sink", dim3((unsigned)problem->heads), WARP, 0}, error,
                          attention_sink_kernel, *problem);
    return status;
}
