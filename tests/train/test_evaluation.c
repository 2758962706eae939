/* SPDX-License-Identifier: Apache-2.0
 *
 * evaluation_run: the calls it makes of a transformer, and how it scores the results. The transformer is a
 * stub whose answers and losses are known.
 */
#include "base/fail.h"
#include "model/generation/generation.h"
#include "model/generation/search.h"
#include "task/text.h"
#include "train/evaluation/evaluation.h"

/* The calls that the stub received, and the status it returns. */
static struct {
    const struct task *task;
    rotary_status status;            /* returned by the next calls */
    struct generate_config received; /* configuration of the last call of generate */
    int64_t prompts, sequences;      /* in all calls */
    int64_t batches;                 /* of the sequences */
    int64_t groups;                  /* calls of generate */
    bool last;                       /* problems stand last in sequences */
} stub;

enum { LENGTH = 256, SEED = 6, MAX_BATCH = 2 };

/* The prompt of problem i, and what stands before it. */
static void check_prompt(int64_t i, const int32_t *tokens, int64_t count, char prompt[TASK_TEXT_BYTES])
{
    struct problem problem;
    int32_t expected[LENGTH];
    struct token_list list = {.tokens = expected, .capacity = LENGTH};
    task_problem(stub.task, SEED, i, &problem);
    const int64_t own = (int64_t)strlen(problem.prompt);
    if (stub.last)
        task_long_prompt(stub.task, SEED, i, &list);
    else
        CHECK_INT(tokenizer_encode(task_tokenizer(stub.task), problem.prompt, own, &list, NULL), ROTARY_OK);
    CHECK_INT(count, list.count);
    CHECK(memcmp(tokens, expected, (size_t)list.count * sizeof *tokens) == 0);
    tokenizer_decode(task_tokenizer(stub.task), tokens + count - own, own, prompt, TASK_TEXT_BYTES);
    CHECK_TEXT(prompt, problem.prompt);
}

/* The answer to problem i: correct, wrong, unfinished, or without its first quote. */
static void stub_answer(int64_t i, const char *prompt, char generated[TASK_TEXT_BYTES])
{
    const char *suffix = prompt + strlen("?s='") + atoi(strchr(prompt, '[') + 1);
    int length = (int)(strchr(suffix, '\'') - suffix);
    switch (i % 4) {
    case 0:
        snprintf(generated, TASK_TEXT_BYTES, "'%.*s'#", length, suffix);
        break;
    case 1:
        snprintf(generated, TASK_TEXT_BYTES, "'%.*s'#", length, suffix);
        generated[1] = generated[1] == 'a' ? 'b' : 'a';
        break;
    case 2:
        snprintf(generated, TASK_TEXT_BYTES, "'%.*s'", length, suffix);
        break;
    default:
        snprintf(generated, TASK_TEXT_BYTES, "%.*s'#", length, suffix);
        break;
    }
}

rotary_status generation_run(struct transformer *transformer, const struct generate_config *config,
                             const struct generate_call *call, rotary_error *error)
{
    (void)transformer;
    CHECK(call->interrupted == NULL);
    stub.received = *config;
    if (stub.status != ROTARY_OK)
        return rotary_fail(error, stub.status, "the stub fails");
    const struct tokenizer *tokenizer = task_tokenizer(stub.task);
    stub.groups++;
    CHECK(call->count <= MAX_BATCH || !stub.last);
    for (int64_t i = 0; i < call->count; i++, stub.prompts++) {
        char prompt[TASK_TEXT_BYTES], text[TASK_TEXT_BYTES];
        const int64_t problem = stub.last ? stub.prompts : i;
        check_prompt(problem, call->prompts[i], call->lengths[i], prompt);
        stub_answer(problem, prompt, text);
        int64_t length = (int64_t)strlen(text);
        struct token_list list = {.tokens = call->outputs[i], .capacity = config->max_new_tokens};
        CHECK_INT(tokenizer_encode(tokenizer, text, length, &list, NULL), ROTARY_OK);
        CHECK_INT(list.left_out, 0);
        call->generated[i] = list.count;
    }
    return ROTARY_OK;
}

int64_t transformer_max_batch(const struct transformer *transformer)
{
    (void)transformer;
    return MAX_BATCH;
}

/* Of a finite corpus, which none of the tasks here has. */
int64_t transformer_max_tokens(const struct transformer *transformer)
{
    (void)transformer;
    abort();
}

void search_config_default(struct search_config *config)
{
    (void)config;
    abort();
}

rotary_status search_run(struct transformer *transformer, const struct search_config *config,
                         const struct search_call *call, rotary_error *error)
{
    (void)transformer;
    (void)config;
    (void)call;
    (void)error;
    abort();
}

/* 2 nats per token in the first sequence, 4 in the next, ...; every fourth token correct. */
rotary_status transformer_run(struct transformer *transformer, const struct transformer_call *call,
                              struct loss_sums *loss, rotary_error *error)
{
    (void)transformer;
    (void)error;
    const struct token_sequences *input = &call->batch->input;
    CHECK(!call->backward);
    CHECK_INT(input->time, LENGTH);
    CHECK(input->batch >= 1 && input->batch <= MAX_BATCH);
    stub.batches++;
    for (int64_t row = 0; row < input->batch; row++) {
        int32_t sequence[LENGTH + 1];
        sequence_of(stub.task,
                    &(struct task_place){.split = TASK_VALIDATION, .seed = SEED, .index = stub.sequences++},
                    sequence);
        CHECK(memcmp(input->tokens + row * LENGTH, sequence, LENGTH * sizeof *sequence) == 0);
        CHECK(memcmp(call->batch->classes + row * LENGTH, sequence + 1, LENGTH * sizeof *sequence) == 0);
        loss->total += 2.0 * (double)stub.sequences * LENGTH;
        loss->counted += LENGTH;
        loss->correct += LENGTH / 4;
    }
    return ROTARY_OK;
}

/* Of labels, which these tasks have not. */
rotary_status transformer_logits(struct transformer *transformer, const struct batch *batch, float *logits,
                                 rotary_error *error)
{
    (void)transformer;
    (void)batch;
    (void)logits;
    (void)error;
    abort();
}

static void prepare(const struct task *task)
{
    memset(&stub, 0, sizeof stub);
    stub.task = task;
}

static struct task *short_task(enum task_id kind)
{
    struct task_config config = config_of(kind);
    config.sequence_length = LENGTH;
    config.problems = 30;
    return task_of(&config);
}

static void test_problems(void)
{
    struct task *task = short_task(TASK_INDEX);
    prepare(task);
    struct evaluation_sample samples[6];
    memset(samples, 'x', sizeof samples);
    struct evaluation evaluation = {.sample_count = 5, .samples = samples};
    struct evaluation_config config = {
        .seed = SEED, .problems = 100, .validation_sequences = 3, .temperature = 0.5f};
    CHECK_INT(evaluation_run(task, NULL, &config, &evaluation, NULL), ROTARY_OK);
    CHECK_INT(evaluation.problems, 100); /* more than the configured 30 */
    CHECK_INT(evaluation.correct, 25);
    CHECK_INT(stub.prompts, 100);
    CHECK_INT(stub.received.stop, task_stop(task));
    CHECK_INT(stub.received.max_new_tokens, 16);
    CHECK_INT((int64_t)stub.received.seed, SEED);
    CHECK_NEAR(stub.received.sampler.temperature, 0.5, 0);
    CHECK(!stub.received.without_cache);
    CHECK(stub.received.unchecked); /* the loss of a model that diverged is to be seen */

    CHECK_INT(evaluation.sample_count, 5);
    for (int i = 0; i < 5; i++) {
        struct problem problem;
        char generated[TASK_TEXT_BYTES], answer[TASK_TEXT_BYTES];
        task_problem(task, SEED, i, &problem);
        stub_answer(i, problem.prompt, generated);
        CHECK_INT(task_score(task, &problem, generated, answer), i % 4 == 0);
        check_about("sample %d", i);
        CHECK_TEXT(samples[i].problem.prompt, problem.prompt);
        CHECK_TEXT(samples[i].problem.answer, problem.answer);
        CHECK_TEXT(samples[i].generated, generated);
        CHECK_TEXT(samples[i].answer, answer);
        CHECK_INT(samples[i].correct, i % 4 == 0);
    }
    check_about("%s", "");
    CHECK_INT(samples[5].generated[0], 'x');

    CHECK_INT(stub.sequences, 3);
    CHECK_INT(stub.batches, 2); /* of at most MAX_BATCH */
    CHECK_NEAR(evaluation.loss, 4.0, 1e-12);
    CHECK_NEAR(evaluation.accuracy, 0.25, 1e-12);
    CHECK(evaluation.seconds >= 0);

    /* Fewer problems than samples: sample_count becomes the number of problems. */
    config.problems = 2;
    stub.sequences = 0;
    evaluation.sample_count = 5;
    CHECK_INT(evaluation_run(task, NULL, &config, &evaluation, NULL), ROTARY_OK);
    CHECK_INT(evaluation.problems, 2);
    CHECK_INT(evaluation.correct, 1);
    CHECK_INT(evaluation.sample_count, 2);
    task_destroy(task);
}

/* Problems that stand last in sequences: as many at once as the transformer has sequences. */
static void test_last(void)
{
    struct task *task = short_task(TASK_INDEX);
    prepare(task);
    stub.last = true;
    struct evaluation evaluation = {0};
    const struct evaluation_config config = {
        .seed = SEED, .problems = 25, .validation_sequences = 3, .last = true};
    CHECK_INT(evaluation_run(task, NULL, &config, &evaluation, NULL), ROTARY_OK);
    CHECK_INT(stub.prompts, 25);
    CHECK_INT(stub.groups, 13);
    CHECK_INT(evaluation.correct, 7);
    CHECK_NEAR(evaluation.loss, 4.0, 1e-12);
    task_destroy(task);
}

static void test_without_problems(void)
{
    struct task *task = short_task(TASK_PREFIX);
    prepare(task);
    struct evaluation evaluation = {.correct = 7};
    struct evaluation_config config = {.seed = SEED, .problems = 100, .validation_sequences = 2};
    CHECK_INT(evaluation_run(task, NULL, &config, &evaluation, NULL), ROTARY_OK);
    CHECK_INT(stub.prompts, 0);
    CHECK_INT(evaluation.problems, 0);
    CHECK_INT(evaluation.correct, 0);
    CHECK_INT(evaluation.sample_count, 0);
    CHECK_NEAR(evaluation.loss, 3.0, 1e-12);
    task_destroy(task);
}

/* Errors of the transformer are returned, and the result stays unchanged. */
static void test_failure(void)
{
    struct task *task = short_task(TASK_INDEX);
    prepare(task);
    stub.status = ROTARY_OUT_OF_MEMORY;
    struct evaluation evaluation = {.correct = 7, .loss = 1.5};
    struct evaluation_config config = {.seed = SEED, .problems = 4, .validation_sequences = 2};
    rotary_error error = {0};
    CHECK_INT(evaluation_run(task, NULL, &config, &evaluation, &error), ROTARY_OUT_OF_MEMORY);
    CHECK_TEXT(error.message, "the stub fails");
    CHECK_INT(evaluation.correct, 7);
    CHECK_NEAR(evaluation.loss, 1.5, 0);
    CHECK_INT(stub.sequences, 0);

    atomic_bool interrupted = true;
    config.problems = 0;
    config.interrupted = &interrupted;
    CHECK_INT(evaluation_run(task, NULL, &config, &evaluation, &error), ROTARY_INTERRUPTED);
    CHECK_INT(evaluation.correct, 7);
    CHECK_INT(stub.sequences, 0);
    task_destroy(task);
}

int main(void)
{
    test_problems();
    test_last();
    test_without_problems();
    test_failure();
    return check_report();
}
