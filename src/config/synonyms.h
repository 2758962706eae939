/* SPDX-License-Identifier: Apache-2.0
 *
 * What other programs call what is here. Such a name is never taken for the other; it is what a message suggests.
 */
#ifndef ROTARY_CONFIG_SYNONYMS_H
#define ROTARY_CONFIG_SYNONYMS_H

#include <stdbool.h>

/* `theirs` are separated by spaces. A name may stand for one thing among keys and for another among options. */
struct synonym {
    const char *ours, *theirs;
};
extern const struct synonym synonyms[]; /* ends where `ours` is NULL */

/* Whether two names are the same but for case, dashes and underscores. */
bool synonym_same(const char *name, const char *other);
/* Whether the name is the same as one of those in a list that spaces separate. */
bool synonym_listed(const char *name, const char *list);
/* Whether `theirs` is the same as `ours`, or another program's name for it. */
bool synonym_of(const char *theirs, const char *ours);

#endif
