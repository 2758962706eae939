/* SPDX-License-Identifier: Apache-2.0 */
#include "task/text/masking.h"

#include "base/batch.h"
#include "base/fail.h"

#include <stdlib.h>

/* So many of ten chosen tokens become the mask, and so many a random token. */
enum { MASKED_OF_TEN = 8, RANDOM_OF_TEN = 1 };

/* What a token is: bits. */
enum { TOKEN_SPECIAL = 1, TOKEN_CONTINUES = 2 };

struct masking {
    double probability;
    bool whole_words;
    int32_t mask;
    unsigned char *kinds; /* [tokens of the vocabulary] */
    int32_t *ordinary;    /* [ordinary_count]: tokens that are not special */
    int64_t ordinary_count;
};

static bool is_special(const struct special_tokens *special, int32_t token)
{
    return token == special->padding || token == special->unknown || token == special->begin ||
           token == special->end || token == special->mask;
}

/* An unknown token may be a part of a word; the others are none. */
static int kind_of(const struct tokenizer *tokenizer, const struct special_tokens *special, int32_t token)
{
    const bool is_named = is_special(special, token), is_text = !is_named || token == special->unknown;
    return (is_named ? TOKEN_SPECIAL : 0) |
           (is_text && tokenizer_continues_word(tokenizer, token) ? TOKEN_CONTINUES : 0);
}

rotary_status masking_create(struct masking **out, const struct tokenizer *tokenizer, double probability,
                             bool whole_words, rotary_error *error)
{
    const int64_t size = tokenizer_size(tokenizer);
    const struct special_tokens special = tokenizer_special(tokenizer);
    if (special.mask < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the vocabulary has no mask");
    struct masking *masking = calloc(1, sizeof *masking);
    if (masking) {
        masking->kinds = malloc((size_t)size);
        masking->ordinary = malloc((size_t)size * sizeof *masking->ordinary);
    }
    if (!masking || !masking->kinds || !masking->ordinary) {
        masking_destroy(masking);
        return rotary_fail_memory(error, "for the kinds of %lld tokens", (long long)size);
    }
    masking->probability = probability;
    masking->whole_words = whole_words;
    masking->mask = special.mask;
    for (int64_t token = 0; token < size; token++) {
        const int kind = kind_of(tokenizer, &special, (int32_t)token);
        masking->kinds[token] = (unsigned char)kind;
        if (!(kind & TOKEN_SPECIAL))
            masking->ordinary[masking->ordinary_count++] = (int32_t)token;
    }
    if (masking->ordinary_count == 0) {
        masking_destroy(masking);
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "all tokens of the vocabulary are special");
    }
    *out = masking;
    return ROTARY_OK;
}

void masking_destroy(struct masking *masking)
{
    if (!masking)
        return;
    free(masking->kinds);
    free(masking->ordinary);
    free(masking);
}

bool masking_begins_word(const struct masking *masking, int32_t token)
{
    return !(masking->kinds[token] & TOKEN_CONTINUES);
}

/* What is chosen together: a token, or a word. */
struct unit {
    int64_t begin, end;
    bool maskable; /* no token of it is special */
};

/* The unit that begins at `begin`. Behind a special token that is no part of a word, a new one begins. */
static struct unit unit_at(const struct masking *masking, const int32_t *tokens, int64_t begin, int64_t count)
{
    const int kind = masking->kinds[tokens[begin]];
    struct unit unit = {begin, begin + 1, !(kind & TOKEN_SPECIAL)};
    if (!masking->whole_words || kind == TOKEN_SPECIAL)
        return unit;
    while (unit.end < count && !masking_begins_word(masking, tokens[unit.end]))
        unit.maskable &= !(masking->kinds[tokens[unit.end++]] & TOKEN_SPECIAL);
    return unit;
}

/* The random numbers of a sequence: a block for each token. */
struct draws {
    struct rotary_random_key key;
    uint64_t first;
};

/* A whole number below `bound`, which is far below 2^32, from 32 random bits. */
static int64_t below(uint32_t word, int64_t bound)
{
    return (int64_t)((uint64_t)word * (uint64_t)bound >> 32);
}

/* Chooses a unit: its classes are its tokens, of which most become others. */
static void choose(const struct masking *masking, const struct draws *draws, const struct unit *unit,
                   int32_t *tokens, int32_t *classes)
{
    for (int64_t i = unit->begin; i < unit->end; i++) {
        uint32_t words[4];
        rotary_random_block(draws->key, draws->first + (uint64_t)i, words);
        const int64_t tenth = below(words[1], 10);
        classes[i] = tokens[i];
        if (tenth < MASKED_OF_TEN)
            tokens[i] = masking->mask;
        else if (tenth < MASKED_OF_TEN + RANDOM_OF_TEN)
            tokens[i] = masking->ordinary[below(words[2], masking->ordinary_count)];
    }
}

/* One of `candidates` units, which nothing was chosen of. The first token, a special one, needs no number of
 * its own. */
static void choose_one(const struct masking *masking, const struct draws *draws, int64_t candidates,
                       int32_t *tokens, int32_t *classes, int64_t count)
{
    uint32_t words[4];
    rotary_random_block(draws->key, draws->first, words);
    int64_t left = below(words[0], candidates);
    for (int64_t begin = 0; begin < count;) {
        const struct unit unit = unit_at(masking, tokens, begin, count);
        if (unit.maskable && left-- == 0) {
            choose(masking, draws, &unit, tokens, classes);
            return;
        }
        begin = unit.end;
    }
}

void masking_apply(const struct masking *masking, struct rotary_random_key key, uint64_t first,
                   int32_t *tokens, int32_t *classes, int64_t count)
{
    const struct draws draws = {key, first};
    int64_t candidates = 0, chosen = 0;
    for (int64_t i = 0; i < count; i++)
        classes[i] = BATCH_IGNORED;
    for (int64_t begin = 0; begin < count;) {
        const struct unit unit = unit_at(masking, tokens, begin, count);
        begin = unit.end;
        if (!unit.maskable)
            continue;
        candidates++;
        uint32_t words[4];
        rotary_random_block(key, first + (uint64_t)unit.begin, words);
        if (words[0] * 0x1p-32 < masking->probability) {
            choose(masking, &draws, &unit, tokens, classes);
            chosen++;
        }
    }
    if (chosen == 0 && candidates > 0)
        choose_one(masking, &draws, candidates, tokens, classes, count);
}
