/* SPDX-License-Identifier: Apache-2.0 */
#include "task/translation/split_text.h"

#include "base/fail.h"
#include "task/classification/classification.h"
#include "task/translation/translation.h"

/* The task's part of a run's configuration. */
static rotary_status read_config(struct task_config *config, const json_t *object, int wanted,
                                 rotary_error *error)
{
    struct settings settings[TASK_SETTINGS];
    json_t *own = json_object();
    task_config_default(config);
    task_settings(config, settings);
    for (int i = 0; i < TASK_SETTINGS; i++)
        for (int j = 0; j < settings[i].count; j++) {
            const char *key = settings[i].table[j].name;
            json_t *value = json_object_get(object, key);
            if (value)
                json_object_set(own, key, value);
        }
    rotary_status status = own ? settings_read(settings, TASK_SETTINGS, own, "the configuration", error)
                               : rotary_fail_memory(error, "for a configuration");
    json_decref(own);
    if (status == ROTARY_OK && config->task != wanted)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the task is %s, wanted %s",
                             task_names[config->task], task_names[wanted]);
    return status;
}

struct bleu_config split_text_bleu(bool lowercase)
{
    struct bleu_config config;
    bleu_config_default(&config);
    config.lowercase = lowercase;
    return config;
}

rotary_status split_text_read(struct split_text *text, const json_t *config, enum task_split split,
                              rotary_error *error)
{
    struct task_config task;
    struct parallel_text lines = {0};
    rotary_status status = read_config(&task, config, TASK_TRANSLATION, error);
    if (status != ROTARY_OK)
        return status;
    const struct translation_options *options = task_options(&task, TASK_TRANSLATION);
    status = parallel_text_read(&lines, options, split, error);
    if (status != ROTARY_OK)
        return status;
    *text = (struct split_text){.source = lines.sides[TRANSLATION_SOURCE],
                                .target = lines.sides[TRANSLATION_TARGET],
                                .bleu = split_text_bleu(options->lowercase)};
    text->source.path = text->target.path = NULL; /* they belong to `lines` */
    return ROTARY_OK;
}

rotary_status labelled_text_read(struct labelled_corpus *corpus, enum label_score *score,
                                 const json_t *config, rotary_error *error)
{
    struct task_config task;
    rotary_status status = read_config(&task, config, TASK_CLASSIFICATION, error);
    return status == ROTARY_OK
               ? classification_corpus(corpus, score, task_options(&task, TASK_CLASSIFICATION), error)
               : status;
}

void split_text_free(struct split_text *text)
{
    text_lines_free(&text->source);
    text_lines_free(&text->target);
}
