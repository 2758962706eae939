/* SPDX-License-Identifier: Apache-2.0
 *
 * Times operations of librotary for scripts/compare-speed, which links this with two builds of the library
 * and alternates between the two processes. It calls public functions alone.
 *
 *     speed_probe          names on stdin, one a line; for each, the seconds of one measurement on stdout
 *     speed_probe --list   the names
 */
#include <rotary/rotary.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFERS = 8, REPETITIONS = 5 /* of a measurement, which is the shortest of them */ };
static const double REPETITION_SECONDS = 0.02; /* about as long each repetition is */

struct probe {
    const char *name;
    rotary_status (*run)(const struct probe *probe);
    rotary_dtype dtype;
    bool rotate_values, backward;
    bool packed; /* `batch` sequences of 8 to 32 tokens, in one of `time` tokens */
    int64_t batch, time, heads, key_value_heads, head_dim;
    /* Made at the first measurement. */
    rotary_rope *rope;
    rotary_attention *attention;
    float *buffers[BUFFERS], *log_sum_exp;
    int64_t *lengths;
    int32_t *starts;
    void *workspace;
    int64_t calls; /* of a repetition */
};

static void stop(const char *what, const rotary_error *error)
{
    fprintf(stderr, "speed_probe: %s: %s\n", what, error->message);
    exit(1);
}

/* Processor time. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *memory(size_t bytes)
{
    void *made = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!made) {
        fprintf(stderr, "speed_probe: no memory\n");
        exit(1);
    }
    return memset(made, 0, bytes);
}

/* Numbers of -1 ... 1. */
static void fill(const struct probe *probe, void *data, int64_t count)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        float value = (float)(int32_t)(state >> 32) * 0x1p-31f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (probe->dtype == ROTARY_F32)
            ((float *)data)[i] = value;
        else
            ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
    }
}

static rotary_attention_shape shape_of(const struct probe *probe)
{
    return (rotary_attention_shape){
        .batch = probe->packed ? 1 : probe->batch, .queries = probe->time, .keys = probe->time};
}

static rotary_attention_packed_sequences packed_of(const struct probe *probe)
{
    if (!probe->packed)
        return (rotary_attention_packed_sequences){0};
    return (rotary_attention_packed_sequences){.query_starts = probe->starts, .sequences = probe->batch};
}

static rotary_attention_view heads_of(const struct probe *probe, int buffer, int64_t time, int64_t heads)
{
    return (rotary_attention_view){probe->buffers[buffer], time * heads * probe->head_dim,
                                   heads * probe->head_dim, probe->head_dim};
}

static rotary_attention_const_view input_of(const struct probe *probe, int buffer, int64_t time,
                                            int64_t heads)
{
    rotary_attention_view view = heads_of(probe, buffer, time, heads);
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}

static rotary_status run_rotation(const struct probe *probe)
{
    int64_t row = probe->heads * probe->head_dim;
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = probe->batch, .time = probe->time};
    call.query.heads = probe->heads;
    call.query.input =
        (rotary_rope_const_view){probe->buffers[0], probe->dtype, probe->time * row, row, probe->head_dim};
    call.query.output =
        (rotary_rope_view){probe->buffers[1], probe->dtype, probe->time * row, row, probe->head_dim};
    return rotary_rope_apply(probe->rope, &call, NULL);
}

static rotary_status run_attention(const struct probe *probe)
{
    int64_t time = probe->time, heads = probe->heads, key_heads = probe->key_value_heads;
    const rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                                   .shape = shape_of(probe),
                                                   .packed_sequences = packed_of(probe),
                                                   .query = input_of(probe, 0, time, heads),
                                                   .key = input_of(probe, 1, time, key_heads),
                                                   .value = input_of(probe, 2, time, key_heads),
                                                   .output = heads_of(probe, 3, time, heads),
                                                   .log_sum_exp = probe->log_sum_exp,
                                                   .workspace = probe->workspace};
    rotary_status status = rotary_attention_forward(probe->attention, &forward, NULL);
    if (status != ROTARY_OK || !probe->backward)
        return status;
    const rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                                     .shape = forward.shape,
                                                     .packed_sequences = forward.packed_sequences,
                                                     .query = forward.query,
                                                     .key = forward.key,
                                                     .value = forward.value,
                                                     .output = input_of(probe, 3, time, heads),
                                                     .output_gradient = input_of(probe, 4, time, heads),
                                                     .log_sum_exp = probe->log_sum_exp,
                                                     .query_gradient = heads_of(probe, 5, time, heads),
                                                     .key_gradient = heads_of(probe, 6, time, key_heads),
                                                     .value_gradient = heads_of(probe, 7, time, key_heads),
                                                     .workspace = probe->workspace};
    return rotary_attention_backward(probe->attention, &backward, NULL);
}

/* One new token after time - 1 in the cache. */
static rotary_status run_decode(const struct probe *probe)
{
    int64_t heads = probe->heads, key_heads = probe->key_value_heads;
    const rotary_attention_decode_call call = {.struct_size = sizeof call,
                                               .batch = probe->batch,
                                               .queries = 1,
                                               .capacity = probe->time,
                                               .lengths = probe->lengths,
                                               .query = input_of(probe, 0, 1, heads),
                                               .key = input_of(probe, 1, 1, key_heads),
                                               .value = input_of(probe, 2, 1, key_heads),
                                               .key_cache = heads_of(probe, 3, probe->time, key_heads),
                                               .value_cache = heads_of(probe, 4, probe->time, key_heads),
                                               .output = heads_of(probe, 5, 1, heads),
                                               .workspace = probe->workspace};
    return rotary_attention_decode(probe->attention, &call, NULL);
}

static struct probe probes[] = {
    {.name = "rotation f32",
     .run = run_rotation,
     .dtype = ROTARY_F32,
     .batch = 1,
     .time = 2048,
     .heads = 8,
     .key_value_heads = 8,
     .head_dim = 128},
    {.name = "rotation bf16",
     .run = run_rotation,
     .dtype = ROTARY_BF16,
     .batch = 1,
     .time = 2048,
     .heads = 8,
     .key_value_heads = 8,
     .head_dim = 128},
    {.name = "attention forward",
     .run = run_attention,
     .dtype = ROTARY_F32,
     .batch = 4,
     .time = 256,
     .heads = 8,
     .key_value_heads = 8,
     .head_dim = 64},
    {.name = "attention forward, rotary values",
     .run = run_attention,
     .dtype = ROTARY_F32,
     .rotate_values = true,
     .batch = 4,
     .time = 640,
     .heads = 4,
     .key_value_heads = 4,
     .head_dim = 64},
    {.name = "attention forward and backward",
     .run = run_attention,
     .dtype = ROTARY_F32,
     .backward = true,
     .batch = 16,
     .time = 256,
     .heads = 4,
     .key_value_heads = 4,
     .head_dim = 32},
    {.name = "attention forward and backward, rotary values, bf16",
     .run = run_attention,
     .dtype = ROTARY_BF16,
     .rotate_values = true,
     .backward = true,
     .batch = 2,
     .time = 640,
     .heads = 4,
     .key_value_heads = 4,
     .head_dim = 64},
    {.name = "attention of packed short sequences",
     .run = run_attention,
     .dtype = ROTARY_F32,
     .backward = true,
     .packed = true,
     .batch = 256,
     .time = 256 * 20,
     .heads = 8,
     .key_value_heads = 8,
     .head_dim = 64},
    {.name = "decoding f32",
     .run = run_decode,
     .dtype = ROTARY_F32,
     .batch = 1,
     .time = 8192,
     .heads = 8,
     .key_value_heads = 8,
     .head_dim = 128},
    {.name = "decoding bf16, grouped heads",
     .run = run_decode,
     .dtype = ROTARY_BF16,
     .rotate_values = true,
     .batch = 4,
     .time = 8192,
     .heads = 16,
     .key_value_heads = 4,
     .head_dim = 128},
};
enum { PROBES = sizeof probes / sizeof *probes };

static void create_plans(struct probe *probe)
{
    rotary_error error;
    rotary_rope_config rope;
    rotary_rope_config_default(&rope);
    rope.head_dim = probe->head_dim;
    rope.table_positions = probe->time;
    rope.threads = 1;
    if (rotary_rope_create(&probe->rope, &rope, &error) != ROTARY_OK)
        stop(probe->name, &error);
    rotary_attention_config attention;
    rotary_attention_config_default(&attention);
    attention.heads = probe->heads;
    attention.key_value_heads = probe->key_value_heads;
    attention.head_dim = probe->head_dim;
    attention.dtype = probe->dtype;
    attention.causal = true;
    attention.rope = probe->rope;
    attention.value_rope = probe->rotate_values ? probe->rope : NULL;
    attention.threads = 1;
    if (rotary_attention_create(&probe->attention, &attention, &error) != ROTARY_OK)
        stop(probe->name, &error);
}

static double repeat(const struct probe *probe)
{
    double begin = now();
    for (int64_t i = 0; i < probe->calls; i++)
        if (probe->run(probe) != ROTARY_OK)
            stop(probe->name, &(rotary_error){.message = "it was refused"});
    return now() - begin;
}

static double measure(const struct probe *probe)
{
    double shortest = repeat(probe);
    for (int i = 1; i < REPETITIONS; i++) {
        double seconds = repeat(probe);
        shortest = seconds < shortest ? seconds : shortest;
    }
    return shortest;
}

static void create(struct probe *probe)
{
    create_plans(probe);
    int64_t tokens = shape_of(probe).batch * probe->time, elements = tokens * probe->heads * probe->head_dim;
    for (int i = 0; i < BUFFERS; i++) {
        probe->buffers[i] = memory((size_t)elements * sizeof(float));
        fill(probe, probe->buffers[i], elements);
    }
    probe->log_sum_exp = memory((size_t)(probe->heads * tokens) * sizeof(float));
    probe->lengths = memory((size_t)probe->batch * sizeof *probe->lengths);
    for (int64_t i = 0; i < probe->batch; i++)
        probe->lengths[i] = probe->time - 1;
    /* Lengths 8, 32, 9, 31, ..., whose mean is 20. */
    probe->starts = memory((size_t)(probe->batch + 1) * sizeof *probe->starts);
    for (int64_t i = 0; i < probe->batch; i++)
        probe->starts[i + 1] = probe->starts[i] + (int32_t)(i % 2 ? 32 - i / 2 % 25 : 8 + i / 2 % 25);
    rotary_attention_shape shape = shape_of(probe);
    rotary_attention_packed_sequences packed = packed_of(probe);
    size_t bytes = rotary_attention_packed_sequences_forward_bytes(probe->attention, shape, &packed) +
                   rotary_attention_packed_sequences_backward_bytes(probe->attention, shape, &packed) +
                   rotary_attention_decode_bytes(probe->attention, probe->batch, 1, probe->time);
    probe->workspace = memory(bytes);
    probe->calls = 1;
    repeat(probe);
    while (repeat(probe) < REPETITION_SECONDS / 2)
        probe->calls *= 2;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "--list") == 0) {
        for (int i = 0; i < PROBES; i++)
            puts(probes[i].name);
        return 0;
    }
    /* A line is a name, or a name and, after a tab, the calls of a repetition, so that two processes make as
     * many. */
    for (char line[256]; fgets(line, sizeof line, stdin);) {
        char *tab = strchr(line, '\t');
        line[strcspn(line, "\t\n")] = 0;
        struct probe *probe = probes;
        while (probe < probes + PROBES && strcmp(probe->name, line) != 0)
            probe++;
        if (probe == probes + PROBES) {
            fprintf(stderr, "speed_probe: there is no %s\n", line);
            return 1;
        }
        if (!probe->rope)
            create(probe);
        if (tab)
            probe->calls = atoll(tab + 1);
        double seconds = measure(probe);
        printf("%.9f\t%lld\n", seconds, (long long)probe->calls);
        fflush(stdout);
    }
    return 0;
}
