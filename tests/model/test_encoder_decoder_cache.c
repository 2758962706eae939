/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding of encoder-decoders with a cache: whatever was decoded, forked and reordered, the logits are those
 * of one forward pass of the sequence and its source. Also what a cache refuses.
 */
#include "backend/every_backend.h"
#include "model/encoder_decoder_fixture.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, CAPACITY = 7 };

static const struct golden_case cases[] = {
    {"pre", "none", "rope", "layer_norm", "gelu", "half", "none", 1, 2, 1, 0, 0.0, 1.0, .loss = 0},
    {"post", "all", "roper", "layer_norm", "swiglu", "interleaved", "head", 1, 4, 1, 1, 0.0, 0.5, .loss = 0},
    {"both", "target", "roper", "rms_norm", "gelu", "half", "all", 0, 1, 0, 0, 0.0, 1.0, .loss = 0},
    {"pre", "target", "learned", "layer_norm", "gelu", "half", "none", 1, 4, 0, 0, 0.0, 1.0, .loss = 0},
    {"post", "none", "sinusoidal", "layer_norm", "gelu", "half", "none", 1, 4, 0, 1, 0.0, 1.0, .loss = 0},
    {"pre", "none", "t5", "rms_norm", "gelu", "half", "none", 1, 2, 0, 0, 0.0, 1.0, .loss = 0},
    {"post", "none", "kerple", "layer_norm", "gelu", "half", "none", 1, 4, 0, 0, 0.0, 1.0, .loss = 0},
    {"post", "target", "alibi", "layer_norm", "gelu", "half", "none", 1, 2, 0, 0, 0.0, 1.0, .loss = 0},
    {"both", "none", "shaw", "rms_norm", "gelu", "half", "head", 1, 2, 0, 0, 0.0, 1.0, .loss = 0},
    {"pre", "none", "xpos", "layer_norm", "gelu", "half", "none", 1, 2, 1, 0, 0.0, 1.0, .loss = 0},
    {"pre", "none", "deberta", "rms_norm", "gelu", "half", "none", 0, 2, 0, 0, 0.0, 1.0, .loss = 0},
    {"pre", "none", "transformer-xl", "rms_norm", "gelu", "half", "none", 0, 2, 0, 0, 0.0, 1.0, .loss = 0},
    {"pre", "none", "fire", "layer_norm", "gelu", "half", "none", 1, 2, 0, 0, 0.0, 1.0, .loss = 0},
    {"output", "none", "none", "rms_norm", "gelu", "half", "none", 1, 4, 0, 0, 0.0, 1.0, .loss = 0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* The sequences of a cache, and what each is to have: its source and its tokens. */
struct decoding {
    struct transformer *transformer;
    struct transformer_cache *cache;
    int64_t batch, beams, sources;
    const int32_t *source_tokens[MOST];
    int64_t source_counts[MOST];
    int64_t source[MOST], length[MOST];
    int32_t tokens[MOST][CAPACITY];
};

static const int32_t sentences[PAIRS][SOURCE_TIME] = {{3, 1, 4, 1, 5}, {9, 2}, {6, 5, 3, 5}};

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        printf("%s\n", error->message);
}

static void begin(struct decoding *decoding, const struct backend *backend, const struct golden_case *golden,
                  int64_t batch, int64_t beams)
{
    const struct transformer_config config = pair_config(golden);
    *decoding = (struct decoding){.batch = batch, .beams = beams};
    decoding->transformer = pair_transformer(backend, &config, false);
    pair_fill(decoding->transformer, 0.0);
    const struct transformer_cache_shape shape = {
        .batch = batch, .capacity = CAPACITY, .beams = beams, .source_time = SOURCE_TIME};
    rotary_error error = {0};
    must(transformer_cache_create(&decoding->cache, decoding->transformer, &shape, &error), &error);
    check_about("%s, %s-norm, tying %s, %s, %d beams", backend_about(backend), golden->norm_position,
                golden->tying, golden->position, (int)beams);
}

static void end(struct decoding *decoding)
{
    transformer_cache_destroy(decoding->cache);
    transformer_destroy(decoding->transformer);
    check_about("%s", "");
}

/* Gives the cache sentences first ... first + count - 1. */
static void give_sources(struct decoding *decoding, int64_t first, int64_t count)
{
    int32_t tokens[PAIRS * SOURCE_TIME] = {0}, starts[PAIRS + 1] = {0};
    for (int64_t s = 0; s < count; s++) {
        int64_t length = source_lengths[first + s];
        starts[s + 1] = starts[s] + (int32_t)length;
        memcpy(tokens + starts[s], sentences[first + s], (size_t)length * sizeof *tokens);
        decoding->source_tokens[s] = sentences[first + s];
        decoding->source_counts[s] = length;
    }
    const struct token_sequences sources = {.batch = count, .tokens = tokens, .starts = starts};
    rotary_error error = {0};
    must(transformer_cache_source(decoding->transformer, decoding->cache, &sources, &error), &error);
    decoding->sources = count;
    for (int64_t b = 0; b < decoding->batch; b++) {
        decoding->source[b] = b / decoding->beams;
        decoding->length[b] = 0;
        CHECK_INT(transformer_cache_length(decoding->cache, b), 0);
    }
}

/* The logits of the last token of sequence b, by one forward pass. */
static void expect(const struct decoding *decoding, int64_t b, float logits[VOCABULARY])
{
    float all[CAPACITY * VOCABULARY];
    int64_t s = decoding->source[b], length = decoding->length[b];
    const struct batch batch = {
        .input = {.batch = 1, .time = length, .tokens = decoding->tokens[b]},
        .source = {.batch = 1, .time = decoding->source_counts[s], .tokens = decoding->source_tokens[s]}};
    rotary_error error = {0};
    must(transformer_logits(decoding->transformer, &batch, all, &error), &error);
    memcpy(logits, all + (length - 1) * VOCABULARY, VOCABULARY * sizeof *logits);
}

/* counts[b] new tokens of each sequence that has a source, which differ between sequences. */
static void decode(struct decoding *decoding, const int64_t *counts)
{
    enum { TIME = 2 };
    int32_t tokens[MOST * TIME] = {0};
    float logits[MOST * VOCABULARY], wanted[VOCABULARY];
    int64_t active = decoding->sources * decoding->beams;
    rotary_error error = {0};
    for (int64_t b = 0; b < active; b++)
        for (int64_t t = 0; t < counts[b]; t++) {
            int64_t place = decoding->length[b]++;
            tokens[b * TIME + t] = (int32_t)((5 * b + 3 * place + b * place + 1) % VOCABULARY);
            decoding->tokens[b][place] = tokens[b * TIME + t];
        }
    const struct transformer_decode_call call = {
        .time = TIME, .tokens = tokens, .counts = counts, .logits = logits};
    must(transformer_decode(decoding->transformer, decoding->cache, &call, &error), &error);
    bool f32 = decoding->transformer->backend->storage == ROTARY_F32;
    for (int64_t b = 0; b < active; b++) {
        CHECK_INT(transformer_cache_length(decoding->cache, b), decoding->length[b]);
        if (counts[b] == 0)
            continue;
        expect(decoding, b, wanted);
        for (int64_t i = 0; i < VOCABULARY; i++)
            CHECK_NEAR(logits[b * VOCABULARY + i], wanted[i],
                       (f32 ? 2e-5 : 0.1) * (1.0 + fabs((double)wanted[i])));
    }
}

static void reorder(struct decoding *decoding, const int32_t *source)
{
    const struct decoding old = *decoding;
    rotary_error error = {0};
    must(transformer_cache_reorder(decoding->transformer, decoding->cache, source, &error), &error);
    for (int64_t b = 0; b < decoding->batch; b++) {
        decoding->source[b] = old.source[source[b]];
        decoding->length[b] = old.length[source[b]];
        memcpy(decoding->tokens[b], old.tokens[source[b]], sizeof old.tokens[b]);
    }
}

/* Sequences that advance by different lengths, change places and leave take their sources with them. */
static void test_single(const struct backend *backend, const struct golden_case *golden)
{
    static const int32_t rotated[PAIRS] = {2, 0, 1}, forked[PAIRS] = {1, 1, 0};
    struct decoding decoding;
    begin(&decoding, backend, golden, PAIRS, 1);
    for (int again = 0; again < 2; again++) {
        give_sources(&decoding, 0, PAIRS);
        decode(&decoding, (const int64_t[]){1, 2, 1});
        decode(&decoding, (const int64_t[]){1, 0, 2});
        reorder(&decoding, rotated);
        decode(&decoding, (const int64_t[]){1, 1, 1});
        reorder(&decoding, forked);
        decode(&decoding, (const int64_t[]){1, 2, 0});
        decode(&decoding, (const int64_t[]){0, 1, 1});
    }
    rotary_error error = {0};
    must(transformer_cache_copy(decoding.transformer, decoding.cache, 2, 0, &error), &error);
    decoding.source[2] = decoding.source[0];
    decoding.length[2] = decoding.length[0];
    memcpy(decoding.tokens[2], decoding.tokens[0], sizeof decoding.tokens[0]);
    decode(&decoding, (const int64_t[]){0, 0, 1});
    end(&decoding);
}

/* Beams fork within their source, and sources change places with all of theirs. */
static void test_beams(const struct backend *backend, const struct golden_case *golden)
{
    static const int32_t forked[MOST] = {1, 1, 2, 3, 5, 4}, moved[MOST] = {4, 5, 0, 0, 3, 2},
                         torn[MOST] = {0, 1, 2, 4, 4, 5};
    struct decoding decoding;
    begin(&decoding, backend, golden, MOST, 2);
    give_sources(&decoding, 0, PAIRS);
    decode(&decoding, (const int64_t[]){1, 1, 1, 1, 1, 1});
    reorder(&decoding, forked);
    decode(&decoding, (const int64_t[]){1, 1, 1, 1, 1, 1});
    reorder(&decoding, moved);
    decode(&decoding, (const int64_t[]){1, 1, 1, 1, 1, 1});
    decode(&decoding, (const int64_t[]){2, 1, 0, 0, 1, 2});
    rotary_error error = {0};
    CHECK_INT(transformer_cache_reorder(decoding.transformer, decoding.cache, torn, &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "sequence 3 continues sequence 4, of source 2"));
    end(&decoding);
}

/* A cache takes other sources after the first, fewer and shorter ones. */
static void test_fewer_sources(const struct backend *backend, const struct golden_case *golden)
{
    struct decoding decoding;
    begin(&decoding, backend, golden, MOST, 2);
    give_sources(&decoding, 0, PAIRS);
    decode(&decoding, (const int64_t[]){1, 2, 1, 2, 0, 1});
    give_sources(&decoding, 1, 2);
    decode(&decoding, (const int64_t[]){1, 1, 1, 1});
    reorder(&decoding, (const int32_t[]){1, 0, 3, 3, 4, 5});
    decode(&decoding, (const int64_t[]){1, 1, 1, 2});
    const int32_t token[MOST] = {0};
    float logits[MOST * VOCABULARY];
    struct transformer_decode_call call = {.batch = MOST, .time = 1, .tokens = token, .logits = logits};
    rotary_error error = {0};
    CHECK(transformer_decode(decoding.transformer, decoding.cache, &call, &error) != ROTARY_OK);
    CHECK(strstr(error.message, "a call of 6 sequences: the cache has 2 sources of 2 sequences each"));
    call.batch = 3;
    CHECK(transformer_decode(decoding.transformer, decoding.cache, &call, &error) != ROTARY_OK);
    end(&decoding);
}

static void refuse_shape(const struct transformer *transformer, struct transformer_cache_shape shape,
                         const char *message)
{
    struct transformer_cache *cache = NULL;
    rotary_error error = {0};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(!cache);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
}

static void test_refusals(const struct backend *backend)
{
    struct decoding decoding;
    rotary_error error = {0};
    begin(&decoding, backend, &cases[0], PAIRS, 1);
    const int32_t token[PAIRS] = {0};
    float logits[PAIRS * VOCABULARY];
    const struct transformer_decode_call call = {
        .batch = PAIRS, .time = 1, .tokens = token, .logits = logits};
    CHECK(transformer_decode(decoding.transformer, decoding.cache, &call, &error) != ROTARY_OK);
    CHECK(strstr(error.message, "the cache has 0 sources"));
    const struct token_sequences beyond = {.batch = PAIRS, .time = SOURCE_TIME + 1, .tokens = token};
    CHECK(transformer_cache_source(decoding.transformer, decoding.cache, &beyond, &error) != ROTARY_OK);
    CHECK(strstr(error.message, "the source: a batch of 3 sequences of 6 tokens"));
    refuse_shape(decoding.transformer, (struct transformer_cache_shape){.batch = 2, .capacity = 4},
                 "a KV cache for sources of 0 tokens: the encoder reads 1 to 5");
    refuse_shape(decoding.transformer,
                 (struct transformer_cache_shape){.batch = 2, .capacity = 4, .source_time = 6},
                 "a KV cache for sources of 6 tokens: the encoder reads 1 to 5");
    refuse_shape(decoding.transformer,
                 (struct transformer_cache_shape){.batch = 4, .capacity = 4, .beams = 3, .source_time = 5},
                 "a multiple of those per source");
    end(&decoding);
}

static void test_all(const struct backend *backend)
{
    for (int c = 0; c < CASES; c++) {
        test_single(backend, &cases[c]);
        test_beams(backend, &cases[c]);
        test_fewer_sources(backend, &cases[c]);
    }
    test_refusals(backend);
}

int main(void)
{
    on_every_backend(test_all);
    return check_report();
}
