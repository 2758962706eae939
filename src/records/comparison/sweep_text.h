/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sweep (sweep.h) chose, as text.
 */
#ifndef ROTARY_RECORDS_COMPARISON_SWEEP_TEXT_H
#define ROTARY_RECORDS_COMPARISON_SWEEP_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Writes a line for each arm: "rope at learning_rate=0.003, the best by validation_loss: 1.2 at
 * learning_rate=0.003, 1.4 at learning_rate=0.001". description: compare.json; without a sweep nothing is
 * written. */
void sweep_write(FILE *stream, const json_t *description);

#endif
