/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bleu: scores of translations by their references, and tests of the difference between systems.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/bleu_output.h"
#include "cli/output/result.h"
#include "config/comma_list.h"

#include <stdio.h>
#include <string.h>

enum { TOKENIZED_LINES = 100 };

struct bleu_options {
    struct option_list inputs;
    const char *metrics;
    struct option_integer tokenizer, smoothing;
    struct option_real smoothing_value;
    struct option_integer char_order, word_order, beta;
    struct option_integer confidence_samples, bootstrap_samples, trials, width;
    bool lowercase, chrf_lowercase, chrf_whitespace, chrf_eps_smoothing;
    bool sentence_level, confidence, paired_bootstrap, paired_randomization, score_only;
};

#define MEMBER(member) offsetof(struct bleu_options, member)
static const struct setting bleu_table[] = {
    {"--input", SETTING_LIST, MEMBER(inputs), .metavar = "FILE",
     .help =
         "translations of one system; may be given again, the first being the baseline. All arguments are "
         "references then"},
    {"--metrics", SETTING_TEXT, MEMBER(metrics), .metavar = "NAMES",
     .help = "bleu, chrf, or both, separated by a comma (default: bleu)"},
    {"--lowercase", SETTING_BOOLEAN, MEMBER(lowercase), .help = "BLEU of both texts in lower case"},
    {"--tokenize", SETTING_CHOICE, MEMBER(tokenizer), .metavar = "NAME", .choices = bleu_tokenizer_names,
     .help = "BLEU's tokenizer: 13a, intl, char or none (default: 13a)"},
    {"--smooth-method", SETTING_CHOICE, MEMBER(smoothing), .metavar = "NAME", .choices = bleu_smoothing_names,
     .help = "for n-grams without a match: exp, floor, add-k or none (default: exp)"},
    {"--smooth-value", SETTING_REAL, MEMBER(smoothing_value), .metavar = "X", .min = 0, .max = 1e6,
     .help = "of floor and add-k (default: 0.1 of floor, 1 of add-k)"},
    {"--chrf-char-order", SETTING_INTEGER, MEMBER(char_order), .metavar = "N", .min = 0,
     .max = CHRF_MAX_CHAR_ORDER, .help = "n-grams of up to N characters (default: 6)"},
    {"--chrf-word-order", SETTING_INTEGER, MEMBER(word_order), .metavar = "N", .min = 0,
     .max = CHRF_MAX_WORD_ORDER, .help = "and of up to N words: 2 is chrF++ (default: 0)"},
    {"--chrf-beta", SETTING_INTEGER, MEMBER(beta), .metavar = "N", .min = 0, .max = 1000,
     .help = "how much more recall counts than precision (default: 2)"},
    {"--chrf-lowercase", SETTING_BOOLEAN, MEMBER(chrf_lowercase), .help = "chrF of both texts in lower case"},
    {"--chrf-whitespace", SETTING_BOOLEAN, MEMBER(chrf_whitespace), .help = "white space is a character too"},
    {"--chrf-eps-smoothing", SETTING_BOOLEAN, MEMBER(chrf_eps_smoothing),
     .help = "the mean is over all lengths, as in chrF++.py, NLTK and Moses"},
    {"--sentence-level", SETTING_BOOLEAN, MEMBER(sentence_level),
     .help = "a score for every line, BLEU's with the n-gram lengths that it has"},
    {"--confidence", SETTING_BOOLEAN, MEMBER(confidence),
     .help = "mean and 95% interval by bootstrap resampling"},
    {"--confidence-n", SETTING_INTEGER, MEMBER(confidence_samples), .metavar = "N", .min = 2, .max = 1000000,
     .help = "samples for it (default: 1000)"},
    {"--paired-bs", SETTING_BOOLEAN, MEMBER(paired_bootstrap),
     .help = "compare systems with the baseline by paired bootstrap resampling"},
    {"--paired-bs-n", SETTING_INTEGER, MEMBER(bootstrap_samples), .metavar = "N", .min = 2, .max = 1000000,
     .help = "samples for it (default: 1000)"},
    {"--paired-ar", SETTING_BOOLEAN, MEMBER(paired_randomization),
     .help = "compare systems with the baseline by paired approximate randomization"},
    {"--paired-ar-n", SETTING_INTEGER, MEMBER(trials), .metavar = "N", .min = 2, .max = 1000000,
     .help = "trials for it (default: 10000)"},
    {"--score-only", SETTING_BOOLEAN, MEMBER(score_only),
     .help = "print scores without signature and details"},
    {"--width", SETTING_INTEGER, MEMBER(width), .metavar = "N", .min = 0, .max = 15,
     .help = "decimals of scores (default: 1; with --json, all there are)"},
};

/* ---- what is asked for ---- */

struct bleu_plan {
    struct bleu_config bleu;
    struct chrf_config chrf;
    bool with_bleu, with_chrf, sentence_level;
    struct system_scores_call call;
    struct bleu_output output;
};

static rotary_status plan_metrics(const char *text, struct bleu_plan *plan, rotary_error *error)
{
    static const char *const names[] = {"bleu", "chrf", NULL};
    bool *with[] = {&plan->with_bleu, &plan->with_chrf};
    struct comma_item item;
    for (const char *rest = text ? text : names[0]; comma_list_next(&rest, &item);) {
        const int metric = comma_item_find(&item, names);
        char word[41], hint[SETTINGS_HINT_BYTES];
        comma_item_copy(&item, word, sizeof word);
        if (metric < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "--metrics names \"%s\", wanted bleu, chrf or bleu,chrf%s", word,
                               settings_hint(word, names, hint));
        if (*with[metric])
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--metrics names %s twice", word);
        *with[metric] = true;
    }
    return ROTARY_OK;
}

/* What is wrong with options that go together, or NULL. */
static const char *wrong_metric_options(const struct bleu_options *options, const struct bleu_plan *plan)
{
    bool valued = options->smoothing.value == BLEU_FLOOR || options->smoothing.value == BLEU_ADD_K;
    if (!plan->with_bleu && (options->lowercase || options->tokenizer.given || options->smoothing.given ||
                             options->smoothing_value.given))
        return "--lowercase, --tokenize, --smooth-method and --smooth-value are BLEU's, and --metrics is "
               "chrf";
    if (options->smoothing_value.given && !valued)
        return "--smooth-value wants --smooth-method floor or add-k";
    if (!plan->with_chrf &&
        (options->char_order.given || options->word_order.given || options->beta.given ||
         options->chrf_lowercase || options->chrf_whitespace || options->chrf_eps_smoothing))
        return "options of chrF want --metrics chrf or bleu,chrf";
    if (options->char_order.given && options->char_order.value == 0 && options->word_order.value == 0)
        return "--chrf-char-order 0 wants --chrf-word-order N";
    return NULL;
}

static const char *wrong_test_options(const struct bleu_options *options, const struct bleu_plan *plan)
{
    bool paired = options->paired_bootstrap || options->paired_randomization;
    if (options->paired_bootstrap && options->paired_randomization)
        return "--paired-bs and --paired-ar exclude each other";
    if (options->bootstrap_samples.given && !options->paired_bootstrap)
        return "--paired-bs-n wants --paired-bs";
    if (options->trials.given && !options->paired_randomization)
        return "--paired-ar-n wants --paired-ar";
    if (options->confidence_samples.given && !options->confidence)
        return "--confidence-n wants --confidence";
    if (paired && plan->call.system_count < 2)
        return "a paired test wants two systems or more: --input FILE --input FILE";
    if (options->confidence && plan->call.system_count > 1)
        return "--confidence is for one system; of several, --paired-bs gives intervals too";
    if (options->sentence_level && (plan->call.system_count > 1 || (plan->with_bleu && plan->with_chrf)))
        return "--sentence-level wants one system and one metric";
    if (options->sentence_level && options->confidence)
        return "--sentence-level and --confidence exclude each other";
    if (options->score_only && plan->call.system_count > 1)
        return "--score-only wants one system";
    return NULL;
}

static const char *wrong_files(const struct invocation *invocation, const struct bleu_plan *plan)
{
    int standard = 0;
    for (int i = 0; i < invocation->operands.count; i++)
        standard += strcmp(invocation->operands.items[i], "-") == 0;
    const struct bleu_options *options = invocation->options;
    for (int i = 0; i < options->inputs.count; i++)
        standard += strcmp(options->inputs.items[i], "-") == 0;
    if (plan->call.reference_count < 1)
        return "bleu wants REFERENCE... HYPOTHESIS, or REFERENCE... and --input FILE";
    if (standard > 1)
        return "the standard input, -, can be read only once";
    if (options->score_only && invocation->common.json)
        return "--score-only and --json exclude each other";
    return NULL;
}

static void plan_configs(const struct bleu_options *options, struct bleu_plan *plan)
{
    bleu_config_default(&plan->bleu);
    chrf_config_default(&plan->chrf);
    plan->bleu.tokenizer = (enum bleu_tokenizer)options->tokenizer.value;
    plan->bleu.smoothing = (enum bleu_smoothing)options->smoothing.value;
    plan->bleu.smoothing_value = options->smoothing_value.given
                                     ? options->smoothing_value.value
                                     : bleu_smoothing_default(plan->bleu.smoothing);
    plan->bleu.lowercase = options->lowercase;
    plan->bleu.effective_order = options->sentence_level;
    if (options->char_order.given)
        plan->chrf.char_order = (int)options->char_order.value;
    plan->chrf.word_order = (int)options->word_order.value;
    if (options->beta.given)
        plan->chrf.beta = (int)options->beta.value;
    plan->chrf.lowercase = options->chrf_lowercase;
    plan->chrf.whitespace = options->chrf_whitespace;
    plan->chrf.eps_smoothing = options->chrf_eps_smoothing;
}

static int64_t or_default(const struct option_integer *option, int64_t value)
{
    return option->given ? option->value : value;
}

static void plan_tests(const struct invocation *invocation, struct bleu_plan *plan)
{
    const struct bleu_options *options = invocation->options;
    struct system_scores_call *call = &plan->call;
    call->bleu = plan->with_bleu ? &plan->bleu : NULL;
    call->chrf = plan->with_chrf ? &plan->chrf : NULL;
    call->threads = (int)invocation->common.threads.value;
    call->test = options->paired_randomization                      ? TEST_RANDOMIZATION
                 : options->paired_bootstrap || options->confidence ? TEST_BOOTSTRAP
                                                                    : TEST_NONE;
    call->sampling.seed = or_default(&invocation->common.seed, 1);
    if (options->paired_randomization)
        call->sampling.trials = or_default(&options->trials, 10000);
    else if (options->paired_bootstrap)
        call->sampling.bootstrap = or_default(&options->bootstrap_samples, 1000);
    else
        call->sampling.bootstrap = or_default(&options->confidence_samples, 1000);
    plan->output = (struct bleu_output){.call = call,
                                        .width_given = options->width.given,
                                        .score_only = options->score_only,
                                        .width = (int)or_default(&options->width, 1)};
}

static rotary_status plan(const struct invocation *invocation, struct bleu_plan *plan, rotary_error *error)
{
    const struct bleu_options *options = invocation->options;
    int operands = invocation->operands.count, given = options->inputs.count;
    plan->call.references = invocation->operands.items;
    plan->call.reference_count = given > 0 ? operands : operands - 1;
    plan->call.systems = given > 0 ? options->inputs.items : invocation->operands.items + operands - 1;
    plan->call.system_count = given > 0 ? given : 1;
    plan->sentence_level = options->sentence_level;
    rotary_status status = plan_metrics(options->metrics, plan, error);
    if (status != ROTARY_OK)
        return status;
    const char *wrong = wrong_files(invocation, plan);
    wrong = wrong ? wrong : wrong_metric_options(options, plan);
    wrong = wrong ? wrong : wrong_test_options(options, plan);
    if (wrong)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s", wrong);
    plan_configs(options, plan);
    plan_tests(invocation, plan);
    return ROTARY_OK;
}

/* Text that is tokenized already is scored higher than it is. */
static void warn_of_tokens(const struct bleu_plan *plan, const struct system_scores *scores)
{
    if (!plan->with_bleu || plan->bleu.tokenizer == BLEU_NONE || !scores->tokenized)
        return;
    for (int i = 0; i < scores->systems; i++) {
        if (scores->tokenized[i] < TOKENIZED_LINES)
            continue;
        const char *path = plan->call.systems[i];
        rotary_error note; /* a message shows no control characters of a path */
        (void)!rotary_fail(&note, ROTARY_OK,
                           "%lld lines of %s end in \" .\": BLEU wants text that is not tokenized",
                           (long long)scores->tokenized[i], strcmp(path, "-") == 0 ? "standard input" : path);
        fprintf(stderr, "note: %s\n", note.message);
    }
}

static rotary_status print(const struct bleu_plan *plan, bool json, rotary_error *error)
{
    const struct bleu_output *output = &plan->output;
    if (json)
        return result_print_json(plan->sentence_level ? bleu_segments_json(output) : bleu_scores_json(output),
                                 error);
    if (plan->sentence_level)
        bleu_print_segments(output);
    else
        bleu_print_text(output);
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    struct bleu_plan made = {0};
    struct system_scores scores;
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    made.output.scores = &scores;
    rotary_status status = system_scores_create(&scores, &made.call, &error);
    warn_of_tokens(&made, &scores);
    if (status == ROTARY_OK)
        status = print(&made, invocation->common.json, &error);
    system_scores_free(&scores);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_bleu = {
    .name = "bleu",
    .operands = "REFERENCE... [HYPOTHESIS]",
    .summary = "scores translations by BLEU and chrF, and compares systems",
    .more =
        "Files have one sentence a line, in UTF-8, the same line of each belonging together; - is the "
        "standard input. Options and definitions are those of sacreBLEU 2.6.0. The signature says how a "
        "score came to be, and its version which definition that is: 2.6.0 is sacreBLEU's, what comes after "
        "the plus this program. p values come from random numbers of our own.",
    .example =
        "rotary bleu test.en base.en --lowercase\n"
        "the score of one system; rotary bleu test.en --input base.en --input mine.en --paired-bs says "
        "whether another is better",
    .options = bleu_table,
    .option_count = sizeof bleu_table / sizeof bleu_table[0],
    .options_size = sizeof(struct bleu_options),
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
