/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of the addition task: parsed by format alone, and recomputed on decimal strings.
 */
#include "task/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The example of the article. */
static void test_example(void)
{
    static const struct {
        uint64_t left, right;
        const char *prompt, *completion, *answer;
    } known[] = {
        {77, 38446365, "?d=77+38446365; ",
         "7e0+5e0+0e0==12e0 and 7e1+6e1+1e1==14e1 and 0e2+3e2+1e2==4e2 and 0e3+6e3+0e3==6e3 and "
         "0e4+4e4+0e4==4e4 and 0e5+4e5+0e5==4e5 and 0e6+8e6+0e6==8e6 and 0e7+3e7+0e7==3e7 and d==38446442#",
         "38446442"},
        {66623, 401, "?d=66623+401; ",
         "3e0+1e0+0e0==4e0 and 2e1+0e1+0e1==2e1 and 6e2+4e2+0e2==10e2 and 6e3+0e3+1e3==7e3 and "
         "6e4+0e4+0e4==6e4 and d==67024#",
         "67024"},
        {5, 5, "?d=5+5; ", "5e0+5e0+0e0==10e0 and 0e1+0e1+1e1==1e1 and d==10#", "10"},
    };
    for (int i = 0; i < 3; i++) {
        struct example example;
        char answer[TASK_TEXT_BYTES];
        addition_example(known[i].left, known[i].right, &example);
        CHECK_TEXT(example.prompt, known[i].prompt);
        CHECK_TEXT(example.completion, known[i].completion);
        task_type_addition.answer(example.completion, answer);
        CHECK_TEXT(answer, known[i].answer);
    }
}

struct parsed {
    char left[32], right[32], result[32];
};

static bool read_digits(const char **at, char digits[32])
{
    size_t length = strspn(*at, "0123456789");
    if (length == 0 || length > 31)
        return false;
    memcpy(digits, *at, length);
    digits[length] = '\0';
    *at += length;
    return true;
}

static int digit_at(const char *digits, int place)
{
    int length = (int)strlen(digits);
    return place < length ? digits[length - 1 - place] - '0' : 0;
}

/* Parses one example; false if its text is not exactly that of adding the two strings digit by digit. */
static bool read_problem(const char **at, struct parsed *parsed)
{
    const char *from = *at;
    if (!skip(&from, "?d=") || !read_digits(&from, parsed->left) || !skip(&from, "+") ||
        !read_digits(&from, parsed->right) || !skip(&from, "; "))
        return false;
    char sum[32];
    snprintf(sum, sizeof sum, "%llu", strtoull(parsed->left, NULL, 10) + strtoull(parsed->right, NULL, 10));
    int carry = 0;
    for (int place = 0; place < (int)strlen(sum); place++) {
        int a = digit_at(parsed->left, place), b = digit_at(parsed->right, place);
        char step[64];
        snprintf(step, sizeof step, "%de%d+%de%d+%de%d==%de%d and ", a, place, b, place, carry, place,
                 a + b + carry, place);
        if (!skip(&from, step))
            return false;
        carry = a + b + carry >= 10;
        if ((a + b) % 10 != digit_at(sum, place) && (a + b + 1) % 10 != digit_at(sum, place))
            return false;
    }
    if (carry != 0 || !skip(&from, "d==") || !read_digits(&from, parsed->result) || !skip(&from, "#"))
        return false;
    *at = from;
    return strcmp(parsed->result, sum) == 0;
}

/* More than a thousand examples of training sequences: their text, and the frequencies of lengths and digits.
 */
static void test_sequences(void)
{
    struct task_config config = config_of(TASK_ADDITION);
    struct task *task = task_of(&config);
    int64_t problems = 0, lengths[9] = {0}, first_digits[10] = {0}, last_digits[10] = {0};
    for (int64_t row = 0; row < 500; row++) {
        char text[TEXT_TOKENS + 1];
        text_of(task, 11, row / 32, row % 32, TEXT_TOKENS, text);
        check_about("row %lld", (long long)row);
        const char *at = text;
        struct parsed parsed;
        while (strchr(at, '#')) {
            if (!CHECK(read_problem(&at, &parsed)))
                break;
            problems++;
            const char *operands[2] = {parsed.left, parsed.right};
            for (int side = 0; side < 2; side++) {
                size_t length = strlen(operands[side]);
                if (!CHECK(length >= 1 && length <= 8))
                    continue;
                lengths[length]++;
                first_digits[operands[side][0] - '0']++;
                if (length > 1)
                    last_digits[operands[side][length - 1] - '0']++;
            }
        }
        CHECK_INT((int64_t)strlen(text), TEXT_TOKENS);
    }
    check_about("%lld problems", (long long)problems);
    CHECK(problems >= 1000);
    double operands = 2.0 * (double)problems;
    /* Five standard errors. */
    for (int length = 1; length <= 8; length++)
        CHECK_NEAR((double)lengths[length], operands / 8, 5 * sqrt(operands / 8));
    CHECK_INT(first_digits[0], 0);
    for (int digit = 1; digit <= 9; digit++)
        CHECK_NEAR((double)first_digits[digit], operands / 9, 5 * sqrt(operands / 9));
    for (int digit = 0; digit <= 9; digit++)
        CHECK_NEAR((double)last_digits[digit], operands * 7 / 80, 5 * sqrt(operands * 7 / 80));
    task_destroy(task);
    check_about("%s", "");
}

/* A thousand evaluation problems: the answer is that of the prompt. */
static void test_problems(void)
{
    struct task_config config = config_of(TASK_ADDITION);
    struct task *task = task_of(&config);
    for (int64_t index = 0; index < 1000; index++) {
        struct problem problem;
        task_problem(task, 5, index, &problem);
        const char *at = problem.prompt;
        struct parsed parsed;
        if (!CHECK(skip(&at, "?d=") && read_digits(&at, parsed.left) && skip(&at, "+") &&
                   read_digits(&at, parsed.right) && strcmp(at, "; ") == 0))
            continue;
        char sum[32];
        snprintf(sum, sizeof sum, "%llu", strtoull(parsed.left, NULL, 10) + strtoull(parsed.right, NULL, 10));
        CHECK_TEXT(problem.answer, sum);
    }
    task_destroy(task);
}

/* The answer within generated text. */
static void test_answer(void)
{
    static const struct known_answer known[] = {
        {"5e0+5e0+0e0==10e0 and d==10#", "10"},
        {"d==10#", "10"},
        {"d==1 and d==10#", "10"},
        {"d==10#?d=3+4; d==7#", "10"},
        {"d==10", ""},
        {"5e0+5e0+0e0==10e0 and #", ""},
        {"d==#", ""},
        {"#d==10#", ""},
        {"d=#==10", ""},
        {"", ""},
        {"d==0010#", "0010"},
    };
    check_answers(TASK_ADDITION, known, sizeof known / sizeof known[0]);
}

/* size() is the length of the longest example, and examples of all allowed lengths fit the buffers. */
static void test_size(void)
{
    struct task_config config = config_of(TASK_ADDITION);
    const struct generator *generator = task_type_addition.generator;
    for (int64_t digits = 2; digits <= 16; digits++) {
        set_option(&config, "addition_digits", digits);
        struct problem_size size = generator->size(&config), longest = {0};
        struct rotary_random random = {.key = {.seed = 3, .stream = ROTARY_STREAM_TEST}};
        for (int i = 0; i < 200; i++) {
            struct example example;
            generator->random_example(&config, &random, &example);
            include_example(&longest, &example);
            CHECK(example.completion[strlen(example.completion) - 1] == '#');
        }
        check_about("%lld digits", (long long)digits);
        CHECK(longest.prompt <= size.prompt && longest.completion <= size.completion);
        CHECK(size.prompt < TASK_TEXT_BYTES && size.completion < TASK_TEXT_BYTES);
    }
    struct task_config published = config_of(TASK_ADDITION);
    struct problem_size size = generator->size(&published);
    CHECK_INT(size.prompt + size.completion, (int64_t)strlen("?d=99999999+99999999; ") + 22 + 7 * 22 + 22 -
                                                 1 + (int64_t)strlen("d==199999998#"));
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
