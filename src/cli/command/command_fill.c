/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary fill: the most probable tokens for the masks of a text.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "cli/command.h"
#include "cli/run_plan.h"
#include "cli/tokenize_filter.h"
#include "text/tokenizer/mask_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOP = 5, MAX_TOP = 1000 };

struct fill_options {
    struct option_integer checkpoint, top;
};

#define MEMBER(member) offsetof(struct fill_options, member)
static const struct setting fill_table[] = {
    {"--top-k", SETTING_INTEGER, MEMBER(top), .metavar = "K", .min = 1, .max = MAX_TOP,
     .help = "print the K most probable tokens for each mask (default: 5)"},
};

/* A token and its probability. */
struct guess {
    int32_t token;
    double probability;
};

struct filler {
    struct loaded_model model;
    const struct tokenizer *tokenizer;
    struct token_text mask; /* what stands for a mask */
    int64_t top, room;      /* guesses for a mask; tokens that the model has positions for */
    int64_t masks;          /* of the line */
    int32_t *tokens;        /* [room] */
    int64_t *rows;          /* [room]: of the masks */
    float *logits;          /* [logits_room, vocabulary] */
    int64_t logits_room;
    struct guess *guesses; /* [logits_room, top] */
};

/* ---- lines ---- */

static rotary_status check_line(const struct filler *filler, const struct token_list *list,
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

/* ---- guesses ---- */

static rotary_status reserve(struct filler *filler, rotary_error *error)
{
    if (filler->masks <= filler->logits_room)
        return ROTARY_OK;
    const size_t vocabulary = (size_t)filler->model.config.model.vocab_size, masks = (size_t)filler->masks;
    free(filler->logits);
    free(filler->guesses);
    filler->logits = malloc(masks * vocabulary * sizeof *filler->logits);
    filler->guesses = malloc(masks * (size_t)filler->top * sizeof *filler->guesses);
    filler->logits_room = filler->logits && filler->guesses ? filler->masks : 0;
    return filler->logits_room > 0
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the logits of %lld masks",
                             (long long)filler->masks);
}

/* The most probable of `tokens` tokens, the first of equal ones first. A padded vocabulary has more logits:
 * what they take from the probabilities is that of the model, but no text stands for them. */
static void choose(const float *logits, int64_t vocabulary, int64_t tokens, struct guess *guesses,
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
        guesses[place] = (struct guess){(int32_t)i, probability};
    }
    for (int64_t i = 0; i < count; i++)
        guesses[i].probability /= sum;
}

static rotary_status compute(void *context, const struct text_line *line, rotary_error *error)
{
    struct filler *filler = context;
    const struct special_tokens special = tokenizer_special(filler->tokenizer);
    const int64_t vocabulary = filler->model.config.model.vocab_size,
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
    status = transformer_row_logits(filler->model.transformer, &batch, filler->rows, filler->masks,
                                    filler->logits, error);
    for (int64_t i = 0; i < filler->masks && status == ROTARY_OK; i++)
        choose(filler->logits + i * vocabulary, vocabulary, tokens, filler->guesses + i * filler->top,
               filler->top);
    return status;
}

/* ---- output ---- */

/* What SentencePiece writes for a space is none of the word. */
static struct token_text word_of(const struct filler *filler, int32_t token)
{
    struct token_text text = tokenizer_text(filler->tokenizer, token);
    if (text.count > 3 && memcmp(text.bytes, "\xe2\x96\x81", 3) == 0)
        text = (struct token_text){text.bytes + 3, text.count - 3};
    return text;
}

static void print_guess(const struct filler *filler, const struct guess *guess, bool json)
{
    if (json) {
        const struct token_text text = tokenizer_text(filler->tokenizer, guess->token);
        printf("{\"token\":%d,\"text\":", (int)guess->token);
        tokenize_print_string(text.bytes, text.count);
        printf(",\"probability\":%.9g}", guess->probability);
        return;
    }
    const struct token_text word = word_of(filler, guess->token);
    printf("%.*s %.4f", (int)word.count, word.bytes, guess->probability);
}

static void print(const void *context, bool json)
{
    const struct filler *filler = context;
    if (json)
        putchar('[');
    for (int64_t mask = 0; mask < filler->masks; mask++) {
        fputs(mask == 0 ? "" : json ? "," : "\t", stdout);
        if (json)
            putchar('[');
        for (int64_t i = 0; i < filler->top; i++) {
            fputs(i == 0 ? "" : json ? "," : "  ", stdout);
            print_guess(filler, &filler->guesses[mask * filler->top + i], json);
        }
        if (json)
            putchar(']');
    }
    if (json)
        putchar(']');
}

/* ---- the command ---- */

static rotary_status load(const struct invocation *invocation, struct filler *filler, rotary_error *error)
{
    const struct fill_options *options = invocation->options;
    const struct loaded_model_call call = {.folder = invocation->operands.items[0],
                                           .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .batch = 1};
    rotary_status status = plan_open_model(&call, &filler->model, error);
    if (status != ROTARY_OK)
        return status;
    filler->tokenizer = task_tokenizer(filler->model.task);
    const struct special_tokens special = tokenizer_special(filler->tokenizer);
    if (!task_wants_encoder(filler->model.task) || special.mask < 0) {
        loaded_model_close(&filler->model);
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is a run of the task %s, which has no masks: wanted one of the task masked",
                           call.folder, task_names[filler->model.config.task.task]);
    }
    filler->mask = tokenizer_text(filler->tokenizer, special.mask);
    filler->room = filler->model.config.task.sequence_length;
    filler->top = options->top.given ? options->top.value : DEFAULT_TOP;
    /* Either may have more tokens: the model to pad its table, the vocabulary what no text has. */
    filler->top = min_i64(filler->top,
                          min_i64(tokenizer_size(filler->tokenizer), filler->model.config.model.vocab_size));
    filler->tokens = malloc((size_t)filler->room * sizeof *filler->tokens);
    filler->rows = malloc((size_t)filler->room * sizeof *filler->rows);
    if (filler->tokens && filler->rows)
        return ROTARY_OK;
    loaded_model_close(&filler->model);
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a line of %lld tokens",
                       (long long)filler->room);
}

static enum exit_status run(const struct invocation *invocation)
{
    struct filler filler = {.top = 0};
    const struct tokenize_filter filter = {.key = "masks", .compute = compute, .print = print};
    rotary_error error = {0};
    rotary_status status = load(invocation, &filler, &error);
    if (status == ROTARY_OK) {
        status = tokenize_filter_lines(invocation, &filter, &filler, &error);
        loaded_model_close(&filler.model);
    }
    free(filler.tokens);
    free(filler.rows);
    free(filler.logits);
    free(filler.guesses);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_fill = {
    .name = "fill",
    .operands = "DIR",
    .summary = "names the most probable tokens for masks: standard input to standard output",
    .more = "DIR is the folder of a run of the task masked, or of a Hugging Face BERT or RoFormer. Every "
            "line has one or more masks, written as the vocabulary has them (<mask>, [MASK]). It becomes a "
            "line with the most probable tokens for each of them and their probabilities, a tab between one "
            "mask and the next. A line without a mask, or with more tokens than a sequence of the run, ends "
            "it with a message.",
    .example = "echo 'The <mask> gave the child a ball .' | rotary fill runs/masked-quick-rope --top-k 3\n"
               "names three words, the most probable first",
    .shared = {{checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = fill_table,
    .option_count = sizeof fill_table / sizeof fill_table[0],
    .options_size = sizeof(struct fill_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
