/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_lists.h"

#include "base/fail.h"
#include "rope_config/rope_axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

/* A list of the file, and the plan's member that points to its numbers. */
struct list {
    const char *key;
    const double **member;
    bool used;
};

/* Whether there is one number per pair. */
static rotary_status check_list(const struct rope_reader *reader, const char *key, size_t pairs)
{
    const json_t *value = rope_reader_find(reader, key);
    if (json_is_array(value) && json_array_size(value) == pairs)
        return ROTARY_OK;
    char wanted[TEXT_BYTES];
    snprintf(wanted, sizeof wanted, "a list of %zu numbers, one for each pair", pairs);
    if (!json_is_array(value))
        return rope_reader_refuse(reader, key, value, wanted);
    return rotary_fail(reader->error, ROTARY_BAD_FILE, "%s: \"%s\" has %zu entries, wanted %s", reader->where,
                       key, json_array_size(value), wanted);
}

static rotary_status read_list(const struct rope_reader *reader, const char *key, double *numbers)
{
    const json_t *value = rope_reader_find(reader, key);
    enum json_range range = strcmp(key, "inverse_frequencies") == 0 ? JSON_ANY : JSON_POSITIVE;
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; !status && i < json_array_size(value); i++) {
        char entry[TEXT_BYTES];
        snprintf(entry, sizeof entry, "%s[%zu]", key, i);
        status = rope_reader_real(reader, entry, json_array_get(value, i), range, &numbers[i]);
    }
    return status;
}

enum { LISTS = 4, INVERSE_FREQUENCIES = 3 };

/* Makes room for every list. */
static rotary_status make_room(const struct rope_reader *reader, size_t pairs, struct rope_config *config)
{
    if (!config->numbers)
        config->numbers = calloc(LISTS * pairs, sizeof *config->numbers);
    return config->numbers ? ROTARY_OK
                           : rotary_fail(reader->error, ROTARY_OUT_OF_MEMORY, "%s: no memory for its lists",
                                         reader->where);
}

static rotary_status read_lists(const struct rope_reader *reader, struct rope_config *config)
{
    rotary_rope_config *plan = &config->plan;
    size_t pairs = (size_t)plan->rotary_dim / 2;
    const struct list lists[LISTS] = {
        {"short_factor", &plan->short_factors, plan->scaling == ROTARY_SCALING_LONGROPE},
        {"long_factor", &plan->long_factors, plan->scaling == ROTARY_SCALING_LONGROPE},
        {"pair_factors", &plan->pair_factors, true},
        {"inverse_frequencies", &plan->inverse_frequencies, true},
    };
    for (size_t i = 0; i < LISTS; i++) {
        if (!lists[i].used || !rope_reader_find(reader, lists[i].key))
            continue;
        rotary_status status = check_list(reader, lists[i].key, pairs);
        /* Only once a list has so many numbers, so that a small file cannot ask for gigabytes. */
        if (!status)
            status = make_room(reader, pairs, config);
        if (!status)
            status = read_list(reader, lists[i].key, config->numbers + i * pairs);
        if (status)
            return status;
        *lists[i].member = config->numbers + i * pairs;
    }
    return ROTARY_OK;
}

/* The frequencies of an alternating tower: those of a head with one axis, even ones first, then odd ones. */
static rotary_status list_alternating(const struct rope_reader *reader, struct rope_config *config)
{
    rotary_rope_config *plan = &config->plan;
    if (reader->family.tower != ROPE_TOWER_ALTERNATING || plan->inverse_frequencies)
        return ROTARY_OK;
    int64_t pairs = plan->rotary_dim / 2;
    rotary_status status = make_room(reader, (size_t)pairs, config);
    if (status)
        return status;
    double *numbers = config->numbers + INVERSE_FREQUENCIES * pairs;
    for (int64_t pair = 0; pair < pairs; pair++) {
        int64_t of_head = pair < pairs / 2 ? 2 * pair : 2 * (pair - pairs / 2) + 1;
        numbers[pair] = (double)powl((long double)plan->base, -(long double)of_head / (long double)pairs);
    }
    plan->inverse_frequencies = numbers;
    return ROTARY_OK;
}

rotary_status rope_lists_read(const struct rope_reader *reader, struct rope_config *config)
{
    rotary_status status = read_lists(reader, config);
    return status ? status : list_alternating(reader, config);
}
