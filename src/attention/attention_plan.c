/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a plan: the configuration is checked here, once.
 */
#include "attention/attention_plan.h"

#include "base/fail.h"
#include "base/isa.h"
#include "base/sized.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADS = 1 << 16 };
enum { ALL_ROTATED = ROTARY_ROTATE_QUERY | ROTARY_ROTATE_KEY | ROTARY_ROTATE_VALUE | ROTARY_ROTATE_OUTPUT };
/* A longer window masks the same keys as this one, with which no sum of positions overflows. */
#define MAX_WINDOW (4 * ROTARY_ATTENTION_MAX_POSITION)
/* Softcaps beyond these bounds are clamped to them, which does not change the softmax: under the max the
 * largest score already decides it alone, and under the min it is uniform. Neither the bounds nor their
 * inverses overflow in units of log 2. */
#define MAX_SOFTCAP 0x1p100f
#define MIN_SOFTCAP 0x1p-100f

void rotary_attention_config_default_sized(rotary_attention_config *config, size_t struct_size)
{
    const rotary_attention_config defaults = {.struct_size = struct_size};
    memset(config, 0, struct_size);
    memcpy(config, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

static rotary_status check_heads(const rotary_attention_config *config, rotary_error *error)
{
    if (config->heads < 1 || config->heads > MAX_HEADS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "heads is %lld; wanted 1 ... %d",
                           (long long)config->heads, MAX_HEADS);
    if (config->key_value_heads < 1 || config->key_value_heads > config->heads ||
        config->heads % config->key_value_heads != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_value_heads is %lld; wanted a number that divides heads, %lld",
                           (long long)config->key_value_heads, (long long)config->heads);
    if (config->head_dim < 1 || config->head_dim > ROTARY_ATTENTION_MAX_HEAD_DIM)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "head_dim is %lld; wanted 1 ... %d",
                           (long long)config->head_dim, ROTARY_ATTENTION_MAX_HEAD_DIM);
    return ROTARY_OK;
}

static rotary_status check_rope(const char *name, const rotary_rope *rope, int64_t head_dim,
                                rotary_error *error)
{
    if (rope && rotary_rope_span(rope).head_dim != head_dim)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s was made for heads of %lld channels; wanted head_dim, %lld", name,
                           (long long)rotary_rope_span(rope).head_dim, (long long)head_dim);
    return ROTARY_OK;
}

/* Whether the channels that are values have all of a rotation's channels or none. */
static bool rotates_apart(const rotary_attention_config *config, const rotary_rope *rope)
{
    const struct rotary_span span = rotary_rope_span(rope);
    int64_t end = config->value_start + config->value_channels, span_end = span.start + span.dim;
    return span_end <= config->value_start || span.start >= end ||
           (span.start >= config->value_start && span_end <= end);
}

static rotary_status check_value_channels(const rotary_attention_config *config, rotary_error *error)
{
    int64_t start = config->value_start, channels = config->value_channels;
    if (start == 0 && channels == 0)
        return ROTARY_OK;
    if (!config->key_is_value)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "value_start is %lld and value_channels %lld without key_is_value; wanted 0",
                           (long long)start, (long long)channels);
    if (start < 0 || channels < 1 || channels > config->head_dim || start > config->head_dim - channels)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "value_start is %lld and value_channels %lld of %lld channels; wanted some of them",
            (long long)start, (long long)channels, (long long)config->head_dim);
    if (config->value_rope && !rotates_apart(config, config->value_rope))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "channels %lld ... %lld of keys are values, some of those that value_rope rotates; wanted "
            "all of them or none",
            (long long)start, (long long)(start + channels - 1));
    return ROTARY_OK;
}

static rotary_status check_shared_keys(const rotary_attention_config *config, rotary_error *error)
{
    if (!config->key_is_value)
        return check_value_channels(config, error);
    if (config->value_rope && config->value_rope != config->rope)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "value_rope is not rope, and keys are the values; wanted the same plan, or NULL");
    if (config->rope && rotary_rope_keys_grow(config->rope))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "keys are the values, and rope multiplies keys by an attention factor of %g or by xPos's "
            "magnitudes; wanted a rotation alone",
            rotary_rope_attention_factor(config->rope));
    return check_value_channels(config, error);
}

/* What rope rotates of all that may be; value_rope rotates the rest. */
static unsigned rotated_by_rope(const rotary_attention_config *config)
{
    unsigned query_key = ROTARY_ROTATE_QUERY | ROTARY_ROTATE_KEY;
    return config->key_is_value ? query_key | ROTARY_ROTATE_VALUE : query_key;
}

static rotary_status check_rotate(const rotary_attention_config *config, rotary_error *error)
{
    unsigned rotate = config->rotate, by_rope = rotate & rotated_by_rope(config);
    if (rotate > ALL_ROTATED)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "rotate is %u; wanted a sum of some rotary_attention_rotate, at most %d, or 0",
                           rotate, (int)ALL_ROTATED);
    const char *missing = by_rope && !config->rope                  ? "rope"
                          : rotate > by_rope && !config->value_rope ? "value_rope"
                                                                    : NULL;
    if (missing)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "rotate is %u, and there is no %s; wanted a plan for all that is rotated", rotate,
                           missing);
    if (rotate && !(rotate & ROTARY_ROTATE_QUERY) && config->rope && rotary_rope_queries_differ(config->rope))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "rotate is %u, and rope has magnitudes of queries alone; wanted ROTARY_ROTATE_QUERY "
            "in it, or no xpos_scale and no query_scale_beta",
            rotate);
    return ROTARY_OK;
}

/* What is rotated; keys that are values count as keys. */
static unsigned rotated_of(const rotary_attention_config *config)
{
    const unsigned by_rope = rotated_by_rope(config);
    unsigned rotated = (config->rope ? by_rope : 0) | (config->value_rope ? ALL_ROTATED & ~by_rope : 0);
    if (config->rotate)
        rotated &= config->rotate;
    if (config->key_is_value && (rotated & ROTARY_ROTATE_VALUE))
        rotated = (rotated | ROTARY_ROTATE_KEY) & ~(unsigned)ROTARY_ROTATE_VALUE;
    return rotated;
}

static rotary_status check_config(rotary_attention_config *config, rotary_error *error)
{
    rotary_status status = check_heads(config, error);
    if (status)
        return status;
    if (config->dtype != ROTARY_F32 && config->dtype != ROTARY_F16 && config->dtype != ROTARY_BF16)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "dtype is %d; wanted f32, f16 or bf16",
                           (int)config->dtype);
    if (!isfinite(config->scale) || config->scale < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "scale is %g; wanted a finite number above 0, or 0 for 1 / sqrt(head_dim)",
                           (double)config->scale);
    if (!isfinite(config->softcap) || config->softcap < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "softcap is %g; wanted a finite number above 0, or 0 for none",
                           (double)config->softcap);
    if (config->window < 0 || (config->window > 0 && !config->causal))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "window is %lld%s; wanted %s",
                           (long long)config->window, config->window > 0 ? " without causal" : "",
                           config->window > 0 ? "causal with it" : "1 or more, or 0 for all positions");
    status = check_rope("rope", config->rope, config->head_dim, error);
    if (!status)
        status = check_rope("value_rope", config->value_rope, config->head_dim, error);
    if (!status)
        status = check_shared_keys(config, error);
    if (!status)
        status = check_rotate(config, error);
    if (status)
        return status;
    status = rotary_check_threads(config->threads, error);
    return status ? status : rotary_isa_resolve(&config->isa, error);
}

rotary_status rotary_attention_create(rotary_attention **created, const rotary_attention_config *given,
                                      rotary_error *error)
{
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    rotary_status status = rotary_copy_sized(&config, sizeof config, given, "rotary_attention_config", error);
    if (!status)
        status = check_config(&config, error);
    if (status)
        return status;

    rotary_attention *attention = calloc(1, sizeof *attention);
    if (!attention)
        return rotary_fail_memory(error, "for an attention plan");
    attention->heads = config.heads;
    attention->key_value_heads = config.key_value_heads;
    attention->head_dim = config.head_dim;
    attention->dtype = config.dtype;
    attention->scale = config.scale > 0 ? config.scale : (float)(1 / sqrt((double)config.head_dim));
    if (config.softcap > 0)
        attention->softcap = fmaxf(fminf(config.softcap, MAX_SOFTCAP), MIN_SOFTCAP);
    attention->causal = config.causal;
    attention->key_is_value = config.key_is_value;
    attention->value_start = config.value_start;
    attention->value_channels = config.value_channels < config.head_dim ? config.value_channels : 0;
    attention->window = config.window < MAX_WINDOW ? config.window : MAX_WINDOW;
    attention->rope = config.rope;
    attention->value_rope = config.value_rope;
    attention->rotated = rotated_of(&config);
    for (int role = 0; role < ROTARY_ROLES; role++)
        attention->rows[role] = (enum rotary_rope_role)role;
    if (config.rope && !rotary_rope_queries_differ(config.rope))
        attention->rows[ROTARY_ROLE_KEY] = ROTARY_ROLE_QUERY;
    if (config.rope && config.value_rope && rotary_rope_values_alike(config.rope, config.value_rope))
        attention->rows[ROTARY_ROLE_VALUE] = ROTARY_ROLE_QUERY;
    attention->threads = config.threads ? config.threads : rotary_processors();
    attention->kernels = rotary_attention_kernels(config.isa, config.dtype);
    *created = attention;
    return ROTARY_OK;
}

void rotary_attention_destroy(rotary_attention *attention)
{
    free(attention);
}

rotary_attention_problem rotary_attention_problem_of(const rotary_attention *attention)
{
    return (rotary_attention_problem){
        .heads = attention->heads,
        .key_value_heads = attention->key_value_heads,
        .head_dim = attention->head_dim,
        .dtype = attention->dtype,
        .causal = attention->causal,
        .key_is_value = attention->key_is_value,
        .value_start = attention->value_start,
        .value_channels = attention->value_channels,
        .window = attention->window,
        .scale = attention->scale,
        .softcap = attention->softcap,
    };
}
