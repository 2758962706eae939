/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/exported_model.h"

#include "inference/exported_vocabulary.h"

#include <stdio.h>

rotary_status exported_model_check(const struct export_model_call *call, rotary_error *error)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    bool pretrained;
    rotary_status status = pretrained_find(call->where, &pretrained, error);
    if (status != ROTARY_OK || pretrained)
        return status;
    struct export_model_call checked = *call;
    checked.config = &config.model;
    status = run_read_config(call->where, &config, error);
    return status == ROTARY_OK ? export_model_check(&checked, error) : status;
}

/* The tokenizer's, or else the first that its files name. */
static int32_t end_of(const struct pretrained *pretrained)
{
    return pretrained->end < 0 && pretrained->ends.count > 0 ? pretrained->ends.tokens[0] : pretrained->end;
}

/* A run has the end of a text, or else of an answer. */
static struct exported_vocabulary_call vocabulary_of(const struct loaded_model *model)
{
    struct exported_vocabulary_call call = {.tokenizer = model->tokenizer,
                                            .begin = model->begin,
                                            .end = end_of(&model->pretrained),
                                            .ends = &model->pretrained.ends,
                                            .size = model->config.model.vocab_size};
    if (model->task) {
        const int32_t end = tokenizer_special(model->tokenizer).end;
        call.end = end >= 0 ? end : task_stop(model->task);
        call.ends = NULL;
    }
    return call;
}

rotary_status exported_model_write(const struct export_model_call *call, const struct loaded_model *model,
                                   struct exported_model *result, rotary_error *error)
{
    struct export_vocabulary vocabulary;
    struct exported_vocabulary_call vocabulary_call = vocabulary_of(model);
    vocabulary_call.format = call->format;
    vocabulary_call.name = call->name;
    rotary_status status = exported_vocabulary_make(&vocabulary, &vocabulary_call, error);
    if (status != ROTARY_OK)
        return status;
    struct export_model_call whole = *call;
    whole.config = &model->config.model;
    whole.parameters = transformer_parameters(model->transformer);
    whole.vocabulary = &vocabulary;
    snprintf(result->reason, sizeof result->reason, "%s", vocabulary.reason);
    status = export_model_write(&whole, &result->written, error);
    export_vocabulary_free(&vocabulary);
    return status;
}
