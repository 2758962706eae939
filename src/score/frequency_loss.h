/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of a model that gives each target its frequency, whatever came before: a model whose loss is not
 * lower has not begun to learn more.
 */
#ifndef ROTARY_SCORE_FREQUENCY_LOSS_H
#define ROTARY_SCORE_FREQUENCY_LOSS_H

#include <stdint.h>

/* In nats per target, where class i was the target counts[i] times. Each target is predicted from all the
 * others, with one added to every class: its own frequency would tell too much of a class that is there once.
 * NaN without targets.
 */
double frequency_loss(const int64_t *counts, int64_t classes);

#endif
