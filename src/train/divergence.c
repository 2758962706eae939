/* SPDX-License-Identifier: Apache-2.0 */
#include "train/divergence.h"

#include "base/integer.h"

#include <math.h>
#include <stdio.h>

enum { BLOCK = 1024 };

/* The element of the largest magnitude in a row of an array, NaN if it has one; 0 for an array that the row is not in, or one that
 * cannot be read. */
static float largest_of(const struct parameters *parameters, enum parameter_array array, int index)
{
    const struct parameter *row = &parameters->rows[index];
    float block[BLOCK], largest = 0;
    if (row->is_stored || (array == PARAMETER_GRADIENTS && (row->frozen || !parameters->gradients)))
        return 0;
    const int64_t elements = parameter_elements(row);
    for (int64_t first = 0; first < elements; first += BLOCK) {
        const struct parameter_range range = {array, index, first, min_i64(BLOCK, elements - first)};
        if (parameters_read(parameters, range, block, NULL) != ROTARY_OK)
            return 0;
        for (int64_t i = 0; i < range.count; i++) {
            if (isnan(block[i]))
                return block[i];
            if (fabsf(block[i]) > fabsf(largest))
                largest = block[i];
        }
    }
    return largest;
}

/* A row of a table or of its adapter. */
struct found {
    const char *name; /* NULL: there is none */
    float largest;
};

/* Whether a row whose element of the largest magnitude is `largest` takes the place of what was found before. */
typedef bool replaces(const struct found *before, float largest);

static bool is_first_infinite(const struct found *before, float largest)
{
    return !before->name && !isfinite(largest);
}

static bool is_infinite(const struct found *before, float largest)
{
    (void)before;
    return !isfinite(largest);
}

static bool is_larger(const struct found *before, float largest)
{
    return fabsf(largest) > fabsf(before->largest);
}

static struct found find(const struct parameters *parameters, enum parameter_array array, replaces *takes)
{
    struct found found = {NULL, 0};
    for (const struct parameters *table = parameters; table; table = table->adapter)
        for (int i = 0; i < table->count; i++) {
            const float largest = largest_of(table, array, i);
            if (takes(&found, largest))
                found = (struct found){table->rows[i].name, largest};
        }
    return found;
}

void divergence_tensor(const struct parameters *parameters, bool has_loss, char text[DIVERGENCE_BYTES])
{
    text[0] = 0;
    struct found found = find(parameters, PARAMETER_VALUES, is_first_infinite);
    if (found.name) {
        snprintf(text, DIVERGENCE_BYTES, "%s has values that are not finite", found.name);
        return;
    }
    if (has_loss)
        found = find(parameters, PARAMETER_GRADIENTS, is_infinite);
    if (found.name) {
        snprintf(text, DIVERGENCE_BYTES, "the gradient of %s is not finite", found.name);
        return;
    }
    found = find(parameters, PARAMETER_VALUES, is_larger);
    if (found.name)
        snprintf(text, DIVERGENCE_BYTES, "the largest weight is %.3g, in %s", (double)found.largest,
                 found.name);
}
