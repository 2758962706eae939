/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/trial.h"

#include "attention/bound.h"
#include "base/element.h"
#include "base/isa.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A NaN that no arithmetic gives fills gaps, so that reads and writes of a gap are found. */
enum { GAP_F32 = 0x7fc5a5a5, GAP_HALF = 0x7fc5 };

int trial_isas(rotary_isa isas[6])
{
    int count = 0;
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++)
        if (rotary_isa_available((rotary_isa)isa))
            isas[count++] = (rotary_isa)isa;
#if defined(ROTARY_EMULATE_AMX) && defined(__SANITIZE_ADDRESS__)
    /* Emulation is slow. Other builds have the other instruction sets, except an emulated AVX512_BF16. */
    if (rotary_isa_available(ROTARY_ISA_AMX)) {
        count = 0;
#ifdef TESTS_SUPPORT_AVX512BF16_EMULATED_H
        isas[count++] = ROTARY_ISA_AVX512BF16;
#endif
        isas[count++] = ROTARY_ISA_AMX;
    }
#elif defined(TESTS_EMULATED_PROCESSOR)
    /* Here too. Plain C is tried where a processor runs it, and here by the tests with goldens. */
    isas[0] = isas[count - 1];
    count = 1;
#endif
    return count;
}

bool trial_takes(int number, int every)
{
#ifdef TESTS_EMULATED_PROCESSOR
    return number % every == 0;
#else
    return number >= 0 && every > 0;
#endif
}

int64_t trial_tokens(int64_t tokens, int64_t emulated)
{
    return trial_takes(1, 2) ? tokens : emulated;
}

/* What f32's roundings may add to twice those of the naive evaluation, relative to the largest number. On a device a
 * thread adds the rows of its sums one after another, thousands for a vector by distance, where the processors' kernels
 * add sums of blocks. */
#ifdef TESTS_MAX_HEAD_DIM
static const double ROUNDING_F32 = 0x1p-19;
#else
static const double ROUNDING_F32 = 0x1p-20;
#endif

bool trial_can_plan(const struct reference_case *c)
{
#ifdef TESTS_MAX_HEAD_DIM
    return c->head_dim <= TESTS_MAX_HEAD_DIM && !c->f16; /* models have no f16 */
#else
    return c->head_dim > 0;
#endif
}

static rotary_rope *make_rope(const struct reference_case *c, const struct reference_rotation *rotation)
{
    rotary_rope_config config;
    rotary_rope *rope = NULL;
    rotary_error error = {0};
    if (!rotation->present)
        return NULL;
    rotary_rope_config_default(&config);
    config.head_dim = c->head_dim;
    config.rotary_dim = rotation->dim;
    config.rotary_start = rotation->start;
    config.pairing = rotation->interleaved ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF;
    config.table_positions = 64;
    if (rotary_rope_create(&rope, &config, &error)) {
        printf("rotary_rope_create: %s\n", error.message);
        abort();
    }
    return rope;
}

struct trial_plan trial_plan_make(const struct reference_case *c, rotary_isa isa, int threads)
{
    struct trial_plan plan = {.rope = make_rope(c, &c->rope)};
    if (!c->key_is_value)
        plan.value_rope = make_rope(c, &c->value_rope);
    rotary_attention_config config;
    rotary_error error = {0};
    rotary_attention_config_default(&config);
    config.heads = c->heads;
    config.key_value_heads = c->key_value_heads;
    config.head_dim = c->head_dim;
    config.dtype = reference_dtype(c);
    /* This scale is the default, 0. */
    if (c->scale != (double)(float)(1 / sqrt((double)c->head_dim)))
        config.scale = (float)c->scale;
    config.causal = c->causal;
    config.window = c->window;
    config.softcap = (float)c->softcap;
    config.rope = plan.rope;
    config.value_rope = c->key_is_value && c->value_rope.present ? plan.rope : plan.value_rope;
    config.rotate = c->rotate;
    config.key_is_value = c->key_is_value;
    config.value_start = c->value_start;
    config.value_channels = c->value_channels;
    config.threads = threads;
    config.isa = isa;
    if (rotary_attention_create(&plan.attention, &config, &error)) {
        printf("rotary_attention_create: %s\n", error.message);
        abort();
    }
    return plan;
}

void trial_plan_free(struct trial_plan *plan)
{
    rotary_attention_destroy(plan->attention);
    rotary_rope_destroy(plan->rope);
    rotary_rope_destroy(plan->value_rope);
}

void trial_fill(const struct reference_case *c, struct reference_tensors *t, uint64_t seed, double spread)
{
    int64_t queries = reference_query_size(c), keys = reference_key_size(c);
    /* score = scale sum_i q_i k_i has a deviation of scale sqrt(d) dev(q) dev(k) */
    double size = sqrt(spread / (c->scale * sqrt((double)c->head_dim)));
    for (int64_t i = 0; i < queries; i++) {
        t->query[i] = reference_round(c, size * (double)check_random(seed, (uint64_t)i, 1));
        t->output_gradient[i] = reference_round(c, (double)check_random(seed + 1, (uint64_t)i, 3));
    }
    for (int64_t i = 0; i < keys; i++) {
        t->key[i] = reference_round(c, size * (double)check_random(seed + 2, (uint64_t)i, 1));
        t->value[i] =
            c->key_is_value ? t->key[i] : reference_round(c, (double)check_random(seed + 3, (uint64_t)i, 3));
    }
}

struct trial_results trial_results_make(const struct reference_case *c, uint64_t seed, double spread)
{
    struct trial_results made = {reference_tensors_make(c), reference_tensors_make(c),
                                 reference_tensors_make(c), reference_tensors_make(c)};
    trial_fill(c, &made.got, seed, spread);
    return made;
}

static void copy_inputs(const struct reference_case *c, struct reference_tensors *to,
                        const struct reference_tensors *from)
{
    size_t queries = (size_t)reference_query_size(c) * sizeof(double),
           keys = (size_t)reference_key_size(c) * sizeof(double);
    memcpy(to->query, from->query, queries);
    memcpy(to->key, from->key, keys);
    memcpy(to->value, from->value, keys);
    memcpy(to->output_gradient, from->output_gradient, queries);
}

void trial_results_expect(const struct reference_case *c, struct trial_results *results, bool backward)
{
    copy_inputs(c, &results->wanted, &results->got);
    copy_inputs(c, &results->naive, &results->got);
    reference_run(c, &results->wanted, backward, false);
    reference_run(c, &results->naive, backward, true);
    bound_run(c, &results->wanted, &results->bound, backward);
}

void trial_results_free(struct trial_results *results)
{
    reference_tensors_free(&results->got);
    reference_tensors_free(&results->wanted);
    reference_tensors_free(&results->naive);
    reference_tensors_free(&results->bound);
}

void *trial_memory(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes ? bytes : 1))
        abort();
    memset(memory, 0xff, bytes);
    return memory;
}

static size_t element_size(const struct reference_case *c)
{
    return rotary_dtype_size(reference_dtype(c));
}

static bool is_half(const struct reference_case *c)
{
    return element_size(c) == 2;
}

/* A buffer of `elements` elements, all gaps. */
static void *make_gaps(const struct reference_case *c, int64_t elements)
{
    void *buffer = trial_memory((size_t)elements * element_size(c));
    for (int64_t i = 0; i < elements; i++)
        if (is_half(c))
            ((uint16_t *)buffer)[i] = GAP_HALF;
        else
            ((uint32_t *)buffer)[i] = GAP_F32;
    return buffer;
}

struct placed {
    void *buffer; /* owned by the first view of a buffer */
    rotary_attention_view view;
    int64_t time, heads, elements;
};

static void *element_at(const struct reference_case *c, const struct placed *placed, int64_t i)
{
    int64_t d = c->head_dim, channel = i % d, head = i / d % placed->heads,
            time = i / d / placed->heads % placed->time, sequence = i / d / placed->heads / placed->time;
    int64_t at = sequence * placed->view.batch_stride + time * placed->view.time_stride +
                 head * placed->view.head_stride + channel;
    return (char *)placed->view.data + at * (int64_t)element_size(c);
}

static void put(const struct reference_case *c, const struct placed *placed, const double *from,
                int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        rotary_set_element(element_at(c, placed, i), 0, reference_dtype(c), (float)from[i]);
}

/* Reads a tensor and overwrites it with gaps: any other element that is not a gap was written out of bounds.
 */
static void take(const struct reference_case *c, const struct placed *placed, double *to, int64_t count)
{
    const uint32_t gap = GAP_F32;
    const uint16_t half_gap = GAP_HALF;
    for (int64_t i = 0; i < count; i++) {
        void *element = element_at(c, placed, i);
        to[i] = (double)rotary_element(element, 0, reference_dtype(c));
        memcpy(element, is_half(c) ? (const void *)&half_gap : (const void *)&gap, element_size(c));
    }
}

static void check_gaps(const struct reference_case *c, const char *name, const void *buffer, int64_t elements)
{
    int64_t written = 0;
    for (int64_t i = 0; i < elements; i++)
        written +=
            is_half(c) ? ((const uint16_t *)buffer)[i] != GAP_HALF : ((const uint32_t *)buffer)[i] != GAP_F32;
    if (written)
        printf("%s: ", name);
    CHECK_INT(written, 0);
}

enum { GAP = 5 };

/* Query, key and value as slices of one projection, head after head, with a gap after each token and
 * sequence. */
static void place_fused(const struct reference_case *c, struct placed placed[3])
{
    int64_t d = c->head_dim, longest = c->queries > c->keys ? c->queries : c->keys;
    int64_t token = (c->heads + 2 * c->key_value_heads) * d + GAP,
            sequence = longest * token + (c->packed ? 0 : GAP);
    int64_t elements = c->batch * sequence + GAP, element = (int64_t)element_size(c);
    char *buffer = make_gaps(c, elements);
    const int64_t head[] = {0, c->heads, c->heads + c->key_value_heads},
                  time[] = {c->queries, c->keys, c->keys};
    for (int i = 0; i < 3; i++) {
        int64_t heads = i == 0 ? c->heads : c->key_value_heads;
        placed[i] = (struct placed){
            .buffer = i == 0 ? buffer : NULL,
            .view = {buffer + (GAP + head[i] * d) * element,
                     trial_stride(c->batch, c->packed ? time[i] * token : sequence),
                     trial_stride(time[i], token), trial_stride(heads, d)},
            .time = time[i],
            .heads = heads,
            .elements = elements,
        };
    }
}

/* Head-major, [batch, heads, time, head_dim], with gaps after each vector; [heads, batch, time, head_dim] of
 * packed sequences. */
static struct placed place_alone(const struct reference_case *c)
{
    int64_t vector = c->head_dim + GAP, sequence = c->queries * vector,
            head = c->packed ? c->batch * sequence : sequence,
            elements = c->batch * c->heads * sequence + GAP;
    char *buffer = make_gaps(c, elements);
    return (struct placed){.buffer = buffer,
                           .view = {buffer + GAP * element_size(c),
                                    trial_stride(c->batch, c->packed ? sequence : c->heads * head),
                                    trial_stride(c->queries, vector), trial_stride(c->heads, head)},
                           .time = c->queries,
                           .heads = c->heads,
                           .elements = elements};
}

static rotary_attention_const_view as_const(rotary_attention_view view)
{
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}

/* The bias in f32, in a buffer that ends with its last element. */
static rotary_attention_bias place_bias(const struct reference_case *c)
{
    if (!c->bias.data)
        return (rotary_attention_bias){0};
    float *data = malloc((size_t)c->bias.elements * sizeof *data);
    if (!data)
        abort();
    for (int64_t i = 0; i < c->bias.elements; i++)
        data[i] = (float)c->bias.data[i];
    return (rotary_attention_bias){data, c->bias.batch_stride, c->bias.head_stride, c->bias.query_stride};
}

/* Fills keys that a sequence does not have with NaN: they may not be read. */
static void spoil_missing_keys(const struct reference_case *c, const struct placed *placed)
{
    int64_t token = c->key_value_heads * c->head_dim;
    for (int64_t i = 0; i < reference_key_size(c) && c->key_lengths; i++)
        if (i / token % c->keys >= c->key_lengths[i / token / c->keys])
            memset(element_at(c, placed, i), 0xff, element_size(c));
}

/* The distance bias in f32, likewise. */
static rotary_attention_distance_bias place_distance_bias(const struct reference_case *c)
{
    const struct reference_distance_bias *bias = &c->distance_bias;
    int64_t count = reference_distance_size(c);
    if (!bias->data)
        return (rotary_attention_distance_bias){0};
    float *data = malloc((size_t)count * sizeof *data);
    if (!data)
        abort();
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)bias->data[i];
    return (rotary_attention_distance_bias){
        .data = data, .distances = bias->distances, .first = bias->first, .head_stride = bias->head_stride};
}

/* Copies `count` numbers in f32; NULL for none. */
static float *place_floats(const double *from, int64_t count)
{
    float *made = from ? malloc((size_t)count * sizeof *made) : NULL;
    if (from && !made)
        abort();
    for (int64_t i = 0; from && i < count; i++)
        made[i] = (float)from[i];
    return made;
}

static rotary_attention_distance_vectors place_vectors(const struct reference_case *c,
                                                       const struct reference_distance_vectors *vectors)
{
    return (rotary_attention_distance_vectors){
        .data = place_floats(vectors->data, reference_vectors_size(c, vectors)),
        .distances = vectors->distances,
        .first = vectors->first,
        .head_stride = vectors->head_stride,
        .distance_stride = vectors->distance_stride};
}

/* Zero, for a gradient. */
static float *place_zeros(int64_t count)
{
    float *gradient = calloc((size_t)count + 1, sizeof *gradient);
    if (!gradient)
        abort();
    return gradient;
}

static void take_floats(float *from, double *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
    free(from);
}

static void run_backward(const struct reference_case *c, const struct trial_plan *plan,
                         struct reference_tensors *t, const struct placed input[3],
                         const struct placed *output, const rotary_attention_forward_call *forward)
{
    struct placed gradient[3], output_gradient = place_alone(c);
    rotary_error error = {0};
    place_fused(c, gradient);
    put(c, &output_gradient, t->output_gradient, reference_query_size(c));
    rotary_attention_backward_call call = {
        .struct_size = sizeof call,
        .shape = forward->shape,
        .query = as_const(input[0].view),
        .key = as_const(input[1].view),
        .value = as_const(input[2].view),
        .output = as_const(output->view),
        .output_gradient = as_const(output_gradient.view),
        .log_sum_exp = forward->log_sum_exp,
        .query_gradient = gradient[0].view,
        .key_gradient = gradient[1].view,
        .value_gradient = gradient[2].view,
        .bias = forward->bias,
        .packed_sequences = forward->packed_sequences,
        .key_lengths = c->key_lengths,
        .query_positions = c->query_positions,
        .key_positions = c->key_positions,
        .distance_bias = forward->distance_bias,
        .dropout = forward->dropout,
        .distance_keys = forward->distance_keys,
        .query_bias = forward->query_bias,
        .distance_queries = forward->distance_queries,
        .distance_values = forward->distance_values,
        .piecewise_bias = forward->piecewise_bias,
        .sinks = forward->sinks,
    };
    if (c->key_is_value)
        call.value.data = NULL, call.value_gradient.data = NULL;
    float *distance_gradient = place_zeros(reference_distance_size(c)),
          *distance_keys_gradient = place_zeros(reference_vectors_size(c, &c->distance_keys)),
          *query_bias_gradient = place_zeros(reference_query_bias_size(c)),
          *distance_queries_gradient = place_zeros(reference_vectors_size(c, &c->distance_queries)),
          *distance_values_gradient = place_zeros(reference_vectors_size(c, &c->distance_values)),
          *sinks_gradient = place_zeros(c->heads);
    if (c->distance_bias.data)
        call.distance_bias.gradient = distance_gradient;
    if (c->distance_keys.data)
        call.distance_keys.gradient = distance_keys_gradient;
    if (c->query_bias)
        call.query_bias_gradient = query_bias_gradient;
    if (c->distance_queries.data)
        call.distance_queries.gradient = distance_queries_gradient;
    if (c->distance_values.data)
        call.distance_values.gradient = distance_values_gradient;
    if (c->sinks)
        call.sinks_gradient = sinks_gradient;
    call.workspace = trial_memory(rotary_attention_backward_call_bytes(plan->attention, &call));
    if (!CHECK_INT(rotary_attention_backward(plan->attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    take(c, &gradient[0], t->query_gradient, reference_query_size(c));
    take(c, &gradient[1], t->key_gradient, reference_key_size(c));
    if (!c->key_is_value)
        take(c, &gradient[2], t->value_gradient, reference_key_size(c));
    take_floats(distance_gradient, t->distance_gradient, reference_distance_size(c));
    take_floats(distance_keys_gradient, t->distance_keys_gradient,
                reference_vectors_size(c, &c->distance_keys));
    take_floats(query_bias_gradient, t->query_bias_gradient, reference_query_bias_size(c));
    take_floats(distance_queries_gradient, t->distance_queries_gradient,
                reference_vectors_size(c, &c->distance_queries));
    take_floats(distance_values_gradient, t->distance_values_gradient,
                reference_vectors_size(c, &c->distance_values));
    take_floats(sinks_gradient, t->sinks_gradient, c->heads);
    check_gaps(c, "gradients", gradient[0].buffer, gradient[0].elements);
    free(gradient[0].buffer);
    free(output_gradient.buffer);
    free(call.workspace);
}

/* Starts of packed sequences that all have `time` tokens. */
static int32_t *make_starts(const struct reference_case *c, int64_t time)
{
    int32_t *starts = c->packed ? malloc((size_t)(c->batch + 1) * sizeof *starts) : NULL;
    for (int64_t i = 0; starts && i <= c->batch; i++)
        starts[i] = (int32_t)(i * time);
    return starts;
}

/* Where a call has the log-sum-exp of element i of [batch, heads, queries]. */
static int64_t place_of_row(const struct reference_case *c, int64_t i)
{
    int64_t query = i % c->queries, head = i / c->queries % c->heads, sequence = i / c->queries / c->heads;
    return c->packed ? (head * c->batch + sequence) * c->queries + query : i;
}

void trial_run(const struct reference_case *c, const struct trial_plan *plan, struct reference_tensors *t,
               bool backward)
{
    struct placed input[3], output = place_alone(c);
    rotary_error error = {0};
    place_fused(c, input);
    put(c, &input[0], t->query, reference_query_size(c));
    put(c, &input[1], t->key, reference_key_size(c));
    put(c, &input[2], t->value, reference_key_size(c));
    spoil_missing_keys(c, &input[1]);
    spoil_missing_keys(c, &input[2]);
    rotary_attention_shape shape = {c->batch, c->queries, c->keys, c->first_query, c->first_key};
    rotary_attention_packed_sequences packed = {make_starts(c, c->queries), make_starts(c, c->keys),
                                                c->packed ? c->batch : 0};
    if (c->packed) {
        shape.batch = 1;
        shape.queries *= c->batch;
        shape.keys *= c->batch;
    }
    int64_t rows = c->batch * c->heads * c->queries;
    float *log_sum_exp = trial_memory((size_t)rows * sizeof(float));
    rotary_attention_bias bias = place_bias(c);
    rotary_attention_forward_call call = {
        .struct_size = sizeof call,
        .shape = shape,
        .query = as_const(input[0].view),
        .key = as_const(input[1].view),
        .value = as_const(input[2].view),
        .output = output.view,
        .log_sum_exp = log_sum_exp,
        .bias = bias,
        .packed_sequences = packed,
        .key_lengths = c->key_lengths,
        .query_positions = c->query_positions,
        .key_positions = c->key_positions,
        .distance_bias = place_distance_bias(c),
        .dropout = c->dropout,
        .distance_keys = place_vectors(c, &c->distance_keys),
        .query_bias = place_floats(c->query_bias, reference_query_bias_size(c)),
        .distance_queries = place_vectors(c, &c->distance_queries),
        .distance_values = place_vectors(c, &c->distance_values),
        .sinks = place_floats(c->sinks, c->heads),
    };
    if (c->piecewise_bias)
        call.piecewise_bias = *c->piecewise_bias;
    if (c->key_is_value)
        call.value.data = NULL;
    call.workspace = trial_memory(rotary_attention_forward_call_bytes(plan->attention, &call));
    if (!CHECK_INT(rotary_attention_forward(plan->attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(call.workspace);
    if (backward)
        run_backward(c, plan, t, input, &output, &call);
    for (int64_t i = 0; i < rows; i++)
        t->log_sum_exp[i] = (double)log_sum_exp[place_of_row(c, i)];
    take(c, &output, t->output, reference_query_size(c));
    check_gaps(c, "output", output.buffer, output.elements);
    free((void *)(uintptr_t)packed.query_starts);
    free((void *)(uintptr_t)packed.key_starts);
    free((void *)(uintptr_t)bias.data);
    free((void *)(uintptr_t)call.distance_bias.data);
    free((void *)(uintptr_t)call.distance_keys.data);
    free((void *)(uintptr_t)call.query_bias);
    free((void *)(uintptr_t)call.distance_values.data);
    free((void *)(uintptr_t)call.distance_queries.data);
    free((void *)(uintptr_t)call.sinks);
    free(input[0].buffer);
    free(output.buffer);
    free(log_sum_exp);
}

static double max_size(const double *values, int64_t count)
{
    double size = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            size = fmax(size, fabs(values[i]));
    return size;
}

/* What the last rounding of a result adds, and how large bounds may be: relative to the largest number. */
struct tolerance {
    double rounding, compared, held;
};

static struct tolerance tolerance_of(const struct reference_case *c)
{
    static const struct tolerance of_bf16 = {0x1p-9, 0.1, 1}, of_f16 = {0x1p-12, 0.02, 0.05};
    return c->bf16 ? of_bf16 : c->f16 ? of_f16 : (struct tolerance){ROUNDING_F32, 1e-4, 5e-3};
}

const char *trial_type(const struct reference_case *c)
{
    return rotary_dtype_name(reference_dtype(c));
}

void trial_compare(const struct reference_case *c, const char *name, const double *got, const double *wanted,
                   const double *naive, int64_t count, double size)
{
    double error = 0, naive_error = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isinf(wanted[i]) && got[i] == wanted[i])
            continue;
        double off = fabs(got[i] - wanted[i]);
        error = off > error || off != off ? off : error; /* a NaN stays */
        naive_error = fmax(naive_error, fabs(naive[i] - wanted[i]));
    }
    size = fmax(size, max_size(wanted, count));
    const struct tolerance tolerance = tolerance_of(c);
    double bound = 2 * naive_error + tolerance.rounding * size;
    if (!CHECK(error <= bound))
        printf("  %s: off by %.3g, allowed %.3g; largest %.3g\n", name, error, bound, size);
    CHECK(bound <= tolerance.compared * size + 1e-30); /* a bound that bounds */
}

void trial_hold(const struct reference_case *c, const char *name, const double *got, const double *wanted,
                const double *bound, int64_t count, double size)
{
    int64_t beyond = 0;
    double max = 0, worst = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isinf(wanted[i]) && got[i] == wanted[i])
            continue;
        double off = fabs(got[i] - wanted[i]);
        beyond += !(off <= bound[i]);
        worst = fmax(worst, bound[i] > 0 ? off / bound[i] : 0);
        max = fmax(max, bound[i]);
    }
    size = fmax(size, max_size(wanted, count));
    if (!CHECK_INT(beyond, 0))
        printf("  %s: %lld of %lld elements are beyond their bound, by a factor of %.3g\n", name,
               (long long)beyond, (long long)count, worst);
    if (!CHECK(max <= tolerance_of(c).held * size + 1e-28))
        printf("  %s: a bound of %.3g where the largest is %.3g\n", name, max, size);
}

void trial_compare_all(const struct reference_case *c, const struct trial_results *all, bool backward)
{
    const struct reference_tensors *got = &all->got, *wanted = &all->wanted, *naive = &all->naive,
                                   *bound = &all->bound;
    int64_t queries = reference_query_size(c), keys = reference_key_size(c);
    int64_t rows = c->batch * c->heads * c->queries;
    /* Gradients of queries and keys are differences of products of this size, which may cancel entirely. */
    int64_t added_values = reference_vectors_size(c, &c->distance_values);
    double gradients = max_size(wanted->output_gradient, queries),
           values = max_size(wanted->value, keys) + max_size(c->distance_values.data, added_values);
    double product = c->scale * gradients * values;
    /* An entry of the distance bias sums up to all queries' products. */
    double ds = gradients * values;
    /* One of distance_keys too, and an entry of query_bias; each times a query, or a vector. */
    int64_t vectors = reference_vectors_size(c, &c->distance_keys), biases = reference_query_bias_size(c);
    double of_vector = product * (max_size(wanted->query, queries) + max_size(c->query_bias, biases)),
           of_bias = product * max_size(c->distance_keys.data, vectors),
           all_rows = (double)(c->batch * c->queries);
    int64_t query_vectors = reference_vectors_size(c, &c->distance_queries);
    double of_query_vector = product * max_size(wanted->key, keys),
           of_key = product * max_size(c->distance_queries.data, query_vectors);
    const struct {
        const char *name;
        const double *got, *wanted, *naive, *bound;
        int64_t count;
        double size, hold_size;
    } results[] = {
        {"output", got->output, wanted->output, naive->output, bound->output, queries, 0, 0},
        {"log_sum_exp", got->log_sum_exp, wanted->log_sum_exp, naive->log_sum_exp, bound->log_sum_exp, rows,
         1, 0},
        {"query gradient", got->query_gradient, wanted->query_gradient, naive->query_gradient,
         bound->query_gradient, queries, fmax(product * max_size(wanted->key, keys), of_bias), 0},
        {"key gradient", got->key_gradient, wanted->key_gradient, naive->key_gradient, bound->key_gradient,
         keys, fmax(product * max_size(wanted->query, queries), of_key), 0},
        {"value gradient", got->value_gradient, wanted->value_gradient, naive->value_gradient,
         bound->value_gradient, keys, 0, 0},
        {"distance gradient", got->distance_gradient, wanted->distance_gradient, naive->distance_gradient,
         bound->distance_gradient, reference_distance_size(c), ds, ds * all_rows},
        {"gradient of distance_keys", got->distance_keys_gradient, wanted->distance_keys_gradient,
         naive->distance_keys_gradient, bound->distance_keys_gradient, vectors, of_vector,
         of_vector * all_rows * (double)c->heads},
        {"gradient of query_bias", got->query_bias_gradient, wanted->query_bias_gradient,
         naive->query_bias_gradient, bound->query_bias_gradient, biases, of_bias, of_bias * all_rows},
        {"gradient of distance_queries", got->distance_queries_gradient, wanted->distance_queries_gradient,
         naive->distance_queries_gradient, bound->distance_queries_gradient, query_vectors, of_query_vector,
         of_query_vector * all_rows * (double)c->heads},
        {"gradient of distance_values", got->distance_values_gradient, wanted->distance_values_gradient,
         naive->distance_values_gradient, bound->distance_values_gradient, added_values, gradients,
         gradients * all_rows * (double)c->heads},
        {"gradient of sinks", got->sinks_gradient, wanted->sinks_gradient, naive->sinks_gradient,
         bound->sinks_gradient, c->sinks ? c->heads : 0, ds, ds * all_rows},
    };
    for (int i = 0; i < (backward ? 11 : 2); i++) {
        trial_compare(c, results[i].name, results[i].got, results[i].wanted, results[i].naive,
                      results[i].count, results[i].size);
        trial_hold(c, results[i].name, results[i].got, results[i].wanted, results[i].bound, results[i].count,
                   fmax(results[i].size, results[i].hold_size));
    }
}
