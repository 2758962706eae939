/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of a model that knows a generated task but copies nothing: on the sequences that are validated,
 * whose random and copied characters are counted here in their text.
 */
#include "support/check.h"

#include "task/task.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 4000, ROWS = 4 };

static struct task *create(enum task_id kind, int64_t length)
{
    struct task_config config;
    struct task *task = NULL;
    rotary_error error = {0};
    task_config_default(&config);
    config.task = kind;
    config.sequence_length = length;
    if (!CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_OK)) {
        printf("    %s\n", error.message);
        exit(1);
    }
    return task;
}

/* The targets of a validation row as text. */
static void read_row(const struct task *task, uint64_t seed, int64_t row, char text[LENGTH + 1])
{
    static int32_t tokens[LENGTH + 1], classes[LENGTH + 1], scratch[LENGTH + 1];
    const struct task_place place = {.split = TASK_VALIDATION, .seed = seed, .index = row};
    const struct task_row memory = {.tokens = tokens, .classes = classes, .scratch = scratch};
    task_fill(task, &place, &memory);
    for (int i = 0; i < LENGTH; i++)
        text[i] = tokenizer_text(task_tokenizer(task), classes[i]).bytes[0];
    text[LENGTH] = 0;
}

/* Letters stand within quotes alone; a problem has one "[". */
static double count_strings(const char *text, double slice, double length)
{
    double sum = 0;
    bool quoted = false;
    for (const char *at = text; *at; at++) {
        quoted = quoted != (*at == '\'');
        sum += quoted && islower(*at) ? log(26) : 0;
        sum += *at == '[' ? slice : 0;
        sum += *at == ';' ? length : 0;
    }
    return sum;
}

static double count_index(const char *text)
{
    return count_strings(text, log(13), 0);
}

static double count_copy(const char *text)
{
    return count_strings(text, 0, log(18)); /* 3 to 20 letters */
}

static double count_prefix(const char *text)
{
    double sum = 0;
    for (; *text; text++)
        sum += *text == '>' ? 0 : log(4);
    return sum;
}

/* A text has 1 to 10 sentences; its key may stand before each and at the end. */
static double count_passkey(const char *text)
{
    double sum = 0;
    int sentences = 0;
    for (const char *at = text; *at; at++) {
        sum += isdigit(*at) ? log(10) : 0;
        sentences += *at == '.';
        if (*at == '?') {
            sum += log(10) + log(sentences) + (sentences - 1) * log(8); /* one of them has the key */
            sentences = 0;
        }
    }
    return sum + sentences * log(8);
}

/* What an addition costs, from its operands: their digits, again in the steps, and the digits of the sum. */
static double number_nats(unsigned long long number)
{
    return log(9) + floor(log10((double)number) + 1e-12) * log(10);
}

static double count_addition(const char *text)
{
    double sum = 0;
    for (const char *at = strchr(text, '?'); at; at = strchr(at + 1, '?')) {
        unsigned long long a = 0, b = 0;
        if (sscanf(at, "?d=%llu+%llu;", &a, &b) != 2 || !strchr(at, '#'))
            break;
        const double of_a = number_nats(a), of_b = number_nats(b), result = number_nats(a + b);
        const double carried = fmax(floor(log10((double)a) + 1e-12), floor(log10((double)b) + 1e-12));
        sum += 2 * log(8) + 2 * of_a + 2 * of_b + result;
        if (floor(log10((double)(a + b)) + 1e-12) > carried)
            sum -= log(9); /* it begins with 1 */
    }
    return sum;
}

static void check_task(enum task_id kind, double (*count)(const char *text), double most)
{
    static char text[LENGTH + 1];
    struct task *task = create(kind, LENGTH);
    check_about("%s", task_names[kind]);
    CHECK(task_is_generated(task_configuration(task)));
    double before = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        double sum = 0;
        for (int64_t row = 0; row < ROWS; row++) {
            read_row(task, seed, row, text);
            sum += count(text);
        }
        const double loss = task_uncopied_loss(task, seed, ROWS);
        /* The first character is no target, and a problem at the end is cut. */
        CHECK_NEAR(loss, sum / (ROWS * LENGTH), most / LENGTH);
        CHECK(loss != before);
        before = kind == TASK_PREFIX ? 0 : loss;
    }
    task_destroy(task);
}

/* From the frequencies of the format: docs/explanation/experiments.md. */
static void check_expected(void)
{
    struct task *task = create(TASK_INDEX, 2000);
    const double digits = (10 + 2 * 3) / 13.0;
    const double length = 4 + 13 + 5 + digits + 5 + 7 + 2, nats = 20 * log(26) + log(13);
    check_about("the mean of many index problems");
    CHECK_NEAR(nats / length, 1.819, 5e-4);
    CHECK_NEAR(task_uncopied_loss(task, 7, 64), nats / length, 2e-3);
    task_destroy(task);
}

int main(void)
{
    struct task_config config;
    check_task(TASK_INDEX, count_index, 80);
    check_task(TASK_COPY, count_copy, 80);
    check_task(TASK_REVERSE, count_copy, 80);
    check_task(TASK_PASSKEY, count_passkey, 80);
    check_task(TASK_PREFIX, count_prefix, 1e-9);
    check_task(TASK_ADDITION, count_addition, 120);
    check_expected();
    task_config_default(&config);
    config.task = TASK_LANGUAGE;
    CHECK(!task_is_generated(&config));
    return check_report();
}
