/* SPDX-License-Identifier: Apache-2.0
 *
 * Creating a plan, and reading its properties.
 */
#include "rope/rope_plan.h"

#include "base/fail.h"
#include "base/sized.h"
#include "kernel/rope/rope_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many of queries and keys have a table of their own. */
static int role_tables(const rotary_rope *rope, const rotary_rope_config *config)
{
    const bool differ = config->xpos_scale > 0 || config->query_scale_beta > 0;
    return differ ? 2 : rope->attention_factor != 1.0 ? 1 : 0;
}

/* Run twice, over a measuring and over an allocated arena (base/arena.h). */
static void push_arrays(rotary_rope *rope, const rotary_rope_config *config)
{
    int64_t table = rope->table_positions * rope->pairs;
    rope->inverse_frequency = rotary_arena_push(&rope->memory, rope->pairs, sizeof(double));
    rope->axis = rotary_arena_push(&rope->memory, rope->pairs, sizeof(uint8_t));
    if (config->xpos_scale > 0)
        rope->xpos_growth = rotary_arena_push(&rope->memory, rope->pairs, sizeof(double));
    if (config->compat == ROTARY_COMPAT_GGML && config->angles_f32)
        rope->frequency_scale = rotary_arena_push(&rope->memory, rope->pairs, sizeof(float));
    rope->cosine = rotary_arena_push(&rope->memory, table, sizeof(float));
    rope->sine = rotary_arena_push(&rope->memory, table, sizeof(float));
    int tables = role_tables(rope, config);
    for (int role = 0; role < tables; role++) {
        rope->role_cosine[role] = rotary_arena_push(&rope->memory, table, sizeof(float));
        rope->role_sine[role] = rotary_arena_push(&rope->memory, table, sizeof(float));
    }
    if (tables == 1) {
        rope->role_cosine[ROTARY_ROLE_KEY] = rope->role_cosine[ROTARY_ROLE_QUERY];
        rope->role_sine[ROTARY_ROLE_KEY] = rope->role_sine[ROTARY_ROLE_QUERY];
    }
}

static void set_options(rotary_rope *rope, const rotary_rope_config *config)
{
    rope->span = (struct rotary_span){.head_dim = config->head_dim,
                                      .start = config->rotary_start,
                                      .dim = config->rotary_dim,
                                      .pairing = config->pairing};
    rope->pairs = config->rotary_dim / 2;
    rope->axes = rotary_rope_count_axes(config);
    rope->axes_restart = config->axes == ROTARY_AXES_SEPARATE;
    rope->xpos_origin = config->xpos_origin;
    rope->query_scale_beta = config->query_scale_beta;
    rope->query_scale_length = config->query_scale_length;
    rope->query_scale_offset = config->query_scale_offset;
    rope->angles_f32 = config->angles_f32;
    rope->table_dtype = config->table_dtype;
    rope->table_positions = config->table_positions;
    rope->threads = config->threads;
    rope->kernels = rotary_rope_kernels(config->isa);
    rotary_rope_set_factors(rope, config);
}

/* Beyond this many radians per position a double does not tell an angle from the next revolution's. */
#define MAX_FREQUENCY 0x1p53
/* e^88 is the last whole power in f32: with more, xPos's magnitudes overflow one position from the origin. */
#define MAX_XPOS_GROWTH 88.0

/* Whether a frequency of 0 may be meant: it is in the list given, or p-RoPE's. */
static bool may_be_zero(const rotary_rope_config *config)
{
    return config->inverse_frequencies || config->scaling == ROTARY_SCALING_PROPORTIONAL;
}

/* Whether a magnitude is one in f32, in which it multiplies. */
static bool is_magnitude(double number)
{
    return (float)number > 0.0f && isfinite((float)number);
}

/* Settings that are valid one by one can overflow together, or underflow to 0. */
static rotary_status check_numbers(const rotary_rope *rope, const rotary_rope_config *config,
                                   rotary_error *error)
{
    for (int64_t pair = 0; pair < rope->pairs; pair++) {
        double w = rope->inverse_frequency[pair];
        if (!(fabs(w) <= MAX_FREQUENCY) || (w == 0.0 && !may_be_zero(config)))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the configuration (base %g, factor %g) gives pair %lld the inverse frequency "
                               "%g; wanted a finite one above 0 and at most 2^53",
                               config->base, config->factor, (long long)pair, w);
        if (rope->xpos_growth && !(fabs(rope->xpos_growth[pair]) <= MAX_XPOS_GROWTH))
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "xpos_scale is %g, by which pair %lld changes by e^%g from one position to the "
                "next; wanted a greater one",
                config->xpos_scale, (long long)pair, rope->xpos_growth[pair]);
    }
    if (!is_magnitude(rope->attention_factor) || !is_magnitude(rope->softmax_factor))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the configuration has the attention factor %g and the softmax factor %g; wanted "
                           "finite ones above 0 in f32",
                           rope->attention_factor, rope->softmax_factor);
    return ROTARY_OK;
}

rotary_status rotary_rope_create(rotary_rope **created, const rotary_rope_config *given, rotary_error *error)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    rotary_status status = rotary_copy_sized(&config, sizeof config, given, "rotary_rope_config", error);
    if (!status)
        status = rotary_rope_check_config(&config, error);
    if (status)
        return status;

    rotary_rope *rope = calloc(1, sizeof *rope);
    if (!rope)
        return rotary_fail_memory(error, "for a rotary plan");
    set_options(rope, &config);
    push_arrays(rope, &config);
    status = rotary_arena_allocate(&rope->memory, "the table of a rotary plan", error);
    if (!status) {
        push_arrays(rope, &config);
        rotary_rope_set_frequencies(rope, &config);
        status = check_numbers(rope, &config, error);
    }
    if (status) {
        rotary_rope_destroy(rope);
        return status;
    }
    rotary_rope_fill_table(rope);
    *created = rope;
    return ROTARY_OK;
}

void rotary_rope_destroy(rotary_rope *rope)
{
    if (!rope)
        return;
    rotary_arena_free(&rope->memory);
    free(rope);
}

struct rotary_span rotary_rope_span(const rotary_rope *rope)
{
    return rope->span;
}

bool rotary_rope_queries_differ(const rotary_rope *rope)
{
    return rotary_rope_has_query_rows(rope);
}

bool rotary_rope_keys_grow(const rotary_rope *rope)
{
    return rope->xpos_growth || rope->attention_factor != 1.0;
}

bool rotary_rope_values_alike(const rotary_rope *rope, const rotary_rope *value_rope)
{
    if (!rotary_rope_roles_alike(rope))
        return false;
    if (rope == value_rope)
        return true;
    return rope->pairs == value_rope->pairs && rope->table_dtype == value_rope->table_dtype &&
           rope->angles_f32 == value_rope->angles_f32 && !rope->frequency_scale &&
           !value_rope->frequency_scale &&
           memcmp(rope->inverse_frequency, value_rope->inverse_frequency,
                  (size_t)rope->pairs * sizeof *rope->inverse_frequency) == 0;
}

int64_t rotary_rope_pairs(const rotary_rope *rope)
{
    return rope->pairs;
}

const double *rotary_rope_inverse_frequencies(const rotary_rope *rope)
{
    return rope->inverse_frequency;
}

double rotary_rope_attention_factor(const rotary_rope *rope)
{
    return rope->attention_factor;
}

double rotary_rope_softmax_factor(const rotary_rope *rope)
{
    return rope->softmax_factor;
}

int rotary_rope_axes(const rotary_rope *rope)
{
    return rope->axes;
}

int rotary_rope_axis(const rotary_rope *rope, int64_t pair)
{
    return rope->axis[pair];
}
