/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the substring-by-index task, parsed and recomputed.
 */
#include "task/text.h"

#include <math.h>
#include <stdlib.h>

static void test_example(void)
{
    struct example example;
    index_example("dyjeofuxvejmg", 8, &example);
    CHECK_TEXT(example.prompt, "?s='dyjeofuxvejmg'; s[8:]==");
    CHECK_TEXT(example.completion, "'vejmg'#");
    index_example("abcdefghijklm", 12, &example);
    CHECK_TEXT(example.prompt, "?s='abcdefghijklm'; s[12:]==");
    CHECK_TEXT(example.completion, "'m'#");
    index_example("abcdefghijklm", 0, &example);
    CHECK_TEXT(example.completion, "'abcdefghijklm'#");
}

/* Parses "?s='...'; s[i:]==" with 13 letters and returns the index; -1 for any other text. */
static int read_prompt(const char **at, char string[14])
{
    if (!skip(at, "?s='"))
        return -1;
    for (int i = 0; i < 13; i++) {
        if ((*at)[i] < 'a' || (*at)[i] > 'z')
            return -1;
        string[i] = (*at)[i];
    }
    string[13] = '\0';
    *at += 13;
    if (!skip(at, "'; s["))
        return -1;
    char *end;
    if (**at < '0' || **at > '9' || (**at == '0' && (*at)[1] != ':'))
        return -1;
    long index = strtol(*at, &end, 10);
    *at = end;
    return skip(at, ":]==") && index <= 12 ? (int)index : -1;
}

static void test_sequences(void)
{
    struct task_config config = config_of(TASK_INDEX);
    struct task *task = task_of(&config);
    int64_t problems = 0, indices[13] = {0}, letters[26] = {0};
    for (int64_t row = 0; row < 200; row++) {
        char text[TEXT_TOKENS + 1];
        text_of(task, 3, row / 32, row % 32, TEXT_TOKENS, text);
        check_about("row %lld", (long long)row);
        const char *at = text;
        while (strchr(at, '#')) {
            char string[14] = "";
            int index = read_prompt(&at, string);
            if (!CHECK(index >= 0) || !CHECK(skip(&at, "'")) || !CHECK(skip(&at, &string[index])) ||
                !CHECK(skip(&at, "'#")))
                break;
            problems++;
            indices[index]++;
            for (int i = 0; i < 13; i++)
                letters[string[i] - 'a']++;
        }
    }
    check_about("%lld problems", (long long)problems);
    CHECK(problems >= 1000);
    /* Five standard errors. */
    for (int index = 0; index < 13; index++)
        CHECK_NEAR((double)indices[index], (double)problems / 13, 5 * sqrt((double)problems / 13));
    for (int letter = 0; letter < 26; letter++)
        CHECK_NEAR((double)letters[letter], (double)problems / 2, 5 * sqrt((double)problems / 2));
    task_destroy(task);
    check_about("%s", "");
}

static void test_problems(void)
{
    struct task_config config = config_of(TASK_INDEX);
    struct task *task = task_of(&config);
    int64_t indices[13] = {0};
    for (int64_t i = 0; i < 1000; i++) {
        struct problem problem;
        task_problem(task, 5, i, &problem);
        const char *at = problem.prompt;
        char string[14] = "";
        int index = read_prompt(&at, string);
        if (!CHECK(index >= 0))
            continue;
        CHECK_INT(*at, 0);
        indices[index]++;
        const char *answer = problem.answer;
        CHECK(skip(&answer, "'") && skip(&answer, &string[index]) && strcmp(answer, "'") == 0);
    }
    for (int index = 0; index < 13; index++)
        CHECK(indices[index] > 0);
    task_destroy(task);
}

static void test_answer(void)
{
    static const struct known_answer known[] = {
        {"'vejmg'#", "'vejmg'"},
        {"'vejm'#", "'vejm'"},
        {"'vejmg'", ""},
        {"'vejmg#", "'vejmg"},
        {"#", ""},
        {"", ""},
        {"'vejmg'#?s='", "'vejmg'"},
    };
    check_answers(TASK_INDEX, known, sizeof known / sizeof known[0]);
}

/* size() is the length of the longest example, for strings of every allowed length. */
static void test_size(void)
{
    struct task_config config = config_of(TASK_INDEX);
    for (int64_t letters = 2; letters <= 99; letters++) {
        set_option(&config, "index_letters", letters);
        char string[100];
        memset(string, 'q', sizeof string);
        string[letters] = '\0';
        struct problem_size longest = {0}, size = task_type_index.generator->size(&config);
        for (int64_t index = 0; index < letters; index++) {
            struct example example;
            index_example(string, index, &example);
            include_example(&longest, &example);
        }
        check_about("%lld letters", (long long)letters);
        CHECK_INT(size.prompt, longest.prompt);
        CHECK_INT(size.completion, longest.completion);
    }
    check_about("%s", "");
}

int main(void)
{
    test_example();
    test_sequences();
    test_problems();
    test_answer();
    test_size();
    return check_report();
}
