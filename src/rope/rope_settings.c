/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a configuration: their defaults, and which of them nothing reads beside the others.
 */
#include "base/fail.h"
#include "rope/rope_plan.h"

#include <string.h>

void rotary_rope_config_default_sized(rotary_rope_config *config, size_t struct_size)
{
    const rotary_rope_config defaults = {
        .struct_size = struct_size,
        .pairing = ROTARY_PAIRING_HALF,
        .base = 10000.0,
        .table_positions = 2048,
        .beta_fast = 32.0,
        .beta_slow = 1.0,
        .truncate = true,
        .low_frequency_factor = 1.0,
        .high_frequency_factor = 4.0,
    };
    memset(config, 0, struct_size);
    memcpy(config, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

/* ---- where settings are read ---- */

static bool with_scaling(const rotary_rope_config *config)
{
    return config->scaling != ROTARY_SCALING_NONE;
}

static bool with_axes(const rotary_rope_config *config)
{
    return config->axes != ROTARY_AXES_ONE;
}

static bool with_xpos(const rotary_rope_config *config)
{
    return config->xpos_scale != 0;
}

static bool with_query_scale(const rotary_rope_config *config)
{
    return config->query_scale_beta != 0;
}

/* In ggml each angle is the one before times a power of the base, whatever the frequencies. */
static bool with_base(const rotary_rope_config *config)
{
    return !config->inverse_frequencies || (config->compat == ROTARY_COMPAT_GGML && config->angles_f32);
}

enum kind { REAL, FLAG, LIST, SECTIONS };
static const size_t sizes[] = {sizeof(double), sizeof(bool), sizeof(const double *),
                               sizeof(int64_t[ROTARY_MAX_AXES])};

/* Not here are lengths, which say what there is whatever the scaling, and attention_factor, which multiplies under every
 * one. */
#define MEMBER(member) #member, offsetof(rotary_rope_config, member)
static const struct row {
    const char *name;
    size_t offset;
    enum kind kind;
    rotary_scaling scaling; /* the only one that reads it, where there is no function that says more */
    bool (*is_read)(const rotary_rope_config *config);
    const char *reader;
} rows[] = {
    {MEMBER(factor), REAL, ROTARY_SCALING_NONE, with_scaling, "a scaling alone reads it"},
    {MEMBER(beta_fast), REAL, ROTARY_SCALING_YARN, NULL, "scaling yarn alone reads it"},
    {MEMBER(beta_slow), REAL, ROTARY_SCALING_YARN, NULL, "scaling yarn alone reads it"},
    {MEMBER(mscale), REAL, ROTARY_SCALING_YARN, NULL, "scaling yarn alone reads it"},
    {MEMBER(mscale_all_dim), REAL, ROTARY_SCALING_YARN, NULL, "scaling yarn alone reads it"},
    {MEMBER(truncate), FLAG, ROTARY_SCALING_YARN, NULL, "scaling yarn alone reads it"},
    {MEMBER(low_frequency_factor), REAL, ROTARY_SCALING_LLAMA3, NULL, "scaling llama3 alone reads it"},
    {MEMBER(high_frequency_factor), REAL, ROTARY_SCALING_LLAMA3, NULL, "scaling llama3 alone reads it"},
    {MEMBER(short_factors), LIST, ROTARY_SCALING_LONGROPE, NULL, "scaling longrope alone reads them"},
    {MEMBER(long_factors), LIST, ROTARY_SCALING_LONGROPE, NULL, "scaling longrope alone reads them"},
    {MEMBER(short_attention_factor), REAL, ROTARY_SCALING_LONGROPE, NULL, "scaling longrope alone reads it"},
    {MEMBER(long_attention_factor), REAL, ROTARY_SCALING_LONGROPE, NULL, "scaling longrope alone reads it"},
    {MEMBER(rotary_fraction), REAL, ROTARY_SCALING_PROPORTIONAL, NULL,
     "scaling proportional alone reads it, and rotary_dim says how many channels rotate"},
    {MEMBER(sections), SECTIONS, ROTARY_SCALING_NONE, with_axes, "positions of one axis have none"},
    {MEMBER(xpos_origin), REAL, ROTARY_SCALING_NONE, with_xpos, "it is read with an xpos_scale alone"},
    {MEMBER(base), REAL, ROTARY_SCALING_NONE, with_base, "inverse_frequencies are in its place"},
    {MEMBER(query_scale_length), REAL, ROTARY_SCALING_NONE, with_query_scale,
     "it is read with a query_scale_beta alone"},
    {MEMBER(query_scale_offset), REAL, ROTARY_SCALING_NONE, with_query_scale,
     "it is read with a query_scale_beta alone"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bool is_read(const rotary_rope_config *config, const struct row *row)
{
    return row->is_read ? row->is_read(config) : config->scaling == row->scaling;
}

/* The number of a member; 0 where it is none. */
static double number_at(const rotary_rope_config *config, const struct row *row)
{
    double number = 0;
    if (row->kind == REAL)
        memcpy(&number, (const char *)config + row->offset, sizeof number);
    return number;
}

/* Whether a setting has its default. */
static bool is_default(const rotary_rope_config *config, const rotary_rope_config *defaults,
                       const struct row *row)
{
    if (row->kind == REAL)
        return number_at(config, row) == number_at(defaults, row);
    return memcmp((const char *)config + row->offset, (const char *)defaults + row->offset,
                  sizes[row->kind]) == 0;
}

rotary_status rotary_rope_check_unread(const rotary_rope_config *config, rotary_error *error)
{
    rotary_rope_config defaults;
    rotary_rope_config_default(&defaults);
    for (int i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (is_read(config, row) || is_default(config, &defaults, row))
            continue;
        if (row->kind == REAL)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is %g; wanted its default, %g: %s",
                               row->name, number_at(config, row), number_at(&defaults, row), row->reader);
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s %s; wanted %s: %s", row->name,
                           row->kind == FLAG ? "is false" : "are given", row->kind == FLAG ? "true" : "none",
                           row->reader);
    }
    return ROTARY_OK;
}

void rotary_rope_config_drop_unread_sized(rotary_rope_config *config, size_t struct_size)
{
    rotary_rope_config defaults, known;
    rotary_rope_config_default(&defaults);
    known = defaults;
    memcpy(&known, config, struct_size < sizeof known ? struct_size : sizeof known);
    for (int i = 0; i < ROWS; i++)
        if (!is_read(&known, &rows[i]) && rows[i].offset + sizes[rows[i].kind] <= struct_size)
            memcpy((char *)config + rows[i].offset, (const char *)&defaults + rows[i].offset,
                   sizes[rows[i].kind]);
}
