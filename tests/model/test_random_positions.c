/* SPDX-License-Identifier: Apache-2.0
 *
 * Randomised positions: the subsets that are drawn, and transformers with them against transformers that are
 * given the same positions. (test_transformer.c compares them with PyTorch.)
 */
#include "backend/every_backend.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "model/encoding/random_positions.h"
#include "model/transformer_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 13, BATCH = 3, TIME = 9, ROWS = BATCH * TIME, LONGEST = 12, POSITIONS_DRAWN = 70 };

/* ---- subsets ---- */

static void check_subset(const struct random_positions *draw, int64_t count, int32_t *drawn)
{
    random_positions_draw(draw, count, drawn);
    for (int64_t i = 0; i < count; i++) {
        CHECK(drawn[i] >= (i > 0 ? drawn[i - 1] + 1 : 0));
        CHECK(drawn[i] < draw->positions);
    }
}

static void test_subsets(void)
{
    enum { LONG = 20, RANGE = 63 };
    struct random_positions draw = {.positions = RANGE, .longest = LONG, .seed = 7, .step = 3};
    int32_t first[LONG], other[LONG];
    check_subset(&draw, LONG, first);
    for (int64_t count = 0; count <= LONG; count++) { /* shorter sequences have the first */
        check_subset(&draw, count, other);
        CHECK(memcmp(first, other, (size_t)count * sizeof *other) == 0);
    }
    struct random_positions differs[4] = {draw, draw, draw, draw};
    differs[0].seed = 8;
    differs[1].step = 4;
    differs[2].sequence = 1;
    differs[3].sequence = UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        check_subset(&differs[i], LONG, other);
        CHECK(memcmp(first, other, sizeof other) != 0);
    }
    draw.positions = LONG; /* all of them */
    check_subset(&draw, LONG, other);
    CHECK_INT(other[0], 0);
    CHECK_INT(other[LONG - 1], LONG - 1);
}

/* Every position is in a share longest / positions of the subsets, and the last ones are reached. */
static void test_distribution(void)
{
    enum { LONG = 5, RANGE = 11, SUBSETS = 8000 };
    int64_t seen[RANGE] = {0}, pairs = 0;
    for (uint32_t i = 0; i < SUBSETS; i++) {
        const struct random_positions draw = {
            .positions = RANGE, .longest = LONG, .seed = 1, .step = i % 40, .sequence = i / 40};
        int32_t drawn[LONG];
        check_subset(&draw, LONG, drawn);
        for (int k = 0; k < LONG; k++)
            seen[drawn[k]]++;
        pairs += drawn[0] == 0 && drawn[LONG - 1] == RANGE - 1;
    }
    double share = (double)LONG / RANGE, deviation = 44.6; /* sqrt(8000 * 5/11 * 6/11) */
    for (int i = 0; i < RANGE; i++)
        CHECK_NEAR((double)seen[i], share * SUBSETS, 4 * deviation);
    CHECK_NEAR((double)pairs, SUBSETS * share * (LONG - 1) / (RANGE - 1), 4 * 34.5);
}

/* ---- transformers ---- */

struct tokens {
    int32_t tokens[ROWS], classes[ROWS], positions[ROWS], starts[4];
    struct batch batch;
};

static const char *const names[] = {"learned", "sinusoidal", "rope", "roper", "xpos"};

static struct transformer *create(const struct backend *backend, const char *position, bool encodes,
                                  bool randomized)
{
    struct transformer_config config;
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.xpos_scale = 24;
    config.dropout = 0.1;
    config.max_position_embeddings = randomized ? LONGEST : POSITIONS_DRAWN;
    config.randomized_positions = randomized ? POSITIONS_DRAWN : 0;
    config.architecture = encodes ? ARCHITECTURE_ENCODER_DECODER : ARCHITECTURE_DECODER;
    config.source_vocab_size = encodes ? VOCABULARY : 0;
    config.cross_rotary = encodes;
    for (int i = 0; position_names[i]; i++)
        if (strcmp(position_names[i], position) == 0)
            config.position = i;
    const struct transformer_limits limits = {.batch = BATCH,
                                              .time = TIME,
                                              .source_time = encodes ? TIME : 0,
                                              .training = true,
                                              .packed = true,
                                              .positions = !randomized};
    struct transformer *made = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&made, backend, &config, limits, 5, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return made;
}

/* Three sequences, of one length or packed, whose source is the input too. step below 0: no positions are given. */
static void fill(struct tokens *t, bool encodes, bool packed, int64_t step, bool of_source)
{
    const int32_t starts[4] = {0, 4, 13, 20};
    memcpy(t->starts, starts, sizeof starts);
    for (int i = 0; i < ROWS; i++) {
        t->tokens[i] = (i * 7 + 3) % VOCABULARY;
        t->classes[i] = (i * 5 + 1) % VOCABULARY;
    }
    for (int s = 0; step >= 0 && s < BATCH; s++) {
        const struct random_positions draw = {.positions = POSITIONS_DRAWN,
                                              .longest = LONGEST,
                                              .seed = 11,
                                              .step = (uint32_t)step,
                                              .sequence = 2 * (uint64_t)s + of_source};
        int64_t count = packed ? starts[s + 1] - starts[s] : TIME;
        random_positions_draw(&draw, count, t->positions + (packed ? starts[s] : s * TIME));
    }
    struct token_sequences input = {.batch = BATCH, .time = TIME, .tokens = t->tokens};
    if (packed)
        input.starts = t->starts;
    input.positions = step >= 0 ? t->positions : NULL;
    t->batch = (struct batch){.input = input, .classes = t->classes};
    if (encodes)
        t->batch.source = input;
}

static float *train(struct transformer *transformer, bool packed, bool given, uint32_t step, double *loss)
{
    static struct tokens input, source;
    bool encodes = transformer->encoder.stack != NULL;
    fill(&input, encodes, packed, given ? (int64_t)step : -1, false);
    fill(&source, encodes, packed, given ? (int64_t)step : -1, true);
    input.batch.source = source.batch.source;
    const struct transformer_call call = {
        .batch = &input.batch, .backward = true, .gradient_scale = 1.0f, .seed = 11, .micro_step = step};
    struct loss_sums sums = {0};
    rotary_error error = {0};
    parameter_clear(&transformer->parameters, PARAMETER_GRADIENTS);
    if (!CHECK_INT(transformer_run(transformer, &call, &sums, &error), ROTARY_OK))
        printf("%s\n", error.message);
    *loss = sums.total;
    return parameter_copy(&transformer->parameters, PARAMETER_GRADIENTS);
}

/* Losses and gradients are, to the bit, those of a model with as many positions that gets the same ones. */
static void test_given(const struct backend *backend, const char *position, bool encodes)
{
    struct transformer *drawing = create(backend, position, encodes, true),
                       *given = create(backend, position, encodes, false);
    size_t bytes = (size_t)drawing->parameters.elements * sizeof(float);
    CHECK_INT(drawing->parameters.elements, given->parameters.elements);
    parameter_fill(&drawing->parameters);
    parameter_fill(&given->parameters);
    double before = 0;
    for (uint32_t step = 0; step < 2; step++)
        for (int packed = 0; packed < 2 - (int)step; packed++) {
            double losses[2];
            float *got = train(drawing, packed, false, step, &losses[0]),
                  *wanted = train(given, packed, true, step, &losses[1]);
            check_about("%s, %s%s%s, step %u", backend_about(backend), position,
                        encodes ? " with an encoder" : "", packed ? ", packed" : "", (unsigned)step);
            CHECK(memcmp(got, wanted, bytes) == 0);
            CHECK(losses[0] == losses[1]);
            CHECK(packed || losses[0] != before); /* other steps have other positions */
            before = packed ? before : losses[0];
            free(got);
            free(wanted);
        }
    check_about("%s", "");
    transformer_destroy(drawing);
    transformer_destroy(given);
}

/* Outside training all sequences have the same positions, and decoding with a cache gives their logits. */
static void test_decoding(const struct backend *backend, const char *position)
{
    struct transformer *transformer = create(backend, position, false, true);
    parameter_fill(&transformer->parameters);
    static float logits[ROWS * VOCABULARY], last[BATCH * VOCABULARY];
    struct tokens t;
    fill(&t, false, false, -1, false);
    rotary_error error = {0};
    CHECK_INT(transformer_logits(transformer, &t.batch, logits, &error), ROTARY_OK);
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = BATCH, .capacity = LONGEST + 1};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
    check_about("%s, decoding %s", backend_about(backend), position);
    double bound = backend->storage == ROTARY_F32 ? 1e-4 : 6e-2;
    for (int64_t token = 0, count; token < TIME; token += count) {
        int32_t next[3 * BATCH];
        count = token == 0 ? 3 : 1;
        for (int64_t i = 0; i < count * BATCH; i++)
            next[i] = t.tokens[i / count * TIME + token + i % count];
        const struct transformer_decode_call call = {.time = count, .tokens = next, .logits = last};
        CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK);
        for (int64_t i = 0; i < (int64_t)BATCH * VOCABULARY; i++) {
            double wanted =
                (double)logits[(i / VOCABULARY * TIME + token + count - 1) * VOCABULARY + i % VOCABULARY];
            CHECK_NEAR((double)last[i], wanted, bound * (1 + (wanted < 0 ? -wanted : wanted)));
        }
    }
    const int32_t more[(LONGEST - TIME + 1) * BATCH] = {0};
    const struct transformer_decode_call beyond = {
        .time = LONGEST - TIME + 1, .tokens = more, .logits = last};
    CHECK_INT(transformer_decode(transformer, cache, &beyond, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "a sequence of 13 tokens|max_position_embeddings 12|random positions");
    transformer_cache_destroy(cache);
    transformer_destroy(transformer);
    check_about("%s", "");
}

static void test_all(const struct backend *backend)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        test_given(backend, names[i], false);
        if (i % 2 == 0) /* learned, rope, xpos */
            test_given(backend, names[i], true);
        test_decoding(backend, names[i]);
    }
}

static void test_refusals(void)
{
    for (int i = 0; position_names[i]; i++) {
        struct transformer_config config;
        rotary_error error = {0};
        bool has_positions = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            has_positions = has_positions || strcmp(names[k], position_names[i]) == 0;
        transformer_config_default(&config);
        config.vocab_size = VOCABULARY;
        config.position = i;
        config.max_position_embeddings = 100;
        config.randomized_positions = 100;
        check_about("%s", position_names[i]);
        CHECK_INT(transformer_config_check(&config, &error),
                  has_positions ? ROTARY_OK : ROTARY_INVALID_ARGUMENT);
        if (!has_positions)
            CHECK_WORDS(error.message, "randomized_positions is 100|: wanted 0, or position learned");
        config.randomized_positions = 99;
        CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
        if (has_positions)
            CHECK_WORDS(error.message, "randomized_positions is 99|at least max_position_embeddings, 100");
    }
    check_about("%s", "");
}

int main(void)
{
    test_subsets();
    test_distribution();
    test_refusals();
    on_every_backend(test_all);
    return check_report();
}
