/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in which masks stand by name: "The [MASK] gave the child a ball."
 */
#ifndef ROTARY_TEXT_TOKENIZER_MASK_TEXT_H
#define ROTARY_TEXT_TOKENIZER_MASK_TEXT_H

#include "text/text_lines.h"
#include "text/tokenizer/tokenizer.h"

/* Appends the tokens of a line to a list (tokenizer_encode), with the mask for each of its names in the line.
 * rows [list->capacity]: where in the list the masks are, *masks of them; NULL: that is not wanted. Of a
 * tokenizer without a mask the line is text alone. */
ROTARY_CHECKED rotary_status mask_text_encode(const struct tokenizer *tokenizer, const struct text_line *line,
                                              struct token_list *list, int64_t *rows, int64_t *masks,
                                              rotary_error *error);

#endif
