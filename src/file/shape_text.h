/* SPDX-License-Identifier: Apache-2.0
 *
 * The shape of a tensor, for messages.
 */
#ifndef ROTARY_FILE_SHAPE_TEXT_H
#define ROTARY_FILE_SHAPE_TEXT_H

#include <stdint.h>

/* "[2, 5, 64]", of up to 8 numbers. */
enum { SHAPE_TEXT_BYTES = 192 };
const char *shape_text(const int64_t *shape, int dimensions, char text[SHAPE_TEXT_BYTES]);

#endif
