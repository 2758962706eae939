/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/mask_filler.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/generation/token_choice.h"
#include "text/tokenizer/mask_text.h"

#include <math.h>
#include <stdlib.h>

rotary_status mask_filler_create(struct mask_filler *filler, const struct loaded_model *model,
                                 const char *folder, int64_t top, rotary_error *error)
{
    const struct tokenizer *tokenizer = task_tokenizer(model->task);
    const struct special_tokens special = tokenizer_special(tokenizer);
    if (!task_wants_encoder(model->task) || special.mask < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is a run of the task %s, which has no masks: wanted one of the task masked",
                           folder, task_names[model->config.task.task]);
    /* Either may have more tokens: the model to pad its table, the vocabulary what no text has. */
    const int64_t limit = min_i64(tokenizer_size(tokenizer), model->config.model.vocab_size);
    *filler = (struct mask_filler){.model = model,
                                   .tokenizer = tokenizer,
                                   .mask = tokenizer_text(tokenizer, special.mask),
                                   .top = min_i64(top, limit),
                                   .room = model->config.task.sequence_length};
    filler->tokens = malloc((size_t)filler->room * sizeof *filler->tokens);
    filler->rows = malloc((size_t)filler->room * sizeof *filler->rows);
    if (filler->tokens && filler->rows)
        return ROTARY_OK;
    return rotary_fail_memory(error, "for a line of %lld tokens", (long long)filler->room);
}

void mask_filler_free(struct mask_filler *filler)
{
    free(filler->tokens);
    free(filler->rows);
    free(filler->logits);
    free(filler->guesses);
}

static rotary_status check_line(const struct mask_filler *filler, const struct token_list *list,
                                rotary_error *error)
{
    if (list->left_out > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld tokens with begin and end, wanted at most %lld, as many as the model has "
                           "positions",
                           (long long)(list->count + list->left_out + 1), (long long)filler->room);
    if (filler->masks == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no %.*s: wanted one at least",
                           (int)filler->mask.count, filler->mask.bytes);
    return ROTARY_OK;
}

static rotary_status reserve(struct mask_filler *filler, rotary_error *error)
{
    if (filler->masks <= filler->logits_room)
        return ROTARY_OK;
    const size_t vocabulary = (size_t)filler->model->config.model.vocab_size, masks = (size_t)filler->masks;
    free(filler->logits);
    free(filler->guesses);
    filler->logits = malloc(masks * vocabulary * sizeof *filler->logits);
    filler->guesses = malloc(masks * (size_t)filler->top * sizeof *filler->guesses);
    filler->logits_room = filler->logits && filler->guesses ? filler->masks : 0;
    return filler->logits_room > 0
               ? ROTARY_OK
               : rotary_fail_memory(error, "for the logits of %lld masks", (long long)filler->masks);
}

/* The most probable of `tokens` tokens, the first of equal ones first. A padded vocabulary has more logits:
 * what they take from the probabilities is that of the model, but no text stands for them. */
static void choose(const float *logits, int64_t vocabulary, int64_t tokens, struct mask_guess *guesses,
                   int64_t top)
{
    double largest = -INFINITY, sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < vocabulary; i++)
        largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < vocabulary; i++) {
        const double probability = exp((double)logits[i] - largest);
        sum += probability;
        if (i >= tokens || (count == top && probability <= guesses[top - 1].probability))
            continue;
        int64_t place = count < top ? count++ : top - 1;
        for (; place > 0 && guesses[place - 1].probability < probability; place--)
            guesses[place] = guesses[place - 1];
        guesses[place] = (struct mask_guess){(int32_t)i, probability};
    }
    for (int64_t i = 0; i < count; i++)
        guesses[i].probability /= sum;
}

rotary_status mask_filler_run(struct mask_filler *filler, const struct text_line *line, rotary_error *error)
{
    const struct special_tokens special = tokenizer_special(filler->tokenizer);
    const int64_t vocabulary = filler->model->config.model.vocab_size,
                  tokens = tokenizer_size(filler->tokenizer);
    struct token_list list = {.tokens = filler->tokens, .capacity = filler->room - 1, .count = 1};
    filler->tokens[0] = special.begin;
    rotary_status status =
        mask_text_encode(filler->tokenizer, line, &list, filler->rows, &filler->masks, error);
    if (status == ROTARY_OK)
        status = check_line(filler, &list, error);
    if (status == ROTARY_OK)
        status = reserve(filler, error);
    if (status != ROTARY_OK)
        return status;
    filler->tokens[list.count++] = special.end;
    const struct batch batch = {.input = {.batch = 1, .time = list.count, .tokens = filler->tokens}};
    status = transformer_row_logits(filler->model->transformer, &batch, filler->rows, filler->masks,
                                    filler->logits, error);
    for (int64_t i = 0; i < filler->masks && status == ROTARY_OK; i++) {
        const float *logits = filler->logits + i * vocabulary;
        status = token_check_logits(logits, vocabulary, error);
        if (status == ROTARY_OK)
            choose(logits, vocabulary, tokens, filler->guesses + i * filler->top, filler->top);
    }
    return status;
}
