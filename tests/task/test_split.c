/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of every task that makes up its data in characters: data are a pure function of (seed, step,
 * row), nothing held out occurs in training, and a configuration with too few problems for that is refused.
 */
#include "task/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 40000, WORD_BYTES = 48 };
enum { MADE_UP = TASK_TRANSLATION }; /* the tasks before it make up their data */

static bool has_corpus(int kind)
{
    const struct task_config config = config_of((enum task_id)kind);
    return task_has_examples(&config);
}

/* The task after `kind` that makes up its data in characters: those of words have a corpus. */
static int next_kind(int kind)
{
    do
        kind++;
    while (kind < MADE_UP && has_corpus(kind));
    return kind;
}

/* A set of short texts. */
struct words {
    int count;
    char (*word)[WORD_BYTES];
};

static int compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void add(struct words *words, const char *from, size_t length)
{
    if (!CHECK(words->count < WORDS && length < WORD_BYTES))
        return;
    memcpy(words->word[words->count], from, length);
    words->word[words->count++][length] = '\0';
}

/* Adds what identifies the problems of a sequence: "a+b", the string, the key, or the sequence itself. */
static void add_sequence(struct words *words, enum task_id kind, const char *text)
{
    if (kind == TASK_PREFIX) {
        add(words, text, strlen(text));
        return;
    }
    const char *opening = kind == TASK_ADDITION  ? "?d="
                          : kind == TASK_PASSKEY ? "the key is "
                                                 : "?s='",
               *closing = kind == TASK_ADDITION  ? ";"
                          : kind == TASK_PASSKEY ? "."
                                                 : "'";
    for (const char *at = strstr(text, opening); at; at = strstr(at, opening)) {
        at += strlen(opening);
        size_t length = strcspn(at, closing);
        if (at[length])
            add(words, at, length);
    }
}

static int distinct(struct words *words)
{
    qsort(words->word, (size_t)words->count, WORD_BYTES, compare);
    int different = words->count > 0;
    for (int i = 1; i < words->count; i++)
        different += strcmp(words->word[i], words->word[i - 1]) != 0;
    return different;
}

/* "12+7" becomes "7+12". */
static void mirror(const char *sum, char mirrored[WORD_BYTES])
{
    const char *plus = strchr(sum, '+');
    snprintf(mirrored, WORD_BYTES, "%s+%.*s", plus + 1, (int)(plus - sum), sum);
}

/* Configurations with so few problems that nearly all of both splits occur, so that any leak shows. */
static void test_disjoint(void)
{
    struct task_config small[MADE_UP];
    for (int kind = 0; kind < MADE_UP; kind++)
        small[kind] = config_of((enum task_id)kind);
    set_option(&small[TASK_ADDITION], "addition_digits", 2);
    set_option(&small[TASK_COPY], "copy_letters", 3);
    set_option(&small[TASK_INDEX], "index_letters", 2);
    set_option(&small[TASK_PASSKEY], "passkey_sentences", 1);
    set_option(&small[TASK_PASSKEY], "passkey_digits", 3);
    set_option(&small[TASK_REVERSE], "reverse_letters", 3);
    small[TASK_PREFIX].sequence_length = 16;
    set_option(&small[TASK_PREFIX], "prefix_letters", 2);
    set_option(&small[TASK_PREFIX], "prefix_random", 2);
    set_option(&small[TASK_PREFIX], "prefix_substring", 2);
    static char trained_words[WORDS][WORD_BYTES], held_out_words[WORDS][WORD_BYTES];
    for (int kind = next_kind(-1); kind < MADE_UP; kind = next_kind(kind)) {
        struct words trained = {.word = trained_words}, held_out = {.word = held_out_words};
        struct task *task = task_of(&small[kind]);
        const int64_t tokens = small[kind].sequence_length + 1;
        char text[TEXT_TOKENS + 1];
        const int64_t sequences = kind == TASK_PREFIX                             ? 20000
                                  : kind == TASK_ADDITION || kind == TASK_PASSKEY ? 3000
                                                                                  : 600;
        for (int64_t row = 0; row < sequences; row++) {
            text_of(task, 1, row / 100, row % 100, tokens, text);
            add_sequence(&trained, (enum task_id)kind, text);
        }
        for (int64_t row = 0; row < (kind == TASK_PREFIX ? 500 : 100); row++) {
            text_of(task, 2, -1, row, tokens, text);
            add_sequence(&held_out, (enum task_id)kind, text);
        }
        for (int64_t index = 0; task_has_problems(task) && index < 500; index++) {
            struct problem problem;
            task_problem(task, 2, index, &problem);
            add_sequence(&held_out, (enum task_id)kind, problem.prompt);
        }
        int trained_distinct = distinct(&trained), held_out_distinct = distinct(&held_out);
        check_about("task %s, %d in training, %d held out", task_names[kind], trained_distinct,
                    held_out_distinct);
        CHECK(held_out_distinct >= 5 && trained_distinct > 20 * held_out_distinct);
        for (int i = 0; i < held_out.count; i++) {
            char mirrored[WORD_BYTES];
            if (bsearch(held_out.word[i], trained.word, (size_t)trained.count, WORD_BYTES, compare))
                CHECK(!"a held-out problem occurs in training");
            if (kind != TASK_ADDITION)
                continue;
            mirror(held_out.word[i], mirrored);
            if (bsearch(mirrored, trained.word, (size_t)trained.count, WORD_BYTES, compare))
                CHECK(!"the mirror image of a held-out problem occurs in training");
        }
        task_destroy(task);
    }
    check_about("%s", "");
}

/* Of the 81 sums of one digit and one digit, each occurs in training or is held out, and not both. */
static void test_tiny_operands(void)
{
    struct task_config config = config_of(TASK_ADDITION);
    set_option(&config, "addition_digits", 2);
    struct task *task = task_of(&config);
    bool trained[10][10] = {{false}}, held_out[10][10] = {{false}};
    for (int64_t row = 0; row < 1500; row++) {
        char text[TEXT_TOKENS + 1];
        text_of(task, 1, 0, row, TEXT_TOKENS, text);
        for (const char *at = strstr(text, "?d="); at && strlen(at) > 6; at = strstr(at + 1, "?d=")) {
            if (at[4] == '+' && at[6] == ';')
                trained[at[3] - '0'][at[5] - '0'] = true;
        }
        for (int64_t index = 4 * row; index < 4 * row + 4; index++) {
            struct problem problem;
            task_problem(task, 1, index, &problem);
            if (problem.prompt[4] == '+' && problem.prompt[6] == ';')
                held_out[problem.prompt[3] - '0'][problem.prompt[5] - '0'] = true;
        }
    }
    for (int a = 1; a <= 9; a++) {
        for (int b = 1; b <= 9; b++) {
            check_about("%d+%d", a, b);
            CHECK(trained[a][b] != held_out[a][b]);
        }
    }
    check_about("%s", "");
    task_destroy(task);
}

static void test_pure(void)
{
    for (int kind = next_kind(-1); kind < MADE_UP; kind = next_kind(kind)) {
        struct task_config config = config_of((enum task_id)kind);
        struct task *task = task_of(&config), *other = task_of(&config);
        char text[TEXT_TOKENS + 1], again[TEXT_TOKENS + 1];
        check_about("task %s", task_names[kind]);
        text_of(task, 42, 7, 5, TEXT_TOKENS, text);
        static const struct {
            uint64_t seed;
            int64_t step, row;
        } elsewhere[] = {{43, 7, 5}, {42 + (1ull << 32), 7, 5}, {42, 8, 5}, {42, 7, 6}, {42, 5, 7},
                         {42, -1, 5}};
        for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
            text_of(task, elsewhere[i].seed, elsewhere[i].step, elsewhere[i].row, TEXT_TOKENS, again);
            CHECK(strcmp(text, again) != 0);
            CHECK(strstr(again, text + TEXT_TOKENS / 2) == NULL);
        }
        text_of(other, 42, 7, 5, TEXT_TOKENS, again);
        CHECK_TEXT(again, text);

        struct problem first, second;
        if (task_has_problems(task)) {
            task_problem(task, 1, 0, &first);
            task_problem(task, 1, 1, &second);
            CHECK(strcmp(first.prompt, second.prompt) != 0);
            task_problem(task, 2, 0, &second);
            CHECK(strcmp(first.prompt, second.prompt) != 0);
            task_problem(other, 1, 0, &second);
            CHECK_TEXT(second.prompt, first.prompt);
            CHECK_TEXT(second.answer, first.answer);
        }
        task_destroy(task);
        task_destroy(other);
    }
    check_about("%s", "");
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Nothing is shared: all rows of a step, of many steps, of many seeds, and of validation differ in every
 * quarter of their text, and so do all problems of two evaluations in their prompts. */
static void test_distinct(void)
{
    enum { EACH = 150, PLACES = 4 * EACH, PART = TEXT_TOKENS / 4 };
    static uint64_t parts[4 * PLACES], prompts[2 * EACH];
    for (int kind = next_kind(-1); kind < MADE_UP; kind = next_kind(kind)) {
        struct task_config config = config_of((enum task_id)kind);
        struct task *task = task_of(&config);
        check_about("task %s", task_names[kind]);
        for (int64_t i = 0; i < PLACES; i++) {
            int64_t n = i % EACH;
            char text[TEXT_TOKENS + 1];
            text_of(task, i < 2 * EACH ? 9 : 10 + (uint64_t)n,
                    i < EACH       ? 4
                    : i < 3 * EACH ? 5 + n
                                   : -1,
                    i < EACH ? n : 3, TEXT_TOKENS, text);
            for (int part = 0; part < 4; part++)
                parts[4 * i + part] = rotary_hash(text + part * PART, PART);
        }
        qsort(parts, 4 * PLACES, sizeof *parts, ascending);
        for (int i = 1; i < 4 * PLACES; i++)
            CHECK(parts[i] != parts[i - 1]);
        for (int64_t i = 0; task_has_problems(task) && i < 2 * EACH; i++) {
            struct problem problem;
            task_problem(task, (uint64_t)(i / EACH), i % EACH, &problem);
            prompts[i] = rotary_hash(problem.prompt, strlen(problem.prompt));
        }
        qsort(prompts, 2 * EACH, sizeof *prompts, ascending);
        int same = 0; /* short sums may occur twice */
        for (int i = 1; task_has_problems(task) && i < 2 * EACH; i++)
            same += prompts[i] == prompts[i - 1];
        CHECK(same <= 4);
        task_destroy(task);
    }
    check_about("%s", "");
}

/* Published results depend on the data of a seed, so these must not change. */
static void test_pinned(void)
{
    static const struct {
        int64_t trained, held_out;
    } hashes[MADE_UP] = {[TASK_ADDITION] = {-1660580603204249819, 4043536037949188594},
                         [TASK_COPY] = {-2647292367874097518, -9073913206219685128},
                         [TASK_INDEX] = {4120088651489951605, -383797130693625939},
                         [TASK_PASSKEY] = {7565028587281597360, -922061902989102073},
                         [TASK_PREFIX] = {-6846964814225062047, 1223251363974842202},
                         [TASK_REVERSE] = {4893027997579695909, -9147018478911265567}};
    for (int kind = next_kind(-1); kind < MADE_UP; kind = next_kind(kind)) {
        struct task_config config = config_of((enum task_id)kind);
        struct task *task = task_of(&config);
        char text[TEXT_TOKENS + 1];
        check_about("task %s", task_names[kind]);
        text_of(task, 1, 1, 1, TEXT_TOKENS, text);
        CHECK_INT((int64_t)rotary_hash(text, TEXT_TOKENS), hashes[kind].trained);
        text_of(task, 1, -1, 1, TEXT_TOKENS, text);
        CHECK_INT((int64_t)rotary_hash(text, TEXT_TOKENS), hashes[kind].held_out);
        task_destroy(task);
    }
    check_about("%s", "");
}

/* A shorter sequence is a prefix of a longer one. */
static void test_cut(void)
{
    for (int kind = next_kind(-1); kind < MADE_UP; kind = next_kind(kind)) {
        struct task_config config = config_of((enum task_id)kind);
        struct task *longer = task_of(&config);
        config.sequence_length = 300;
        struct task *shorter = task_of(&config);
        char long_text[TEXT_TOKENS + 1], short_text[TEXT_TOKENS + 1];
        check_about("task %s", task_names[kind]);
        for (int64_t row = 0; row < 20; row++) {
            text_of(longer, 1, 1, row, 641, long_text);
            text_of(shorter, 1, 1, row, 301, short_text);
            CHECK(strncmp(long_text, short_text, 301) == 0);
        }
        task_destroy(longer);
        task_destroy(shorter);
    }
    check_about("%s", "");
}

static void test_refused(void)
{
    struct task *task = NULL;
    rotary_error error = {0};
    struct task_config config = config_of(TASK_ADDITION);
    config.sequence_length = 200;
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "sequence_length 200") && strstr(error.message, "addition"));
    config = config_of(TASK_INDEX);
    config.sequence_length = 43;
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "44 tokens") != NULL);
    config.sequence_length = 44;
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_OK);
    task_destroy(task);

    /* Two letters, one random letter per round and copies of all before it: few sequences of 17. */
    task = NULL;
    config = config_of(TASK_PREFIX);
    config.sequence_length = 16;
    set_option(&config, "prefix_letters", 2);
    set_option(&config, "prefix_random", 1);
    set_option(&config, "prefix_substring", 100);
    CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "too few different problems") != NULL);
    CHECK(task == NULL);
}

int main(void)
{
    test_disjoint();
    test_tiny_operands();
    test_pure();
    test_distinct();
    test_pinned();
    test_cut();
    test_refused();
    return check_report();
}
