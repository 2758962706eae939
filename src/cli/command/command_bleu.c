/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bleu: scores of translations by their references, and tests of the difference between systems.
 */
#include "base/fail.h"
#include "cli/bleu_output.h"
#include "cli/command.h"
#include "cli/result.h"
#include "text/text_lines.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 28, TOKENIZED_LINES = 100 };

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
    int reference_count, systems;
    const char *const *references, *const *inputs;
    struct bleu_scores scores;
};

static rotary_status plan_metrics(const char *text, struct bleu_plan *plan, rotary_error *error)
{
    static const char *const names[] = {"bleu", "chrf", NULL};
    for (const char *name = text ? text : "bleu", *end;; name = end + 1) {
        end = name + strcspn(name, ",");
        size_t length = (size_t)(end - name);
        bool *with = length == 4 && strncmp(name, "bleu", 4) == 0   ? &plan->with_bleu
                     : length == 4 && strncmp(name, "chrf", 4) == 0 ? &plan->with_chrf
                                                                    : NULL;
        char word[64], hint[SETTINGS_HINT_BYTES];
        snprintf(word, sizeof word, "%.*s", (int)(length < 40 ? length : 40), name);
        if (!with)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "--metrics names \"%s\", wanted bleu, chrf or bleu,chrf%s", word,
                               settings_hint(word, names, hint));
        if (*with)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--metrics names %s twice", word);
        *with = true;
        if (!*end)
            return ROTARY_OK;
    }
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
    if (paired && plan->systems < 2)
        return "a paired test wants two systems or more: --input FILE --input FILE";
    if (options->confidence && plan->systems > 1)
        return "--confidence is for one system; of several, --paired-bs gives intervals too";
    if (options->sentence_level && (plan->systems > 1 || (plan->with_bleu && plan->with_chrf)))
        return "--sentence-level wants one system and one metric";
    if (options->sentence_level && options->confidence)
        return "--sentence-level and --confidence exclude each other";
    if (options->score_only && plan->systems > 1)
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
    if (plan->reference_count < 1)
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
    struct bleu_scores *scores = &plan->scores;
    scores->test = options->paired_randomization                      ? TEST_RANDOMIZATION
                   : options->paired_bootstrap || options->confidence ? TEST_BOOTSTRAP
                                                                      : TEST_NONE;
    scores->sampling.seed = or_default(&invocation->common.seed, 1);
    if (options->paired_randomization)
        scores->sampling.trials = or_default(&options->trials, 10000);
    else if (options->paired_bootstrap)
        scores->sampling.bootstrap = or_default(&options->bootstrap_samples, 1000);
    else
        scores->sampling.bootstrap = or_default(&options->confidence_samples, 1000);
    scores->width = (int)or_default(&options->width, 1);
    scores->width_given = options->width.given;
    scores->score_only = options->score_only;
}

static rotary_status plan(const struct invocation *invocation, struct bleu_plan *plan, rotary_error *error)
{
    const struct bleu_options *options = invocation->options;
    int operands = invocation->operands.count, given = options->inputs.count;
    plan->references = invocation->operands.items;
    plan->reference_count = given > 0 ? operands : operands - 1;
    plan->inputs = given > 0 ? options->inputs.items : invocation->operands.items + operands - 1;
    plan->systems = given > 0 ? given : 1;
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

/* ---- reading ---- */

/* One file, whose lines are without the white space at their ends, as sacreBLEU reads them. */
struct side {
    struct text_lines file;
    struct text_line *lines; /* [file.count] */
};

static rotary_status read_side(struct side *side, const char *path, rotary_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    rotary_status status = text_lines_read(&side->file, standard ? NULL : path, MAX_FILE_BYTES, error);
    if (status != ROTARY_OK)
        return status;
    side->file.path = standard ? "standard input" : path;
    if (side->file.count == 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no lines", side->file.path);
    side->lines = malloc((size_t)side->file.count * sizeof *side->lines);
    if (!side->lines)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %s", side->file.path);
    for (int64_t i = 0; i < side->file.count; i++) {
        side->lines[i] = text_lines_at(&side->file, i);
        side->lines[i].count = unicode_trimmed(side->lines[i].bytes, side->lines[i].count);
    }
    return ROTARY_OK;
}

/* The references, then the systems; each file must have as many lines as the first. */
static rotary_status read_sides(const struct bleu_plan *plan, struct side *sides, rotary_error *error)
{
    for (int i = 0; i < plan->reference_count + plan->systems; i++) {
        const char *path =
            i < plan->reference_count ? plan->references[i] : plan->inputs[i - plan->reference_count];
        rotary_status status = read_side(&sides[i], path, error);
        if (status == ROTARY_OK && i > 0)
            status = text_lines_check_aligned(&sides[0].file, &sides[i].file, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}

static void free_sides(struct side *sides, int count)
{
    for (int i = 0; sides && i < count; i++) {
        free(sides[i].lines);
        text_lines_free(&sides[i].file);
    }
    free(sides);
}

/* Text that is tokenized already is scored higher than it is. */
static void warn_of_tokens(const struct bleu_plan *plan, const struct side *systems)
{
    if (!plan->with_bleu || plan->bleu.tokenizer == BLEU_NONE)
        return;
    for (int i = 0; i < plan->systems; i++) {
        int64_t found = 0;
        for (int64_t j = 0; j < systems[i].file.count; j++) {
            const struct text_line *line = &systems[i].lines[j];
            found += line->count >= 2 && memcmp(line->bytes + line->count - 2, " .", 2) == 0;
        }
        if (found < TOKENIZED_LINES)
            continue;
        rotary_error note; /* a message shows no control characters of a path */
        (void)!rotary_fail(&note, ROTARY_OK,
                           "%lld lines of %s end in \" .\": BLEU wants text that is not tokenized",
                           (long long)found, systems[i].file.path);
        fprintf(stderr, "note: %s\n", note.message);
    }
}

/* ---- scoring ---- */

static rotary_status count(const struct bleu_plan *plan, const struct metric_scores *metric,
                           const struct segment_corpus *corpus, int64_t *rows, rotary_error *error)
{
    return metric->bleu ? bleu_count(&plan->bleu, corpus, rows, error)
                        : chrf_count(&plan->chrf, corpus, rows, error);
}

static rotary_status score_metric(const struct bleu_plan *plan, struct metric_scores *metric,
                                  const struct side *sides, int threads, rotary_error *error)
{
    const struct bleu_scores *scores = &plan->scores;
    const struct text_line **references = malloc((size_t)plan->reference_count * sizeof *references);
    metric->rows = calloc((size_t)plan->systems, sizeof *metric->rows);
    metric->results = calloc((size_t)plan->systems, sizeof *metric->results);
    rotary_status status = ROTARY_OK;
    if (!references || !metric->rows || !metric->results)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %d systems", plan->systems);
    for (int i = 0; i < plan->reference_count && status == ROTARY_OK; i++)
        references[i] = sides[i].lines;
    for (int i = 0; i < plan->systems && status == ROTARY_OK; i++) {
        const struct segment_corpus corpus = {scores->segments, sides[plan->reference_count + i].lines,
                                              plan->reference_count, references};
        metric->rows[i] = malloc((size_t)scores->segments * (size_t)metric->metric.width * sizeof(int64_t));
        status = metric->rows[i] ? count(plan, metric, &corpus, metric->rows[i], error)
                                 : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld segments",
                                               (long long)scores->segments);
    }
    free(references);
    if (status != ROTARY_OK)
        return status;
    const struct resampling resampling = {.metric = metric->metric,
                                          .segments = scores->segments,
                                          .systems = plan->systems,
                                          .rows = (const int64_t *const *)metric->rows,
                                          .samples = scores->sampling.bootstrap + scores->sampling.trials,
                                          .seed = scores->sampling.seed,
                                          .threads = threads};
    if (scores->test == TEST_NONE) {
        resample_none(&resampling, metric->results);
        return ROTARY_OK;
    }
    return scores->test == TEST_BOOTSTRAP ? resample_bootstrap(&resampling, metric->results, error)
                                          : resample_trials(&resampling, metric->results, error);
}

/* BLEU comes before chrF. */
static void name_metrics(struct bleu_plan *plan)
{
    struct bleu_scores *scores = &plan->scores;
    const struct segment_sampling *sampling = scores->test != TEST_NONE ? &scores->sampling : NULL;
    if (plan->with_bleu) {
        struct metric_scores *metric = &scores->metrics[scores->metric_count++];
        *metric =
            (struct metric_scores){.name = "BLEU", .bleu = &plan->bleu, .metric = bleu_metric(&plan->bleu)};
        bleu_signature(&plan->bleu, plan->reference_count, sampling, metric->signature);
    }
    if (plan->with_chrf) {
        struct metric_scores *metric = &scores->metrics[scores->metric_count++];
        *metric = (struct metric_scores){.metric = chrf_metric(&plan->chrf)};
        chrf_name(&plan->chrf, metric->name);
        chrf_signature(&plan->chrf, plan->reference_count, sampling, metric->signature);
    }
}

static rotary_status print(const struct bleu_plan *plan, bool json, rotary_error *error)
{
    const struct bleu_scores *scores = &plan->scores;
    if (json)
        return result_print_json(plan->sentence_level ? bleu_segments_json(scores) : bleu_scores_json(scores),
                                 error);
    if (plan->sentence_level)
        bleu_print_segments(scores);
    else
        bleu_print_text(scores);
    return ROTARY_OK;
}

static rotary_status score(struct bleu_plan *plan, const struct common_options *common, rotary_error *error)
{
    struct bleu_scores *scores = &plan->scores;
    int files = plan->reference_count + plan->systems;
    struct side *sides = calloc((size_t)files, sizeof *sides);
    rotary_status status = sides ? read_sides(plan, sides, error)
                                 : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %d files", files);
    if (status == ROTARY_OK) {
        warn_of_tokens(plan, sides + plan->reference_count);
        scores->segments = sides[0].file.count;
        scores->systems = plan->systems;
        scores->names = plan->inputs;
        name_metrics(plan);
    }
    for (int i = 0; i < scores->metric_count && status == ROTARY_OK; i++)
        status = score_metric(plan, &scores->metrics[i], sides, (int)common->threads.value, error);
    if (status == ROTARY_OK)
        status = print(plan, common->json, error);
    for (int i = 0; i < scores->metric_count; i++) {
        struct metric_scores *metric = &scores->metrics[i];
        for (int j = 0; metric->rows && j < plan->systems; j++)
            free(metric->rows[j]);
        free(metric->rows);
        free(metric->results);
    }
    free_sides(sides, files);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    struct bleu_plan made = {0};
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    return score(&made, &invocation->common, &error) == ROTARY_OK ? EXIT_DONE : command_fail(&error);
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
