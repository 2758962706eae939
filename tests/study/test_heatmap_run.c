/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run's models read for a heatmap: texts of a decoder and their continuations, pairs of texts, greedy
 * translations; what is wrong with texts.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "study/heatmap_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME = 12, LAYERS = 2 };

static void stop(const rotary_error *error)
{
    printf("%s\n", error->message);
    exit(1);
}

static void write_text(const char *name, const char *text)
{
    scratch_write(scratch_path(name), text, strlen(text));
}

static struct task *translation(void)
{
    static const char *const splits[] = {"train", "val", "test"};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s.de", splits[i]);
        write_text(name, "der Hund ruft <x>\ndie Katze ruft\n");
        snprintf(name, sizeof name, "%s.en", splits[i]);
        write_text(name, "the dog calls <x>\nthe cat calls\n");
    }
    struct task_config config;
    task_config_default(&config);
    struct settings settings[TASK_SETTINGS];
    task_settings(&config, settings);
    char data[4096];
    snprintf(data, sizeof data, "translation_data=%s", scratch_folder());
    const char *assignments[] = {"task=translation", data, "translation_test=test",
                                 "translation_min_frequency=1", "translation_lowercase=true"};
    struct task *task = NULL;
    rotary_error error = {0};
    for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++)
        if (!CHECK_INT(settings_assign(settings, TASK_SETTINGS, assignments[i], &error), ROTARY_OK))
            stop(&error);
    config.sequence_length = TIME;
    if (!CHECK_INT(task_create(&task, &config, NULL, &error), ROTARY_OK))
        stop(&error);
    return task;
}

/* A model with initial weights for the task. */
static struct transformer *model_of(const struct backend *backend, const struct task *task)
{
    struct transformer_config config;
    struct task_vocabulary vocabulary = task_vocabulary(task);
    transformer_config_default(&config);
    config.vocab_size = vocabulary.target;
    config.hidden_size = 16;
    config.num_attention_heads = 2;
    config.num_hidden_layers = LAYERS;
    config.intermediate_size = 16;
    config.max_position_embeddings = TIME;
    if (vocabulary.source > 0) {
        config.architecture = ARCHITECTURE_ENCODER_DECODER;
        config.source_vocab_size = vocabulary.source;
    }
    struct transformer *transformer = NULL;
    const struct transformer_limits limits = {
        .batch = 1, .time = TIME, .packed = true, .source_time = vocabulary.source > 0 ? TIME : 0};
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, limits, 3, &error), ROTARY_OK))
        stop(&error);
    return transformer;
}

/* A text of lines, as a file or, with path NULL, as an option. */
static struct text_lines lines_of(const char *name, const char *text)
{
    struct text_lines lines;
    rotary_error error = {0};
    write_text(name, text);
    if (!CHECK_INT(text_lines_read(&lines, scratch_path(name), 1 << 20, &error), ROTARY_OK))
        stop(&error);
    lines.path = name;
    return lines;
}

/* The labels with a bar between them. */
static void check_labels(const struct heatmap_text *text, const char *wanted)
{
    char joined[512] = "";
    for (int64_t i = 0; i < text->count; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i > 0 ? "|" : "",
                 text->labels[i]);
    CHECK_TEXT(joined, wanted);
}

static void test_pairs(const struct backend *backend, const struct task *task)
{
    struct transformer *transformer = model_of(backend, task);
    struct text_lines inputs = lines_of("in", "Der Hund\ndie Katze ruft\n"),
                      targets = lines_of("out", "the dog\nthe cat unseen\n");
    struct heatmap_request request = {
        .task = task, .inputs = &inputs, .targets = &targets, .max_tokens = TIME, .shown = 1};
    struct heatmap_run run = {0}, translated = {0};
    rotary_error error = {0};
    if (!CHECK_INT(heatmap_run_fill(&run, transformer, &request, &error), ROTARY_OK))
        stop(&error);
    CHECK_INT(run.texts, 2);
    check_labels(&run.examples[0].source, "der|hund|</s>");
    check_labels(&run.examples[0].target, "<s>|the|dog");
    check_labels(&run.examples[1].target, "<s>|the|cat|<unk>");
    const struct attention_weights *cross = &run.examples[0].weights[ATTENTION_CROSS];
    CHECK_INT(cross->queries, 3);
    CHECK_INT(cross->keys, 3);
    CHECK(!run.examples[1].weights[ATTENTION_CROSS].weights); /* it is not shown */
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        CHECK_INT(run.kinds[kind].layers, LAYERS);
        struct head_numbers numbers = head_numbers_of(&run.examples[0].weights[kind], 1, 1);
        CHECK_NEAR(run.kinds[kind].numbers[1 * 2 + 1].entropy, numbers.entropy, 0);
        CHECK(run.kinds[kind].numbers[LAYERS * 2].entropy > 0); /* that of the second text is there too */
    }
    /* Without targets the decoder reads its own translation. */
    request.targets = NULL;
    if (!CHECK_INT(heatmap_run_fill(&translated, transformer, &request, &error), ROTARY_OK))
        stop(&error);
    const struct heatmap_text *text = &translated.examples[0].target;
    CHECK(text->count >= 1 && text->count <= TIME);
    CHECK_TEXT(text->labels[0], "<s>");
    CHECK(strcmp(text->labels[text->count - 1], "</s>") != 0);
    heatmap_run_free(&run);
    heatmap_run_free(&translated);
    text_lines_free(&inputs);
    text_lines_free(&targets);
    transformer_destroy(transformer);
}

static void refuses(struct transformer *transformer, const struct heatmap_request *request, const char *words)
{
    struct heatmap_run run = {0};
    rotary_error error = {0};
    check_about("%s", words);
    CHECK_INT(heatmap_run_fill(&run, transformer, request, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    heatmap_run_free(&run);
    check_about("%s", "");
}

static void test_refusals(const struct backend *backend, const struct task *task)
{
    struct transformer *transformer = model_of(backend, task);
    struct text_lines good = lines_of("good", "der\nder\n"), empty = lines_of("empty", "der\n\n"),
                      longer = lines_of("long", "der\nder der der der der der der der der der der der\n");
    struct heatmap_request request = {.task = task, .inputs = &good, .targets = &empty, .max_tokens = TIME};
    refuses(transformer, &request, "empty:2: |no tokens");
    request.targets = &longer;
    refuses(transformer, &request, "long:2: |13 tokens, wanted at most 12");
    request.targets = &good;
    request.inputs = &longer;
    refuses(transformer, &request, "long:2: |13 tokens, wanted at most 12");
    request.inputs = &good;
    request.new_tokens = 1;
    refuses(transformer, &request, "--max-new-tokens|has an encoder");
    text_lines_free(&good);
    text_lines_free(&empty);
    text_lines_free(&longer);
    transformer_destroy(transformer);
}

/* A decoder alone: its text and continuation, with signs for white space. */
static void test_decoder(const struct backend *backend)
{
    struct task_config config;
    struct task *task = NULL;
    rotary_error error = {0};
    task_config_default(&config);
    config.task = TASK_INDEX;
    config.sequence_length = 64; /* its problems need as many */
    if (!CHECK_INT(task_create(&task, &config, &(struct task_request){.need = TASK_TOKENIZERS}, &error),
                   ROTARY_OK))
        stop(&error);
    struct transformer *transformer = model_of(backend, task);
    struct text_lines inputs = lines_of("decoder", "a; b\n");
    struct heatmap_request request = {.task = task, .inputs = &inputs, .max_tokens = TIME, .shown = 1};
    struct heatmap_run run = {0}, continued = {0};
    if (!CHECK_INT(heatmap_run_fill(&run, transformer, &request, &error), ROTARY_OK))
        stop(&error);
    check_labels(&run.examples[0].target, "a|;|\xe2\x90\xa3|b");
    CHECK_INT(run.examples[0].source.count, 0);
    CHECK_INT(run.kinds[ATTENTION_CROSS].layers, 0);
    request.new_tokens = 100;
    if (!CHECK_INT(heatmap_run_fill(&continued, transformer, &request, &error), ROTARY_OK))
        stop(&error);
    CHECK(continued.examples[0].target.count > 4 && continued.examples[0].target.count <= TIME);
    request.targets = &inputs;
    refuses(transformer, &request, "--target|decoder alone");
    heatmap_run_free(&run);
    heatmap_run_free(&continued);
    text_lines_free(&inputs);
    transformer_destroy(transformer);
    task_destroy(task);
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    if (!CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK))
        stop(&error);
    struct task *task = translation();
    test_pairs(&backend, task);
    test_refusals(&backend, task);
    test_decoder(&backend);
    task_destroy(task);
    backend_destroy(&backend);
    return check_report();
}
