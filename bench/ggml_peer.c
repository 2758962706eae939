/* SPDX-License-Identifier: Apache-2.0
 *
 * Times ggml's rotation and flash attention on the shapes of `rotary bench rope` and `rotary bench
 * attention`: ggml_peer THREADS [ROUNDS]. scripts/bench-peers compiles it with a given ggml.
 *
 * Prints one line each, with the shortest time of all rounds: "rope f32 half SECONDS", "attention 4,8,640,64
 * SECONDS". Attention is computed as models do with ggml: queries and keys are rotated in f32, keys and
 * values rounded to f16, then flash attention runs with a causal mask.
 */
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIME = 4096, HEADS = 32, HEAD_DIM = 128, NODES = 64 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct ggml_context *create(size_t bytes)
{
    struct ggml_context *context = ggml_init((struct ggml_init_params){.mem_size = bytes + (64u << 20)});
    if (!context) {
        fprintf(stderr, "ggml_peer: ggml cannot allocate %zu bytes\n", bytes);
        exit(1);
    }
    return context;
}

/* The shortest time of `rounds` computations of the graph, after one that is not timed. */
static double shortest(struct ggml_context *context, struct ggml_tensor *result, int threads, int rounds)
{
    struct ggml_cgraph *graph = ggml_new_graph_custom(context, NODES, false);
    ggml_build_forward_expand(graph, result);
    struct ggml_cplan plan = ggml_graph_plan(graph, threads, NULL);
    plan.work_data = malloc(plan.work_size + 1);
    double best = 1e9;
    for (int round = 0; round <= rounds; round++) {
        double begin = now();
        if (!plan.work_data || ggml_graph_compute(graph, &plan) != GGML_STATUS_SUCCESS) {
            fprintf(stderr, "ggml_peer: ggml cannot compute the graph\n");
            exit(1);
        }
        double seconds = now() - begin;
        best = round > 0 && seconds < best ? seconds : best;
    }
    free(plan.work_data);
    return best;
}

static struct ggml_tensor *positions(struct ggml_context *context, int64_t time)
{
    struct ggml_tensor *tensor = ggml_new_tensor_1d(context, GGML_TYPE_I32, time);
    for (int32_t i = 0; i < time; i++)
        ((int32_t *)tensor->data)[i] = i;
    return tensor;
}

static struct ggml_tensor *rotate(struct ggml_context *context, struct ggml_tensor *tensor,
                                  struct ggml_tensor *position_tensor, int mode)
{
    int dim = (int)tensor->ne[0];
    return ggml_rope_ext(context, tensor, position_tensor, NULL, dim, mode, 0, 10000.0f, 1.0f, 0.0f, 1.0f,
                         32.0f, 1.0f);
}

static void time_rope(enum ggml_type type, int mode, int threads, int rounds)
{
    struct ggml_context *context = create(ggml_type_size(type) * TIME * HEADS * HEAD_DIM);
    struct ggml_tensor *tensor = ggml_new_tensor_3d(context, type, HEAD_DIM, HEADS, TIME);
    memset(tensor->data, 0, ggml_nbytes(tensor));
    struct ggml_tensor *rotated =
        ggml_rope_ext_inplace(context, tensor, positions(context, TIME), NULL, HEAD_DIM, mode, 0, 10000.0f,
                              1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    printf("rope %s %s %.9f\n", ggml_type_name(type), mode == GGML_ROPE_TYPE_NEOX ? "half" : "interleaved",
           shortest(context, rotated, threads, rounds));
    ggml_free(context);
}

static struct ggml_tensor *numbers(struct ggml_context *context, int64_t batch, int64_t heads, int64_t time,
                                   int64_t head_dim)
{
    struct ggml_tensor *tensor = ggml_new_tensor_4d(context, GGML_TYPE_F32, head_dim, heads, time, batch);
    uint32_t state = 1;
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        state = state * 1664525u + 1013904223u;
        ((float *)tensor->data)[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return tensor;
}

static void time_attention(const int64_t shape[4], int threads, int rounds)
{
    int64_t batch = shape[0], heads = shape[1], time = shape[2], head_dim = shape[3];
    size_t bytes = (size_t)(batch * heads * time * head_dim) * sizeof(float) * 16 + (size_t)(time * time) * 4;
    struct ggml_context *context = create(bytes);
    struct ggml_tensor *position_tensor = positions(context, time);
    struct ggml_tensor *inputs[3];
    for (int i = 0; i < 3; i++) {
        inputs[i] = numbers(context, batch, heads, time, head_dim);
        if (i < 2)
            inputs[i] = rotate(context, inputs[i], position_tensor, GGML_ROPE_TYPE_NEOX);
        inputs[i] = ggml_permute(context, inputs[i], 0, 2, 1, 3);
        if (i > 0)
            inputs[i] = ggml_cast(context, inputs[i], GGML_TYPE_F16);
    }
    struct ggml_tensor *mask = ggml_new_tensor_2d(context, GGML_TYPE_F16, time, time);
    for (int64_t m = 0; m < time; m++)
        for (int64_t n = 0; n < time; n++)
            ((ggml_fp16_t *)mask->data)[m * time + n] = ggml_fp32_to_fp16(n > m ? -INFINITY : 0.0f);
    struct ggml_tensor *output = ggml_flash_attn_ext(context, inputs[0], inputs[1], inputs[2], mask,
                                                     1.0f / sqrtf((float)head_dim), 0.0f, 0.0f);
    printf("attention %lld,%lld,%lld,%lld %.9f\n", (long long)batch, (long long)heads, (long long)time,
           (long long)head_dim, shortest(context, output, threads, rounds));
    ggml_free(context);
}

int main(int count, char **arguments)
{
    static const int64_t shapes[][4] = {{4, 8, 640, 64}, {1, 8, 2048, 128}, {16, 4, 512, 32}};
    static const enum ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16};
    static const int modes[] = {GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_NORMAL};
    if (count < 2) {
        fprintf(stderr, "usage: ggml_peer THREADS [ROUNDS]\n");
        return 2;
    }
    int threads = atoi(arguments[1]), rounds = count > 2 ? atoi(arguments[2]) : 10;
    ggml_cpu_init();
    for (int type = 0; type < 2; type++)
        for (int mode = 0; mode < 2; mode++)
            time_rope(types[type], modes[mode], threads, rounds);
    for (int i = 0; i < 3; i++)
        time_attention(shapes[i], threads, rounds);
    return 0;
}
