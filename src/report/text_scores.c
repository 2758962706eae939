/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_scores.h"

#include "file/file.h"
#include "report/chart/svg.h"
#include "report/findings.h"
#include "report/html.h"

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

void text_scores_table(FILE *stream, const struct comparison *comparison)
{
    char number[HTML_NUMBER_BYTES];
    fputs("<div class=\"scroll\"><table class=\"sticky\">\n<caption>Loss of the "
          "text</caption>\n<thead><tr><th>",
          stream);
    html_text(stream, arm_heading(comparison));
    fputs("</th><th>perplexity</th><th>bits per byte</th></tr></thead>\n<tbody>\n", stream);
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        const struct text_scores scores = scores_of(comparison, arm);
        fprintf(stream, "<tr><th scope=\"row\" class=\"%s\">", svg_arm_class(arm));
        html_text(stream, comparison->arms[arm].name);
        fprintf(stream, "</th><td>%s</td>", html_number(number, scores.perplexity, PERPLEXITY_DECIMALS, 0));
        fprintf(stream, "<td>%s</td></tr>\n", html_number(number, scores.bits_per_byte, BITS_DECIMALS, 0));
    }
    fputs("</tbody></table></div>\n<p class=\"note\">Perplexity is the exponential of the mean validation "
          "loss. "
          "Bits per byte are that loss in bits, divided by the bytes of the text, whatever its tokens "
          "are.</p>\n",
          stream);
}
