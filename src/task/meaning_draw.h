/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of meaning_draw.
 */
#ifndef ROTARY_TASK_MEANING_DRAW_H
#define ROTARY_TASK_MEANING_DRAW_H

#include "task/meaning.h"

bool chance(struct rotary_random *random, uint32_t percent);
uint32_t below(struct rotary_random *random, uint32_t bound);
/* An entry of the table for one of the classes; NULL: there is none. */
const struct adjective *draw_adjective(struct rotary_random *random, uint32_t classes, bool comparable);
const struct word_pair *draw_pair(struct rotary_random *random, const struct word_pair *table);

/* Each draws a phrase and returns its index. A common phrase may be the subject's (0: of none). */
int draw_common(struct meaning *meaning, struct rotary_random *random, uint32_t classes, int subject);
int draw_subject(struct meaning *meaning, struct rotary_random *random, uint32_t classes);
int draw_pronoun(struct meaning *meaning, enum holder holder);
/* With an article and in the singular; of the noun, or of one of the classes. */
int draw_definite(struct meaning *meaning, struct rotary_random *random, const struct noun *noun,
                  uint32_t classes);
/* Perhaps adds an owner, or something worn, to a phrase. */
void draw_attribute(struct meaning *meaning, struct rotary_random *random, int phrase);

#endif
