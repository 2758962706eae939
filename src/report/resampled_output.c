/* SPDX-License-Identifier: Apache-2.0 */
#include "report/resampled_output.h"

#include "file/file.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/interval_text.h"

/* ---- text ---- */

void resampled_interval_text(FILE *stream, const struct resampled_difference *difference)
{
    char p[SHORT_NUMBER_BYTES], interval[INTERVAL_BYTES];
    fprintf(stream, "%s  p %s%s\n",
            interval_text(interval, difference->low, difference->high, RESAMPLED_DECIMALS, true),
            difference->p < 0.0001 ? "" : "= ", p_text(p, difference->p));
}

void resampled_text(FILE *stream, const struct resampled_difference *difference)
{
    fprintf(stream, "%+.2f ", difference->mean);
    resampled_interval_text(stream, difference);
}

void resampled_contrast_text(FILE *stream, const struct comparison *comparison,
                             const struct contrast *contrast, const struct resampled_difference *mean)
{
    const int count = contrast_undiverged(contrast);
    fprintf(stream, "%s - %s, mean of %d pair%s: ", comparison->arms[contrast->arm].name,
            comparison->arms[contrast->baseline].name, count, count == 1 ? "" : "s");
    resampled_text(stream, mean);
}

/* ---- JSON ---- */

json_t *resampled_json(const struct resampled_difference *difference)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "mean", file_json_number(difference->mean), "low",
                     file_json_number(difference->low), "high", file_json_number(difference->high), "p",
                     file_json_number(difference->p));
}

json_t *resampled_contrast_json(const struct resampled_contrast *found, int pair_count)
{
    json_t *pairs = json_array();
    for (int i = 0; i < pair_count; i++)
        json_array_append_new(pairs, resampled_json(&found->pairs[i]));
    return json_pack("{s:o, s:o}", "mean", resampled_json(&found->mean), "pairs", pairs);
}

/* ---- the page ---- */

const char *resampled_interval_html(char text[INTERVAL_BYTES], const struct resampled_difference *difference)
{
    return interval_html(text, difference->low, difference->high, RESAMPLED_DECIMALS, true);
}

const char *resampled_html(char text[INTERVAL_BYTES], const struct resampled_difference *difference)
{
    char number[HTML_NUMBER_BYTES], low[HTML_NUMBER_BYTES], high[HTML_NUMBER_BYTES];
    snprintf(text, INTERVAL_BYTES, "%s [%s, %s]",
             html_number(number, difference->mean, RESAMPLED_DECIMALS, 1),
             html_number(low, difference->low, RESAMPLED_DECIMALS, 1),
             html_number(high, difference->high, RESAMPLED_DECIMALS, 1));
    return text;
}

void resampled_card(FILE *stream, const char *what, const struct resampled_difference *mean)
{
    char text[INTERVAL_BYTES], p[SHORT_NUMBER_BYTES];
    fprintf(stream, "<p class=\"secondary\">%s, with these models: %s, p ", what, resampled_html(text, mean));
    html_text(stream, p_html(p, mean->p));
    fputs("</p>\n", stream);
}
