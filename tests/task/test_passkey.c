/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the passkey task, parsed and recomputed.
 */
#include "task/text.h"

#include <math.h>

enum { DIGITS = 5, MOST = 10, KINDS = 8 };

/* The sentences, as they are documented. */
static const char *const sentences[KINDS] = {
    "the sky is blue. ", "a cat sat on a mat. ", "it rains in may. ",  "the grass is green. ",
    "we went home. ",    "he reads a book. ",    "no one was there. ", "snow fell at night. ",
};

struct parsed {
    char key[DIGITS + 1];
    int count, place; /* sentences, without that of the key; those before it */
    int which[MOST];  /* of the sentences */
};

static bool read_key(const char **at, char key[DIGITS + 1])
{
    if (strspn(*at, "0123456789") != DIGITS)
        return false;
    memcpy(key, *at, DIGITS);
    key[DIGITS] = '\0';
    *at += DIGITS;
    return true;
}

/* Parses the prompt of a problem; false for any other text. */
static bool read_prompt(const char **at, struct parsed *parsed)
{
    *parsed = (struct parsed){.place = -1};
    while (!skip(at, "what is the key? ")) {
        if (skip(at, "the key is ")) {
            if (parsed->place >= 0 || !read_key(at, parsed->key) || !skip(at, ". "))
                return false;
            parsed->place = parsed->count;
            continue;
        }
        int kind = 0;
        while (kind < KINDS && !skip(at, sentences[kind]))
            kind++;
        if (kind == KINDS || parsed->count == MOST)
            return false;
        parsed->which[parsed->count++] = kind;
    }
    return parsed->count > 0 && parsed->place >= 0;
}

/* What was counted of many problems. */
struct tally {
    int64_t problems, tokens, counts[MOST + 1], kinds[KINDS], digits[10], sentences;
    int64_t places[MOST + 1]; /* of problems of MOST sentences */
    double nats;
};

static void count_problem(struct tally *tally, const struct parsed *parsed)
{
    tally->problems++;
    tally->counts[parsed->count]++;
    tally->sentences += parsed->count;
    for (int i = 0; i < parsed->count; i++)
        tally->kinds[parsed->which[i]]++;
    for (int i = 0; i < DIGITS; i++)
        tally->digits[parsed->key[i] - '0']++;
    if (parsed->count == MOST)
        tally->places[parsed->place]++;
    tally->nats += log(MOST) + parsed->count * log(KINDS) + log(parsed->count + 1) + DIGITS * log(10);
}

/* Five standard errors. */
static void check_uniform(const int64_t *seen, int kinds)
{
    int64_t total = 0;
    for (int i = 0; i < kinds; i++)
        total += seen[i];
    for (int i = 0; i < kinds; i++)
        CHECK_NEAR((double)seen[i], (double)total / kinds, 5 * sqrt((double)total / kinds));
}

/* Problems of training sequences, and the loss of an ideal predictor, who knows the key once he has read it.
 */
static void test_sequences(void)
{
    struct task_config config = config_of(TASK_PASSKEY);
    struct task *task = task_of(&config);
    struct tally tally = {0};
    for (int64_t row = 0; row < 2000; row++) {
        char text[TEXT_TOKENS + 1], key[DIGITS + 1];
        text_of(task, 3, row / 32, row % 32, TEXT_TOKENS, text);
        check_about("row %lld", (long long)row);
        const char *at = text;
        /* Which problem is cut depends on the lengths: the first two are always whole. */
        for (int i = 0; i < 2; i++) {
            const char *from = at;
            struct parsed parsed;
            if (!CHECK(read_prompt(&at, &parsed)) || !CHECK(read_key(&at, key)) || !CHECK(skip(&at, "#")))
                break;
            CHECK_TEXT(key, parsed.key);
            tally.tokens += at - from;
            count_problem(&tally, &parsed);
        }
    }
    check_about("%lld problems", (long long)tally.problems);
    CHECK_INT(tally.problems, 4000);
    CHECK_INT(tally.counts[0], 0);
    check_uniform(tally.counts + 1, MOST);
    check_uniform(tally.kinds, KINDS);
    check_uniform(tally.digits, 10);
    check_uniform(tally.places, MOST + 1);
    CHECK_NEAR(tally.nats / (double)tally.tokens, 0.194, 0.002); /* docs/explanation/experiments.md */
    task_destroy(task);
    check_about("%s", "");
}

static void test_problems(void)
{
    struct task_config config = config_of(TASK_PASSKEY);
    struct task *task = task_of(&config);
    for (int64_t i = 0; i < 1000; i++) {
        struct problem problem;
        struct parsed parsed;
        task_problem(task, 5, i, &problem);
        const char *at = problem.prompt;
        check_about("%s", problem.prompt);
        CHECK(read_prompt(&at, &parsed));
        CHECK_INT(*at, 0);
        CHECK_TEXT(problem.answer, parsed.key);
    }
    task_destroy(task);
    check_about("%s", "");
}

static void test_answer(void)
{
    static const struct known_answer known[] = {
        {"48213#", "48213"}, {"4821#the", "4821"}, {"48213", ""}, {"#", ""}, {"48213. #", "48213. "},
    };
    check_answers(TASK_PASSKEY, known, sizeof known / sizeof known[0]);
}

/* No example is longer than size(), some are as long, and the longest fit their buffers. */
static void test_size(void)
{
    struct task_config config = config_of(TASK_PASSKEY);
    const struct generator *generator = task_type_passkey.generator;
    for (int64_t most = 1; most <= 20; most++) {
        const int64_t digits = 3 + most * 13 / 20;
        set_option(&config, "passkey_sentences", most);
        set_option(&config, "passkey_digits", digits);
        struct problem_size size = generator->size(&config), longest = {0};
        struct rotary_random random = {.key = {.seed = 3, .stream = ROTARY_STREAM_TEST}};
        for (int i = 0; i < 2000; i++) {
            struct example example;
            generator->random_example(&config, &random, &example);
            include_example(&longest, &example);
        }
        check_about("%lld sentences", (long long)most);
        CHECK_INT(size.completion, longest.completion);
        CHECK(longest.prompt <= size.prompt && size.prompt < TASK_TEXT_BYTES);
        if (most <= 3)
            CHECK_INT(longest.prompt, size.prompt);
    }
    check_about("%s", "");
}

int main(void)
{
    test_sequences();
    test_problems();
    test_answer();
    test_size();
    return check_report();
}
