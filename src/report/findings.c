/* SPDX-License-Identifier: Apache-2.0 */
#include "report/findings.h"

#include "base/fail.h"
#include "file/print.h"
#include "report/interval_text.h"
#include "report/remarks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *arm_heading(const struct comparison *comparison)
{
    if (comparison->unlike)
        return "arm";
    return strcmp(comparison->varied, "position") == 0 ? "encoding" : comparison->varied;
}

int arm_name_width(const struct comparison *comparison, const char *head)
{
    size_t width = strlen(head);
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        const size_t length = strlen(comparison->arms[arm].name);
        width = length > width ? length : width;
    }
    return (int)width;
}

const char *const verdict_words[] = {
    [VERDICT_TOO_FEW] = "too few pairs",
    [VERDICT_TOO_SHORT] = "trained too short to rank",
    [VERDICT_NO_SPREAD] = "equal differences",
    [VERDICT_NO_DIFFERENCE] = "no difference shown",
    [VERDICT_BETTER] = "better",
    [VERDICT_WORSE] = "worse",
};

const char *verdict_word(const struct comparison *comparison, const struct contrast *contrast)
{
    const struct paired_difference *difference = &contrast->difference[comparison->measures[0]];
    const bool judged = !comparison->unlike && difference->count > 0 && !isnan(difference->mean);
    return judged ? verdict_words[comparison_decide(comparison, contrast)] : "no verdict";
}

const char *p_text(char text[SHORT_NUMBER_BYTES], double p)
{
    if (isnan(p))
        snprintf(text, SHORT_NUMBER_BYTES, "-");
    else if (p < 0.0001)
        snprintf(text, SHORT_NUMBER_BYTES, "< 0.0001");
    else
        snprintf(text, SHORT_NUMBER_BYTES, "%.3g", p);
    return text;
}

const char *p_html(char text[SHORT_NUMBER_BYTES], double p)
{
    return isnan(p) ? strcpy(text, "–") : p_text(text, p);
}

const char *level_text(char text[SHORT_NUMBER_BYTES], double level)
{
    snprintf(text, SHORT_NUMBER_BYTES, "%.4g%%", 100 * level);
    return text;
}

/* Only the first measure decides: without pairs or numbers there is nothing to decide. */
static bool write_why_none(FILE *stream, const struct comparison *comparison, const struct contrast *contrast,
                           const char *name, const char *baseline)
{
    const struct paired_difference *difference = &contrast->difference[comparison->measures[0]];
    if (comparison->unlike)
        fprintf(stream, "no verdict on %s and %s: their runs differ in more than what is compared", name,
                baseline);
    else if (difference->count == 0)
        fprintf(stream, "no verdict on %s and %s yet: no seed is finished with both", name, baseline);
    else if (isnan(difference->mean))
        fprintf(stream, "no verdict on %s and %s: the %s of a run is NaN", name, baseline,
                comparison->examples ? "score" : "loss");
    else
        return false;
    return true;
}

/* "mean -0.3872, 95% interval [-0.4833, -0.2910]": an arm minus its baseline. */
static void write_mean(FILE *stream, const struct paired_difference *difference, double mean, int decimals)
{
    char level[SHORT_NUMBER_BYTES], interval[INTERVAL_BYTES];
    fprintf(stream, "mean %+.*f", decimals, mean);
    if (!isnan(difference->low))
        fprintf(stream, ", %s interval %s", level_text(level, difference->level),
                interval_text(interval, difference->low, difference->high, decimals, true));
}

/* The rule, and what it gives. */
static void write_rule(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    char p[SHORT_NUMBER_BYTES];
    p_text(p, contrast->adjusted_p);
    fprintf(stream, ", p %s%s by%s sign flips of %d seeds", p[0] == '<' ? "" : "= ", p,
            comparison->drawn ? " drawn" : "", comparison->seeds);
    if (comparison->family > 1)
        fprintf(stream, ", jointly for %d contrasts (step-down max t)", comparison->family);
    fprintf(stream, "; p <= %g decides", comparison_alpha);
    if (comparison->family == 1 && contrast->pair_count == ENOUGH_PAIRS)
        fputs(", which takes six of six", stream);
}

/* Step-down rejects more than the test that the interval inverts. */
static void write_why_zero(FILE *stream, const struct comparison *comparison,
                           const struct paired_difference *difference)
{
    if (comparison->family > 1 && difference->low <= 0 && difference->high >= 0)
        fprintf(
            stream,
            "; the interval contains zero because it holds for all %d contrasts at once, without the steps "
            "of the test",
            comparison->family);
}

int contrast_count_pairs(const struct contrast *contrast, enum measure measure, int sign)
{
    int count = 0;
    for (int i = 0; i < contrast->pair_count; i++)
        count += sign * contrast->differences[measure][i] > 0;
    return count;
}

/* A sign-flip test asks whether differences are symmetric about zero: so the typical pair is named, not the
 * mean alone. */
static void write_judged(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    const enum measure measure = comparison->measures[0];
    const struct measure_description *description = &measure_descriptions[measure];
    const struct paired_difference *difference = &contrast->difference[measure];
    const char *name = comparison->arms[contrast->arm].name,
               *baseline = comparison->arms[contrast->baseline].name;
    const enum verdict verdict = comparison_decide(comparison, contrast);
    const int better = description->better == HIGHER_IS_BETTER ? 1 : -1, pairs = contrast->pair_count;
    if (verdict == VERDICT_NO_DIFFERENCE) {
        fprintf(stream, "no difference shown between %s and %s: better in %d of %d pairs, median %+.*f %s, ",
                name, baseline, contrast_count_pairs(contrast, measure, better), pairs, description->decimals,
                difference->median, description->unit);
    } else {
        const int side = difference->mean > 0 ? 1 : -1;
        fprintf(stream, "%s %s than %s in %d of %d pairs, by a median of %.*f %s: ", name,
                verdict_words[verdict], baseline, contrast_count_pairs(contrast, measure, side), pairs,
                description->decimals, side * difference->median, description->unit);
    }
    write_mean(stream, difference, difference->mean, description->decimals);
    write_rule(stream, comparison, contrast);
    if (verdict != VERDICT_NO_DIFFERENCE)
        write_why_zero(stream, comparison, difference);
}

/* The interval is that of the look that decided, and so is the mean beside it. */
static void write_looked_at(FILE *stream, const struct comparison *comparison,
                            const struct contrast *contrast)
{
    const struct measure_description *description = &measure_descriptions[comparison->measures[0]];
    const struct paired_difference *difference = &contrast->difference[comparison->measures[0]];
    const char *name = comparison->arms[contrast->arm].name,
               *baseline = comparison->arms[contrast->baseline].name;
    const enum verdict verdict = comparison_decide(comparison, contrast);
    if (verdict == VERDICT_NO_SPREAD) {
        fprintf(stream, "no verdict on %s and %s: all %d differences are %+.*f %s, and no interval follows",
                name, baseline, contrast->pair_count, description->decimals, difference->mean,
                description->unit);
        return;
    }
    if (verdict == VERDICT_NO_DIFFERENCE)
        fprintf(stream, "no difference shown between %s and %s", name, baseline);
    else
        fprintf(stream, "%s %s than %s", name, verdict_words[verdict], baseline);
    const int look = contrast->look ? contrast->look : contrast->pair_count;
    fprintf(stream, " after %d of at most %d seeds, in %s: ", look, comparison->max_pairs, description->unit);
    write_mean(stream, difference, contrast->look_mean, description->decimals);
    fputs(" by a sequential sign-flip test (Lan and DeMets", stream);
    if (comparison->contrast_count > 1)
        fprintf(stream, ", Bonferroni over %d contrasts", comparison->contrast_count);
    fputc(')', stream);
    if (look < contrast->pair_count)
        fprintf(stream, "; mean of all %d pairs %+.*f", contrast->pair_count, description->decimals,
                difference->mean);
}

static void write_too_few(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    const struct measure_description *description = &measure_descriptions[comparison->measures[0]];
    const struct paired_difference *difference = &contrast->difference[comparison->measures[0]];
    const int missing = comparison->enough_pairs - contrast->pair_count;
    fprintf(stream, "too few pairs to tell %s from %s: %d of the %d that a verdict takes, %d %s missing; ",
            comparison->arms[contrast->arm].name, comparison->arms[contrast->baseline].name,
            contrast->pair_count, comparison->enough_pairs, missing, missing == 1 ? "is" : "are");
    if (difference->count > 1)
        fprintf(stream, "median %+.*f %s, ", description->decimals, difference->median, description->unit);
    write_mean(stream, difference, difference->mean, description->decimals);
    if (difference->count == 1)
        fprintf(stream, " %s", description->unit);
    else if (!comparison->max_pairs && !isnan(difference->low))
        fputs(" (Student t)", stream);
}

static void write_too_short(FILE *stream, const struct comparison *comparison,
                            const struct contrast *contrast)
{
    const struct measure_description *description = &measure_descriptions[comparison->measures[0]];
    const int pairs = contrast->pair_count;
    fprintf(stream,
            "%s and %s are trained too short to rank: neither has begun to learn; %+.*f %s over %d pair%s",
            comparison->arms[contrast->arm].name, comparison->arms[contrast->baseline].name,
            description->decimals, contrast->difference[comparison->measures[0]].mean, description->unit,
            pairs, pairs == 1 ? "" : "s");
}

static void write_verdict_of_pairs(FILE *stream, const struct comparison *comparison,
                                   const struct contrast *contrast)
{
    const char *name = comparison->arms[contrast->arm].name,
               *baseline = comparison->arms[contrast->baseline].name;
    if (write_why_none(stream, comparison, contrast, name, baseline))
        return;
    const enum verdict verdict = comparison_decide(comparison, contrast);
    if (verdict == VERDICT_TOO_SHORT)
        write_too_short(stream, comparison, contrast);
    else if (verdict == VERDICT_TOO_FEW)
        write_too_few(stream, comparison, contrast);
    else if (comparison->max_pairs)
        write_looked_at(stream, comparison, contrast);
    else
        write_judged(stream, comparison, contrast);
}

/* ---- sentences, each written by a function of the comparison and an index ---- */

typedef void write_sentence(FILE *stream, const struct comparison *comparison, int index);

/* "; diverged: 1 of 6 runs of roper, 0 of 6 of rope"; nothing if there are none. */
static void write_counts(FILE *stream, const char *what, const struct comparison_arm *const arms[2],
                         const int counts[2])
{
    if (counts[0] + counts[1] == 0)
        return;
    fprintf(stream, "; %s: ", what);
    for (int i = 0; i < 2; i++)
        fprintf(stream, i ? ", %d of %d of %s" : "%d of %d runs of %s", counts[i],
                arms[i]->run_count + arms[i]->diverged_count, arms[i]->name);
}

static void write_verdict(FILE *stream, const struct comparison *comparison, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    write_verdict_of_pairs(stream, comparison, contrast);
    if (comparison->measures[0] == MEASURE_STEPS_TO_90 && contrast->censored)
        fprintf(stream, "; in %d of them a run never had 90%%", contrast->censored);
    remark_too_short(stream, comparison, contrast);
    const struct comparison_arm *arm = &comparison->arms[contrast->arm],
                                *baseline = &comparison->arms[contrast->baseline];
    if (comparison->measures[0] == MEASURE_EXACT_MATCH)
        write_counts(stream, "never had 90%", (const struct comparison_arm *[]){arm, baseline},
                     (const int[]){arm->reached.count - arm->reached.reached,
                                   baseline->reached.count - baseline->reached.reached});
    write_counts(stream, "diverged", (const struct comparison_arm *[]){arm, baseline},
                 (const int[]){arm->diverged_count, baseline->diverged_count});
}

static void write_looks(FILE *stream, const struct comparison *comparison, int index)
{
    (void)index;
    int seen = comparison_seen_before(comparison);
    if (seen && !comparison->max_pairs) /* the sequential test allows for looks */
        fprintf(stream,
                "the results of %d seed%s had been seen when more were added: adding seeds until a "
                "difference shows "
                "finds one too often, and the intervals do not allow for it",
                seen, seen == 1 ? "" : "s");
}

static void write_steps(FILE *stream, const struct comparison *comparison, int index)
{
    (void)index;
    int64_t steps = comparison_seen_steps(comparison);
    if (steps)
        fprintf(
            stream,
            "the results after %lld steps had been seen when the runs went on: going on until a difference "
            "shows finds one too often, and the intervals do not allow for it",
            (long long)steps);
}

static void write_sequential(FILE *stream, const struct comparison *comparison, int index)
{
    (void)index;
    if (comparison->max_pairs)
        fprintf(stream,
                "seeds are added one at a time, at most %d: the verdict and the interval of the primary "
                "measure allow for it, p values and other intervals do not",
                comparison->max_pairs);
}

/* What it would have taken to show a difference, where none was shown. */
static void write_power(FILE *stream, const struct comparison *comparison, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    const struct measure_description *description = &measure_descriptions[comparison->measures[0]];
    bool shown = comparison_decide(comparison, contrast) != VERDICT_NO_DIFFERENCE;
    if (shown || !isfinite(contrast->detectable))
        return;
    if (contrast->detectable > measure_largest_difference(comparison->measures[0])) {
        fprintf(stream,
                "with the spread of %s and %s, %d pairs show no difference four times in five, however large",
                comparison->arms[contrast->arm].name, comparison->arms[contrast->baseline].name,
                contrast->pair_count);
        return;
    }
    fprintf(stream, "with the spread of %s and %s, %d pairs show a difference of %.*f %s four times in five",
            comparison->arms[contrast->arm].name, comparison->arms[contrast->baseline].name,
            contrast->pair_count, description->decimals, contrast->detectable, description->unit);
    double mean = fabs(contrast->difference[comparison->measures[0]].mean);
    if (contrast->needed_pairs < 10000)
        fprintf(stream, "; one of %.*f takes about %d", description->decimals, mean, contrast->needed_pairs);
}

/* What the runs that diverged are in the pairs. */
static void write_worst(FILE *stream, const struct comparison *comparison, int index)
{
    (void)index;
    const enum measure measure = comparison->measures[0];
    if (comparison->diverged == 0 || comparison->unlike)
        return;
    fputs("in its pair a run that diverged counts with ", stream);
    if (measure == MEASURE_STEPS_TO_90)
        fputs("its last step", stream);
    else if (measure_is_bounded(measure))
        fprintf(stream, "the worst score, %g", measure_descriptions[measure].low);
    else
        fputs("the loss before training", stream);
    fputs("; two in one pair are no difference", stream);
}

/* Which runs of arm `index` diverged. */
static void write_divergence(FILE *stream, const struct comparison *comparison, int index)
{
    const struct comparison_arm *arm = &comparison->arms[index];
    int count = arm->diverged_count, runs = arm->run_count + count;
    if (count == 0)
        return;
    fprintf(stream, "%s: %d of %d run%s diverged and %s no score:", arm->name, count, runs,
            runs == 1 ? "" : "s", count == 1 ? "has" : "have");
    for (int i = 0; i < count; i++) {
        const struct record *record = &comparison->records[arm->runs[arm->run_count + i]];
        fprintf(stream, "%s seed %lld at step %lld", i ? "," : "", (long long)record->seed,
                (long long)record->diverged);
    }
}

/* Adds what `write` writes for each index; `sparse` leaves out where it writes nothing. */
static rotary_status add_sentences(struct sentences *sentences, const struct comparison *comparison,
                                   write_sentence *write, int count, bool sparse, rotary_error *error)
{
    char **items = realloc(sentences->items, (size_t)(sentences->count + count + 1) * sizeof *items);
    if (!items)
        return rotary_fail_memory(error, "for the verdicts of a comparison");
    sentences->items = items;
    for (int i = 0; i < count; i++) {
        struct print print;
        rotary_status status = print_begin(&print, error);
        if (status != ROTARY_OK)
            return status;
        write(print.stream, comparison, i);
        status = print_end(&print, error);
        if (status != ROTARY_OK)
            return status;
        if (print.count > 0 || !sparse)
            items[sentences->count++] = print.text;
        else
            free(print.text);
    }
    return ROTARY_OK;
}

rotary_status findings_create(struct findings *findings, const struct comparison *comparison,
                              rotary_error *error)
{
    *findings = (struct findings){0};
    int contrasts = comparison->contrast_count, arms = comparison->arm_count;
    struct sentences *notes = &findings->notes;
    rotary_status status =
        add_sentences(&findings->verdicts, comparison, write_verdict, contrasts, false, error);
    if (status == ROTARY_OK)
        status = add_sentences(&findings->powers, comparison, write_power, contrasts, false, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, remark_vocabularies, 1, true, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, write_looks, 1, true, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, write_steps, 1, true, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, write_sequential, 1, true, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, write_divergence, arms, true, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, remark_learned, arms, true, error);
    if (status == ROTARY_OK)
        status = add_sentences(notes, comparison, write_worst, 1, true, error);
    if (status != ROTARY_OK)
        findings_free(findings);
    return status;
}

static void free_sentences(struct sentences *sentences)
{
    for (int i = 0; i < sentences->count; i++)
        free(sentences->items[i]);
    free(sentences->items);
}

void findings_free(struct findings *findings)
{
    free_sentences(&findings->verdicts);
    free_sentences(&findings->powers);
    free_sentences(&findings->notes);
    *findings = (struct findings){0};
}
