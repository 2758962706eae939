/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the tasks copy and reverse, parsed and recomputed.
 */
#include "task/text.h"

#include <math.h>

enum { SHORTEST = 3, LONGEST = 20, LENGTHS = LONGEST - SHORTEST + 1 };

static const struct probe {
    enum task_id kind;
    const char *slice, *key;
    bool reversed;
    double loss; /* the lowest possible, nats per token: docs/explanation/experiments.md */
} probes[] = {
    {TASK_COPY, "'; s[:]=='", "copy_letters", false, 1.035},
    {TASK_REVERSE, "'; s[::-1]=='", "reverse_letters", true, 0.961},
};
enum { PROBES = sizeof probes / sizeof *probes };

static void test_example(void)
{
    struct example example;
    copy_example("dyjeofux", &example);
    CHECK_TEXT(example.prompt, "?s='dyjeofux'; s[:]==");
    CHECK_TEXT(example.completion, "'dyjeofux'#");
    reverse_example("dyjeofux", &example);
    CHECK_TEXT(example.prompt, "?s='dyjeofux'; s[::-1]==");
    CHECK_TEXT(example.completion, "'xufoejyd'#");
}

/* Parses a problem and returns the letters of its string; 0 for any other text. */
static int read_problem(const struct probe *probe, const char **at, char string[LONGEST + 1])
{
    if (!skip(at, "?s='"))
        return 0;
    const int length = (int)strspn(*at, "abcdefghijklmnopqrstuvwxyz");
    if (length < SHORTEST || length > LONGEST)
        return 0;
    snprintf(string, LONGEST + 1, "%.*s", length, *at);
    *at += length;
    if (!skip(at, probe->slice))
        return 0;
    for (int i = 0; i < length; i++)
        if (*(*at)++ != string[probe->reversed ? length - 1 - i : i])
            return 0;
    return skip(at, "'#") ? length : 0;
}

/* More than a thousand problems of training sequences, the frequencies of lengths and letters, and the loss
 * of an ideal predictor: the string's length and letters are random, all else follows. */
static void test_sequences(const struct probe *probe)
{
    struct task_config config = config_of(probe->kind);
    struct task *task = task_of(&config);
    int64_t problems = 0, tokens = 0, lengths[LONGEST + 1] = {0}, letters[26] = {0}, total = 0;
    for (int64_t row = 0; row < 400; row++) {
        char text[TEXT_TOKENS + 1];
        text_of(task, 3, row / 32, row % 32, TEXT_TOKENS, text);
        check_about("%s, row %lld", task_names[probe->kind], (long long)row);
        const char *at = text;
        /* Which problem is cut depends on the lengths: the first ten are always whole. */
        for (int i = 0; i < 10; i++) {
            char string[LONGEST + 1];
            const char *from = at;
            const int length = read_problem(probe, &at, string);
            if (!CHECK(length > 0))
                break;
            problems++;
            tokens += at - from;
            lengths[length]++;
            total += length;
            for (int j = 0; j < length; j++)
                letters[string[j] - 'a']++;
        }
    }
    check_about("%s, %lld problems", task_names[probe->kind], (long long)problems);
    CHECK_INT(problems, 4000);
    /* Five standard errors. */
    for (int length = SHORTEST; length <= LONGEST; length++)
        CHECK_NEAR((double)lengths[length], (double)problems / LENGTHS, 5 * sqrt((double)problems / LENGTHS));
    for (int letter = 0; letter < 26; letter++)
        CHECK_NEAR((double)letters[letter], (double)total / 26, 5 * sqrt((double)total / 26));
    CHECK_NEAR(((double)problems * log(LENGTHS) + (double)total * log(26)) / (double)tokens, probe->loss,
               0.01);
    task_destroy(task);
    check_about("%s", "");
}

static void test_problems(const struct probe *probe)
{
    struct task_config config = config_of(probe->kind);
    struct task *task = task_of(&config);
    for (int64_t i = 0; i < 1000; i++) {
        struct problem problem;
        char whole[2 * TASK_TEXT_BYTES], string[LONGEST + 1];
        const char *at = whole;
        task_problem(task, 5, i, &problem);
        check_about("%s%s", problem.prompt, problem.answer);
        snprintf(whole, sizeof whole, "%s%s#", problem.prompt, problem.answer);
        CHECK(read_problem(probe, &at, string) > 0);
        CHECK_INT(*at, 0);
    }
    task_destroy(task);
    check_about("%s", "");
}

static void test_answer(const struct probe *probe)
{
    static const struct known_answer known[] = {
        {"'vejmg'#", "'vejmg'"},     {"'vejmg'", ""}, {"'vejmg#", "'vejmg"}, {"#", ""},
        {"'vejmg'#?s='", "'vejmg'"},
    };
    check_answers(probe->kind, known, sizeof known / sizeof known[0]);
}

/* size() is the length of the longest example, for strings of every allowed length. */
static void test_size(const struct probe *probe)
{
    struct task_config config = config_of(probe->kind);
    for (int64_t letters = SHORTEST; letters <= 99; letters++) {
        set_option(&config, probe->key, letters);
        char string[100];
        memset(string, 'q', sizeof string);
        string[letters] = '\0';
        struct problem_size longest = {0};
        struct example example;
        if (probe->reversed)
            reverse_example(string, &example);
        else
            copy_example(string, &example);
        include_example(&longest, &example);
        struct task *task = task_of(&config);
        check_about("%s, %lld letters", task_names[probe->kind], (long long)letters);
        CHECK_INT(task_problem_size(task).prompt, longest.prompt);
        CHECK_INT(task_problem_size(task).completion, longest.completion);
        task_destroy(task);
    }
    check_about("%s", "");
}

int main(void)
{
    test_example();
    for (int i = 0; i < PROBES; i++) {
        test_sequences(&probes[i]);
        test_problems(&probes[i]);
        test_answer(&probes[i]);
        test_size(&probes[i]);
    }
    return check_report();
}
