/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences of the paired bootstrap (records/comparison/resampled_contrast.h) as text, as JSON and on the
 * page, whatever was resampled: sentences or examples.
 */
#ifndef ROTARY_REPORT_RESAMPLED_OUTPUT_H
#define ROTARY_REPORT_RESAMPLED_OUTPUT_H

#include "records/collection.h"
#include "report/interval_text.h"

#include <jansson.h>
#include <stdio.h>

/* ---- text ---- */

/* "+1.20 [+0.10, +2.30]  p = 0.0320", and the same without the mean, each with a line end. */
void resampled_text(FILE *stream, const struct resampled_difference *difference);
void resampled_interval_text(FILE *stream, const struct resampled_difference *difference);
/* "roper - rope, mean of 5 pairs: " and the mean as above. */
void resampled_contrast_text(FILE *stream, const struct comparison *comparison,
                             const struct contrast *contrast, const struct resampled_difference *mean);

/* ---- JSON: NULL only without memory ---- */

/* {"mean", "low", "high", "p"}; what is not finite is null. */
json_t *resampled_json(const struct resampled_difference *difference);
/* {"mean": as above, "pairs": [as above]} */
json_t *resampled_contrast_json(const struct resampled_contrast *found, int pair_count);

/* ---- the page ---- */

enum { RESAMPLED_DECIMALS = 2 };
/* "+1.20 [+0.10, +2.30]"; returns `text`. */
const char *resampled_html(char text[INTERVAL_BYTES], const struct resampled_difference *difference);
/* "[+0.10, +2.30]" */
const char *resampled_interval_html(char text[INTERVAL_BYTES], const struct resampled_difference *difference);
/* A line of a verdict's card. what: "BLEU over sentences". */
void resampled_card(FILE *stream, const char *what, const struct resampled_difference *mean);

#endif
