/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists such as "shaw,fire". Commas separate items, which may be empty: "" has one item, "a," has two.
 */
#ifndef ROTARY_CONFIG_COMMA_LIST_H
#define ROTARY_CONFIG_COMMA_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comma_item {
    const char *text; /* within the list, not zero-terminated */
    int length;
};

/* The next item; false at the end. *rest is the list at first, NULL for none, and then what is left of it. */
bool comma_list_next(const char **rest, struct comma_item *item);
int comma_list_count(const char *list); /* of items; NULL has none */
bool comma_item_is(const struct comma_item *item, const char *text);
/* The place of an item in a NULL-terminated list of names; -1: it is not there. */
int comma_item_find(const struct comma_item *item, const char *const *names);
/* Whether an item is a whole number of 64 bits, which is then its value; blanks and a sign may be before it. */
bool comma_item_number(const struct comma_item *item, int64_t *value);
/* Copies an item, of which no more than fits. Returns `copy`. */
char *comma_item_copy(const struct comma_item *item, char *copy, size_t bytes);

#endif
