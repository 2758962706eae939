/* SPDX-License-Identifier: Apache-2.0
 *
 * How the scores of trained models fall with distance: a picture of a run, and the page's section about arms.
 */
#ifndef ROTARY_REPORT_DECAY_PAGE_H
#define ROTARY_REPORT_DECAY_PAGE_H

#include "records/collection.h"
#include "records/measured_decay.h"

#include "report/chart/page_figure.h"

#include <stdio.h>

/* Writes one <svg>, a file of its own: a panel for each layer of encoder and decoder, a line for each head.
 */
void measured_decay_svg(FILE *stream, const struct measured_decay *decay, enum decay_measure measure);

/* What was measured of each arm: of the first of its runs that has a file. */
struct arm_decay {
    struct measured_decay decay; /* without kinds that have layers: of none */
    int64_t seed;                /* of the run */
};
struct arm_decays {
    struct arm_decay *items; /* [arms] */
    int count;               /* arms; 0: no run of any has a file */
};
ROTARY_CHECKED rotary_status arm_decays_read(struct arm_decays *decays, const struct comparison *comparison,
                                             rotary_error *error);
void arm_decays_free(struct arm_decays *decays);
/* Its figures, of which the section is made. */
void decay_figures(const struct figure_taker *taker, const struct comparison *comparison,
                   const struct arm_decays *decays);
/* The section; nothing if count is 0. */
void decay_section(FILE *stream, const struct comparison *comparison, const struct arm_decays *decays);

#endif
