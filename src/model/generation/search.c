/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources are searched in groups of similar lengths, the longest first. Each has as many sequences in the
 * cache as a beam has slots. All unfinished hypotheses of a group have equally many tokens: a step gives each
 * of them one more. A source that is done leaves: the last one takes its place in the cache, so that the
 * others come first and steps become smaller.
 */
#include "model/generation/search.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "model/generation/beam.h"
#include "model/generation/token_choice.h"
#include "model/transformer_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXCLUDED = 3 };

/* What all groups of a call share. */
struct searcher {
    struct transformer *transformer;
    const struct search_config *config;
    const struct search_call *call;
    int64_t *order; /* [count] sources, the longest first, then by index */
    int64_t done;
    int32_t excluded[MAX_EXCLUDED]; /* tokens that are never an output's */
    int64_t excluded_count;
    int64_t candidates;
    /* These are of all groups: the first has the most sources, and the longest. */
    struct transformer_cache *cache;
    int64_t cached; /* sequences */
};

struct group {
    struct searcher *searcher;
    const int64_t *sources; /* [count] */
    int64_t count, unfinished, source_time;
    struct beam_config beam;
    struct rotary_arena arena;
    struct beam *beams;     /* [count] by place in the cache, the unfinished ones first */
    int64_t *places;        /* [count] where in the cache each was before the step */
    int32_t *source_tokens; /* [count * source_time] */
    int32_t *source_starts; /* [count + 1] */
    /* These are of one step, by slot, [count * size]: */
    int32_t *inputs, *parents, *moves;
    int64_t *counts;
    float *logits;            /* [vocabulary] each, where tokens are drawn from all */
    float *log_probabilities; /* [candidates] each */
    int32_t *tokens;          /* [candidates] each */
    float *drawn_log_probabilities;
    int32_t *drawn_tokens;
};

void search_config_default(struct search_config *config)
{
    *config = (struct search_config){.max_new_tokens = 1 << 20,
                                     .length_factor = 2.0f,
                                     .length_constant = 10,
                                     .beams = 1,
                                     .n_best = 1,
                                     .begin = -1,
                                     .end = -1,
                                     .padding = -1,
                                     .unknown = -1};
}

/* The most tokens of an output. */
static int64_t max_length(const struct search_config *config, int64_t source_length)
{
    if (config->length_factor <= 0.0f)
        return config->max_new_tokens;
    double longest = (double)config->length_factor * (double)source_length + (double)config->length_constant;
    return longest < (double)config->max_new_tokens ? max_i64((int64_t)longest, 1) : config->max_new_tokens;
}

static bool draws_from_all(const struct search_config *config)
{
    return config->temperature > 0.0f && config->top_k == 0;
}

/* ---- Drawing. ---- */

/* Draws the next token of a row from all logits. */
static void draw_from_all(struct group *group, int64_t row, double uniform)
{
    const struct searcher *searcher = group->searcher;
    int64_t vocabulary = searcher->transformer->config.vocab_size;
    float *logits = group->logits + row * vocabulary;
    double sum = token_log_sum_exp(logits, vocabulary);
    for (int64_t i = 0; i < searcher->excluded_count; i++)
        logits[searcher->excluded[i]] = -INFINITY;
    int32_t drawn = token_sample(logits, vocabulary, (double)searcher->config->temperature, uniform);
    group->drawn_tokens[row] = drawn;
    group->drawn_log_probabilities[row] = (float)((double)logits[drawn] - sum);
}

static void draw_from_candidates(struct group *group, int64_t row, double uniform)
{
    const struct searcher *searcher = group->searcher;
    int64_t first = row * searcher->candidates;
    int32_t drawn = token_sample(group->log_probabilities + first, searcher->candidates,
                                 (double)searcher->config->temperature, uniform);
    group->drawn_tokens[row] = group->tokens[first + drawn];
    group->drawn_log_probabilities[row] = group->log_probabilities[first + drawn];
}

static void draw(struct group *group, int64_t place)
{
    const struct search_config *config = group->searcher->config;
    const struct beam *beam = &group->beams[place];
    const struct rotary_random_key key = {
        .seed = config->seed, .stream = ROTARY_STREAM_SAMPLE, .step = (uint32_t)beam->length};
    for (int64_t i = 0; i < beam->live; i++) {
        int64_t slot = beam->order[i], row = place * config->beams + slot;
        double uniform = (double)rotary_random_uniform(key, (uint64_t)(beam->source * config->beams + slot));
        if (draws_from_all(config))
            draw_from_all(group, row, uniform);
        else
            draw_from_candidates(group, row, uniform);
    }
}

/* ---- One step. ---- */

/* Runs the last token of every unfinished hypothesis; empty slots have none. */
static rotary_status run_tokens(struct group *group, rotary_error *error)
{
    const struct searcher *searcher = group->searcher;
    int64_t size = group->beam.size, rows = group->unfinished * size;
    memset(group->counts, 0, (size_t)rows * sizeof *group->counts);
    for (int64_t place = 0; place < group->unfinished; place++) {
        const struct beam *beam = &group->beams[place];
        for (int64_t i = 0; i < beam->live; i++) {
            int64_t slot = beam->order[i], row = place * size + slot;
            group->counts[row] = 1;
            group->inputs[row] =
                beam->length > 0 ? beam->slots[slot].tokens[beam->length - 1] : searcher->config->begin;
        }
    }
    const struct backend_top_classes top_classes = {.count = searcher->candidates,
                                                    .excluded = searcher->excluded,
                                                    .excluded_count = searcher->excluded_count,
                                                    .log_probabilities = group->log_probabilities,
                                                    .chosen = group->tokens};
    bool all = draws_from_all(searcher->config);
    const struct transformer_decode_call call = {.batch = rows,
                                                 .time = 1,
                                                 .tokens = group->inputs,
                                                 .counts = group->counts,
                                                 .logits = all ? group->logits : NULL,
                                                 .top_classes = all ? NULL : &top_classes};
    return transformer_decode(searcher->transformer, searcher->cache, &call, error);
}

/* A diverged model has no probabilities. */
static rotary_status check_probabilities(const struct group *group, const struct beam_candidates *candidates,
                                         int64_t place, rotary_error *error)
{
    const struct beam *beam = &group->beams[place];
    for (int64_t i = 0; i < beam->live; i++)
        if (isnan(candidates->log_probabilities[beam->order[i] * candidates->count]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "source %lld: the model's logits are not numbers", (long long)beam->source);
    return ROTARY_OK;
}

static rotary_status extend_hypotheses(struct group *group, rotary_error *error)
{
    const struct searcher *searcher = group->searcher;
    bool drawing = searcher->config->temperature > 0.0f;
    rotary_status status = ROTARY_OK;
    for (int64_t place = 0; status == ROTARY_OK && place < group->unfinished; place++) {
        int64_t row = place * group->beam.size, count = drawing ? 1 : searcher->candidates;
        if (drawing)
            draw(group, place);
        const struct beam_candidates candidates = {
            .count = count,
            .log_probabilities =
                (drawing ? group->drawn_log_probabilities : group->log_probabilities) + row * count,
            .tokens = (drawing ? group->drawn_tokens : group->tokens) + row * count};
        status = check_probabilities(group, &candidates, place, error);
        if (status == ROTARY_OK)
            beam_advance(&group->beams[place], &candidates, group->parents + row);
    }
    return status;
}

/* ---- Sources that are done. ---- */

static void write_outputs(const struct group *group, const struct beam *beam)
{
    const struct search_call *call = group->searcher->call;
    for (int64_t i = 0, n_best = group->searcher->config->n_best; i < n_best; i++) {
        int64_t output = beam->source * n_best + i;
        const struct hypothesis *finished = &beam->finished[i];
        bool is_there = i < beam->kept;
        call->generated[output] = is_there ? finished->length : -1;
        if (is_there)
            memcpy(call->outputs[output], finished->tokens,
                   (size_t)finished->length * sizeof *finished->tokens);
        if (call->scores)
            call->scores[output] = is_there ? finished->score : -(double)INFINITY;
    }
}

/* Removes the beams that are done, from the last on: so one that takes another's place is unfinished. */
static void leave_all(struct group *group)
{
    struct searcher *searcher = group->searcher;
    int64_t before = group->unfinished;
    for (int64_t place = 0; place < before; place++)
        group->places[place] = place;
    for (int64_t place = before - 1; place >= 0; place--) {
        if (!beam_is_done(&group->beams[place]))
            continue;
        write_outputs(group, &group->beams[place]);
        int64_t last = --group->unfinished;
        struct beam done = group->beams[place];
        group->beams[place] = group->beams[last];
        group->beams[last] = done;
        group->places[place] = group->places[last];
    }
    searcher->done += before - group->unfinished;
    if (searcher->call->progress && group->unfinished < before)
        searcher->call->progress(searcher->call->context, searcher->done);
}

/* Moves keys and values to where the hypotheses are now, if any has moved. */
static rotary_status move_sequences(struct group *group, rotary_error *error)
{
    struct searcher *searcher = group->searcher;
    int64_t size = group->beam.size;
    bool moved = false;
    for (int64_t row = 0; row < searcher->cached; row++)
        group->moves[row] = (int32_t)row;
    for (int64_t row = 0; row < group->unfinished * size; row++) {
        int64_t before = group->places[row / size];
        group->moves[row] = (int32_t)(before * size) + group->parents[before * size + row % size];
        moved = moved || group->moves[row] != row;
    }
    return moved ? transformer_cache_reorder(searcher->transformer, searcher->cache, group->moves, error)
                 : ROTARY_OK;
}

static bool is_interrupted(const struct search_call *call)
{
    return call->interrupted && atomic_load_explicit(call->interrupted, memory_order_relaxed);
}

static rotary_status step(struct group *group, rotary_error *error)
{
    rotary_status status = run_tokens(group, error);
    if (status == ROTARY_OK)
        status = extend_hypotheses(group, error);
    if (status != ROTARY_OK)
        return status;
    leave_all(group);
    if (group->unfinished > 0)
        status = move_sequences(group, error);
    if (status == ROTARY_OK && is_interrupted(group->searcher->call))
        status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted while searching");
    return status;
}

/* ---- Groups. ---- */

static void carve(struct group *group)
{
    const struct searcher *searcher = group->searcher;
    struct rotary_arena *arena = &group->arena;
    int64_t count = group->count, rows = count * group->beam.size;
    group->beams = rotary_arena_push(arena, count, sizeof *group->beams);
    for (int64_t i = 0; i < count; i++) {
        struct beam measured, *beam = group->beams ? &group->beams[i] : &measured;
        beam_carve(beam, &group->beam, arena);
    }
    group->places = rotary_arena_push(arena, count, sizeof *group->places);
    group->source_tokens = rotary_arena_push(arena, count * group->source_time, sizeof *group->source_tokens);
    group->source_starts = rotary_arena_push(arena, count + 1, sizeof *group->source_starts);
    group->inputs = rotary_arena_push(arena, rows, sizeof *group->inputs);
    group->parents = rotary_arena_push(arena, rows, sizeof *group->parents);
    group->moves = rotary_arena_push(arena, searcher->cached, sizeof *group->moves);
    group->counts = rotary_arena_push(arena, rows, sizeof *group->counts);
    int64_t all = draws_from_all(searcher->config) ? searcher->transformer->config.vocab_size : 0;
    group->logits = rotary_arena_push(arena, rows * all, sizeof *group->logits);
    int64_t candidates = rows * searcher->candidates;
    group->log_probabilities = rotary_arena_push(arena, candidates, sizeof *group->log_probabilities);
    group->tokens = rotary_arena_push(arena, candidates, sizeof *group->tokens);
    group->drawn_log_probabilities = rotary_arena_push(arena, rows, sizeof *group->drawn_log_probabilities);
    group->drawn_tokens = rotary_arena_push(arena, rows, sizeof *group->drawn_tokens);
}

static rotary_status read_sources(struct group *group, rotary_error *error)
{
    const struct searcher *searcher = group->searcher;
    int32_t *starts = group->source_starts;
    starts[0] = 0;
    for (int64_t i = 0; i < group->count; i++) {
        int64_t source = group->sources[i], length = searcher->call->lengths[source];
        memcpy(group->source_tokens + starts[i], searcher->call->sources[source],
               (size_t)length * sizeof *group->source_tokens);
        starts[i + 1] = starts[i] + (int32_t)length;
        beam_start(&group->beams[i], source, max_length(searcher->config, length));
    }
    const struct token_sequences sources = {
        .batch = group->count, .tokens = group->source_tokens, .starts = starts};
    return transformer_cache_source(searcher->transformer, searcher->cache, &sources, error);
}

/* The cache of the first group. */
static rotary_status create_cache(struct searcher *searcher, const struct group *group, rotary_error *error)
{
    if (searcher->cache)
        return ROTARY_OK;
    const struct transformer_cache_shape shape = {.batch = group->count * group->beam.size,
                                                  .capacity = group->beam.capacity,
                                                  .beams = group->beam.size,
                                                  .source_time = group->source_time};
    searcher->cached = shape.batch;
    return transformer_cache_create(&searcher->cache, searcher->transformer, &shape, error);
}

static rotary_status create(struct group *group, rotary_error *error)
{
    struct searcher *searcher = group->searcher;
    const struct search_config *config = searcher->config;
    for (int64_t i = 0; i < group->count; i++) {
        int64_t length = searcher->call->lengths[group->sources[i]];
        group->beam.capacity = max_i64(group->beam.capacity, max_length(config, length));
    }
    rotary_status status = create_cache(searcher, group, error);
    if (status != ROTARY_OK)
        return status;
    carve(group);
    status = rotary_arena_allocate(&group->arena, "a search", error);
    if (status != ROTARY_OK)
        return status;
    carve(group);
    return read_sources(group, error);
}

static rotary_status run_group(struct group *group, rotary_error *error)
{
    rotary_status status = create(group, error);
    group->unfinished = group->count;
    while (status == ROTARY_OK && group->unfinished > 0)
        status = step(group, error);
    rotary_arena_free(&group->arena);
    return status;
}

/* How many sources, from `first` on in the order of their lengths, are searched at once. */
static int64_t group_size(const struct searcher *searcher, int64_t first)
{
    struct transformer_limits limits = searcher->transformer->limits;
    int64_t by_rows = transformer_rows(limits) / searcher->config->beams;
    return min_i64(searcher->call->count - first, min_i64(by_rows, limits.batch));
}

/* ---- The call. ---- */

/* Whether the vocabulary has the token, or there is none. */
static bool is_known(const struct transformer *transformer, int32_t token)
{
    return token >= -1 && token < transformer->config.vocab_size;
}

static rotary_status check_tokens(const struct transformer *transformer, const struct search_config *config,
                                  rotary_error *error)
{
    if (config->begin < 0 || !is_known(transformer, config->begin) || !is_known(transformer, config->end) ||
        !is_known(transformer, config->padding) || !is_known(transformer, config->unknown))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "begin, end, padding and unknown are tokens %d, %d, %d and %d: wanted some of the "
                           "vocabulary, 0 ... %lld, or -1 but for begin",
                           (int)config->begin, (int)config->end, (int)config->padding, (int)config->unknown,
                           (long long)transformer->config.vocab_size - 1);
    if (config->end >= 0 &&
        (config->end == config->begin || config->end == config->padding || config->end == config->unknown))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "end is token %d, which is begin, padding or unknown too: wanted one of its own",
                           (int)config->end);
    if (transformer->config.vocab_size <= MAX_EXCLUDED)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a vocabulary of %lld tokens: wanted some that are not special",
                           (long long)transformer->config.vocab_size);
    return ROTARY_OK;
}

static rotary_status check_config(const struct transformer *transformer, const struct search_config *config,
                                  rotary_error *error)
{
    if (transformer->limits.source_time == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a model without an encoder: wanted one that reads sources");
    if (config->beams < 1 || config->beams > BEAM_MAX_SIZE ||
        config->beams > transformer_rows(transformer->limits))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a beam of %lld: wanted 1 to %lld, as many tokens as the model decodes at once",
                           (long long)config->beams,
                           (long long)min_i64(BEAM_MAX_SIZE, transformer_rows(transformer->limits)));
    if (config->n_best < 1 || config->n_best > config->beams)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the %lld best outputs of a beam of %lld: wanted at least 1, at most the beam",
                           (long long)config->n_best, (long long)config->beams);
    if (config->max_new_tokens < 1 || config->max_new_tokens > INT32_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "max_new_tokens is %lld: wanted 1 to %lld",
                           (long long)config->max_new_tokens, (long long)INT32_MAX);
    if (!(config->length_factor >= 0.0f && config->length_factor < INFINITY))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a length factor of %g: wanted at least 0",
                           (double)config->length_factor);
    if (!(config->length_penalty >= 0.0f && config->length_penalty < INFINITY))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a length penalty of %g: wanted at least 0",
                           (double)config->length_penalty);
    if (!(config->temperature >= 0.0f && config->temperature < INFINITY) || config->top_k < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a temperature of %g, and %lld tokens to draw from: wanted at least 0 both",
                           (double)config->temperature, (long long)config->top_k);
    return check_tokens(transformer, config, error);
}

static rotary_status check_sources(const struct transformer *transformer, const struct search_call *call,
                                   rotary_error *error)
{
    int64_t most = transformer->limits.source_time;
    for (int64_t i = 0; i < call->count; i++)
        if (call->lengths[i] < 1 || call->lengths[i] > most)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "source %lld has %lld tokens: wanted 1 to %lld", (long long)i,
                               (long long)call->lengths[i], (long long)most);
    return ROTARY_OK;
}

struct source_length {
    int64_t length, source;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct source_length *a = left, *b = right;
    if (a->length != b->length)
        return a->length < b->length ? 1 : -1;
    return a->source < b->source ? -1 : a->source > b->source;
}

/* The tokens that are never an output's, and how many others are candidates for one. */
static void set_candidates(struct searcher *searcher)
{
    const struct search_config *config = searcher->config;
    const int32_t tokens[MAX_EXCLUDED] = {config->begin, config->padding, config->unknown};
    for (int i = 0; i < MAX_EXCLUDED; i++) {
        bool known = tokens[i] < 0;
        for (int64_t j = 0; j < searcher->excluded_count; j++)
            known = known || searcher->excluded[j] == tokens[i];
        if (!known)
            searcher->excluded[searcher->excluded_count++] = tokens[i];
    }
    int64_t others = searcher->transformer->config.vocab_size - searcher->excluded_count,
            wanted = config->temperature > 0.0f ? config->top_k : 2 * config->beams;
    searcher->candidates = min_i64(wanted, others);
}

static rotary_status search_all(struct searcher *searcher, rotary_error *error)
{
    int64_t count = searcher->call->count;
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0, size; status == ROTARY_OK && first < count; first += size) {
        size = group_size(searcher, first);
        struct group group = {.searcher = searcher,
                              .sources = searcher->order + first,
                              .count = size,
                              .source_time = searcher->call->lengths[searcher->order[first]],
                              .beam = {.size = searcher->config->beams,
                                       .length_penalty = (double)searcher->config->length_penalty,
                                       .end = searcher->config->end,
                                       .independent = searcher->config->temperature > 0.0f}};
        status = run_group(&group, error);
    }
    return status;
}

rotary_status search_run(struct transformer *transformer, const struct search_config *config,
                         const struct search_call *call, rotary_error *error)
{
    rotary_status status = check_config(transformer, config, error);
    if (status == ROTARY_OK)
        status = check_sources(transformer, call, error);
    if (status != ROTARY_OK || call->count == 0)
        return status;
    struct searcher searcher = {.transformer = transformer, .config = config, .call = call};
    struct source_length *lengths = calloc((size_t)call->count, sizeof *lengths);
    searcher.order = calloc((size_t)call->count, sizeof *searcher.order);
    if (lengths && searcher.order) {
        for (int64_t i = 0; i < call->count; i++)
            lengths[i] = (struct source_length){.length = call->lengths[i], .source = i};
        qsort(lengths, (size_t)call->count, sizeof *lengths, compare_lengths);
        for (int64_t i = 0; i < call->count; i++)
            searcher.order[i] = lengths[i].source;
        set_candidates(&searcher);
        status = search_all(&searcher, error);
    } else
        status = rotary_fail_memory(error, "for %lld sources", (long long)call->count);
    transformer_cache_destroy(searcher.cache);
    free(lengths);
    free(searcher.order);
    return status;
}
