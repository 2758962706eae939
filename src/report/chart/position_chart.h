/* SPDX-License-Identifier: Apache-2.0
 *
 * The perplexity of a text by position within its sequences, where runs were scored at other lengths
 * (score/position_losses.h).
 */
#ifndef ROTARY_REPORT_CHART_POSITION_CHART_H
#define ROTARY_REPORT_CHART_POSITION_CHART_H

#include "records/comparison/comparison.h"
#include "report/chart/page_figure.h"

#include <stdio.h>

/* The losses of all runs of an arm together, in sequences of `length` tokens; false if none is known. */
bool positions_of(const struct comparison *comparison, int arm, int64_t length, const char *scaling,
                  struct position_losses *losses);

/* Gives figures of the longest sequences whose losses are known: a curve for each arm whose rotation is not
 * scaled, and then for each arm of several scalings a figure of its own, with a curve for each. */
void positions_figures(const struct figure_taker *taker, const struct comparison *comparison);

/* The picture of one model, which stands alone: a curve for each scaling of its longest sequences. `trained`:
 * tokens of a sequence in training. Without any losses by position it has no curve. */
void positions_picture(FILE *stream, const struct record_lengths *lengths, int64_t trained);

#endif
