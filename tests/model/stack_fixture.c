/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stack_fixture.h"

#include "base/half.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int64_t stack_lengths[STACK_BATCH] = {7, 4, 1};
/* Of padded sequences: each is followed by another that has its padding, and may be empty. */
static const int32_t padded_starts[2 * STACK_BATCH + 1] = {0, 7, 7, 11, 14, 15, 21},
                                                     padded_source_starts[2 * STACK_BATCH + 1] = {
                                                         0, 5, 5, 7, 10, 14, 15};
const int32_t stack_starts[STACK_SEQUENCES + 1] = {0, 3, 4, 12, 21},
                                             stack_source_starts[STACK_SEQUENCES + 1] = {0, 2, 7, 8, 15};

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK)) {
        printf("%s\n", error->message);
        exit(1);
    }
}

static struct attention_plan *create_plan(struct fixture *fixture, bool causal, bool rotated)
{
    rotary_error error;
    rotary_attention_config config;
    struct attention_plan *plan = NULL;
    rotary_attention_config_default(&config);
    config.heads = STACK_HEADS;
    config.key_value_heads = fixture->golden->key_value_heads;
    config.head_dim = STACK_HEAD_DIM;
    config.causal = causal;
    config.rope = rotated ? fixture->rope : NULL;
    must(fixture->backend->operations->attention_create(fixture->backend, &plan, &config, &error), &error);
    return plan;
}

static void create_plans(struct fixture *fixture)
{
    rotary_error error;
    bool rotated = fixture->golden->rope;
    rotary_rope_config rope;
    rotary_rope_config_default(&rope);
    rope.head_dim = STACK_HEAD_DIM;
    rope.threads = fixture->backend->threads;
    rope.isa = fixture->backend->isa;
    must(rotary_rope_create(&fixture->rope, &rope, &error), &error);
    fixture->plan = create_plan(fixture, fixture->golden->causal, rotated);
    fixture->encoder_plan = create_plan(fixture, false, rotated);
    fixture->cross_plan = create_plan(fixture, false, fixture->golden->cross_rope);
    for (int i = 0; i < STACK_LAYERS; i++) {
        fixture->plans[i] = fixture->plan;
        fixture->encoder_plans[i] = fixture->encoder_plan;
    }
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static struct sublayer_wiring wiring_of(const struct golden_case *golden, bool first)
{
    bool parallel = !first && !is(golden->parallel, "none");
    return (struct sublayer_wiring){.norm_input = is(golden->wiring, "pre") || is(golden->wiring, "both"),
                                    .norm_output = is(golden->wiring, "output") || is(golden->wiring, "both"),
                                    .norm_sum = is(golden->wiring, "post"),
                                    .parallel = parallel,
                                    .shared_norm = parallel && is(golden->parallel, "shared")};
}

static struct stack_part part_of(const struct fixture *fixture, const char *type, const char *name,
                                 const struct attention_plan *const *plans)
{
    const struct golden_case *golden = fixture->golden;
    bool feeds_forward = is(type, "feed_forward");
    enum query_key_norm query_key_norm = is(golden->query_key_norm, "head")  ? QUERY_KEY_NORM_HEAD
                                         : is(golden->query_key_norm, "all") ? QUERY_KEY_NORM_ALL
                                                                             : QUERY_KEY_NORM_NONE;
    return (struct stack_part){.type = type,
                               .name = name,
                               .plans = plans,
                               .wiring = wiring_of(golden, is(name, "attention")),
                               .config = {.initial = {.kind = INITIALISE_PYTORCH},
                                          .in_bias = feeds_forward ? golden->hidden_bias : golden->in_bias,
                                          .out_bias = feeds_forward ? golden->hidden_bias : golden->out_bias,
                                          .heads = STACK_HEADS,
                                          .key_value_heads = golden->key_value_heads,
                                          .head_dim = STACK_HEAD_DIM,
                                          .query_key_norm = query_key_norm,
                                          .norm = is(golden->norm, "rms_norm") ? NORM_RMS : NORM_LAYER,
                                          .norm_epsilon = 1e-5f,
                                          .attention = fixture->cross_plan,
                                          .source_time = STACK_SOURCE_TIME,
                                          .source_width = STACK_WIDTH,
                                          .hidden = STACK_HIDDEN,
                                          .activation = is(golden->act, "relu")   ? ACTIVATION_RELU
                                                        : is(golden->act, "gelu") ? ACTIVATION_GELU
                                                                                  : ACTIVATION_SWIGLU}};
}

static struct stack *create_stack(struct fixture *fixture, bool encodes)
{
    const struct golden_case *golden = fixture->golden;
    bool crosses = golden->cross && !encodes;
    struct stack_part block[3];
    int64_t parts = 0;
    block[parts++] =
        part_of(fixture, "self_attention", "attention", encodes ? fixture->encoder_plans : fixture->plans);
    if (crosses)
        block[parts++] = part_of(fixture, "cross_attention", "cross_attention", NULL);
    block[parts++] = part_of(fixture, "feed_forward", "feed_forward", NULL);
    const struct stack_config config = {.prefix = encodes ? "encoder." : "",
                                        .layers = STACK_LAYERS,
                                        .parts = parts,
                                        .block = block,
                                        .width = STACK_WIDTH,
                                        .norm = is(golden->norm, "rms_norm") ? NORM_RMS : NORM_LAYER,
                                        .norm_epsilon = 1e-5f,
                                        .final_norm = !is(golden->wiring, "post"),
                                        .batch = STACK_BATCH,
                                        .time = encodes ? STACK_SOURCE_TIME : STACK_TIME,
                                        .training = fixture->training,
                                        .packed = golden->packed || golden->lengths};
    struct stack *stack = NULL;
    rotary_error error;
    must(stack_create(&stack, fixture->backend, &config, &fixture->parameters, &error), &error);
    return stack;
}

static void carve(struct fixture *fixture)
{
    stack_carve(fixture->stack, &fixture->arena);
    if (!fixture->encoder)
        return;
    stack_carve(fixture->encoder, &fixture->arena);
    fixture->d_source = rotary_arena_push(&fixture->arena, STACK_SOURCE_ROWS * STACK_WIDTH, sizeof(float));
}

void fixture_level(struct fixture *fixture)
{
    fixture->call.tokens = (struct sublayer_tokens){.batch = STACK_BATCH, .time = STACK_TIME};
    fixture->encoder_call.tokens = (struct sublayer_tokens){.batch = STACK_BATCH, .time = STACK_SOURCE_TIME};
}

static void pack(struct fixture *fixture, int64_t sequences, const int32_t *starts,
                 const int32_t *source_starts)
{
    fixture->call.tokens =
        (struct sublayer_tokens){.batch = 1, .time = STACK_ROWS, .starts = starts, .sequences = sequences};
    fixture->encoder_call.tokens = (struct sublayer_tokens){
        .batch = 1, .time = STACK_SOURCE_ROWS, .starts = source_starts, .sequences = sequences};
}

void fixture_create(struct fixture *fixture, const struct backend *backend, const struct golden_case *golden,
                    bool training)
{
    rotary_error error;
    *fixture = (struct fixture){.backend = backend, .golden = golden, .training = training};
    fixture->parameters.backend = backend;
    create_plans(fixture);
    if (golden->cross)
        fixture->encoder = create_stack(fixture, true);
    fixture->stack = create_stack(fixture, false);
    must(parameters_allocate(&fixture->parameters, training, &error), &error);
    carve(fixture);
    must(backend_arena_allocate(backend, &fixture->arena, "a test", &error), &error);
    carve(fixture);
    fixture_fill(fixture, 0.0);
    fixture_level(fixture);
    if (golden->packed)
        pack(fixture, STACK_SEQUENCES, stack_starts, stack_source_starts);
    if (golden->lengths)
        pack(fixture, 2 * STACK_BATCH, padded_starts, padded_source_starts);
}

void fixture_destroy(struct fixture *fixture)
{
    const struct backend_operations *operations = fixture->backend->operations;
    stack_destroy(fixture->stack);
    stack_destroy(fixture->encoder);
    operations->attention_destroy(fixture->backend, fixture->plan);
    operations->attention_destroy(fixture->backend, fixture->encoder_plan);
    operations->attention_destroy(fixture->backend, fixture->cross_plan);
    rotary_rope_destroy(fixture->rope);
    parameters_free(&fixture->parameters);
    backend_arena_free(fixture->backend, &fixture->arena);
}

void fixture_fill(struct fixture *fixture, double step)
{
    rotary_error error;
    struct parameters *parameters = &fixture->parameters;
    for (int row = 0; row < parameters->count; row++) {
        const char *name = parameters->rows[row].name;
        bool gain = strstr(name, "norm") && strstr(name, "weight");
        int64_t count = parameter_elements(&parameters->rows[row]);
        float *value = malloc((size_t)count * sizeof *value);
        for (int64_t i = 0; i < count; i++) {
            double x = (double)i, element = (double)(parameters->rows[row].offset + i);
            double filled = 0.3 * sin(0.7 * x + 0.05 * x * x + (double)strlen(name));
            value[i] = (float)(filled + (gain ? 1.0 : 0.0) + step * sin(0.37 * element));
        }
        must(parameters_write(parameters, parameter_range(parameters, PARAMETER_VALUES, row), value, &error),
             &error);
        free(value);
    }
}

void fixture_write_input(const struct fixture *fixture, struct stack *stack, int64_t first, int64_t rows)
{
    rotary_error error;
    float input[STACK_ROWS * STACK_WIDTH];
    for (int64_t i = 0; i < rows * STACK_WIDTH; i++) {
        double x = (double)(first * STACK_WIDTH + i);
        input[i] = (float)(0.8 * sin(0.37 * x + 0.011 * x * x));
    }
    must(fixture->backend->operations->write(fixture->backend, stack_input(stack), input,
                                             (size_t)(rows * STACK_WIDTH) * sizeof *input, &error),
         &error);
}

void fixture_forward(struct fixture *fixture)
{
    rotary_error error;
    if (fixture->encoder) {
        int64_t rows = sublayer_rows(&fixture->encoder_call.tokens);
        fixture_write_input(fixture, fixture->encoder, 0, STACK_SOURCE_ROWS);
        must(stack_forward(fixture->encoder, &fixture->parameters, &fixture->encoder_call, &error), &error);
        fixture->call.source = (struct sublayer_source){.rows = stack_output(fixture->encoder, rows),
                                                        .time = fixture->encoder_call.tokens.time,
                                                        .starts = fixture->encoder_call.tokens.starts,
                                                        .sequences = fixture->encoder_call.tokens.sequences};
    }
    fixture_write_input(fixture, fixture->stack, 0, STACK_ROWS);
    must(stack_forward(fixture->stack, &fixture->parameters, &fixture->call, &error), &error);
}

void fixture_read_output(const struct fixture *fixture, float *out, int64_t rows)
{
    rotary_error error;
    struct matrix output = stack_output(fixture->stack, rows);
    uint16_t half[STACK_ROWS * STACK_WIDTH];
    bool f32 = output.dtype == ROTARY_F32;
    must(fixture->backend->operations->read(fixture->backend, f32 ? (void *)out : half, output.data,
                                            (size_t)(rows * STACK_WIDTH) * rotary_dtype_size(output.dtype),
                                            &error),
         &error);
    for (int64_t i = 0; !f32 && i < rows * STACK_WIDTH; i++)
        out[i] = rotary_bf16_to_float(half[i]);
}

/* The gradient of the loss by an element of the output: none for padding. */
static float weight_of(const struct fixture *fixture, int64_t element)
{
    int64_t row = element / STACK_WIDTH;
    if (fixture->golden->lengths && row % STACK_TIME >= stack_lengths[row / STACK_TIME])
        return 0.0f;
    return (float)(0.5 * cos(0.3 * (double)element + 0.2));
}

double fixture_loss(const struct fixture *fixture)
{
    float output[STACK_ROWS * STACK_WIDTH];
    double loss = 0.0;
    fixture_read_output(fixture, output, STACK_ROWS);
    for (int64_t i = 0; i < STACK_ROWS * STACK_WIDTH; i++)
        loss += (double)output[i] * (double)weight_of(fixture, i);
    return loss;
}

static void write_gradient(const struct fixture *fixture)
{
    rotary_error error;
    struct matrix gradient = stack_output_gradient(fixture->stack, STACK_ROWS);
    float f32[STACK_ROWS * STACK_WIDTH];
    uint16_t half[STACK_ROWS * STACK_WIDTH];
    for (int64_t i = 0; i < STACK_ROWS * STACK_WIDTH; i++) {
        f32[i] = weight_of(fixture, i);
        half[i] = rotary_bf16_from_float(f32[i]);
    }
    bool single = gradient.dtype == ROTARY_F32;
    must(fixture->backend->operations->write(fixture->backend, gradient.data, single ? (void *)f32 : half,
                                             sizeof f32 / sizeof *f32 * rotary_dtype_size(gradient.dtype),
                                             &error),
         &error);
}

void fixture_backward(struct fixture *fixture)
{
    rotary_error error;
    const struct backend *backend = fixture->backend;
    write_gradient(fixture);
    fixture->call.d_source = fixture->encoder_frozen ? NULL : fixture->d_source;
    if (fixture->encoder)
        must(backend->operations->clear(backend, fixture->d_source,
                                        STACK_SOURCE_ROWS * STACK_WIDTH * sizeof(float), &error),
             &error);
    must(stack_backward(fixture->stack, &fixture->parameters, &fixture->call, &error), &error);
    if (!fixture->encoder || fixture->encoder_frozen)
        return;
    fixture->encoder_call.d_output = fixture->d_source;
    must(stack_backward(fixture->encoder, &fixture->parameters, &fixture->encoder_call, &error), &error);
}

bool fixture_gradient(const struct fixture *fixture, const char *name, double *probe, double *norm)
{
    rotary_error error;
    const struct parameters *parameters = &fixture->parameters;
    const struct stack *stack = is(name, "source") ? fixture->encoder : fixture->stack;
    int64_t count = (is(name, "source") ? STACK_SOURCE_ROWS : STACK_ROWS) * STACK_WIDTH;
    bool input = is(name, "source") || is(name, "input");
    int row = input ? -1 : parameters_find(parameters, name);
    if (!input && row < 0)
        return false;
    if (!input)
        count = parameter_elements(&parameters->rows[row]);
    float *gradient = malloc((size_t)count * sizeof *gradient);
    if (input)
        must(fixture->backend->operations->read(fixture->backend, gradient, stack_input_gradient(stack),
                                                (size_t)count * sizeof *gradient, &error),
             &error);
    else
        must(parameters_read(parameters, parameter_range(parameters, PARAMETER_GRADIENTS, row), gradient,
                             &error),
             &error);
    double square = 0.0;
    *probe = 0.0;
    for (int64_t i = 0; i < count; i++) {
        *probe += (double)gradient[i] * cos(0.9 * (double)i + 0.5);
        square += (double)gradient[i] * (double)gradient[i];
    }
    *norm = sqrt(square);
    free(gradient);
    return true;
}
