/* SPDX-License-Identifier: Apache-2.0
 *
 * Search with a model: the outputs and scores of a plain search that computes all tokens again for every
 * token; the same outputs whatever is searched beside a source and by however many threads; drawn outputs;
 * tokens that may not be an output's; lengths; progress and interruption; refusals.
 */
#include "backend/reference_backend.h"
#include "model/plain_search.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "base/random.h"
#include "layer/encoding/encoding.h"
#include "model/generation/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 13, SOURCES = 11, MAX = 14, LONGEST = 9, BATCH = 6, BEAMS = 5 };
enum { PADDING, BEGIN, UNKNOWN, FIRST_WORD };

static struct transformer *create(const struct backend *backend, enum position position, int64_t batch)
{
    struct transformer_config config;
    transformer_config_default(&config);
    config.architecture = ARCHITECTURE_ENCODER_DECODER;
    config.vocab_size = config.source_vocab_size = VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_encoder_layers = 1;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.max_position_embeddings = MAX + 1;
    config.position = (int)position;
    config.initialisation = INITIAL_NORMAL;
    config.initializer_range =
        0.4; /* probabilities are far from equal, and outputs end at different lengths */
    const struct transformer_limits limits = {
        .batch = batch, .time = MAX, .source_time = LONGEST, .packed = true};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, limits, 8, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

static int32_t end_token; /* of `greedy` */

static struct search_config greedy(void)
{
    struct search_config config;
    search_config_default(&config);
    config.max_new_tokens = MAX;
    config.begin = BEGIN;
    config.end = end_token;
    config.padding = PADDING;
    config.unknown = UNKNOWN;
    return config;
}

static struct search_config beam(int64_t beams, int64_t n_best, float length_penalty)
{
    struct search_config config = greedy();
    config.beams = beams;
    config.n_best = n_best;
    config.length_penalty = length_penalty;
    return config;
}

/* Sources, and room for what is found. */
struct found {
    int32_t text[SOURCES][LONGEST], out[SOURCES * BEAMS][MAX];
    const int32_t *sources[SOURCES];
    int32_t *outputs[SOURCES * BEAMS];
    int64_t lengths[SOURCES], generated[SOURCES * BEAMS];
    double scores[SOURCES * BEAMS];
    int64_t done; /* of the last call of progress */
    int calls;
};

static void fill(struct found *found)
{
    *found = (struct found){0};
    struct rotary_random random = {.key = {.seed = 5, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < SOURCES; i++) {
        found->sources[i] = found->text[i];
        found->lengths[i] = i == 0 ? LONGEST : 1 + rotary_random_below(&random, LONGEST);
        for (int t = 0; t < LONGEST; t++)
            found->text[i][t] = (int32_t)(FIRST_WORD + rotary_random_below(&random, VOCABULARY - FIRST_WORD));
    }
    for (int i = 0; i < SOURCES * BEAMS; i++)
        found->outputs[i] = found->out[i];
}

static void count_progress(void *context, int64_t done)
{
    struct found *found = context;
    CHECK(done > found->done);
    found->done = done;
    found->calls++;
}

static struct search_call call_of(struct found *found)
{
    return (struct search_call){.count = SOURCES,
                                .sources = found->sources,
                                .lengths = found->lengths,
                                .outputs = found->outputs,
                                .generated = found->generated,
                                .scores = found->scores,
                                .progress = count_progress,
                                .context = found};
}

static void run(struct transformer *transformer, struct search_config config, struct found *found)
{
    rotary_error error = {0};
    fill(found);
    const struct search_call call = call_of(found);
    if (!CHECK_INT(search_run(transformer, &config, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    CHECK_INT(found->done, SOURCES);
}

/* A token that outputs without an end have, but not first: as the end, it ends them early. */
static int32_t find_end(struct transformer *transformer)
{
    static struct found found;
    int64_t counts[VOCABULARY] = {0};
    int32_t best = FIRST_WORD;
    end_token = -1;
    run(transformer, greedy(), &found);
    for (int i = 0; i < SOURCES; i++)
        for (int t = 1; t < MAX / 2; t++)
            counts[found.out[i][t]]++;
    for (int32_t token = FIRST_WORD; token < VOCABULARY; token++)
        best = counts[token] > counts[best] ? token : best;
    return best;
}

/* ---- Against a plain search. ---- */

struct source {
    struct transformer *transformer;
    const int32_t *tokens;
    int64_t length;
};

/* The model's probabilities, by a forward pass over all tokens. */
static void next_log_probabilities(const void *context, const int32_t *tokens, int64_t length, double *log_p)
{
    const struct source *source = context;
    static float logits[MAX * VOCABULARY];
    int32_t input[MAX + 1] = {BEGIN};
    memcpy(input + 1, tokens, (size_t)length * sizeof *input);
    const struct batch batch = {.input = {.batch = 1, .time = length + 1, .tokens = input},
                                .source = {.batch = 1, .time = source->length, .tokens = source->tokens}};
    rotary_error error = {0};
    if (!CHECK_INT(transformer_logits(source->transformer, &batch, logits, &error), ROTARY_OK))
        printf("%s\n", error.message);
    const float *last = logits + length * VOCABULARY;
    double total = 0.0;
    for (int i = 0; i < VOCABULARY; i++)
        total += exp((double)last[i]);
    for (int i = 0; i < VOCABULARY; i++)
        log_p[i] = (double)last[i] - log(total);
    log_p[PADDING] = log_p[BEGIN] = log_p[UNKNOWN] = -(double)INFINITY;
}

static int64_t longest_output(const struct search_config *config, int64_t source_length)
{
    int64_t longest =
        (int64_t)((double)config->length_factor * (double)source_length) + config->length_constant;
    return config->length_factor > 0 && longest < config->max_new_tokens ? longest : config->max_new_tokens;
}

/* Returns whether some outputs ended before the longest. */
static bool test_plain(struct transformer *transformer, struct search_config config, double bound)
{
    static struct found found;
    static struct plain_output wanted[PLAIN_MAX + 1];
    run(transformer, config, &found);
    int64_t ended = 0, n_best = config.n_best;
    for (int i = 0; i < SOURCES; i++) {
        check_about("source %d, beams %d, penalty %g", i, (int)config.beams, (double)config.length_penalty);
        const struct source source = {transformer, found.sources[i], found.lengths[i]};
        const struct plain_problem problem = {.vocabulary = VOCABULARY,
                                              .size = config.beams,
                                              .longest = longest_output(&config, source.length),
                                              .penalty = (double)config.length_penalty,
                                              .end = config.end,
                                              .next = next_log_probabilities,
                                              .context = &source};
        int64_t count = plain_search(&problem, wanted);
        for (int64_t j = 0, at = i * n_best; j < n_best; j++, at++) {
            CHECK_INT(found.generated[at], j < count ? wanted[j].length : -1);
            if (j >= count || found.generated[at] != wanted[j].length)
                continue;
            int64_t length = wanted[j].length;
            CHECK(memcmp(found.out[at], wanted[j].tokens, (size_t)length * sizeof **found.out) == 0);
            CHECK_NEAR(found.scores[at], wanted[j].score, bound);
            ended += found.out[at][length - 1] == config.end && length < problem.longest;
        }
    }
    check_about("%s", "");
    return ended > 0;
}

static void test_every_search(struct transformer *transformer, double bound)
{
    CHECK(test_plain(transformer, greedy(), bound));
    CHECK(test_plain(transformer, beam(2, 1, 0.0f), bound));
    CHECK(test_plain(transformer, beam(BEAMS, BEAMS, 1.0f), bound));
    test_plain(transformer, beam(4, 3, 0.6f), bound);
    struct search_config config = beam(3, 2, 1.0f);
    config.end = -1;
    test_plain(transformer, config, bound);
    config = beam(BEAMS, BEAMS, 0.5f);
    config.length_factor = 0.7f;
    config.length_constant = 1;
    test_plain(transformer, config, bound);
}

/* ---- Neighbours. ---- */

static void check_same(const struct found *got, const struct found *wanted, int64_t n_best)
{
    for (int64_t i = 0; i < SOURCES * n_best; i++) {
        CHECK_INT(got->generated[i], wanted->generated[i]);
        CHECK(memcmp(got->out[i], wanted->out[i], sizeof *got->out) == 0);
        CHECK(memcmp(&got->scores[i], &wanted->scores[i], sizeof *got->scores) == 0);
    }
}

/* The same bits from each source alone, in smaller groups, and by more threads. */
static void test_neighbours(const struct backend *one_thread, enum position position,
                            struct search_config config)
{
    static struct found together, other;
    struct transformer *transformer = create(one_thread, position, BATCH);
    run(transformer, config, &together);
    for (int i = 0; i < SOURCES && config.temperature == 0.0f; i++) {
        fill(&other);
        struct search_call call = call_of(&other);
        call.count = 1;
        call.sources += i;
        call.lengths += i;
        CHECK_INT(search_run(transformer, &config, &call, NULL), ROTARY_OK);
        for (int64_t j = 0, at = i * config.n_best; j < config.n_best; j++, at++) {
            CHECK_INT(other.generated[j], together.generated[at]);
            CHECK(memcmp(other.out[j], together.out[at], sizeof *other.out) == 0);
            CHECK(memcmp(&other.scores[j], &together.scores[at], sizeof *other.scores) == 0);
        }
    }
    transformer_destroy(transformer);
    struct backend backend;
    CHECK_INT(backend_create(&backend, 3, one_thread->isa,
                             one_thread->storage == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32, NULL),
              ROTARY_OK);
    for (int64_t batch = 1; batch <= 2 * SOURCES; batch += SOURCES) {
        transformer = create(&backend, position, batch);
        run(transformer, config, &other);
        check_same(&other, &together, config.n_best);
        transformer_destroy(transformer);
    }
    backend_destroy(&backend);
}

/* ---- Drawing. ---- */

static int64_t count_different(const struct found *a, const struct found *b)
{
    int64_t different = 0;
    for (int i = 0; i < SOURCES; i++)
        different += memcmp(a->out[i], b->out[i], sizeof *a->out) != 0;
    return different;
}

static void test_drawing(struct transformer *transformer)
{
    static struct found best, found, other;
    run(transformer, greedy(), &best);
    struct search_config config = greedy();
    config.temperature = 1e-3f;
    run(transformer, config, &found);
    CHECK_INT(count_different(&found, &best), 0);
    CHECK_NEAR(found.scores[3], best.scores[3], 1e-5);
    config.temperature = 3.0f;
    config.top_k = 1;
    run(transformer, config, &found);
    CHECK_INT(count_different(&found, &best), 0);
    for (config.top_k = 0; config.top_k <= 4; config.top_k += 4) {
        run(transformer, config, &found);
        CHECK(count_different(&found, &best) > SOURCES / 2);
        run(transformer, config, &other);
        check_same(&other, &found, 1);
        config.seed++;
        run(transformer, config, &other);
        CHECK(count_different(&other, &found) > SOURCES / 2);
    }
    config.beams = config.n_best = 3;
    config.top_k = 0;
    run(transformer, config, &found);
    bool drawn[VOCABULARY] = {false};
    for (int i = 0; i < SOURCES * 3; i++) {
        CHECK(i % 3 == 0 || found.scores[i] <= found.scores[i - 1]);
        for (int64_t t = 0; t < found.generated[i]; t++)
            drawn[found.out[i][t]] = true;
    }
    for (int i = 0; i < VOCABULARY; i++)
        CHECK(drawn[i] == (i >= FIRST_WORD));
    config.unknown = -1;
    run(transformer, config, &found);
    for (int i = 0; i < SOURCES * 3; i++)
        for (int64_t t = 0; t < found.generated[i]; t++)
            drawn[UNKNOWN] = drawn[UNKNOWN] || found.out[i][t] == UNKNOWN;
    CHECK(drawn[UNKNOWN]);
}

/* ---- Refusals. ---- */

static void refuse(struct transformer *transformer, struct search_config config,
                   const struct search_call *call, const char *words)
{
    rotary_error error = {0};
    CHECK_INT(search_run(transformer, &config, call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
}

static void test_refusals(struct transformer *transformer)
{
    static struct found found;
    fill(&found);
    struct search_call call = call_of(&found);
    call.progress = NULL;
    refuse(transformer, beam(0, 1, 0.0f), &call, "a beam of 0");
    refuse(transformer, beam(BATCH * MAX + 1, 1, 0.0f), &call, "a beam of 85: wanted 1 to 84");
    refuse(transformer, beam(3, 4, 0.0f), &call, "the 4 best outputs of a beam of 3");
    refuse(transformer, beam(3, 0, 0.0f), &call, "the 0 best outputs");
    refuse(transformer, beam(2, 1, -1.0f), &call, "length penalty of -1");
    refuse(transformer, beam(2, 1, (float)NAN), &call, "length penalty");
    struct search_config config = greedy();
    config.max_new_tokens = 0;
    refuse(transformer, config, &call, "max_new_tokens is 0");
    config = greedy();
    config.temperature = -1.0f;
    refuse(transformer, config, &call, "a temperature of -1");
    config = greedy();
    config.unknown = VOCABULARY;
    refuse(transformer, config, &call, "0 and 13|0 ... 12");
    found.lengths[4] = LONGEST + 1;
    refuse(transformer, greedy(), &call, "source 4 has 10 tokens: wanted 1 to 9");
    found.lengths[4] = 0;
    refuse(transformer, greedy(), &call, "source 4 has 0 tokens");
    found.lengths[4] = 3;
    found.text[4][2] = VOCABULARY;
    refuse(transformer, greedy(), &call, "13");
    found.text[4][2] = 4;
    const atomic_bool interrupted = true;
    call.interrupted = &interrupted;
    config = greedy();
    CHECK_INT(search_run(transformer, &config, &call, NULL), ROTARY_INTERRUPTED);
    call = (struct search_call){0};
    CHECK_INT(search_run(transformer, &config, &call, NULL), ROTARY_OK);
    float *values = parameter_copy(transformer_parameters(transformer), PARAMETER_VALUES);
    for (int64_t i = 0; i < transformer_parameters(transformer)->elements; i++)
        values[i] = (float)NAN;
    parameter_give(transformer_parameters(transformer), PARAMETER_VALUES, values);
    call = call_of(&found);
    refuse(transformer, greedy(), &call, "logits are not numbers");
}

int main(void)
{
    struct backend cpu, bf16, reference;
    CHECK_INT(backend_create(&cpu, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    CHECK_INT(backend_create(&bf16, 1, ROTARY_ISA_AUTO, PRECISION_BF16, NULL), ROTARY_OK);
    CHECK_INT(reference_backend_create(&reference, ROTARY_F32, NULL), ROTARY_OK);
    struct transformer *transformer = create(&cpu, POSITION_ROPE, BATCH);
    end_token = find_end(transformer);
    test_every_search(transformer, 1e-5);
    test_drawing(transformer);
    test_refusals(transformer);
    transformer_destroy(transformer);
    transformer = create(&cpu, POSITION_SINUSOIDAL, 2);
    test_plain(transformer, beam(BEAMS, BEAMS, 1.0f), 1e-5);
    transformer_destroy(transformer);
    transformer = create(&reference, POSITION_ROPER, BATCH);
    test_plain(transformer, beam(3, 2, 1.0f), 1e-5);
    transformer_destroy(transformer);
    struct search_config drawing = beam(3, 3, 0.0f);
    drawing.temperature = 1.0f;
    test_neighbours(&cpu, POSITION_ROPE, beam(4, 3, 1.0f));
    test_neighbours(&cpu, POSITION_ROPE, greedy());
    test_neighbours(&cpu, POSITION_ROPE, drawing);
    test_neighbours(&bf16, POSITION_ROPER, beam(4, 3, 1.0f));
    test_neighbours(&bf16, POSITION_ROPE, greedy());
    backend_destroy(&cpu);
    backend_destroy(&bf16);
    backend_destroy(&reference);
    return check_report();
}
