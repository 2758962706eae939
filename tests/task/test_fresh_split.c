/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits by sentence: against what every pair of texts says, by search for one text in the other.
 */
#include "base/random.h"
#include "support/check.h"
#include "task/classification/fresh_split.h"
#include "task/classification/word_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 400, TEXT_BYTES = 128, MAX_WORDS = 14 };

struct texts {
    char bytes[TEXTS][TEXT_BYTES]; /* words with one space before and behind each */
    struct text_line lines[TEXTS]; /* the same with more white space */
    char loose[TEXTS][TEXT_BYTES];
    int64_t count;
};

static void add_text(struct texts *texts, const char *text)
{
    const int64_t i = texts->count++;
    snprintf(texts->bytes[i], TEXT_BYTES, " %s ", text);
    snprintf(texts->loose[i], TEXT_BYTES, "%s%s%s", i % 3 == 0 ? " \t" : "", text, i % 2 ? " " : "");
    texts->lines[i] = (struct text_line){texts->loose[i], (int64_t)strlen(texts->loose[i])};
}

/* Sentences of words from a small vocabulary, runs of them, and copies. */
static void draw_texts(struct texts *texts, uint64_t seed)
{
    struct rotary_random random = {.key = {.seed = seed, .stream = ROTARY_STREAM_TEST}};
    texts->count = 0;
    while (texts->count + 6 < TEXTS) {
        char sentence[TEXT_BYTES] = "";
        int starts[MAX_WORDS + 1], words = 1 + (int)rotary_random_below(&random, MAX_WORDS);
        for (int i = 0; i < words; i++) {
            starts[i] = (int)strlen(sentence);
            sprintf(sentence + starts[i], "w%u ", rotary_random_below(&random, 60));
        }
        starts[words] = (int)strlen(sentence);
        for (int part = 0; part < 5; part++) {
            const int first = part == 0 ? 0 : (int)rotary_random_below(&random, (uint32_t)words),
                      last = part == 0
                                 ? words
                                 : first + 1 + (int)rotary_random_below(&random, (uint32_t)(words - first));
            char text[TEXT_BYTES] = "";
            memcpy(text, sentence + starts[first], (size_t)(starts[last] - starts[first] - 1));
            add_text(texts, text);
        }
    }
    add_text(texts, "");
}

/* Whether a is within b, word for word. */
static bool is_within(const struct texts *texts, int64_t a, int64_t b)
{
    return strcmp(texts->bytes[a], "  ") != 0 && strstr(texts->bytes[b], texts->bytes[a]) != NULL;
}

static bool is_same(const struct texts *texts, int64_t a, int64_t b)
{
    return strcmp(texts->bytes[a], texts->bytes[b]) == 0;
}

/* No text of training has anything to do with one of validation or test, those are sentences, each once, and
 * no more is left out than must be. */
static void check_sides(const struct texts *texts, const unsigned char *sides)
{
    int64_t held[FRESH_SIDES] = {0};
    for (int64_t i = 0; i < texts->count; i++) {
        bool must_go = false;
        held[sides[i]]++;
        for (int64_t j = 0; j < texts->count; j++) {
            const bool j_is_held = sides[j] == FRESH_VALIDATION || sides[j] == FRESH_TEST;
            if (j == i || !j_is_held)
                continue;
            must_go |= is_within(texts, i, j) || is_same(texts, i, j);
            if (sides[i] == FRESH_TRAINING)
                CHECK(!is_within(texts, i, j) && !is_within(texts, j, i) && !is_same(texts, i, j));
            if (sides[i] == FRESH_VALIDATION || sides[i] == FRESH_TEST)
                CHECK(!is_within(texts, i, j) && !is_same(texts, i, j));
        }
        if (sides[i] == FRESH_VALIDATION || sides[i] == FRESH_TEST)
            for (int64_t j = 0; j < texts->count; j++)
                CHECK(!is_within(texts, i, j) || is_same(texts, i, j));
        CHECK_INT(sides[i] == FRESH_LEFT_OUT,
                  must_go && sides[i] != FRESH_VALIDATION && sides[i] != FRESH_TEST);
    }
    CHECK(held[FRESH_VALIDATION] > 3 && held[FRESH_TEST] > 3 && held[FRESH_TRAINING] > 100);
}

static void test_texts(void)
{
    static struct texts texts;
    unsigned char sides[TEXTS];
    for (uint64_t seed = 1; seed <= 4; seed++) {
        draw_texts(&texts, seed);
        const struct fresh_request request = {texts.count, texts.lines, NULL, 0.25};
        check_about("seed %d", (int)seed);
        CHECK_INT(fresh_split(&request, sides, NULL), ROTARY_OK);
        check_sides(&texts, sides);
    }
    check_about("%s", "");
}

/* Which texts are drawn does not depend on their order. */
static void test_order(void)
{
    static struct texts texts;
    struct text_line reversed[TEXTS];
    unsigned char sides[TEXTS], others[TEXTS];
    draw_texts(&texts, 7);
    for (int64_t i = 0; i < texts.count; i++)
        reversed[i] = texts.lines[texts.count - 1 - i];
    CHECK_INT(fresh_split(&(struct fresh_request){texts.count, texts.lines, NULL, 0.2}, sides, NULL),
              ROTARY_OK);
    CHECK_INT(fresh_split(&(struct fresh_request){texts.count, reversed, NULL, 0.2}, others, NULL),
              ROTARY_OK);
    for (int64_t i = 0; i < texts.count; i++) {
        int64_t copies = 0;
        for (int64_t j = 0; j < texts.count; j++)
            copies += is_same(&texts, i, j);
        if (copies == 1) /* of copies, the first is drawn */
            CHECK_INT(others[texts.count - 1 - i], sides[i]);
    }
}

/* Pairs that share a text, be it through others, are on one side. */
static void test_pairs(void)
{
    static struct texts texts;
    unsigned char sides[TEXTS];
    int64_t together = 0, held[FRESH_SIDES] = {0};
    draw_texts(&texts, 11);
    const int64_t count = texts.count / 2;
    const struct fresh_request request = {count, texts.lines, texts.lines + count, 0.25};
    CHECK_INT(fresh_split(&request, sides, NULL), ROTARY_OK);
    for (int64_t i = 0; i < count; i++) {
        held[sides[i]]++;
        for (int64_t j = 0; j < count; j++)
            if (i != j && (is_same(&texts, i, j) || is_same(&texts, i, count + j) ||
                           is_same(&texts, count + i, j) || is_same(&texts, count + i, count + j))) {
                CHECK_INT(sides[i], sides[j]);
                together++;
            }
    }
    CHECK(together > 20);
    CHECK(held[FRESH_VALIDATION] > 0 && held[FRESH_TEST] > 0 && held[FRESH_TRAINING] > 0);
    CHECK_INT(held[FRESH_LEFT_OUT], 0);
}

/* A group is drawn by the smallest of the hashes of its texts, whichever pair or side has it, so the order of
 * pairs, and of the texts in them, changes nothing. */
static void test_pair_order(void)
{
    static struct texts texts;
    static struct text_line exchanged[TEXTS];
    static uint64_t smallest[TEXTS];
    unsigned char sides[TEXTS], others[TEXTS];
    struct word_runs runs;
    draw_texts(&texts, 13);
    const int64_t count = texts.count / 2;
    const double share = 0.25;
    CHECK_INT(word_runs_create(&runs, texts.lines, 2 * count, NULL), ROTARY_OK);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t first = word_runs_hash(&runs, i), second = word_runs_hash(&runs, count + i);
        smallest[i] = first < second ? first : second;
        const bool exchanges = i % 3 == 0;
        exchanged[count - 1 - i] = texts.lines[exchanges ? count + i : i];
        exchanged[2 * count - 1 - i] = texts.lines[exchanges ? i : count + i];
    }
    word_runs_free(&runs);
    for (bool changed = true; changed;) { /* through all pairs that share a text */
        changed = false;
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < count; j++)
                if (smallest[j] < smallest[i] &&
                    (is_same(&texts, i, j) || is_same(&texts, i, count + j) ||
                     is_same(&texts, count + i, j) || is_same(&texts, count + i, count + j))) {
                    smallest[i] = smallest[j];
                    changed = true;
                }
    }
    CHECK_INT(
        fresh_split(&(struct fresh_request){count, texts.lines, texts.lines + count, share}, sides, NULL),
        ROTARY_OK);
    CHECK_INT(fresh_split(&(struct fresh_request){count, exchanged, exchanged + count, share}, others, NULL),
              ROTARY_OK);
    for (int64_t i = 0; i < count; i++) {
        const struct rotary_random_key key = {.seed = smallest[i], .stream = ROTARY_STREAM_SPLIT};
        const double place = (double)rotary_random_uniform(key, 0);
        CHECK_INT(sides[i], place < share       ? FRESH_VALIDATION
                            : place < 2 * share ? FRESH_TEST
                                                : FRESH_TRAINING);
        CHECK_INT(others[count - 1 - i], sides[i]);
    }
}

/* Of many sentences validation and test have the share that is asked for: five standard deviations about
 * it. */
static void test_share(void)
{
    enum { MANY = 20000 };
    static char bytes[MANY][16];
    static struct text_line lines[MANY];
    static unsigned char sides[MANY];
    int64_t held[FRESH_SIDES] = {0};
    for (int i = 0; i < MANY; i++)
        lines[i] = (struct text_line){bytes[i], sprintf(bytes[i], "word%d", i)};
    CHECK_INT(fresh_split(&(struct fresh_request){MANY, lines, NULL, 0.1}, sides, NULL), ROTARY_OK);
    for (int i = 0; i < MANY; i++)
        held[sides[i]]++;
    CHECK_NEAR((double)held[FRESH_VALIDATION], 2000, 212);
    CHECK_NEAR((double)held[FRESH_TEST], 2000, 212);
    CHECK_INT(held[FRESH_LEFT_OUT], 0);
}

static void test_leaks(void)
{
    static struct texts texts;
    draw_texts(&texts, 5);
    const int64_t count = 150, others = texts.count - count;
    int64_t leaks = -1, wanted = 0;
    for (int64_t i = 0; i < count; i++) {
        bool leaked = false;
        for (int64_t j = count; j < texts.count; j++)
            leaked |= is_within(&texts, i, j) || is_same(&texts, i, j);
        wanted += leaked;
    }
    CHECK_INT(fresh_leaks(texts.lines, count, texts.lines + count, others, &leaks, NULL), ROTARY_OK);
    CHECK_INT(leaks, wanted);
    CHECK(wanted > 10 && wanted < count - 10);
    CHECK_INT(fresh_leaks(texts.lines, 0, texts.lines, others, &leaks, NULL), ROTARY_OK);
    CHECK_INT(leaks, 0);
    CHECK_INT(fresh_leaks(texts.lines, count, texts.lines, 0, &leaks, NULL), ROTARY_OK);
    CHECK_INT(leaks, 0);
}

int main(void)
{
    test_texts();
    test_order();
    test_pairs();
    test_pair_order();
    test_share();
    test_leaks();
    return check_report();
}
