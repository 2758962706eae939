/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems last in sequences of any length: the same problems, after others or in longer texts.
 */
#include "task/text.h"

#include <math.h>

enum { LONGEST = 2000, PROBLEMS = 100 };

static const enum task_id kinds[] = {TASK_ADDITION, TASK_COPY, TASK_INDEX, TASK_PASSKEY, TASK_REVERSE};

static struct task *long_task(enum task_id kind, int64_t length)
{
    struct task_config config = config_of(kind);
    config.sequence_length = length;
    return task_of(&config);
}

static int64_t long_prompt(const struct task *task, uint64_t seed, int64_t index, char text[LONGEST + 1])
{
    int32_t tokens[LONGEST];
    struct token_list list = {.tokens = tokens, .capacity = task_configuration(task)->sequence_length};
    task_long_prompt(task, seed, index, &list);
    CHECK_INT(list.left_out, 0);
    CHECK_INT(tokenizer_decode(task_tokenizer(task), tokens, list.count, text, LONGEST + 1), list.count);
    return list.count;
}

/* Whole problems and then that of the index, of which none is before it, and no room for another. */
static void check_examples(const struct task *task, const char *text, const struct problem *problem)
{
    const struct problem_size size = task_problem_size(task);
    const size_t length = strlen(text), last = strlen(problem->prompt);
    if (!CHECK(length >= last))
        return;
    CHECK_TEXT(text + length - last, problem->prompt);
    CHECK(strstr(text, problem->prompt) == text + length - last);
    CHECK((int64_t)length <= task_configuration(task)->sequence_length - size.completion);
    CHECK((int64_t)length + size.prompt + 2 * size.completion > task_configuration(task)->sequence_length);
    for (const char *at = text; at < text + length - last; at = strchr(at, '#') + 1)
        if (!CHECK(strncmp(at, problem->prompt, 3) == 0) || !CHECK(strchr(at, '#') != NULL))
            return;
    CHECK(length == last || text[length - last - 1] == '#');
}

/* The key once, at *place, and the question last. */
static void check_hidden(const struct task *task, const char *text, const struct problem *problem,
                         double *place)
{
    enum { LONGEST_SENTENCE = 20 };
    static const char question[] = "what is the key? ";
    char key[TASK_TEXT_BYTES + 16];
    const int64_t length = (int64_t)strlen(text),
                  room = task_configuration(task)->sequence_length - task_problem_size(task).completion;
    CHECK(length <= room && length > room - LONGEST_SENTENCE);
    snprintf(key, sizeof key, "the key is %s. ", problem->answer);
    const char *found = strstr(text, "the key is ");
    if (!CHECK(found != NULL) || !CHECK(strncmp(found, key, strlen(key)) == 0))
        return;
    CHECK(!strstr(found + 1, "the key is "));
    CHECK(found == text || strncmp(found - 2, ". ", 2) == 0);
    CHECK(strstr(text, question) == text + length - (int64_t)strlen(question));
    *place = (double)(found - text) / (double)(length - (int64_t)(strlen(key) + strlen(question)));
}

static void test_lengths(enum task_id kind, int64_t length)
{
    struct task *task = long_task(kind, length), *usual = long_task(kind, 640);
    double sum = 0, first = 1, last = 0;
    for (int64_t i = 0; i < PROBLEMS; i++) {
        char text[LONGEST + 1], again[LONGEST + 1];
        struct problem problem;
        double place = 0;
        check_about("%s, %lld tokens, problem %lld", task_names[kind], (long long)length, (long long)i);
        task_problem(usual, 7, i, &problem);
        long_prompt(task, 7, i, text);
        if (kind == TASK_PASSKEY)
            check_hidden(task, text, &problem, &place);
        else
            check_examples(task, text, &problem);
        sum += place;
        first = fmin(first, place);
        last = fmax(last, place);
        long_prompt(task, 7, i, again);
        CHECK_TEXT(again, text);
        long_prompt(task, 7, i + 1, again);
        CHECK(strcmp(again, text) != 0);
        long_prompt(task, 8, i, again);
        CHECK(strcmp(again, text) != 0);
    }
    if (kind == TASK_PASSKEY) {
        check_about("passkey, %lld tokens", (long long)length);
        CHECK_NEAR(sum / PROBLEMS, 0.5, 5 * sqrt(1.0 / 12 / PROBLEMS)); /* five standard errors */
        CHECK(first < 0.15 && last > 0.85);
    }
    task_destroy(task);
    task_destroy(usual);
    check_about("%s", "");
}

/* In a sequence that is as long as the longest problem there is room for no other. */
static void test_shortest(void)
{
    struct task_config config = config_of(TASK_INDEX);
    config.sequence_length = 44;
    struct task *task = task_of(&config);
    for (int64_t i = 0; i < PROBLEMS; i++) {
        char text[LONGEST + 1];
        struct problem problem;
        task_problem(task, 7, i, &problem);
        long_prompt(task, 7, i, text);
        CHECK_TEXT(text, problem.prompt);
    }
    task_destroy(task);
}

/* Where there are few problems, those before one are others all the same. */
static void test_not_itself(void)
{
    struct task_config config = config_of(TASK_INDEX);
    config.sequence_length = LONGEST;
    set_option(&config, "index_letters", 2);
    struct task *task = task_of(&config);
    for (int64_t i = 0; i < PROBLEMS; i++) {
        char text[LONGEST + 1];
        struct problem problem;
        task_problem(task, 7, i, &problem);
        long_prompt(task, 7, i, text);
        check_examples(task, text, &problem);
    }
    task_destroy(task);
}

int main(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        test_lengths(kinds[i], 256);
        test_lengths(kinds[i], 512);
        test_lengths(kinds[i], LONGEST);
    }
    test_shortest();
    test_not_itself();
    return check_report();
}
