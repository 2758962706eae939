/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the substring-by-prefix task: every copied substring occurred before, windows are uniform, and
 * the loss of an ideal predictor is that of src/task/generated/prefix.c.
 */
#include "task/text.h"

#include <math.h>

enum { SEQUENCE = 512, RANDOM = 4, SUBSTRING = 32, EDGE = 1 };

static struct task *published_task(void)
{
    struct task_config config = config_of(TASK_PREFIX);
    config.sequence_length = SEQUENCE;
    return task_of(&config);
}

/* A parsed sequence: its letters without separators, and where each copied substring begins and ends among
 * them. */
struct parsed {
    char letters[SEQUENCE + 2];
    int count, copies, begin[64], end[64];
};

static bool parse(const char *text, struct parsed *parsed)
{
    *parsed = (struct parsed){0};
    for (const char *at = text; *at;) {
        for (int i = 0; i < RANDOM && *at; i++) {
            if (*at == '>')
                return false;
            parsed->letters[parsed->count++] = *at++;
        }
        if (!*at)
            break;
        if (*at++ != '>')
            return false;
        int length = parsed->count < SUBSTRING ? parsed->count : SUBSTRING;
        parsed->begin[parsed->copies] = parsed->count;
        for (int i = 0; i < length && *at; i++) {
            if (*at == '>')
                return false;
            parsed->letters[parsed->count++] = *at++;
        }
        parsed->end[parsed->copies++] = parsed->count;
    }
    return true;
}

/* How many of the windows first ... last - 1 of the letters equal the substring begin ... end - 1. */
static int matches(const struct parsed *parsed, int begin, int end, int first, int last)
{
    int found = 0;
    for (int from = first; from < last; from++)
        found += memcmp(&parsed->letters[from], &parsed->letters[begin], (size_t)(end - begin)) == 0;
    return found;
}

/* Observed and expected frequency of an event. */
struct tally {
    double seen, expected, variance;
};

static void tally_add(struct tally *tally, double seen, double probability)
{
    tally->seen += seen;
    tally->expected += probability;
    tally->variance += probability * (1 - probability);
}

/* The loss of an ideal predictor, which knows the rule and the sequence so far: ln 4 for a random letter, and
 * for a copied substring -ln of its probability, the share of eligible windows that equal it. */
static void test_sequences(void)
{
    struct task *task = published_task();
    double nats = 0;
    int64_t sequences = 1000, letters[4] = {0}, total_letters = 0;
    struct tally first = {0}, last = {0}; /* windows at the edges, where an off-by-one error would show */
    for (int64_t row = 0; row < sequences; row++) {
        char text[TEXT_TOKENS + 1];
        text_of(task, 9, row / 16, row % 16, SEQUENCE + 1, text);
        check_about("row %lld", (long long)row);
        struct parsed parsed;
        if (!CHECK(parse(text, &parsed)))
            continue;
        int copied = 0;
        for (int copy = 0; copy < parsed.copies; copy++) {
            int begin = parsed.begin[copy], end = parsed.end[copy];
            int length = begin < SUBSTRING ? begin : SUBSTRING, windows = begin - length + 1;
            int found = matches(&parsed, begin, end, 0, windows);
            copied += end - begin;
            if (!CHECK(found >= 1))
                continue;
            nats -= log((double)found / windows);
            if (windows < 2 * EDGE)
                continue;
            tally_add(&first, (double)matches(&parsed, begin, end, 0, EDGE) / found, (double)EDGE / windows);
            tally_add(&last, (double)matches(&parsed, begin, end, windows - EDGE, windows) / found,
                      (double)EDGE / windows);
        }
        int fresh = parsed.count - copied;
        nats += (fresh - 1) * log(4.0); /* the first token is given, not predicted */
        for (int copy = 0, at = 0; copy <= parsed.copies; copy++) {
            int stop = copy < parsed.copies ? parsed.begin[copy] : parsed.count;
            for (; at < stop; at++, total_letters++)
                letters[parsed.letters[at] - 'a']++;
            at = copy < parsed.copies ? parsed.end[copy] : at;
        }
    }
    check_about("%lld sequences", (long long)sequences);
    CHECK_NEAR(nats / (double)(sequences * SEQUENCE), 0.30, 0.005);
    /* Five standard errors. */
    CHECK_NEAR(first.seen, first.expected, 5 * sqrt(first.variance));
    CHECK_NEAR(last.seen, last.expected, 5 * sqrt(last.variance));
    for (int letter = 0; letter < 4; letter++)
        CHECK_NEAR((double)letters[letter], (double)total_letters / 4,
                   5 * sqrt((double)total_letters * 3 / 16));
    task_destroy(task);
    check_about("%s", "");
}

/* Another alphabet and other lengths, truncated at every position of a round. */
static void test_shapes(void)
{
    struct task_config config = config_of(TASK_PREFIX);
    set_option(&config, "prefix_letters", 26);
    set_option(&config, "prefix_random", 3);
    set_option(&config, "prefix_substring", 5);
    for (config.sequence_length = 16; config.sequence_length < 40; config.sequence_length++) {
        struct task *task = task_of(&config);
        int32_t tokens[64];
        memset(tokens, 0xff, sizeof tokens);
        sequence_of(task, &(struct task_place){.seed = 1, .step = 2, .index = 3}, tokens);
        check_about("length %lld", (long long)config.sequence_length);
        for (int64_t i = 0; i < 64; i++)
            CHECK(i <= config.sequence_length ? tokens[i] >= 0 && tokens[i] <= 26 : tokens[i] == -1);
        /* a round is 3 random, the sign, 5 copied, after a first one of 3 + 1 + 3 */
        for (int64_t i = 0; i <= config.sequence_length; i++)
            CHECK_INT(tokens[i] == 26, i == 3 || (i >= 10 && (i - 10) % 9 == 0));
        task_destroy(task);
    }
    CHECK(task_has_problems(&(struct task){.type = &task_type_index}));
    CHECK(!task_has_problems(&(struct task){.type = &task_type_prefix}));
    check_about("%s", "");
}

int main(void)
{
    test_sequences();
    test_shapes();
    return check_report();
}
