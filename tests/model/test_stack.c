/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks: losses and gradients of every residual wiring, bidirectional stacks and an encoder with a decoder
 * against PyTorch's autograd in double precision (tests/golden), on every backend, in f32 and bf16;
 * dropout by finite differences; decoding, lengths and packed sequences against passes without; refusals.
 */
#include "backend/every_backend.h"
#include "backend/reference_backend.h"
#include "model/stack_fixture.h"
#include "model/stack_parts.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack_goldens.h"
#include "stack_source_goldens.h"

enum {
    STACK_CASES = sizeof stack_cases / sizeof *stack_cases,
    CASES = STACK_CASES + sizeof source_cases / sizeof *source_cases,
    ELEMENTS = STACK_ROWS * STACK_WIDTH
};

static const struct golden_case *case_at(size_t c)
{
    return c < STACK_CASES ? &stack_cases[c] : &source_cases[c - STACK_CASES];
}

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK)) {
        printf("%s\n", error->message);
        exit(1);
    }
}

/* f32: a few hundred roundings of 6e-8 each, through two layers. bf16 keeps 8 bits: half a unit is 2e-3 of a
 * number, and some dozens of stored activations and their gradients are rounded along the longest path. ReLU
 * has a kink: of a few hundred hidden channels some are so near to it that bf16 moves them across. Each takes
 * or adds a complete row to some gradients, up to a third of their norm here, on all backends alike. Without it
 * the norm of T5's keys is the farthest: 5% on the reference backend, and where activations take an exponential
 * of a relative error of 1e-4, which lets one number in twenty be rounded to its other neighbour, 3 to 7%. */
static double bound_of(const struct backend *backend, const char *act)
{
    if (backend->storage == ROTARY_F32)
        return 2e-5;
    return strcmp(act, "relu") == 0 ? 0.4 : 8e-2;
}

static void test_golden(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    fixture_create(&fixture, backend, golden, true);
    check_about("%s, %s", golden->name, backend_about(backend));
    fixture_forward(&fixture);
    double bound = bound_of(backend, golden->act);
    CHECK_NEAR(fixture_loss(&fixture), golden->loss, bound * 0.1 * golden->loss_size);
    fixture_backward(&fixture);
    CHECK_INT(fixture.parameters.count, (int64_t)golden->count - (golden->cross ? 2 : 1));
    for (size_t g = 0; g < golden->count; g++) {
        const struct golden_gradient *wanted = &golden->gradients[g];
        double probe, norm;
        check_about("%s, %s, %s", golden->name, backend_about(backend), wanted->name);
        if (!CHECK(fixture_gradient(&fixture, wanted->name, &probe, &norm)))
            continue;
        CHECK_NEAR(probe, wanted->probe, bound * (wanted->norm + fabs(wanted->probe)));
        CHECK_NEAR(norm, wanted->norm, bound * wanted->norm);
    }
    check_about("%s", "");
    fixture_destroy(&fixture);
}

/* With dropout the loss is a function of the parameters too, as seed and step fix the mask. */
enum dropped { DROPPED_OUTPUTS, DROPPED_WEIGHTS, DROPPED_ACTIVATIONS, DROPPED };
static const char *const dropped_names[] = {"outputs of sublayers", "attention weights", "activations"};

static void test_dropout(const struct backend *backend, const struct golden_case *golden, enum dropped what)
{
    struct fixture fixture;
    rotary_error error;
    fixture_create(&fixture, backend, golden, true);
    const struct dropout dropout = {.probability = 0.3f, .seed = 5, .step = 9};
    if (what == DROPPED_OUTPUTS)
        fixture.call.dropout = fixture.encoder_call.dropout = dropout;
    if (what == DROPPED_WEIGHTS)
        fixture.call.attention_dropout = fixture.encoder_call.attention_dropout = dropout;
    if (what == DROPPED_ACTIVATIONS)
        fixture.call.activation_dropout = fixture.encoder_call.activation_dropout = dropout;
    fixture_forward(&fixture);
    check_about("%s, dropout of %s", golden->name, dropped_names[what]);
    CHECK(fabs(fixture_loss(&fixture) - golden->loss) > 1e-4 * golden->loss_size);
    fixture_backward(&fixture);
    double slope = 0.0, at[2];
    for (int row = 0; row < fixture.parameters.count; row++) {
        float gradient[4 * STACK_HIDDEN * STACK_WIDTH];
        must(parameters_read(&fixture.parameters,
                             parameter_range(&fixture.parameters, PARAMETER_GRADIENTS, row), gradient,
                             &error),
             &error);
        for (int64_t i = 0; i < parameter_elements(&fixture.parameters.rows[row]); i++)
            slope += (double)gradient[i] * sin(0.37 * (double)(fixture.parameters.rows[row].offset + i));
    }
    const double step = 2e-4;
    for (int side = 0; side < 2; side++) {
        fixture_fill(&fixture, side ? step : -step);
        fixture_forward(&fixture);
        at[side] = fixture_loss(&fixture);
    }
    /* A hidden channel or two crosses ReLU's kink within the step. */
    double bound = strcmp(golden->act, "relu") == 0 ? 4e-2 : 1e-2;
    CHECK_NEAR((at[1] - at[0]) / (2.0 * step), slope, bound * (fabs(slope) + 10.0));
    check_about("%s", "");
    fixture_destroy(&fixture);
}

/* A stack without training gives the same bits: it only shares memory. */
static void test_inference(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture trained, inferred;
    static float wanted[ELEMENTS], got[ELEMENTS];
    fixture_create(&trained, backend, golden, true);
    fixture_create(&inferred, backend, golden, false);
    fixture_forward(&trained);
    fixture_forward(&inferred);
    fixture_read_output(&trained, wanted, STACK_ROWS);
    fixture_read_output(&inferred, got, STACK_ROWS);
    check_about("%s", golden->name);
    CHECK(memcmp(wanted, got, sizeof got) == 0);
    CHECK(inferred.arena.capacity < trained.arena.capacity);
    check_about("%s", "");
    fixture_destroy(&trained);
    fixture_destroy(&inferred);
}

/* New tokens per call and sequence; each sequence gets STACK_TIME in all. */
static const int64_t chunks[][STACK_BATCH] = {{2, 3, 0}, {1, 1, 1}, {0, 2, 4}, {4, 0, 0}, {0, 1, 2}};

/* A decoding of the fixture's stack: sequence b has the tokens of sequence owner[b] of the input. */
struct decoding {
    struct fixture fixture;
    struct stack_cache cache;
    struct rotary_arena arena;
    int64_t batch; /* sequences that are decoded: the first of the cache */
    int64_t lengths[STACK_BATCH], owner[STACK_BATCH];
    float wanted[ELEMENTS]; /* of a forward pass */
};

static void create_cache(struct decoding *decoding, int64_t beams)
{
    rotary_error error;
    struct fixture *fixture = &decoding->fixture;
    const struct sublayer_cache_shape shape = {.batch = STACK_BATCH,
                                               .capacity = STACK_TIME,
                                               .beams = beams,
                                               .count = STACK_TIME,
                                               .source_time = STACK_SOURCE_TIME};
    must(stack_cache_create(&decoding->cache, fixture->stack, shape, &error), &error);
    stack_cache_carve(&decoding->cache, fixture->stack, &decoding->arena);
    must(backend_arena_allocate(fixture->backend, &decoding->arena, "a cache", &error), &error);
    stack_cache_carve(&decoding->cache, fixture->stack, &decoding->arena);
    struct sublayer_source source = fixture->call.source;
    source.rows.rows /= beams;
    if (fixture->golden->cross)
        must(stack_cache_source(fixture->stack, &fixture->parameters, &decoding->cache, &source, &error),
             &error);
    decoding->batch = STACK_BATCH;
    for (int64_t b = 0; b < STACK_BATCH; b++)
        decoding->owner[b] = b;
}

static void destroy_decoding(struct decoding *decoding)
{
    stack_cache_destroy(&decoding->cache);
    backend_arena_free(decoding->fixture.backend, &decoding->arena);
    fixture_destroy(&decoding->fixture);
}

/* Gives the stack the next counts[b] rows of each sequence. */
static void write_rows(const struct decoding *decoding, const int64_t *counts)
{
    rotary_error error;
    const struct fixture *fixture = &decoding->fixture;
    const struct backend *backend = fixture->backend;
    static float all[ELEMENTS], rows[ELEMENTS];
    int64_t row = 0;
    fixture_write_input(fixture, fixture->stack, 0, STACK_ROWS);
    must(backend->operations->read(backend, all, stack_input(fixture->stack), sizeof all, &error), &error);
    for (int64_t b = 0; b < STACK_BATCH; b++)
        for (int64_t t = 0; t < counts[b]; t++, row++)
            memcpy(rows + row * STACK_WIDTH,
                   all + (decoding->owner[b] * STACK_TIME + decoding->lengths[b] + t) * STACK_WIDTH,
                   STACK_WIDTH * sizeof *rows);
    must(backend->operations->write(backend, stack_input(fixture->stack), rows, sizeof rows, &error), &error);
}

static void compare_rows(const struct decoding *decoding, const int64_t *counts)
{
    static float got[ELEMENTS];
    int64_t row = 0;
    double bound = decoding->fixture.backend->storage == ROTARY_F32 ? 2e-5 : 0.1;
    fixture_read_output(&decoding->fixture, got, counts[0] + counts[1] + counts[2]);
    for (int64_t b = 0; b < STACK_BATCH; b++)
        for (int64_t t = 0; t < counts[b]; t++, row++)
            for (int64_t i = 0; i < STACK_WIDTH; i++) {
                int64_t token = decoding->owner[b] * STACK_TIME + decoding->lengths[b] + t;
                double wanted = (double)decoding->wanted[token * STACK_WIDTH + i];
                CHECK_NEAR(got[row * STACK_WIDTH + i], wanted, bound * (1.0 + fabs(wanted)));
            }
}

static void reorder(struct decoding *decoding, const int32_t *source)
{
    rotary_error error;
    struct decoding old = *decoding;
    must(stack_cache_reorder(decoding->fixture.stack, &decoding->cache, decoding->lengths, source, &error),
         &error);
    for (int64_t b = 0; b < STACK_BATCH; b++) {
        decoding->lengths[b] = old.lengths[source[b]];
        decoding->owner[b] = old.owner[source[b]];
    }
}

/* Decodes all of every sequence. `source`: how sequences are reordered on the way; NULL: they are not. */
static void decode_all(struct decoding *decoding, const int32_t *source)
{
    rotary_error error;
    struct fixture *fixture = &decoding->fixture;
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        int64_t counts[STACK_BATCH] = {0}, rows = 0;
        int32_t positions[STACK_ROWS];
        for (int b = 0; b < decoding->batch; b++) {
            int64_t rest = STACK_TIME - decoding->lengths[b];
            counts[b] = chunks[c][b] < rest ? chunks[c][b] : rest;
            for (int64_t t = 0; t < counts[b]; t++)
                positions[rows++] = (int32_t)(decoding->lengths[b] + t);
        }
        const struct stack_decode_call call = {.batch = decoding->batch,
                                               .rows = rows,
                                               .counts = counts,
                                               .lengths = decoding->lengths,
                                               .positions = positions,
                                               .cache = &decoding->cache};
        write_rows(decoding, counts);
        must(stack_decode(fixture->stack, &fixture->parameters, &call, &error), &error);
        compare_rows(decoding, counts);
        for (int b = 0; b < STACK_BATCH; b++)
            decoding->lengths[b] += counts[b];
        if (c == 1 && source)
            reorder(decoding, source);
    }
}

/* Decoding sequences that advance by different lengths gives what one forward pass gives; also when they
 * continue one another's caches. */
static void test_decode(const struct backend *backend, const struct golden_case *golden)
{
    static const int32_t fork[STACK_BATCH] = {2, 0, 0};
    for (int forks = 0; forks < 2; forks++) {
        static struct decoding decoding;
        decoding = (struct decoding){0};
        fixture_create(&decoding.fixture, backend, golden, false);
        fixture_level(&decoding.fixture); /* sequences are equally long in the end */
        fixture_forward(&decoding.fixture);
        fixture_read_output(&decoding.fixture, decoding.wanted, STACK_ROWS);
        create_cache(&decoding, 1);
        check_about("%s, %s", golden->name, forks ? "forked" : "not forked");
        decode_all(&decoding, forks ? fork : NULL);
        for (int b = 0; b < STACK_BATCH && !forks; b++)
            CHECK_INT(decoding.lengths[b], STACK_TIME);
        check_about("%s", "");
        destroy_decoding(&decoding);
    }
}

/* A packed source whose sequences have different lengths, against a pass with packed tokens. */
static void test_packed_cache(const struct backend *backend, const struct golden_case *golden)
{
    static const int32_t starts[] = {0, STACK_TIME, 2 * STACK_TIME, 3 * STACK_TIME},
                         source_starts[] = {0, 2, 6, 10};
    static struct decoding decoding;
    decoding = (struct decoding){0};
    struct fixture *fixture = &decoding.fixture;
    fixture_create(fixture, backend, golden, false);
    fixture->call.tokens.starts = starts;
    fixture->encoder_call.tokens.time = 10;
    fixture->encoder_call.tokens.starts = source_starts;
    fixture->call.tokens.sequences = fixture->encoder_call.tokens.sequences = STACK_BATCH;
    fixture_forward(fixture);
    fixture_read_output(fixture, decoding.wanted, STACK_ROWS);
    create_cache(&decoding, 1);
    check_about("%s, packed cache", golden->name);
    decode_all(&decoding, NULL);
    check_about("%s", "");
    destroy_decoding(&decoding);
}

/* A source that is shorter than the cache allows, of fewer sequences, one behind another. `second`: tokens
 * of its second sequence. */
static void test_short_source(const struct backend *backend, const struct golden_case *golden, int64_t second)
{
    enum { SOURCES = 2, TIME = 4 };
    rotary_error error;
    const int32_t target_starts[SOURCES + 1] = {0, STACK_TIME, 2 * STACK_TIME},
                                          starts[SOURCES + 1] = {0, TIME, (int32_t)(TIME + second)};
    static struct decoding decoding;
    decoding = (struct decoding){0};
    struct fixture *fixture = &decoding.fixture;
    fixture_create(fixture, backend, golden, false);
    fixture->call.tokens = (struct sublayer_tokens){
        .batch = 1, .time = SOURCES * STACK_TIME, .starts = target_starts, .sequences = SOURCES};
    fixture->encoder_call.tokens =
        (struct sublayer_tokens){.batch = 1, .time = starts[SOURCES], .starts = starts, .sequences = SOURCES};
    fixture_forward(fixture);
    fixture_read_output(fixture, decoding.wanted, SOURCES * STACK_TIME);
    create_cache(&decoding, 1);
    decoding.batch = SOURCES;
    check_about("%s, a source of %d and %lld tokens", golden->name, TIME, (long long)second);
    decode_all(&decoding, NULL);
    struct sublayer_source bad = fixture->call.source;
    bad.time++;
    CHECK_INT(stack_cache_source(fixture->stack, &fixture->parameters, &decoding.cache, &bad, &error) !=
                  ROTARY_OK,
              1);
    CHECK(strstr(error.message, "wanted 1 to 3 sequences, one for each 1 in the cache"));
    check_about("%s", "");
    destroy_decoding(&decoding);
}

/* All sequences attend to one source, whose keys and values are in the cache once. */
static void test_beams(const struct backend *backend, const struct golden_case *golden)
{
    rotary_error error;
    static const int32_t fork[STACK_BATCH] = {2, 0, 0}, beyond[STACK_BATCH] = {0, 1, 3};
    static struct decoding decoding;
    decoding = (struct decoding){0};
    struct fixture *fixture = &decoding.fixture;
    fixture_create(fixture, backend, golden, false);
    fixture_level(fixture);
    fixture_forward(fixture);
    struct matrix source = stack_output(fixture->encoder, STACK_SOURCE_ROWS);
    size_t bytes = (size_t)(STACK_SOURCE_TIME * STACK_WIDTH) * rotary_dtype_size(source.dtype);
    for (int b = 1; b < STACK_BATCH; b++)
        must(backend->operations->copy(backend, (char *)source.data + (size_t)b * bytes, source.data, bytes,
                                       &error),
             &error);
    fixture_write_input(fixture, fixture->stack, 0, STACK_ROWS);
    must(stack_forward(fixture->stack, &fixture->parameters, &fixture->call, &error), &error);
    fixture_read_output(fixture, decoding.wanted, STACK_ROWS);
    create_cache(&decoding, STACK_BATCH);
    check_about("%s", golden->name);
    decode_all(&decoding, fork);
    CHECK_INT(stack_cache_reorder(fixture->stack, &decoding.cache, decoding.lengths, beyond, &error) !=
                  ROTARY_OK,
              1);
    CHECK(strstr(error.message, "sequence 2 continues sequence 3"));
    struct sublayer_source bad = fixture->call.source;
    bad.time += 2 * bad.rows.rows;
    CHECK_INT(stack_cache_source(fixture->stack, &fixture->parameters, &decoding.cache, &bad, &error) !=
                  ROTARY_OK,
              1);
    CHECK(strstr(error.message, "wanted 1 to 1 sequences, one for each 3 in the cache"));
    check_about("%s", "");
    destroy_decoding(&decoding);
}

/* Each sequence alone, without padding and unpacked, gives what it gave among the others. */
static void test_separate(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    rotary_error error;
    static float together[ELEMENTS], alone[ELEMENTS];
    fixture_create(&fixture, backend, golden, false);
    fixture_forward(&fixture);
    fixture_read_output(&fixture, together, STACK_ROWS);
    check_about("%s", golden->name);
    for (int64_t s = 0; s < (golden->packed ? STACK_SEQUENCES : STACK_BATCH); s++) {
        int64_t first = golden->packed ? stack_starts[s] : s * STACK_TIME,
                rows = golden->packed ? stack_starts[s + 1] - stack_starts[s] : stack_lengths[s];
        const int32_t starts[2] = {0, (int32_t)rows};
        struct stack_call call = {.tokens = {.batch = 1, .time = rows}};
        if (golden->packed) /* a call may have more tokens than padded sequences */
            call.tokens =
                (struct sublayer_tokens){.batch = 1, .time = rows, .starts = starts, .sequences = 1};
        fixture_write_input(&fixture, fixture.stack, first, rows);
        must(stack_forward(fixture.stack, &fixture.parameters, &call, &error), &error);
        fixture_read_output(&fixture, alone, rows);
        for (int64_t i = 0; i < rows * STACK_WIDTH; i++)
            CHECK_NEAR(alone[i], together[first * STACK_WIDTH + i], 2e-5);
    }
    check_about("%s", "");
    fixture_destroy(&fixture);
}

static void refuse(const struct backend *backend, struct sublayer_wiring first, struct sublayer_wiring second,
                   const char *type, const char *message)
{
    struct parameters parameters = {.backend = backend};
    const struct sublayer_config sublayer = {.hidden = 8};
    const struct stack_part block[] = {
        {.type = "feed_forward", .name = "a", .config = sublayer, .wiring = first},
        {.type = type, .name = "b", .config = sublayer, .wiring = second}};
    const struct stack_config config = {.prefix = "",
                                        .layers = 1,
                                        .parts = 2,
                                        .block = block,
                                        .width = 8,
                                        .final_norm = true,
                                        .batch = 1,
                                        .time = 1};
    struct stack *stack = NULL;
    rotary_error error = {0};
    CHECK_INT(stack_create(&stack, backend, &config, &parameters, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(!stack);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
    parameters_free(&parameters);
}

static void test_refusals(const struct backend *backend)
{
    const struct sublayer_wiring none = {0}, parallel = {.parallel = true}, shared = {.shared_norm = true},
                                 post = {.norm_sum = true};
    refuse(backend, none, none, "recurrence", "no type of sublayer called \"recurrence\"");
    refuse(backend, parallel, none, "feed_forward", "first sublayer of a block is parallel");
    refuse(backend, none, shared, "feed_forward", "shares a norm that is not there");
    refuse(backend, none, post, "feed_forward", "final norm after a norm");
    refuse(backend, post, parallel, "feed_forward", "a parallel sublayer comes after a norm of the sum");
}

/* A normalised sum that a norm reads again in the backward pass is not overwritten before. */
static void test_kept_sums(const struct backend *backend)
{
    struct parameters parameters = {.backend = backend};
    struct rotary_arena arena = {0};
    rotary_error error;
    struct stack_part block[3];
    for (int part = 0; part < 3; part++)
        block[part] = (struct stack_part){.type = "feed_forward",
                                          .name = (const char *const[]){"a", "b", "c"}[part],
                                          .config = {.hidden = 8},
                                          .wiring = {.norm_input = part == 1, .norm_sum = true}};
    const struct stack_config config = {.prefix = "",
                                        .layers = 2,
                                        .parts = 3,
                                        .block = block,
                                        .width = 8,
                                        .batch = 1,
                                        .time = 2,
                                        .training = true};
    struct stack *stack = NULL;
    must(stack_create(&stack, backend, &config, &parameters, &error), &error);
    stack_carve(stack, &arena);
    must(backend_arena_allocate(backend, &arena, "a test", &error), &error);
    stack_carve(stack, &arena);
    for (int64_t k = 1; k < stack->count; k++)
        for (int64_t j = k + 1; stack->sublayers[k].has_own_norm && j <= stack->count; j++)
            CHECK(stack->points[j].stream != stack->points[k].stream);
    stack_destroy(stack);
    parameters_free(&parameters);
    backend_arena_free(backend, &arena);
}

/* A source is refused that is larger than the stack was created for, or of another width. */
static void test_sources(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    rotary_error error = {0};
    fixture_create(&fixture, backend, golden, false);
    fixture_level(&fixture);
    fixture_forward(&fixture);
    const struct stack_call good = fixture.call;
    struct stack_call call = good;
    call.source.time++;
    call.source.rows.rows += STACK_BATCH;
    check_about("%s", golden->name);
    CHECK_INT(stack_forward(fixture.stack, &fixture.parameters, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "a source of 3 sequences of 6 tokens of width 24: wanted at most 3 of 5"));
    call = good;
    call.source.rows.columns--;
    CHECK_INT(stack_forward(fixture.stack, &fixture.parameters, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "of width 23: wanted at most 3 of 5, of width 24"));
    check_about("%s", "");
    fixture_destroy(&fixture);
}

static void refuse_source(struct fixture *fixture, const struct stack_call *call, const char *message)
{
    rotary_error error = {0};
    CHECK_INT(stack_forward(fixture->stack, &fixture->parameters, call, &error), ROTARY_INVALID_ARGUMENT);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
}

/* Sequences of tokens and of a source are packed together or not at all. */
static void test_packed_sources(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixture;
    fixture_create(&fixture, backend, golden, false);
    fixture_forward(&fixture);
    const struct stack_call good = fixture.call;
    struct stack_call call = good;
    call.source.starts = NULL;
    refuse_source(&fixture, &call, "4 packed sequences got 0 packed sequences of a source");
    call = good;
    call.source.sequences--;
    refuse_source(&fixture, &call, "4 packed sequences got 3 packed sequences of a source");
    call = good;
    call.source.time = ++call.source.rows.rows;
    refuse_source(&fixture, &call, "a source of 16: the model was created for fewer tokens");
    fixture_destroy(&fixture);
}

/* Without the gradient of the source, all others of the stack are as with it. */
static void test_frozen_encoder(const struct backend *backend, const struct golden_case *golden)
{
    struct fixture fixtures[2];
    rotary_error error;
    for (int frozen = 0; frozen < 2; frozen++) {
        fixture_create(&fixtures[frozen], backend, golden, true);
        fixtures[frozen].encoder_frozen = frozen == 1;
        fixture_forward(&fixtures[frozen]);
        fixture_backward(&fixtures[frozen]);
    }
    const struct parameters *parameters = &fixtures[0].parameters;
    for (int row = 0; row < parameters->count; row++) {
        float gradient[2][4 * STACK_HIDDEN * STACK_WIDTH];
        int64_t count = parameter_elements(&parameters->rows[row]), different = 0;
        for (int frozen = 0; frozen < 2; frozen++)
            must(parameters_read(&fixtures[frozen].parameters,
                                 parameter_range(parameters, PARAMETER_GRADIENTS, row), gradient[frozen],
                                 &error),
                 &error);
        bool of_encoder = strncmp(parameters->rows[row].name, "encoder.", 8) == 0;
        for (int64_t i = 0; i < count; i++)
            different += !(gradient[1][i] == (of_encoder ? 0.0f : gradient[0][i]));
        check_about("%s, frozen encoder, %s", golden->name, parameters->rows[row].name);
        CHECK_INT(different, 0);
    }
    check_about("%s", "");
    for (int frozen = 0; frozen < 2; frozen++)
        fixture_destroy(&fixtures[frozen]);
}

static void test_all(const struct backend *backend)
{
    for (size_t c = 0; c < CASES; c++)
        test_golden(backend, case_at(c));
}

static void test_once(const struct backend *backend)
{
    test_refusals(backend);
    test_kept_sums(backend);
    for (size_t c = 0; c < CASES; c++) {
        const struct golden_case *golden = case_at(c);
        test_inference(backend, golden);
        if (golden->causal && !golden->packed)
            test_decode(backend, golden);
        if (golden->cross)
            test_frozen_encoder(backend, golden);
        if (golden->cross && golden->packed)
            test_packed_sources(backend, golden);
        if (golden->cross && golden->packed)
            test_packed_cache(backend, golden);
        if (golden->cross && !golden->packed) {
            test_beams(backend, golden);
            test_sources(backend, golden);
        }
        if (golden->cross && golden->lengths)
            for (int64_t second = 2; second <= 4; second += 2)
                test_short_source(backend, golden, second);
        if ((golden->lengths || golden->packed) && !golden->cross)
            test_separate(backend, golden);
        for (int what = 0; what < DROPPED; what++)
            test_dropout(backend, golden, (enum dropped)what);
    }
}

int main(void)
{
    rotary_error error = {0};
    struct backend backend;
    on_every_backend(test_all);
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    test_once(&backend);
    backend_destroy(&backend);
    CHECK_INT(reference_backend_create(&backend, ROTARY_F32, &error), ROTARY_OK);
    test_once(&backend);
    backend_destroy(&backend);
    return check_report();
}
