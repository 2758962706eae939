/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluation/text_evaluation.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>

static rotary_status check(const struct text_evaluation_call *call, rotary_error *error)
{
    if (call->count < 2)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the text has %lld tokens, wanted at least 2: one is predicted from another",
                           (long long)call->count);
    if (call->context >= 2 && call->stride >= 1 && call->stride <= call->context)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a stride of %lld in a context of %lld tokens: wanted a context of at least 2, and a "
                       "stride from 1 to the context",
                       (long long)call->stride, (long long)call->context);
}

/* Scores tokens `scored` ... end - 1 in the window that begins at `begin`. */
static rotary_status run_window(const struct text_evaluation_call *call, int64_t begin, int64_t end,
                                int64_t scored, int32_t *classes, struct text_evaluation *evaluation,
                                rotary_error *error)
{
    const int64_t time = end - begin - 1; /* the last token predicts nothing */
    struct loss_sums sums;
    for (int64_t i = 0; i < time; i++)
        classes[i] = begin + i + 1 >= scored ? call->tokens[begin + i + 1] : BATCH_IGNORED;
    const struct batch batch = {.input = {.batch = 1, .time = time, .tokens = call->tokens + begin},
                                .classes = classes};
    const struct transformer_call run = {.batch = &batch};
    rotary_status status = transformer_run(call->transformer, &run, &sums, error);
    if (status != ROTARY_OK)
        return status;
    evaluation->nats += sums.total;
    evaluation->scored += sums.counted;
    evaluation->correct += sums.correct;
    evaluation->windows++;
    return ROTARY_OK;
}

rotary_status text_evaluation_run(const struct text_evaluation_call *call, struct text_evaluation *evaluation,
                                  rotary_error *error)
{
    struct text_evaluation made = {0};
    rotary_status status = check(call, error);
    if (status != ROTARY_OK)
        return status;
    int32_t *classes = calloc((size_t)call->context, sizeof *classes);
    if (!classes)
        return rotary_fail_memory(error, "for a context of %lld tokens", (long long)call->context);
    int64_t scored = 0;
    for (int64_t begin = 0; status == ROTARY_OK && scored < call->count; begin += call->stride) {
        const int64_t end = min_i64(begin + call->context, call->count);
        if (end - begin >= 2)
            status = run_window(call, begin, end, scored, classes, &made, error);
        scored = end;
    }
    free(classes);
    if (status == ROTARY_OK)
        *evaluation = made;
    return status;
}
