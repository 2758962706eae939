/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/continuation_batch.h"

#include "base/fail.h"

#include <stdlib.h>

rotary_status continuation_batch_create(struct continuation_batch *batch, rotary_error *error)
{
    size_t capacity = (size_t)batch->capacity;
    batch->continuations = calloc(capacity, sizeof *batch->continuations);
    batch->prompts = calloc(capacity, sizeof *batch->prompts);
    batch->outputs = calloc(capacity, sizeof *batch->outputs);
    batch->lengths = calloc(capacity, sizeof *batch->lengths);
    batch->generated = calloc(capacity, sizeof *batch->generated);
    if (batch->continuations && batch->prompts && batch->outputs && batch->lengths && batch->generated)
        return ROTARY_OK;
    return rotary_fail_memory(error, "for %zu prompts", capacity);
}

void continuation_batch_clear(struct continuation_batch *batch)
{
    for (int64_t i = 0; i < batch->count; i++)
        continuation_free(&batch->continuations[i]);
    batch->first += batch->count;
    batch->count = 0;
}

void continuation_batch_free(struct continuation_batch *batch)
{
    continuation_batch_clear(batch);
    free(batch->continuations);
    free(batch->prompts);
    free(batch->outputs);
    free(batch->lengths);
    free(batch->generated);
}

/* The maximum of new tokens, after a check against the positions of the model, unless the context is shifted.
 */
static rotary_status fit(const struct continuation_batch *batch, int64_t length, int64_t *max_new_tokens,
                         rotary_error *error)
{
    int64_t positions = batch->model->config.model.max_position_embeddings, room = positions - length;
    const bool shifts = batch->config.context > 0;
    int64_t wanted = batch->config.max_new_tokens > 0     ? batch->config.max_new_tokens
                     : room < USUAL_NEW_TOKENS && !shifts ? room
                                                          : USUAL_NEW_TOKENS;
    *max_new_tokens = wanted;
    if (shifts)
        return ROTARY_OK;
    if (room >= 1 && wanted <= room)
        return ROTARY_OK;
    wanted = wanted > 1 ? wanted : 1;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a prompt of %lld tokens and %lld new ones need %lld positions, the model has %lld; "
                       "--context %lld generates on",
                       (long long)length, (long long)wanted, (long long)(length + wanted),
                       (long long)positions, (long long)positions);
}

rotary_status continuation_batch_add(struct continuation_batch *batch, const char *prompt, int64_t bytes,
                                     rotary_error *error)
{
    struct continuation *made = &batch->continuations[batch->count];
    rotary_status status = continuation_create(made, &batch->texts, prompt, bytes, error);
    if (status != ROTARY_OK)
        return status;
    int64_t i = batch->count++, max_new_tokens;
    status = fit(batch, made->length, &max_new_tokens, error);
    if (status == ROTARY_OK)
        status = continuation_reserve(made, max_new_tokens, error);
    batch->prompts[i] = made->tokens;
    batch->lengths[i] = made->length;
    batch->outputs[i] = made->generated;
    return status;
}

static bool listen(void *context, int64_t prompt, int32_t token)
{
    struct continuation_batch *batch = context;
    return continuation_read(&batch->continuations[prompt], token);
}

rotary_status continuation_batch_run(struct continuation_batch *batch, rotary_error *error)
{
    struct generate_config config = batch->config;
    for (int64_t i = 0; i < batch->count; i++)
        if (batch->continuations[i].max_new_tokens > config.max_new_tokens)
            config.max_new_tokens = batch->continuations[i].max_new_tokens;
    const struct generate_call call = {.count = batch->count,
                                       .prompts = batch->prompts,
                                       .lengths = batch->lengths,
                                       .outputs = batch->outputs,
                                       .generated = batch->generated,
                                       .first = batch->first,
                                       .listener = listen,
                                       .context = batch};
    rotary_status status = generation_run(batch->model->transformer, &config, &call, error);
    for (int64_t i = 0; status == ROTARY_OK && i < batch->count; i++)
        status = continuation_end(&batch->continuations[i], error);
    return status;
}
