/* SPDX-License-Identifier: Apache-2.0
 *
 * Addition digit by digit, as done on paper (the arithmetic task of the RoPER article):
 *
 *     ?d=77+38446365; 7e0+5e0+0e0==12e0 and 7e1+6e1+1e1==14e1 and ... and d==38446442#
 *
 * The step at place i is (digit of the left operand)ei+(digit of the right)ei+(carry in)ei==(total)ei. Steps
 * start at the least significant place and end when no digits and no carry are left.
 *
 * An operand has 1 to addition_digits digits, every length equally likely; its first digit is 1 to 9, the
 * others 0 to 9. a+b and b+a are held out together.
 */
#include "task/generated/generated.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct addition_options {
    int64_t digits; /* maximum of an operand */
};

#define MEMBER(member) offsetof(struct addition_options, member)
static const struct setting table[] = {
    {"addition_digits", SETTING_INTEGER, MEMBER(digits), 2, 16, NULL,
     .help = "maximum digits of an operand of the addition task"},
};
static const struct addition_options defaults = {.digits = 8};

/* Appends to a text that has enough capacity. */
__attribute__((format(printf, 2, 3))) static void append(char text[TASK_TEXT_BYTES], const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, TASK_TEXT_BYTES - length, format, arguments);
    va_end(arguments);
}

static uint64_t identity(uint64_t left, uint64_t right)
{
    char text[64];
    uint64_t smaller = left < right ? left : right, larger = left < right ? right : left;
    int length =
        snprintf(text, sizeof text, "%llu+%llu", (unsigned long long)smaller, (unsigned long long)larger);
    return rotary_hash(text, (uint64_t)length);
}

void addition_example(uint64_t left, uint64_t right, struct example *example)
{
    snprintf(example->prompt, TASK_TEXT_BYTES, "?d=%llu+%llu; ", (unsigned long long)left,
             (unsigned long long)right);
    example->identity = identity(left, right);
    example->completion[0] = '\0';
    uint64_t a = left, b = right;
    unsigned carry = 0;
    for (int place = 0; a > 0 || b > 0 || carry > 0; place++) {
        unsigned digit_a = (unsigned)(a % 10), digit_b = (unsigned)(b % 10),
                 total = digit_a + digit_b + carry;
        append(example->completion, "%ue%d+%ue%d+%ue%d==%ue%d and ", digit_a, place, digit_b, place, carry,
               place, total, place);
        carry = total / 10;
        a /= 10;
        b /= 10;
    }
    append(example->completion, "d==%llu#", (unsigned long long)(left + right));
}

static uint64_t random_operand(const struct task_config *config, struct rotary_random *random)
{
    const struct addition_options *options = task_options(config, TASK_ADDITION);
    uint32_t digits = 1 + rotary_random_below(random, (uint32_t)options->digits);
    uint64_t operand = 1 + rotary_random_below(random, 9);
    for (uint32_t digit = 1; digit < digits; digit++)
        operand = 10 * operand + rotary_random_below(random, 10);
    return operand;
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    uint64_t left = random_operand(config, random);
    uint64_t right = random_operand(config, random);
    addition_example(left, right, example);
}

/* What a digit of a number costs, counted from the last: the first is no 0. */
static double digit_nats(int64_t place, int64_t digits)
{
    return place < digits - 1 ? log(10.0) : place == digits - 1 ? log(9.0) : 0;
}

static int64_t digits_at(const char *text)
{
    return (int64_t)strspn(text, "0123456789");
}

/* The digits of a number at `at`, which has `digits` of them. */
static void pay_number(double *nats, int64_t at, int64_t digits)
{
    for (int64_t i = 0; i < digits; i++)
        nats[at + i] = digit_nats(digits - 1 - i, digits);
}

/* The digits of the operands are random, and unknown again where they are repeated, as are those of the
 * result, which repeats what was computed. What is computed within a step is known: that is no copying. A
 * result that has more digits than both operands begins with 1. */
static void uncopied(const struct task_config *config, const struct example *example, double *nats)
{
    const struct addition_options *options = task_options(config, TASK_ADDITION);
    const char *prompt = example->prompt, *completion = example->completion;
    const int64_t first = (int64_t)strlen("?d="), left = digits_at(prompt + first), second = first + left + 1,
                  right = digits_at(prompt + second), base = (int64_t)strlen(prompt),
                  longer = left > right ? left : right;
    pay_number(nats, first, left);
    pay_number(nats, second, right);
    nats[first + left] = nats[second + right] = log((double)options->digits);
    const char *at = completion;
    for (int64_t place = 0; at[0] != 'd'; place++) {
        nats[base + (at - completion)] = digit_nats(place, left);
        nats[base + (strchr(at, '+') + 1 - completion)] = digit_nats(place, right);
        at = strstr(at, "and ") + strlen("and ");
    }
    at += strlen("d==");
    const int64_t digits = digits_at(at);
    pay_number(nats, base + (at - completion), digits);
    if (digits > longer)
        nats[base + (at - completion)] = 0;
}

/* The longest example adds nines: every place carries, so every total has two digits. */
static struct problem_size size(const struct task_config *config)
{
    const struct addition_options *options = task_options(config, TASK_ADDITION);
    uint64_t nines = 0;
    for (int64_t digit = 0; digit < options->digits; digit++)
        nines = 10 * nines + 9;
    struct example longest;
    addition_example(nines, nines, &longest);
    return (struct problem_size){(int64_t)strlen(longest.prompt), (int64_t)strlen(longest.completion)};
}

/* The text between the last d== and the #. */
static void answer(const char *generated, char answer[TASK_TEXT_BYTES])
{
    answer[0] = '\0';
    const char *end = strchr(generated, '#');
    if (!end)
        return;
    const char *last = NULL;
    for (const char *at = strstr(generated, "d=="); at && at < end; at = strstr(at + 1, "d=="))
        last = at + 3;
    if (last)
        snprintf(answer, TASK_TEXT_BYTES, "%.*s", (int)(end - last), last);
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    (void)config;
    snprintf(alphabet, GENERATED_ALPHABET_BYTES, "0123456789e+=and ?;#");
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_example = random_example,
    .size = size,
    .uncopied_example = uncopied,
};

const struct task_type task_type_addition = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = generated_create,
    .fill = generated_fill,
    .problem = generated_problem,
    .long_prompt = generated_long_prompt,
    .size = generated_size,
    .answer = answer,
    .uncopied_loss = generated_uncopied_loss,
    .generator = &generator,
};
