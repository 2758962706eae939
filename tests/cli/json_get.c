/* SPDX-License-Identifier: Apache-2.0
 *
 * json_get PATH: the JSON object on stdin must be exactly one; prints the value at a path like
 * "evaluation.correct" as JSON. Exits 1 if the input is something else, or has nothing there.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
    json_error_t wrong;
    json_t *object = json_loadf(stdin, JSON_REJECT_DUPLICATES, &wrong);
    if (count != 2 || !json_is_object(object)) {
        fprintf(stderr, "line %d: %s\n", wrong.line, wrong.text);
        return 1;
    }
    json_t *value = object;
    for (char *key = strtok(arguments[1], "."); key; key = strtok(NULL, "."))
        value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
                                     : json_object_get(value, key);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    if (!text)
        fprintf(stderr, "there is nothing at the path\n");
    else
        puts(text);
    int status = text ? 0 : 1;
    free(text);
    json_decref(object);
    return status;
}
