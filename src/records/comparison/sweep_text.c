/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/sweep_text.h"

#include "records/comparison/arm_name.h"

#include <stdint.h>
#include <string.h>

static void write_set(FILE *stream, const json_t *set)
{
    char name[ARM_NAME_BYTES] = "";
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)set, key, value)
        (void)arm_name_add(name, key, value);
    fputs(name, stream);
}

static void write_mean(FILE *stream, const json_t *scored)
{
    const json_t *mean = json_object_get(scored, "mean");
    if (json_is_number(mean))
        fprintf(stream, "%.4g", json_number_value(mean));
    else
        fputs(json_integer_value(json_object_get(scored, "diverged")) ? "diverged" : "no score", stream);
}

/* Says of each key whether its value is the smallest or the largest that was tried, beyond which there may be
 * better ones. */
static void write_ends(FILE *stream, const json_t *chosen, const json_t *candidates)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)chosen, key, value) {
        int smaller = 0, larger = 0;
        for (size_t i = 0; i < json_array_size(candidates); i++) {
            const json_t *other = json_object_get(json_array_get(candidates, i), key);
            smaller += json_number_value(other) < json_number_value(value);
            larger += json_number_value(other) > json_number_value(value);
        }
        if (json_is_number(value) && (smaller == 0) != (larger == 0))
            fprintf(stream, "; the %s %s tried, so that a %s one may be better",
                    smaller ? "largest" : "smallest", key, smaller ? "larger" : "smaller");
    }
}

static void write_arm(FILE *stream, const json_t *sweep, const char *arm, const json_t *chosen)
{
    const json_t *scores = json_object_get(sweep, "scores");
    const char *measure = json_string_value(json_object_get(sweep, "measure"));
    fprintf(stream, "%s at ", arm);
    write_set(stream, chosen);
    fprintf(stream, ", the best by %s: ", measure ? measure : "the primary measure");
    int written = 0;
    for (size_t i = 0; i < json_array_size(scores); i++) {
        const json_t *one = json_array_get(scores, i);
        const char *name = json_string_value(json_object_get(one, "arm"));
        if (!name || strcmp(name, arm) != 0)
            continue;
        fputs(written++ ? ", " : "", stream);
        write_mean(stream, one);
        fputs(" at ", stream);
        write_set(stream, json_object_get(one, "set"));
    }
    write_ends(stream, chosen, json_object_get(sweep, "candidates"));
    fputc('\n', stream);
}

void sweep_write(FILE *stream, const json_t *description)
{
    const json_t *sweep = json_object_get(description, "sweep"), *arms = json_object_get(description, "arms");
    for (size_t i = 0; sweep && i < json_array_size(arms); i++) {
        const json_t *arm = json_array_get(arms, i), *chosen = json_object_get(arm, "chosen");
        const char *name = json_string_value(json_object_get(arm, "name"));
        if (name && chosen)
            write_arm(stream, sweep, name, chosen);
    }
}
