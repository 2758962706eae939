/* SPDX-License-Identifier: Apache-2.0
 *
 * Validating a configuration. The other files rely on these checks.
 */
#include "base/fail.h"
#include "base/isa.h"
#include "base/threads.h"
#include "kernel/rope/rope_kernels.h"
#include "rope/rope_plan.h"

#include <math.h>

enum { MAX_HEAD_DIM = 1 << 20 };

static rotary_status wrong(rotary_error *error, const char *name, double got, const char *wanted)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is %g; wanted %s", name, got, wanted);
}

static rotary_status check_span(rotary_rope_config *config, rotary_error *error)
{
    long long head = config->head_dim, start = config->rotary_start;
    bool full_head = config->rotary_dim == 0;
    if (head < 2 || head > MAX_HEAD_DIM)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "head_dim is %lld; wanted 2 ... %d", head,
                           MAX_HEAD_DIM);
    if (full_head)
        config->rotary_dim = head;
    long long dim = config->rotary_dim;
    if (dim < 0 || dim > head)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "rotary_dim is %lld; wanted at most head_dim, %lld", dim, head);
    if (dim % 2 != 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "rotary_dim is %lld%s; wanted an even number, because channels are rotated in pairs", dim,
            full_head ? " (head_dim)" : "");
    if (start < 0 || start > head - dim)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "rotary_start is %lld; wanted 0 ... %lld, because %lld of %lld channels are rotated", start,
            head - dim, dim, head);
    return ROTARY_OK;
}

static rotary_status check_choices(rotary_rope_config *config, rotary_error *error)
{
    if ((unsigned)config->pairing >= ROTARY_PAIRINGS)
        return wrong(error, "pairing", config->pairing, "ROTARY_PAIRING_HALF or ROTARY_PAIRING_INTERLEAVED");
    if ((unsigned)config->scaling > ROTARY_SCALING_PROPORTIONAL)
        return wrong(error, "scaling", config->scaling, "one of rotary_scaling");
    if ((unsigned)config->compat > ROTARY_COMPAT_VLLM)
        return wrong(error, "compat", config->compat, "one of rotary_compat");
    if ((unsigned)config->axes > ROTARY_AXES_SEPARATE)
        return wrong(error, "axes", config->axes, "one of rotary_axes");
    if ((unsigned)config->table_dtype >= ROTARY_DTYPES)
        return wrong(error, "table_dtype", config->table_dtype, "f32, f16 or bf16");
    const int64_t pairs = config->rotary_dim / 2, positions = ROTARY_ROPE_MAX_TABLE / pairs;
    if (config->table_positions < 0 || config->table_positions > positions)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "table_positions is %lld; wanted 0 ... %lld for %lld pairs: those of other positions "
            "are computed in each call",
            (long long)config->table_positions, (long long)positions, (long long)pairs);
    rotary_status status = rotary_check_threads(config->threads, error);
    return status ? status : rotary_isa_resolve(&config->isa, error);
}

static rotary_status check_sections(const rotary_rope_config *config, rotary_error *error)
{
    if (config->axes == ROTARY_AXES_ONE)
        return ROTARY_OK;
    const int64_t *sections = config->sections;
    int64_t total = 0, pairs = config->rotary_dim / 2;
    for (int axis = 0; axis < ROTARY_MAX_AXES; axis++) {
        if (sections[axis] < 0 || sections[axis] > pairs)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "sections[%d] is %lld; wanted 0 ... %lld, the number of pairs", axis,
                               (long long)sections[axis], (long long)pairs);
        total += sections[axis];
    }
    if (total != pairs)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the sum of sections %lld, %lld, %lld, %lld is %lld; wanted rotary_dim / 2, %lld",
                           (long long)sections[0], (long long)sections[1], (long long)sections[2],
                           (long long)sections[3], (long long)total, (long long)pairs);
    if (config->axes == ROTARY_AXES_INTERLEAVED && sections[3] != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "sections[3] is %lld; wanted 0, because interleaved sections have three axes",
                           (long long)sections[3]);
    return ROTARY_OK;
}

static rotary_status check_list(const char *name, const double *list, int64_t pairs, bool above_zero,
                                rotary_error *error)
{
    for (int64_t pair = 0; list && pair < pairs; pair++)
        if (!isfinite(list[pair]) || (above_zero && list[pair] <= 0))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s[%lld] is %g; wanted a finite number%s",
                               name, (long long)pair, list[pair], above_zero ? " above 0" : "");
    return ROTARY_OK;
}

/* Whether a number is finite and above 0. */
static bool positive(double number)
{
    return number > 0 && isfinite(number);
}

/* Computes the factor or the original length from the other numbers if it is 0. */
static rotary_status complete_lengths(rotary_rope_config *config, rotary_error *error)
{
    if (config->original_positions < 0 || config->max_positions < 0 || config->sequence_length < 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "original_positions, max_positions and sequence_length are %lld, %lld and %lld; wanted none "
            "below 0",
            (long long)config->original_positions, (long long)config->max_positions,
            (long long)config->sequence_length);
    if (config->factor == 0 && config->scaling == ROTARY_SCALING_PROPORTIONAL)
        config->factor = 1;
    if (config->factor == 0 && config->original_positions > 0)
        config->factor = (double)config->max_positions / (double)config->original_positions;
    if (config->original_positions == 0)
        config->original_positions = config->max_positions;
    if (!positive(config->factor))
        return wrong(error, "factor", config->factor,
                     "a finite number above 0, or max_positions and original_positions");
    bool needs_length =
        config->scaling == ROTARY_SCALING_DYNAMIC_NTK || config->scaling == ROTARY_SCALING_YARN ||
        config->scaling == ROTARY_SCALING_LONGROPE || config->scaling == ROTARY_SCALING_LLAMA3;
    if (needs_length && config->original_positions == 0)
        return wrong(error, "original_positions", 0, "the context length before scaling");
    return ROTARY_OK;
}

static rotary_status check_ntk(const rotary_rope_config *config, rotary_error *error)
{
    if (config->rotary_dim == 2)
        return wrong(error, "rotary_dim", 2,
                     "at least 4, because NTK scaling raises to the power d / (d - 2)");
    if (config->scaling == ROTARY_SCALING_DYNAMIC_NTK && config->factor < 1)
        return wrong(error, "factor", config->factor, "at least 1 for dynamic NTK scaling");
    return ROTARY_OK;
}

static rotary_status check_yarn(const rotary_rope_config *config, rotary_error *error)
{
    if (!(config->base > 1))
        return wrong(error, "base", config->base, "more than 1, because YaRN divides by its logarithm");
    if (!positive(config->beta_fast) || !positive(config->beta_slow) || config->beta_fast < config->beta_slow)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "beta_fast is %g and beta_slow %g; wanted beta_fast >= beta_slow > 0",
                           config->beta_fast, config->beta_slow);
    if (!(config->mscale >= 0) || !(config->mscale_all_dim >= 0) ||
        !isfinite(config->mscale + config->mscale_all_dim))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "mscale is %g and mscale_all_dim %g; wanted finite numbers, or 0 if not used",
                           config->mscale, config->mscale_all_dim);
    return ROTARY_OK;
}

static rotary_status check_longrope(const rotary_rope_config *config, rotary_error *error)
{
    int64_t pairs = config->rotary_dim / 2;
    if (!config->short_factors || !config->long_factors)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is NULL; wanted a list of %lld factors",
                           config->short_factors ? "long_factors" : "short_factors", (long long)pairs);
    if (config->original_positions < 2)
        return wrong(error, "original_positions", (double)config->original_positions,
                     "at least 2, because LongRoPE divides by its logarithm");
    rotary_status status = check_list("short_factors", config->short_factors, pairs, true, error);
    return status ? status : check_list("long_factors", config->long_factors, pairs, true, error);
}

static rotary_status check_llama3(const rotary_rope_config *config, rotary_error *error)
{
    double low = config->low_frequency_factor, high = config->high_frequency_factor;
    if (!positive(low) || !positive(high) || high < low)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "low_frequency_factor is %g and high_frequency_factor %g; wanted 0 < low <= high",
                           low, high);
    return ROTARY_OK;
}

static rotary_status check_scaling(rotary_rope_config *config, rotary_error *error)
{
    if (config->scaling == ROTARY_SCALING_NONE)
        return ROTARY_OK;
    if (config->inverse_frequencies)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "inverse_frequencies are given and scaling is %d; wanted only one of the two",
                           (int)config->scaling);
    rotary_status status = complete_lengths(config, error);
    if (status)
        return status;
    switch (config->scaling) {
    case ROTARY_SCALING_NTK:
    case ROTARY_SCALING_DYNAMIC_NTK:
        return check_ntk(config, error);
    case ROTARY_SCALING_YARN:
        return check_yarn(config, error);
    case ROTARY_SCALING_LONGROPE:
        return check_longrope(config, error);
    case ROTARY_SCALING_LLAMA3:
        return check_llama3(config, error);
    case ROTARY_SCALING_PROPORTIONAL:
        if (!(config->rotary_fraction > 0 && config->rotary_fraction <= 1))
            return wrong(error, "rotary_fraction", config->rotary_fraction, "above 0 and at most 1");
        if (config->rotary_fraction * (double)(config->rotary_dim / 2) < 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "rotary_fraction is %g, which of %lld pairs rotates none; wanted more",
                               config->rotary_fraction, (long long)config->rotary_dim / 2);
        return ROTARY_OK;
    default:
        return ROTARY_OK;
    }
}

static rotary_status check_query_scale(const rotary_rope_config *config, rotary_error *error)
{
    if (config->query_scale_beta == 0)
        return ROTARY_OK;
    if (!positive(config->query_scale_beta))
        return wrong(error, "query_scale_beta", config->query_scale_beta, "a finite number above 0, or 0");
    if (!positive(config->query_scale_length))
        return wrong(error, "query_scale_length", config->query_scale_length, "a finite number above 0");
    if (!(fabs(config->query_scale_offset) <= 0x1p53))
        return wrong(error, "query_scale_offset", config->query_scale_offset,
                     "a finite number, of at most 2^53");
    if (config->rotary_dim == config->head_dim && config->axes == ROTARY_AXES_ONE)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "query_scale_beta is %g where %lld of %lld channels are rotated; wanted a rotation of the "
        "complete head, on one axis",
        config->query_scale_beta, (long long)config->rotary_dim, (long long)config->head_dim);
}

rotary_status rotary_rope_check_config(rotary_rope_config *config, rotary_error *error)
{
    rotary_status status = check_span(config, error);
    if (!status)
        status = check_choices(config, error);
    if (!status)
        status = rotary_rope_check_unread(config, error);
    if (!status && !positive(config->base))
        status = wrong(error, "base", config->base, "a finite number above 0");
    if (!status)
        status = check_sections(config, error);
    if (!status)
        status = check_scaling(config, error);
    int64_t pairs = config->rotary_dim / 2;
    if (!status)
        status = check_list("pair_factors", config->pair_factors, pairs, true, error);
    if (!status)
        status = check_list("inverse_frequencies", config->inverse_frequencies, pairs, false, error);
    const struct {
        const char *name;
        double value;
    } optional[] = {
        {"attention_factor", config->attention_factor},
        {"short_attention_factor", config->short_attention_factor},
        {"long_attention_factor", config->long_attention_factor},
        {"xpos_scale", config->xpos_scale},
    };
    for (int i = 0; i < 4 && !status; i++)
        if (optional[i].value != 0 && !positive(optional[i].value))
            status = wrong(error, optional[i].name, optional[i].value, "a finite number above 0, or 0");
    if (!status && !(fabs(config->xpos_origin) <= 0x1p53))
        status = wrong(error, "xpos_origin", config->xpos_origin, "a finite number, of at most 2^53");
    return status ? status : check_query_scale(config, error);
}
