/* SPDX-License-Identifier: Apache-2.0 */
#include "config/comma_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool comma_list_next(const char **rest, struct comma_item *item)
{
    if (!*rest)
        return false;
    *item = (struct comma_item){*rest, (int)strcspn(*rest, ",")};
    const char *end = *rest + item->length;
    *rest = *end ? end + 1 : NULL;
    return true;
}

int comma_list_count(const char *list)
{
    int count = 0;
    for (struct comma_item item; comma_list_next(&list, &item);)
        count++;
    return count;
}

bool comma_item_is(const struct comma_item *item, const char *text)
{
    return strlen(text) == (size_t)item->length && memcmp(item->text, text, (size_t)item->length) == 0;
}

int comma_item_find(const struct comma_item *item, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (comma_item_is(item, names[i]))
            return i;
    return -1;
}

bool comma_item_number(const struct comma_item *item, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(item->text, &end, 10);
    return item->length > 0 && end == item->text + item->length && errno == 0;
}

char *comma_item_copy(const struct comma_item *item, char *copy, size_t bytes)
{
    snprintf(copy, bytes, "%.*s", item->length, item->text);
    return copy;
}
