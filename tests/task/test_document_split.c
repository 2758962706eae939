/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits by document: no document is on two sides, nothing is left out without need, each side has its share,
 * and neither the order of the examples nor that of their documents changes what is drawn.
 */
#include "base/random.h"
#include "support/check.h"
#include "task/classification/document_split.h"
#include "task/classification/word_runs.h"

#include <stdio.h>
#include <string.h>

enum { EXAMPLES = 400, PER_EXAMPLE = 3, DOCUMENTS = 300, TEXTS = EXAMPLES * PER_EXAMPLE };

struct corpus {
    char bytes[DOCUMENTS][32];
    int documents[EXAMPLES][PER_EXAMPLE];
    struct text_line texts[TEXTS];
};

static void set_texts(struct corpus *corpus)
{
    for (int i = 0; i < TEXTS; i++) {
        char *bytes = corpus->bytes[corpus->documents[i / PER_EXAMPLE][i % PER_EXAMPLE]];
        corpus->texts[i] = (struct text_line){bytes, (int64_t)strlen(bytes)};
    }
}

/* Examples of neighbouring documents, so that most of them are connected, as those of a retrieval are. */
static void draw_corpus(struct corpus *corpus, uint64_t seed)
{
    struct rotary_random random = {.key = {.seed = seed, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < DOCUMENTS; i++)
        sprintf(corpus->bytes[i], "document %d of %d", i, (int)seed);
    for (int i = 0; i < EXAMPLES; i++)
        for (int j = 0; j < PER_EXAMPLE; j++) {
            const int first = (int)rotary_random_below(&random, DOCUMENTS);
            corpus->documents[i][j] =
                j == 0 ? first
                       : (corpus->documents[i][0] + 1 + (int)rotary_random_below(&random, 12)) % DOCUMENTS;
        }
    set_texts(corpus);
}

static struct document_request request_of(const struct corpus *corpus, double share)
{
    return (struct document_request){EXAMPLES, PER_EXAMPLE, corpus->texts, share};
}

static bool is_held(unsigned char side)
{
    return side == FRESH_VALIDATION || side == FRESH_TEST;
}

/* Whether example i shares a document with one of side `side` other than itself. */
static bool shares(const struct corpus *corpus, const unsigned char *sides, int i, unsigned char side)
{
    for (int j = 0; j < EXAMPLES; j++)
        for (int a = 0; j != i && sides[j] == side && a < PER_EXAMPLE; a++)
            for (int b = 0; b < PER_EXAMPLE; b++)
                if (corpus->documents[i][b] == corpus->documents[j][a])
                    return true;
    return false;
}

static void test_sides(void)
{
    static struct corpus corpus;
    static unsigned char sides[EXAMPLES];
    for (uint64_t seed = 1; seed <= 3; seed++) {
        int64_t held[FRESH_SIDES] = {0};
        check_about("seed %d", (int)seed);
        draw_corpus(&corpus, seed);
        const struct document_request request = request_of(&corpus, 0.1);
        CHECK_INT(document_split(&request, sides, NULL), ROTARY_OK);
        for (int i = 0; i < EXAMPLES; i++) {
            held[sides[i]]++;
            const bool validation = shares(&corpus, sides, i, FRESH_VALIDATION),
                       test = shares(&corpus, sides, i, FRESH_TEST);
            CHECK(sides[i] != FRESH_TRAINING || !(validation || test));
            CHECK(sides[i] != FRESH_VALIDATION || !test);
            CHECK(sides[i] != FRESH_TEST || !validation);
            CHECK(sides[i] != FRESH_LEFT_OUT || validation || test);
        }
        CHECK(held[FRESH_VALIDATION] >= 40 && held[FRESH_VALIDATION] < 60);
        CHECK(held[FRESH_TEST] >= 40 && held[FRESH_TEST] < 60);
        CHECK(held[FRESH_TRAINING] > 150); /* documents drawn at random would leave next to nothing whole */
        CHECK(held[FRESH_LEFT_OUT] > 0);
    }
    check_about("%s", "");
}

static void test_order(void)
{
    static struct corpus corpus, other;
    static unsigned char sides[EXAMPLES], others[EXAMPLES];
    int held = 0;
    draw_corpus(&corpus, 9);
    other = corpus;
    for (int i = 0; i < EXAMPLES; i++)
        for (int j = 0; j < PER_EXAMPLE; j++)
            other.documents[i][j] = corpus.documents[EXAMPLES - 1 - i][(j + 1) % PER_EXAMPLE];
    set_texts(&other);
    const struct document_request first = request_of(&corpus, 0.1), second = request_of(&other, 0.1);
    CHECK_INT(document_split(&first, sides, NULL), ROTARY_OK);
    CHECK_INT(document_split(&second, others, NULL), ROTARY_OK);
    for (int i = 0; i < EXAMPLES; i++) {
        CHECK_INT(sides[i], others[EXAMPLES - 1 - i]);
        held += is_held(sides[i]);
    }
    CHECK(held >= 80);
}

/* A document may be drawn that no example is complete with, as p in s p q, s p r and p g h, where s, and z of
 * s z z, are drawn besides: p g h is then trained on. Which document is drawn first follows from the texts,
 * so they are named in many ways. */
static void test_drawn_in_vain(void)
{
    static const char examples[][4] = {"spq", "spr", "szz", "pgh", "zab", "zac", "zad", "qef",
                                       "qei", "qej", "qek", "rlm", "rln", "rlo", "rlt", "uvw"};
    enum { COUNT = sizeof examples / sizeof *examples };
    for (int naming = 0; naming < 400; naming++) {
        char names[26][16];
        struct text_line texts[COUNT][PER_EXAMPLE];
        unsigned char sides[COUNT];
        for (int i = 0; i < 26; i++)
            sprintf(names[i], "%c%d", 'a' + i, naming);
        for (int i = 0; i < COUNT; i++)
            for (int j = 0; j < PER_EXAMPLE; j++)
                texts[i][j] = (struct text_line){names[examples[i][j] - 'a'],
                                                 (int64_t)strlen(names[examples[i][j] - 'a'])};
        const struct document_request request = {COUNT, PER_EXAMPLE, texts[0], 0.05};
        CHECK_INT(document_split(&request, sides, NULL), ROTARY_OK);
        for (int i = 0; i < COUNT; i++) {
            bool shared = false;
            for (int j = 0; j < COUNT; j++)
                shared |= is_held(sides[j]) && strpbrk(examples[i], examples[j]) != NULL;
            CHECK(is_held(sides[i]) || (sides[i] == FRESH_LEFT_OUT) == shared);
        }
    }
}

/* Where no document is near another the next one is that with the smallest hash, whichever of its example it
 * is. */
static void test_smallest_hash(void)
{
    enum { COUNT = 40, PAIR = 2 };
    static char bytes[COUNT * PAIR][32];
    struct text_line texts[COUNT * PAIR];
    unsigned char sides[COUNT];
    struct word_runs runs;
    for (int i = 0; i < COUNT * PAIR; i++)
        texts[i] = (struct text_line){bytes[i], sprintf(bytes[i], "alone %d", i)};
    const struct document_request request = {COUNT, PAIR, texts, 1.0 / COUNT};
    CHECK_INT(word_runs_create(&runs, texts, COUNT * PAIR, NULL), ROTARY_OK);
    CHECK_INT(document_split(&request, sides, NULL), ROTARY_OK);
    int first = 0, next = -1;
    for (int i = 1; i < COUNT * PAIR; i++)
        first = word_runs_hash(&runs, i) < word_runs_hash(&runs, first) ? i : first;
    for (int i = 0; i < COUNT * PAIR; i++)
        if (i / PAIR != first / PAIR && (next < 0 || word_runs_hash(&runs, i) < word_runs_hash(&runs, next)))
            next = i;
    word_runs_free(&runs);
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(sides[i], i == first / PAIR  ? FRESH_VALIDATION
                            : i == next / PAIR ? FRESH_TEST
                                               : FRESH_TRAINING);
}

/* An example that has a document twice, none at all, and a share that there are no documents for. */
static void test_edges(void)
{
    struct text_line texts[] = {{"a", 1}, {"a", 1}, {"b", 1}, {"", 0}, {"c", 1}, {"c", 1}};
    unsigned char sides[2];
    const struct document_request all = {2, 3, texts, 0.5}, none = {0, 3, texts, 0.5};
    CHECK_INT(document_split(&all, sides, NULL), ROTARY_OK);
    CHECK(is_held(sides[0]) && is_held(sides[1]) && sides[0] != sides[1]);
    CHECK_INT(document_split(&none, sides, NULL), ROTARY_OK);
}

int main(void)
{
    test_sides();
    test_order();
    test_drawn_in_vain();
    test_smallest_hash();
    test_edges();
    return check_report();
}
