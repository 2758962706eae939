/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary fill: the most probable tokens for the masks of a text.
 */
#include "cli/command.h"
#include "cli/run_plan.h"
#include "cli/tokenize_filter.h"
#include "inference/mask_filler.h"

#include <stdio.h>
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

static rotary_status compute(void *context, const struct text_line *line, rotary_error *error)
{
    return mask_filler_run(context, line, error);
}

/* ---- output ---- */

/* What SentencePiece writes for a space is none of the word. */
static struct token_text word_of(const struct mask_filler *filler, int32_t token)
{
    struct token_text text = tokenizer_text(filler->tokenizer, token);
    if (text.count > 3 && memcmp(text.bytes, "\xe2\x96\x81", 3) == 0)
        text = (struct token_text){text.bytes + 3, text.count - 3};
    return text;
}

static void print_guess(const struct mask_filler *filler, const struct mask_guess *guess, FILE *to, bool json)
{
    if (json) {
        const struct token_text text = tokenizer_text(filler->tokenizer, guess->token);
        fprintf(to, "{\"token\":%d,\"text\":", (int)guess->token);
        tokenize_print_string(to, text.bytes, text.count);
        fprintf(to, ",\"probability\":%.9g}", guess->probability);
        return;
    }
    const struct token_text word = word_of(filler, guess->token);
    fprintf(to, "%.*s %.4f", (int)word.count, word.bytes, guess->probability);
}

static void print(const void *context, FILE *to, bool json)
{
    const struct mask_filler *filler = context;
    if (json)
        putc('[', to);
    for (int64_t mask = 0; mask < filler->masks; mask++) {
        fputs(mask == 0 ? "" : json ? "," : "\t", to);
        if (json)
            putc('[', to);
        for (int64_t i = 0; i < filler->top; i++) {
            fputs(i == 0 ? "" : json ? "," : "  ", to);
            print_guess(filler, &filler->guesses[mask * filler->top + i], to, json);
        }
        if (json)
            putc(']', to);
    }
    if (json)
        putc(']', to);
}

/* ---- the command ---- */

static enum exit_status run(const struct invocation *invocation)
{
    const struct fill_options *options = invocation->options;
    const struct tokenize_filter filter = {.key = "masks", .compute = compute, .print = print};
    const struct loaded_model_call call = {.folder = invocation->operands.items[0],
                                           .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .batch = 1};
    struct loaded_model model;
    struct mask_filler filler = {.top = 0};
    rotary_error error = {0};
    rotary_status status = plan_open_model(&call, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = mask_filler_create(&filler, &model, call.folder,
                                options->top.given ? options->top.value : DEFAULT_TOP, &error);
    if (status == ROTARY_OK)
        status = tokenize_filter_lines(invocation, &filter, &filler, &error);
    mask_filler_free(&filler);
    loaded_model_close(&model);
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
    .on_device = true,
    .run = run,
};
