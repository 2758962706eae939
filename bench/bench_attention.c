/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed of attention on the shapes that matter: forward, and forward with backward, without rotation, with
 * RoPE, with RoPER. Only work under the causal mask counts: 4 T (T + 1) / 2 D a head forward, 2.5 times that
 * backward.
 *
 *     bench_attention [dtype] [isa] [seconds a measurement] [threads] [batch heads time head_dim]
 */
#include <rotary/attention.h>

#include "base/half.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *memory(size_t bytes)
{
    void *made = NULL;
    if (posix_memalign(&made, 64, bytes ? bytes : 1))
        exit(1);
    memset(made, 0, bytes);
    return made;
}

static void *random_tensor(rotary_dtype dtype, int64_t count, uint64_t seed)
{
    struct rotary_random_key key = {.seed = seed, .stream = ROTARY_STREAM_TEST};
    void *made = memory((size_t)count * rotary_dtype_size(dtype));
    for (int64_t i = 0; i < count; i++) {
        float value = rotary_random_normal(key, (uint64_t)i);
        if (dtype == ROTARY_BF16)
            ((uint16_t *)made)[i] = rotary_bf16_from_float(value);
        else
            ((float *)made)[i] = value;
    }
    return made;
}

struct bench {
    int64_t batch, heads, time, head_dim;
    rotary_dtype dtype;
    rotary_isa isa;
    int threads;
    double seconds; /* a measurement */
};

static void check(rotary_status status, const rotary_error *error)
{
    if (status) {
        fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

/* The least seconds of forward, and of forward and backward. */
static void measure(const struct bench *b, const rotary_rope *rope, const rotary_rope *value_rope,
                    double least[2])
{
    rotary_error error = {0};
    rotary_attention *attention;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = b->heads;
    config.head_dim = b->head_dim;
    config.dtype = b->dtype;
    config.causal = true;
    config.rope = rope;
    config.value_rope = value_rope;
    config.threads = b->threads;
    config.isa = b->isa;
    check(rotary_attention_create(&attention, &config, &error), &error);
    rotary_attention_shape shape = {.batch = b->batch, .queries = b->time, .keys = b->time};
    int64_t head = b->head_dim, token = 3 * b->heads * head, count = b->batch * b->time * b->heads * head;
    size_t size = rotary_dtype_size(b->dtype);
    char *fused = random_tensor(b->dtype, 3 * count, 1), *fused_gradient = memory((size_t)(3 * count) * size);
    char *output = memory((size_t)count * size), *output_gradient = random_tensor(b->dtype, count, 2);
    float *log_sum_exp = memory((size_t)(b->batch * b->heads * b->time) * sizeof(float));
    size_t bytes = rotary_attention_forward_bytes(attention, shape);
    size_t backward_bytes = rotary_attention_backward_bytes(attention, shape);
    void *workspace = memory(bytes > backward_bytes ? bytes : backward_bytes);
    size_t part = (size_t)(b->heads * head) * size;
    rotary_attention_const_view query = {fused, b->time * token, token, head}, key = query, value = query;
    rotary_attention_view query_gradient = {fused_gradient, b->time * token, token, head},
                          key_gradient = query_gradient, value_gradient = query_gradient;
    key.data = fused + part;
    value.data = fused + 2 * part;
    key_gradient.data = fused_gradient + part;
    value_gradient.data = fused_gradient + 2 * part;
    rotary_attention_view out = {output, b->time * b->heads * head, b->heads * head, head};
    rotary_attention_const_view out_given = {output, out.batch_stride, out.time_stride, head},
                                out_gradient = out_given;
    out_gradient.data = output_gradient;
    rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                             .shape = shape,
                                             .query = query,
                                             .key = key,
                                             .value = value,
                                             .output = out,
                                             .log_sum_exp = log_sum_exp,
                                             .workspace = workspace};
    rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                               .shape = shape,
                                               .query = query,
                                               .key = key,
                                               .value = value,
                                               .output = out_given,
                                               .output_gradient = out_gradient,
                                               .log_sum_exp = log_sum_exp,
                                               .query_gradient = query_gradient,
                                               .key_gradient = key_gradient,
                                               .value_gradient = value_gradient,
                                               .workspace = workspace};
    least[0] = least[1] = 1e9;
    for (double begin = now(); now() - begin < b->seconds;) {
        double start = now();
        check(rotary_attention_forward(attention, &forward, &error), &error);
        double middle = now();
        check(rotary_attention_backward(attention, &backward, &error), &error);
        double end = now();
        least[0] = middle - start < least[0] ? middle - start : least[0];
        least[1] = end - start < least[1] ? end - start : least[1];
    }
    void *all[] = {fused, fused_gradient, output, output_gradient, log_sum_exp, workspace};
    for (int i = 0; i < 6; i++)
        free(all[i]);
    rotary_attention_destroy(attention);
}

int main(int argc, char **argv)
{
    static const int64_t shapes[][4] = {
        {4, 8, 640, 64}, {1, 8, 2048, 128}, {16, 4, 512, 32}, {16, 4, 256, 32}, {32, 8, 640, 64},
    };
    struct bench b = {.dtype = argc > 1 && strcmp(argv[1], "f32") == 0 ? ROTARY_F32 : ROTARY_BF16,
                      .seconds = argc > 3 ? atof(argv[3]) : 0.5,
                      .threads = argc > 4 ? atoi(argv[4]) : 0};
    rotary_error error = {0};
    if (argc > 2)
        check(rotary_isa_from_name(&b.isa, argv[2], &error), &error);
    printf("%s %s, GFLOP/s             forward          forward + backward\n", rotary_dtype_name(b.dtype),
           rotary_isa_name(b.isa ? b.isa : rotary_isa_best()));
    printf("%-20s %8s%8s%8s%8s%8s%8s\n", "", "none", "RoPE", "RoPER", "none", "RoPE", "RoPER");
    for (int i = 0; i < (argc > 8 ? 1 : (int)(sizeof shapes / sizeof *shapes)); i++) {
        b.batch = argc > 8 ? atoll(argv[5]) : shapes[i][0];
        b.heads = argc > 8 ? atoll(argv[6]) : shapes[i][1];
        b.time = argc > 8 ? atoll(argv[7]) : shapes[i][2];
        b.head_dim = argc > 8 ? atoll(argv[8]) : shapes[i][3];
        rotary_rope_config config;
        rotary_rope *rope;
        rotary_rope_config_default(&config);
        config.head_dim = b.head_dim;
        check(rotary_rope_create(&rope, &config, &error), &error);
        double least[3][2], flops = 2 * (double)(b.batch * b.heads * b.time * (b.time + 1) * b.head_dim);
        measure(&b, NULL, NULL, least[0]);
        measure(&b, rope, NULL, least[1]);
        measure(&b, rope, rope, least[2]);
        printf("[%lld, %lld, %lld, %lld]%*s", (long long)b.batch, (long long)b.heads, (long long)b.time,
               (long long)b.head_dim, b.time > 999 || b.batch > 9 ? 4 : 5, "");
        for (int pass = 0; pass < 2; pass++)
            for (int how = 0; how < 3; how++)
                printf("%8.0f", flops * (pass ? 3.5 : 1) / least[how][pass] * 1e-9);
        printf("\n");
        rotary_rope_destroy(rope);
    }
    return 0;
}
