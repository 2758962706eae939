/* SPDX-License-Identifier: Apache-2.0
 *
 * Masking: how many tokens are chosen and what becomes of them, whole words, special tokens, and that it is a
 * pure function of its key and first block.
 */
#include "task/text/masking.h"

#include "base/batch.h"
#include "support/check.h"
#include "text/tokenizer/sentencepiece.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 600, TIME = 500, WORDS = 40 };

static const struct rotary_random_key key = {.seed = 5, .stream = ROTARY_STREAM_MASK};

/* A vocabulary of words "a0", "a1", ... with a mask. */
static struct tokenizer *words_tokenizer(void)
{
    char text[WORDS * 8] = "";
    struct tokenizer *tokenizer = NULL;
    for (int i = 0; i < WORDS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a%d ", i);
    const struct words_config config = {.min_frequency = 1, .mask = true};
    if (!CHECK_INT(words_configured_create(&tokenizer, text, (int64_t)strlen(text), &config, NULL),
                   ROTARY_OK))
        exit(1);
    return tokenizer;
}

static struct masking *masking_of(const struct tokenizer *tokenizer, double probability, bool whole_words)
{
    struct masking *masking = NULL;
    if (!CHECK_INT(masking_create(&masking, tokenizer, probability, whole_words, NULL), ROTARY_OK))
        exit(1);
    return masking;
}

/* A sequence between begin and end whose other tokens are words, one after another. */
static void fill_words(const struct tokenizer *tokenizer, int32_t *tokens, int64_t count)
{
    const struct special_tokens special = tokenizer_special(tokenizer);
    tokens[0] = special.begin;
    for (int64_t i = 1; i < count - 1; i++)
        tokens[i] = special.mask + 1 + (int32_t)(i * 7 % WORDS);
    tokens[count - 1] = special.end;
}

/* Whether `count` of `trials` is what a probability gives, within 4.5 standard deviations. */
static void check_share(const char *what, int64_t count, int64_t trials, double probability)
{
    const double mean = probability * (double)trials, spread = sqrt(mean * (1 - probability));
    check_about("%s: %lld of %lld", what, (long long)count, (long long)trials);
    CHECK_NEAR((double)count, mean, 4.5 * spread);
    check_about("%s", "");
}

/* What happened to the tokens of many sequences. */
struct outcome {
    int64_t tokens, chosen, masked, same, others;
    int64_t pairs;             /* neighbours that are both chosen */
    int64_t random[WORDS + 8]; /* how often a token replaced another */
    int64_t at_place[TIME];    /* how often a place was chosen */
};

static void add_outcome(struct outcome *outcome, const struct special_tokens *special, const int32_t *before,
                        const int32_t *after, const int32_t *classes, int64_t count)
{
    CHECK_INT(classes[0], BATCH_IGNORED);
    CHECK_INT(classes[count - 1], BATCH_IGNORED);
    for (int64_t i = 0; i < count; i++) {
        outcome->tokens += i > 0 && i < count - 1;
        if (classes[i] == BATCH_IGNORED) {
            CHECK_INT(after[i], before[i]);
            continue;
        }
        CHECK_INT(classes[i], before[i]);
        outcome->chosen++;
        outcome->at_place[i]++;
        outcome->pairs += classes[i - 1] != BATCH_IGNORED;
        if (after[i] == special->mask) {
            outcome->masked++;
        } else if (after[i] == before[i]) {
            outcome->same++;
        } else {
            outcome->others++;
            CHECK(after[i] > special->mask && after[i] <= special->mask + WORDS);
            outcome->random[after[i] - special->mask - 1]++;
        }
    }
}

static void test_shares(double probability)
{
    struct tokenizer *tokenizer = words_tokenizer();
    struct masking *masking = masking_of(tokenizer, probability, false);
    const struct special_tokens special = tokenizer_special(tokenizer);
    struct outcome *outcome = calloc(1, sizeof *outcome);
    for (int64_t i = 0; i < SEQUENCES; i++) {
        int32_t before[TIME], after[TIME], classes[TIME];
        fill_words(tokenizer, before, TIME);
        memcpy(after, before, sizeof after);
        masking_apply(masking, key, (uint64_t)i * MASKING_BLOCKS, after, classes, TIME);
        add_outcome(outcome, &special, before, after, classes, TIME);
    }
    CHECK_INT(outcome->tokens, (int64_t)SEQUENCES * (TIME - 2));
    check_share("chosen", outcome->chosen, outcome->tokens, probability);
    check_share("neighbours", outcome->pairs, (int64_t)SEQUENCES * (TIME - 3), probability * probability);
    /* A random token may be the one that was there. */
    check_share("masked", outcome->masked, outcome->chosen, 0.8);
    check_share("same", outcome->same, outcome->chosen, 0.1 + 0.1 / WORDS);
    check_share("others", outcome->others, outcome->chosen, 0.1 - 0.1 / WORDS);
    for (int i = 0; i < WORDS; i++)
        check_share("a random token", outcome->random[i], outcome->others, 1.0 / WORDS);
    for (int i = 1; i < TIME - 1; i++)
        check_share("a place", outcome->at_place[i], SEQUENCES, probability);
    free(outcome);
    masking_destroy(masking);
    tokenizer_destroy(tokenizer);
}

/* Special tokens in the text stay, and unknown words are not to be predicted. */
static void test_special(void)
{
    struct tokenizer *tokenizer = words_tokenizer();
    struct masking *masking = masking_of(tokenizer, 0.9, false);
    const struct special_tokens special = tokenizer_special(tokenizer);
    const int32_t names[] = {special.unknown, special.padding, special.mask, special.begin, special.end};
    int32_t tokens[TIME], before[TIME], classes[TIME];
    fill_words(tokenizer, before, TIME);
    for (int i = 1; i < TIME - 1; i += 2)
        before[i] = names[i / 2 % 5];
    memcpy(tokens, before, sizeof tokens);
    masking_apply(masking, key, 0, tokens, classes, TIME);
    int64_t chosen = 0;
    for (int i = 1; i < TIME - 1; i++) {
        if (i % 2 == 1)
            CHECK(tokens[i] == before[i] && classes[i] == BATCH_IGNORED);
        chosen += classes[i] != BATCH_IGNORED;
    }
    check_share("chosen", chosen, TIME / 2 - 1, 0.9);
    for (int i = 0; i < TIME; i++)
        tokens[i] = names[i % 5];
    masking_apply(masking, key, 0, tokens, classes, TIME);
    for (int i = 0; i < TIME; i++)
        CHECK(tokens[i] == names[i % 5] && classes[i] == BATCH_IGNORED);
    masking_destroy(masking);
    tokenizer_destroy(tokenizer);
}

/* A sequence that is so short that chance often chooses nothing has one token chosen, whichever of them. */
static void test_short(void)
{
    enum { SHORT = 6, TRIALS = 20000 };
    struct tokenizer *tokenizer = words_tokenizer();
    struct masking *masking = masking_of(tokenizer, 0.02, false);
    int64_t chosen = 0, at_place[SHORT] = {0};
    for (int64_t i = 0; i < TRIALS; i++) {
        int32_t tokens[SHORT], classes[SHORT];
        int64_t here = 0;
        fill_words(tokenizer, tokens, SHORT);
        masking_apply(masking, key, (uint64_t)i * MASKING_BLOCKS, tokens, classes, SHORT);
        for (int j = 0; j < SHORT; j++) {
            here += classes[j] != BATCH_IGNORED;
            at_place[j] += classes[j] != BATCH_IGNORED;
        }
        CHECK(here > 0);
        chosen += here;
    }
    const double none = pow(0.98, SHORT - 2);
    CHECK_NEAR((double)chosen / TRIALS, (SHORT - 2) * 0.02 + none, 0.01);
    for (int j = 1; j < SHORT - 1; j++)
        check_share("a place", at_place[j], TRIALS, 0.02 + none / (SHORT - 2));
    masking_destroy(masking);
    tokenizer_destroy(tokenizer);
}

/* The same key and block mask alike, others do not; what a token becomes does not depend on the length. */
static void test_pure(void)
{
    struct tokenizer *tokenizer = words_tokenizer();
    struct masking *masking = masking_of(tokenizer, 0.15, false);
    const struct rotary_random_key others[] = {{.seed = 6, .stream = ROTARY_STREAM_MASK},
                                               {.seed = 5, .stream = ROTARY_STREAM_TASK},
                                               {.seed = 5, .stream = ROTARY_STREAM_MASK, .step = 1}};
    int32_t tokens[TIME], classes[TIME], again[TIME], again_classes[TIME];
    fill_words(tokenizer, tokens, TIME);
    masking_apply(masking, key, 3 * (uint64_t)MASKING_BLOCKS, tokens, classes, TIME);
    for (int i = 0; i < 6; i++) {
        const int64_t count = i == 1 ? TIME / 2 : TIME;
        const struct rotary_random_key *used = i < 3 ? &key : &others[i - 3];
        fill_words(tokenizer, again, TIME);
        masking_apply(masking, *used, (i == 2 ? 4 : 3) * (uint64_t)MASKING_BLOCKS, again, again_classes,
                      count);
        const size_t bytes = (size_t)(count - 1) * sizeof *again;
        check_about("call %d", i);
        CHECK((memcmp(again_classes, classes, bytes) == 0) == (i < 2));
        CHECK(i >= 2 || memcmp(again, tokens, bytes) == 0);
    }
    check_about("%s", "");
    masking_destroy(masking);
    tokenizer_destroy(tokenizer);
}

/* ---- whole words ---- */

/* A SentencePiece model of so few pieces that words have several. */
static struct tokenizer *pieces_tokenizer(char *text, size_t capacity)
{
    static const char *const syllables[] = {"ba", "lo", "mi", "ter", "un", "gra", "so", "kel"};
    struct text_line lines[60];
    struct sentencepiece_config config;
    struct tokenizer *tokenizer = NULL;
    size_t used = 0;
    for (int line = 0; line < 60; line++) {
        const size_t begin = used;
        for (int word = 0; word < 7; word++) {
            for (int part = 0; part <= (line + word) % 4; part++)
                used += (size_t)snprintf(text + used, capacity - used, "%s",
                                         syllables[(line * 5 + word * 3 + part * (1 + line % 3)) % 8]);
            used += (size_t)snprintf(text + used, capacity - used, word < 6 ? " " : "\n");
        }
        lines[line] = (struct text_line){text + begin, (int64_t)(used - begin) - 1};
    }
    sentencepiece_defaults(&config);
    config.model = SENTENCEPIECE_BPE;
    config.vocabulary_size = 36;
    config.mask = true;
    rotary_error error = {0};
    if (!CHECK_INT(sentencepiece_train(&tokenizer, &config, lines, 60, NULL, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return tokenizer;
}

/* The words of a sequence, by the marks of spaces in the texts of its pieces: all of a word has classes, or
 * nothing has. */
static void check_whole(const struct tokenizer *tokenizer, const int32_t *tokens, const int32_t *classes,
                        int64_t count, int64_t *words, int64_t *chosen)
{
    int64_t word = 0;
    for (int64_t i = 1; i < count - 1; i++) {
        const struct token_text text = tokenizer_text(tokenizer, tokens[i]);
        if (i == 1 || (text.count >= 3 && memcmp(text.bytes, "\xe2\x96\x81", 3) == 0)) {
            word = i;
            ++*words;
            *chosen += classes[i] != BATCH_IGNORED;
        }
        CHECK_INT(classes[i] != BATCH_IGNORED, classes[word] != BATCH_IGNORED);
    }
}

static void test_whole_words(void)
{
    enum { ROOM = 1 << 14, TRIALS = 60 };
    static char text[ROOM];
    static int32_t before[ROOM], tokens[ROOM], classes[ROOM];
    struct tokenizer *tokenizer = pieces_tokenizer(text, sizeof text);
    const struct special_tokens special = tokenizer_special(tokenizer);
    struct token_list list = {.tokens = before + 1, .capacity = ROOM - 2};
    CHECK_INT(tokenizer_encode(tokenizer, text, (int64_t)strlen(text), &list, NULL), ROTARY_OK);
    const int64_t count = list.count + 2;
    before[0] = special.begin;
    before[count - 1] = special.end;
    for (int whole = 0; whole < 2; whole++) {
        struct masking *masking = masking_of(tokenizer, 0.15, whole);
        int64_t words = 0, chosen = 0, predicted = 0, divided = 0, pairs = 0, both = 0;
        for (int64_t i = 0; i < TRIALS; i++) {
            memcpy(tokens, before, (size_t)count * sizeof *tokens);
            masking_apply(masking, key, (uint64_t)i * MASKING_BLOCKS, tokens, classes, count);
            CHECK(classes[0] == BATCH_IGNORED && classes[count - 1] == BATCH_IGNORED);
            if (whole)
                check_whole(tokenizer, before, classes, count, &words, &chosen);
            for (int64_t j = 1; j < count; j++) {
                const bool is_pair = classes[j] != BATCH_IGNORED && classes[j - 1] != BATCH_IGNORED;
                pairs += is_pair;
                both += is_pair && tokens[j] == special.mask && tokens[j - 1] == special.mask;
                predicted += classes[j] != BATCH_IGNORED;
                divided += tokenizer_continues_word(tokenizer, before[j]) &&
                           (classes[j] == BATCH_IGNORED) != (classes[j - 1] == BATCH_IGNORED);
            }
        }
        CHECK(whole || divided > 1000); /* there are words to divide */
        if (whole) {
            CHECK_INT(words, (int64_t)TRIALS * 60 * 7);
            check_share("words", chosen, words, 0.15);
            check_share("two masks", both, pairs, 0.64); /* of tokens of a word too */
            /* Words have at most 12 pieces, and so many are chosen at once. */
            CHECK_NEAR((double)predicted / (double)(TRIALS * (count - 2)), 0.15, 0.01);
        }
        masking_destroy(masking);
    }
    tokenizer_destroy(tokenizer);
}

/* An unknown character makes all of its word stay. */
static void test_unknown_in_word(void)
{
    static char text[1 << 14];
    struct tokenizer *tokenizer = pieces_tokenizer(text, sizeof text);
    const struct special_tokens special = tokenizer_special(tokenizer);
    struct masking *masking = masking_of(tokenizer, 0.999, true);
    static const char line[] = "balo mi\xc3\x9fter unbalo";
    int32_t tokens[64] = {special.begin}, before[64], classes[64];
    struct token_list list = {.tokens = tokens + 1, .capacity = 60};
    CHECK_INT(tokenizer_encode(tokenizer, line, sizeof line - 1, &list, NULL), ROTARY_OK);
    const int64_t count = list.count + 2;
    tokens[count - 1] = special.end;
    memcpy(before, tokens, sizeof before);
    masking_apply(masking, key, 0, tokens, classes, count);
    int64_t word = 0, unknown = 0;
    for (int64_t i = 1; i < count - 1; i++) {
        word += !tokenizer_continues_word(tokenizer, before[i]);
        unknown += before[i] == special.unknown;
        CHECK_INT(classes[i], word == 2 ? BATCH_IGNORED : before[i]);
    }
    CHECK_INT(word, 3);
    CHECK_INT(unknown, 1);
    masking_destroy(masking);
    tokenizer_destroy(tokenizer);
}

static void test_refused(void)
{
    struct tokenizer *tokenizer = NULL;
    struct masking *masking = NULL;
    rotary_error error = {0};
    CHECK_INT(words_create(&tokenizer, "a b", 3, 1, NULL), ROTARY_OK);
    CHECK_INT(masking_create(&masking, tokenizer, 0.15, false, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "no mask");
    tokenizer_destroy(tokenizer);
    const struct words_config config = {.min_frequency = 1, .mask = true};
    CHECK_INT(words_configured_create(&tokenizer, "", 0, &config, NULL), ROTARY_OK);
    CHECK_INT(masking_create(&masking, tokenizer, 0.15, false, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "special");
    tokenizer_destroy(tokenizer);
    CHECK(masking == NULL);
}

int main(void)
{
    test_shares(0.15);
    test_shares(0.4);
    test_special();
    test_short();
    test_pure();
    if (sentencepiece_version()) {
        test_whole_words();
        test_unknown_in_word();
    } else {
        printf("SentencePiece is not in this program\n");
    }
    test_refused();
    return check_report();
}
