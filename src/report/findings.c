/* SPDX-License-Identifier: Apache-2.0 */
#include "report/findings.h"

#include "base/fail.h"
#include "file/print.h"
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

const char *level_text(char text[SHORT_NUMBER_BYTES], double level)
{
    snprintf(text, SHORT_NUMBER_BYTES, "%.4g%%", 100 * level);
    return text;
}

/* ", p = 0.0625, the least 5 pairs can give"; and what becomes of it by Holm's correction. */
static void write_p(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    const struct paired_difference *difference = &contrast->difference[comparison->measures[0]];
    char p[SHORT_NUMBER_BYTES], least[SHORT_NUMBER_BYTES], adjusted[SHORT_NUMBER_BYTES];
    p_text(p, difference->sign_flip_p);
    p_text(least, difference->sign_flip_min_p);
    fprintf(stream, ", p %s%s", p[0] == '<' ? "" : "= ", p);
    if (difference->sign_flip_p <= difference->sign_flip_min_p)
        fprintf(stream, ", the least %d pairs can give", difference->count);
    else if (difference->sign_flip_min_p > 0.01)
        fprintf(stream, " (%d pairs can give %s at least)", difference->count, least);
    if (comparison->contrast_count > 1)
        fprintf(stream, ", %s corrected for %d comparisons", p_text(adjusted, contrast->adjusted_p),
                comparison->contrast_count);
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

static void write_verdict_of_pairs(FILE *stream, const struct comparison *comparison,
                                   const struct contrast *contrast)
{
    enum measure measure = comparison->measures[0];
    const char *name = comparison->arms[contrast->arm].name,
               *baseline = comparison->arms[contrast->baseline].name;
    if (write_why_none(stream, comparison, contrast, name, baseline))
        return;
    const struct paired_difference *difference = &contrast->difference[measure];
    const char *unit = measure_descriptions[measure].unit;
    int decimals = measure_descriptions[measure].decimals, pairs = difference->count;
    double mean = difference->mean, low = difference->low, high = difference->high;
    char level[SHORT_NUMBER_BYTES];
    level_text(level, difference->level);
    enum verdict verdict = comparison_decide(comparison, contrast);
    switch (verdict) {
    case VERDICT_TOO_FEW:
        fprintf(stream, "too few runs to tell %s from %s: %+.*f %s over %d pair%s", name, baseline, decimals,
                mean, unit, pairs, pairs == 1 ? "" : "s");
        return;
    case VERDICT_TOO_SHORT:
        fprintf(
            stream,
            "%s and %s are trained too short to rank: neither has begun to learn; %+.*f %s over %d pair%s",
            name, baseline, decimals, mean, unit, pairs, pairs == 1 ? "" : "s");
        return;
    case VERDICT_NO_SPREAD:
        fprintf(stream, "no verdict on %s and %s: all %d differences are %+.*f %s, and no interval follows",
                name, baseline, pairs, decimals, mean, unit);
        return;
    case VERDICT_NO_DIFFERENCE:
        fprintf(stream,
                "no difference shown between %s and %s: %+.*f %s, %s interval [%.*f, %.*f] contains zero, %d "
                "pairs",
                name, baseline, decimals, mean, unit, level, decimals, low, decimals, high, pairs);
        break;
    case VERDICT_BETTER:
    case VERDICT_WORSE:
        /* The amount by which it is better or worse is positive, and so is its interval. */
        fprintf(stream, "%s %s than %s by %.*f %s: %s interval [%.*f, %.*f], %d pairs", name,
                verdict_words[verdict], baseline, decimals, fabs(mean), unit, level, decimals,
                fmin(fabs(low), fabs(high)), decimals, fmax(fabs(low), fabs(high)), pairs);
        break;
    }
    if (comparison->max_pairs)
        fprintf(stream, " of at most %d, looked at after each", comparison->max_pairs);
    else
        write_p(stream, comparison, contrast);
}

/* ---- sentences, each written by a function of the comparison and an index ---- */

typedef void write_sentence(FILE *stream, const struct comparison *comparison, int index);

static void write_verdict(FILE *stream, const struct comparison *comparison, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    write_verdict_of_pairs(stream, comparison, contrast);
    if (comparison->measures[0] == MEASURE_STEPS_TO_90 && contrast->censored)
        fprintf(stream, "; in %d of them a run never had 90%%", contrast->censored);
    remark_too_short(stream, comparison, contrast);
    int diverged =
        comparison->arms[contrast->arm].diverged_count + comparison->arms[contrast->baseline].diverged_count;
    if (diverged)
        fprintf(stream, "; %d run%s diverged", diverged, diverged == 1 ? "" : "s");
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
    if (shown || isnan(contrast->detectable) || comparison->max_pairs) /* the power is that of one t test */
        return;
    fprintf(stream, "with the spread of %s and %s, %d pairs show a difference of %.*f %s four times in five",
            comparison->arms[contrast->arm].name, comparison->arms[contrast->baseline].name,
            contrast->pair_count, description->decimals, contrast->detectable, description->unit);
    double mean = fabs(contrast->difference[comparison->measures[0]].mean);
    if (contrast->needed_pairs < 10000)
        fprintf(stream, "; one of %.*f takes about %d", description->decimals, mean, contrast->needed_pairs);
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
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the verdicts of a comparison");
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
