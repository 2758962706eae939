/* SPDX-License-Identifier: Apache-2.0 */
#include "task/task.h"

#include "base/fail.h"
#include "file/file.h"
#include "score/exact_match.h"
#include "task/task_type.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROTARY_TASK_ROW(NAME, name) &task_type_##name,

static const struct task_type *const types[TASK_COUNT] = {ROTARY_TASKS(ROTARY_TASK_ROW)};

#define MEMBER(member) offsetof(struct task_config, member)

static const struct setting table[] = {
    {"task", SETTING_CHOICE, MEMBER(task), 0, 0, task_names, .help = "task to train on"},
    {"sequence_length", SETTING_INTEGER, MEMBER(sequence_length), 16, 1 << 20, NULL,
     .help = "tokens per sequence"},
    {"problems", SETTING_INTEGER, MEMBER(problems), 1, 1 << 16, NULL, .help = "problems per evaluation"},
};

/* Where a task's options begin, or those of all end. */
static size_t options_at(int id)
{
    size_t at = 0;
    for (int before = 0; before < id; before++)
        at += (types[before]->options_bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    return at;
}

void task_config_default(struct task_config *config)
{
    *config = (struct task_config){.task = TASK_INDEX, .sequence_length = 640, .problems = 128};
    for (int id = 0; id < TASK_COUNT; id++) {
        config->options_at[id] = (uint16_t)options_at(id);
        if (types[id]->options_bytes > 0)
            memcpy(&config->options.bytes[options_at(id)], types[id]->defaults, types[id]->options_bytes);
    }
}

void task_settings(struct task_config *config, struct settings settings[TASK_SETTINGS])
{
    settings[0] = (struct settings){table, sizeof table / sizeof table[0], config};
    for (int id = 0; id < TASK_COUNT; id++)
        settings[1 + id] = (struct settings){types[id]->settings, types[id]->setting_count,
                                             &config->options.bytes[options_at(id)]};
}

static bool has_setting(const struct task_type *type, const char *key)
{
    for (int i = 0; i < type->setting_count; i++)
        if (strcmp(type->settings[i].name, key) == 0)
            return true;
    return false;
}

const char *task_excluding_key(const struct task_config *config, const char *key, const char **wanted)
{
    const struct task_type *type = types[config->task];
    *wanted = "another task";
    if (strcmp(key, "problems") == 0)
        return type->size || type->source_line ? NULL : "task";
    if (has_setting(type, key))
        return type->excluding_key ? type->excluding_key(config, key, wanted) : NULL;
    for (int other = 0; other < TASK_COUNT; other++)
        if (has_setting(types[other], key))
            return "task";
    return NULL;
}

bool task_makes_vocabulary(const struct task_config *config, const char *key)
{
    const struct task_type *type = types[config->task];
    return type->vocabulary_keys && is_one_of(key, type->vocabulary_keys);
}

/* Evaluation generates in as many positions as a sequence has. */
static rotary_status check_size(const struct task *task, rotary_error *error)
{
    if (!task->type->size)
        return ROTARY_OK;
    struct problem_size size = task->type->size(task);
    if (size.prompt + size.completion > task->config.sequence_length)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "sequence_length %lld is too short for task %s, whose longest problem takes %lld tokens%s%s",
            (long long)task->config.sequence_length, task_names[task->config.task],
            (long long)(size.prompt + size.completion), task->type->setting_count > 0 ? " by " : "",
            task->type->setting_count > 0 ? task->type->settings[0].name : "");
    return ROTARY_OK;
}

/* The sizes of the vocabularies, where the type has not set them. */
static void measure_vocabulary(struct task *task)
{
    struct task_vocabulary *vocabulary = &task->vocabulary;
    if (task->tokenizer)
        vocabulary->target = tokenizer_size(task->tokenizer);
    if (task->source_tokenizer)
        vocabulary->source = tokenizer_size(task->source_tokenizer);
    if (task->source_tokenizer)
        vocabulary->shared = task->source_tokenizer == task->tokenizer;
}

rotary_status task_create(struct task **out, const struct task_config *config,
                          const struct task_request *request, rotary_error *error)
{
    struct task *task = malloc(sizeof *task);
    if (!task)
        return rotary_fail_memory(error, "for a task (%zu bytes)", sizeof *task);
    *task = (struct task){
        .config = *config,
        .type = types[config->task],
        .request = request ? *request : (struct task_request){0},
        .shape = {.time = config->sequence_length},
        .stop = -1,
        .begin = -1,
    };
    rotary_status status = task->type->create(task, error);
    task->request.folder = NULL; /* borrowed */
    if (status == ROTARY_OK)
        status = check_size(task, error);
    measure_vocabulary(task);
    if (status == ROTARY_OK)
        *out = task;
    else
        task_destroy(task);
    return status;
}

void task_destroy(struct task *task)
{
    if (!task)
        return;
    if (task->type->destroy)
        task->type->destroy(task);
    if (task->source_tokenizer != task->tokenizer && !task->borrows_tokenizers)
        tokenizer_destroy(task->source_tokenizer);
    if (!task->borrows_tokenizers)
        tokenizer_destroy(task->tokenizer);
    free(task);
}

const struct task_config *task_configuration(const struct task *task)
{
    return &task->config;
}

const struct tokenizer *task_tokenizer(const struct task *task)
{
    return task->tokenizer;
}

const struct tokenizer *task_source_tokenizer(const struct task *task)
{
    return task->source_tokenizer;
}

rotary_status task_source_line(const struct task *task, const char *text, int64_t bytes, char **line,
                               int64_t *line_bytes, rotary_error *error)
{
    return task->type->source_line(task, text, bytes, line, line_bytes, error);
}

struct task_vocabulary task_vocabulary(const struct task *task)
{
    return task->vocabulary;
}

const char *task_target_file(const struct task *task)
{
    return task->target_file;
}

const char *task_source_file(const struct task *task)
{
    return task->source_file;
}

static rotary_status save(const struct tokenizer *tokenizer, const char *folder, const char *name,
                          rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_output_path(path, folder, name, error);
    return status == ROTARY_OK ? tokenizer_save(tokenizer, path, error) : status;
}

rotary_status task_save(const struct task *task, const char *folder, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (task->target_file)
        status = save(task->tokenizer, folder, task->target_file, error);
    if (status == ROTARY_OK && task->target_file && task->source_file && !task->vocabulary.shared)
        status = save(task->source_tokenizer, folder, task->source_file, error);
    if (status == ROTARY_OK && task->type->save)
        status = task->type->save(task, folder, error);
    return status;
}

int32_t task_stop(const struct task *task)
{
    return task->stop;
}

int32_t task_begin(const struct task *task)
{
    return task->begin;
}

struct task_shape task_shape(const struct task *task)
{
    return task->shape;
}

bool task_has_examples(const struct task_config *config)
{
    return types[config->task]->examples != NULL;
}

bool task_cuts_text(const struct task_config *config)
{
    return types[config->task]->cuts;
}

int task_choices(const struct task_config *config)
{
    const struct task_type *type = types[config->task];
    return type->choices ? type->choices(config) : 0;
}

rotary_status task_text_hash(const struct task_config *config, enum task_split split, uint64_t *hash,
                             rotary_error *error)
{
    const struct task_type *type = types[config->task];
    *hash = 0;
    return type->text_hash ? type->text_hash(config, split, hash, error) : ROTARY_OK;
}

bool task_is_location(const char *key)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (const char *const *location = types[i]->locations; location && *location; location++)
            if (strcmp(key, *location) == 0)
                return true;
    return false;
}

struct task_labels task_labels(const struct task *task)
{
    return task->type->labels ? task->type->labels(task) : (struct task_labels){0};
}

struct task_counts task_counts(const struct task *task, enum task_split split)
{
    return task->type->counts ? task->type->counts(task, split) : (struct task_counts){0};
}

enum scoring task_scoring(const struct task *task)
{
    if (task->type->problem)
        return SCORING_EXACT_MATCH;
    if (task->type->labels)
        return task_labels(task).regression ? SCORING_NUMBERS : SCORING_CLASSES;
    return task->type->example && task->shape.source_time > 0 ? SCORING_BLEU : SCORING_LOSS;
}

bool task_wants_encoder(const struct task *task)
{
    return task->type->encoder;
}

bool task_lowercase(const struct task *task)
{
    return task->lowercase;
}

bool task_has_problems(const struct task *task)
{
    return task->type->problem != NULL;
}

struct problem_size task_problem_size(const struct task *task)
{
    return task->type->size(task);
}

void task_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem)
{
    task->type->problem(task, seed, index, problem);
}

void task_long_prompt(const struct task *task, uint64_t seed, int64_t index, struct token_list *prompt)
{
    task->type->long_prompt(task, seed, index, prompt);
}

bool task_is_generated(const struct task_config *config)
{
    return types[config->task]->uncopied_loss != NULL;
}

double task_uncopied_loss(const struct task *task, uint64_t seed, int64_t sequences)
{
    return task->type->uncopied_loss ? task->type->uncopied_loss(task, seed, sequences) : (double)NAN;
}

bool task_score(const struct task *task, const struct problem *problem, const char *generated,
                char answer[TASK_TEXT_BYTES])
{
    answer[0] = '\0';
    if (task->type->answer)
        task->type->answer(generated, answer);
    return exact_match(answer, problem->answer);
}
