/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_scores.h"

#include "file/file.h"
#include "report/findings.h"

#include <math.h>

enum { PERPLEXITY_DECIMALS = 3, BITS_DECIMALS = 4 };

struct text_scores {
    double perplexity, bits_per_byte; /* NaN: not known */
};

static struct text_scores scores_of(const struct comparison *comparison, int arm)
{
    const struct comparison_arm *of = &comparison->arms[arm];
    double bits = 0;
    for (int i = 0; i < of->run_count; i++) {
        const struct record_evaluation *last = record_last_evaluation(&comparison->records[of->runs[i]]);
        bits += last->bits_per_byte > 0 ? last->bits_per_byte : (double)NAN;
    }
    return (struct text_scores){
        .perplexity = exp(of->statistics[MEASURE_VALIDATION_LOSS].mean),
        .bits_per_byte = of->run_count > 0 ? bits / of->run_count : (double)NAN,
    };
}

bool text_scores_are_known(const struct comparison *comparison)
{
    for (int arm = 0; arm < comparison->arm_count; arm++)
        if (!isnan(scores_of(comparison, arm).bits_per_byte))
            return true;
    return false;
}

static void write_number(FILE *stream, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(stream, "  %*s", width, "-");
    else
        fprintf(stream, "  %*.*f", width, decimals, value);
}

void text_scores_text(FILE *stream, const struct comparison *comparison)
{
    const int name_width = arm_name_width(comparison, "text");
    fprintf(stream, "\n%-*s  %10s  %13s\n", name_width, "text", "perplexity", "bits per byte");
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        const struct text_scores scores = scores_of(comparison, arm);
        fprintf(stream, "%-*s", name_width, comparison->arms[arm].name);
        write_number(stream, 10, PERPLEXITY_DECIMALS, scores.perplexity);
        write_number(stream, 13, BITS_DECIMALS, scores.bits_per_byte);
        fputc('\n', stream);
    }
}

json_t *text_scores_json(const struct comparison *comparison, int arm)
{
    const struct text_scores scores = scores_of(comparison, arm);
    if (!text_scores_are_known(comparison))
        return json_null();
    return json_pack("{s:o, s:o}", "perplexity", file_json_number(scores.perplexity), "bits_per_byte",
                     file_json_number(scores.bits_per_byte));
}

void text_scores_table(struct page_table *table, const struct comparison *comparison)
{
    const char *const heads[] = {arm_heading(comparison), "perplexity", "bits per byte"};
    page_table_begin(table, "Loss of the text", heads, 3);
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        const struct text_scores scores = scores_of(comparison, arm);
        page_table_row(table, arm, comparison->arms[arm].name);
        page_table_number(table, scores.perplexity, PERPLEXITY_DECIMALS);
        page_table_number(table, scores.bits_per_byte, BITS_DECIMALS);
    }
    page_table_end(table);
    page_table_note(
        table, "Perplexity is the exponential of the mean validation loss. Bits per byte are that loss in "
               "bits, divided by the bytes of the text, whatever its tokens are.");
}
