/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing: quantiles, the order and number of runs, paired ratios; operations against counts by hand.
 */
#include "benchmark/operations.h"
#include "benchmark/timing.h"
#include "benchmark/train_benchmark.h"
#include "support/check.h"

#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 4096 };

struct log {
    char names[MAX_ROUNDS];
    int count;
    int fails_at; /* number of the run that fails; 0: none */
};

struct runner {
    struct log *log;
    char name;
};

static rotary_status run(void *argument, rotary_error *error)
{
    struct runner *runner = argument;
    struct log *log = runner->log;
    if (log->count < MAX_ROUNDS)
        log->names[log->count] = runner->name;
    log->count++;
    if (log->count == log->fails_at) {
        strcpy(error->message, "as it should");
        return ROTARY_UNSUPPORTED;
    }
    return ROTARY_OK;
}

static void test_timing_of(void)
{
    double odd[] = {5.0, 1.0, 9.0, 7.0, 2.0}, even[] = {4.0, 8.0, 1.0, 2.0}, one[] = {3.0};
    struct timing timing = timing_of(odd, 5);
    CHECK_NEAR(timing.best, 1.0, 0.0);
    CHECK_NEAR(timing.lower, 2.0, 0.0);
    CHECK_NEAR(timing.median, 5.0, 0.0);
    CHECK_NEAR(timing.upper, 7.0, 0.0);
    timing = timing_of(even, 4);
    CHECK_NEAR(timing.best, 1.0, 0.0);
    CHECK_NEAR(timing.lower, 1.75, 0.0);
    CHECK_NEAR(timing.upper, 5.0, 0.0);
    CHECK_NEAR(timing.median, 3.0, 0.0);
    timing = timing_of(one, 1);
    CHECK_NEAR(timing.best, 3.0, 0.0);
    CHECK_NEAR(timing.lower, 3.0, 0.0);
    CHECK_NEAR(timing.median, 3.0, 0.0);
    CHECK_NEAR(timing.upper, 3.0, 0.0);
}

/* Two rounds come first: a warm-up, and one to plan by. Then the order alternates. */
static void test_alternation(void)
{
    struct log log = {.count = 0};
    struct runner first = {&log, 'a'}, second = {&log, 'b'}, third = {&log, 'c'};
    struct timing_item items[] = {{.run = run, .argument = &first},
                                  {.run = run, .argument = &second},
                                  {.run = run, .argument = &third}};
    rotary_error error;
    int64_t rounds = 0;
    struct timing_plan plan = {.seconds = 0.0, .min = 7, .max = 9};
    CHECK(timing_run(items, 3, &plan, &rounds, &error) == ROTARY_OK);
    CHECK_INT(rounds, 7);
    CHECK_INT(log.count, 3 * (7 + 2));
    for (int i = 0; i < log.count; i++)
        CHECK_INT(log.names[i], i < 6 ? "abc"[i % 3] : "abccba"[i % 6]);
    for (int i = 0; i < 3; i++)
        CHECK(items[i].timing.best >= 0.0 && items[i].timing.median >= items[i].timing.best);
    plan.seconds = 1e6;
    CHECK(timing_run(items, 1, &plan, &rounds, &error) == ROTARY_OK);
    CHECK_INT(rounds, 9);
}

static rotary_status run_longer(void *argument, rotary_error *error)
{
    (void)argument;
    (void)error;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return ROTARY_OK;
}

/* A ratio is that to the item's own baseline. */
static void test_ratio(void)
{
    struct log log = {.count = 0};
    struct runner first = {&log, 'a'};
    struct timing_item items[] = {
        {.run = run, .argument = &first}, {.run = run_longer}, {.run = run_longer}, {.run = run_longer}};
    items[2].baseline = &items[0];
    items[3].baseline = &items[1];
    rotary_error error;
    int64_t rounds;
    struct timing_plan plan = {.seconds = 0.0, .min = 9, .max = 9};
    CHECK(timing_run(items, 4, &plan, &rounds, &error) == ROTARY_OK);
    CHECK(items[2].ratio.median > 10.0 && items[3].ratio.median < 10.0);
    CHECK_NEAR(items[0].ratio.median, 0.0, 0.0);
}

static void test_failure(void)
{
    rotary_error error;
    int64_t rounds;
    struct timing_plan plan = {.seconds = 0.0, .min = 5, .max = 5};
    for (int run_number = 1; run_number <= 14; run_number++) {
        struct log log = {.fails_at = run_number};
        struct runner first = {&log, 'a'}, second = {&log, 'b'};
        struct timing_item items[] = {{.run = run, .argument = &first}, {.run = run, .argument = &second}};
        CHECK(timing_run(items, 2, &plan, &rounds, &error) == ROTARY_UNSUPPORTED);
        CHECK_TEXT(error.message, "as it should");
        CHECK_INT(log.count, run_number);
    }
}

/* Two layers of width 4, two heads of 2, hidden 8, vocabulary 3: matrices of 4 x 4 times 4, 4 x 8 times 2. */
static void test_too_many(void)
{
    struct log log = {.count = 0};
    struct runner runner = {&log, 'a'};
    struct timing_item items[TIMING_MAX_ITEMS + 1];
    for (int i = 0; i <= TIMING_MAX_ITEMS; i++)
        items[i] = (struct timing_item){.run = run, .argument = &runner};
    const struct timing_plan plan = {.seconds = 0.0, .min = 1, .max = 1};
    rotary_error error;
    int64_t rounds;
    CHECK(timing_run(items, TIMING_MAX_ITEMS + 1, &plan, &rounds, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK(log.count == 0);
}

static void test_operations(void)
{
    struct run_config config;
    run_config_default(&config);
    struct transformer_config *model = &config.model;
    model->hidden_size = 4;
    model->num_hidden_layers = 2;
    model->num_attention_heads = model->num_key_value_heads = 2;
    model->head_dim = 2;
    model->intermediate_size = 8;
    model->vocab_size = 3;
    model->hidden_act = 0; /* relu: no gate */
    double parameters = 2 * (4 * 16 + 2 * 32) + 4 * 3;
    CHECK_NEAR(operations_matmul_parameters(model), parameters, 0.0);
    /* Scores and sums, 4 channels each, 2 operations, 2 layers. */
    CHECK_NEAR(operations_attention(model, 7.0), 2 * 2 * 2 * 4 * 7.0, 0.0);
    /* 30 tokens; a query attends to 3 keys on average; attention has 2 matmuls forward and 5 backward. */
    struct batch batch = {.input = {.batch = 6, .time = 5}};
    CHECK_NEAR(operations_training(model, &batch), 30 * (6 * parameters + 3.5 * 32 * 3), 0.0);
    /* Sequences of 5 and 2 tokens have 15 and 3 pairs. */
    static const int32_t starts[] = {0, 5, 7}, source_starts[] = {0, 3, 7};
    batch.input = (struct token_sequences){.batch = 2, .starts = starts};
    const double decoder = 7 * 6 * parameters + 3.5 * 32 * 18;
    CHECK_NEAR(operations_training(model, &batch), decoder, 0.0);
    /* Sources of 3 and 4 tokens through one layer of encoder: 9 and 16 pairs in it, 15 and 8 across.
     * Cross-attention projects targets to queries and context, sources to keys and values. */
    model->architecture = ARCHITECTURE_ENCODER_DECODER;
    model->num_encoder_layers = 1;
    batch.source = (struct token_sequences){.batch = 2, .starts = source_starts};
    const double encoder = 7 * 6 * (4 * 16 + 2 * 32) + 3.5 * 16 * 25,
                 cross = 6 * 2 * 4 * (7 * 2 * 4 + 7 * 2 * 4) + 3.5 * 32 * 23;
    CHECK_NEAR(operations_training(model, &batch), decoder + encoder + cross, 0.0);
    /* An encoder: 25 and 4 pairs; the output projection and a transform before it for 2 of the 7 tokens. */
    static const int32_t classes[] = {-1, 2, -1, -1, 0, -1, -1};
    model->architecture = ARCHITECTURE_ENCODER;
    model->output_transform = true;
    batch.source = (struct token_sequences){0};
    batch.classes = classes;
    CHECK_NEAR(operations_training(model, &batch),
               7 * 6 * (parameters - 4 * 3) + 2 * 6 * (4 * 3 + 4 * 4) + 3.5 * 32 * 29, 0.0);
    model->output_transform = false;
    model->architecture = ARCHITECTURE_DECODER;
    model->num_key_value_heads = 1;
    CHECK_NEAR(operations_matmul_parameters(model), parameters - 2 * 2 * 4 * 2, 0.0);
}

int main(void)
{
    test_timing_of();
    test_alternation();
    test_ratio();
    test_failure();
    test_too_many();
    test_operations();
    return check_report();
}
