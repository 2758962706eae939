/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverse frequencies (radians per position) of every scaling, and its attention and softmax factors. w is
 * base^-exponent, s the factor, L0 the context length before scaling, d the rotary dimension, or, with
 * ROTARY_AXES_SEPARATE, that of the pair's section.
 *
 * With angles_f32 the result of each operation is rounded to f32 where Hugging Face's code has f32 tensors.
 * (An operation on f32 numbers in double, rounded to f32, gives the result of f32 arithmetic.)
 */
#include "rope/rope_plan.h"

#include <math.h>

static double rounded(const rotary_rope_config *config, double value)
{
    return config->angles_f32 ? (double)(float)value : value;
}

static long double exponent_of(const rotary_rope_config *config, int64_t pair)
{
    struct rotary_pair_index index = rotary_rope_pair_index(config, pair);
    return (long double)index.pair / (long double)index.pairs;
}

static double dim_of(const rotary_rope_config *config, int64_t pair)
{
    return 2.0 * (double)rotary_rope_pair_index(config, pair).pairs;
}

/* base^exponent: the wavelength of a pair over 2 pi. */
static double period(const rotary_rope_config *config, double base, int64_t pair)
{
    long double exponent = exponent_of(config, pair);
    if (config->angles_f32)
        return (double)(float)pow((double)(float)base, (double)(float)exponent);
    return (double)powl((long double)base, exponent);
}

static double formula(const rotary_rope_config *config, double base, int64_t pair)
{
    if (config->angles_f32)
        return rounded(config, 1.0 / period(config, base, pair));
    return (double)powl((long double)base, -exponent_of(config, pair));
}

static double plain(const rotary_rope_config *config, int64_t pair)
{
    if (config->inverse_frequencies)
        return rounded(config, config->inverse_frequencies[pair]);
    return formula(config, config->base, pair);
}

/* w with a base that divides the lowest frequency by `stretch` and keeps the highest. A section with one pair
 * has only the highest. */
static double ntk(const rotary_rope_config *config, double stretch, int64_t pair)
{
    double dim = dim_of(config, pair);
    return formula(config, dim > 2.0 ? config->base * pow(stretch, dim / (dim - 2.0)) : config->base, pair);
}

/* vLLM's: the base times s, and every frequency divided by s^(2/d). */
static double vllm_ntk(const rotary_rope_config *config, int64_t pair)
{
    double s = config->factor, dim = dim_of(config, pair);
    return rounded(config, formula(config, config->base * s, pair) / pow(s, 2.0 / dim));
}

static double dynamic_stretch(const rotary_rope_config *config)
{
    double s = config->factor, original = (double)config->original_positions;
    double length = (double)config->sequence_length;
    if (config->compat == ROTARY_COMPAT_VLLM) /* vLLM has one table, for the greatest length */
        length = s * original;
    if (length < original)
        length = original;
    /* s L/L0 - (s - 1), in a form that is exactly 1 at L0 for any s */
    return 1.0 + s * (length - original) / original;
}

struct ramp {
    double low, high; /* pairs up to low keep their frequency; from high on it is divided by s */
};

/* The pair, as a real number, that makes `rotations` rotations in L0 positions. */
static double pair_with_rotations(const rotary_rope_config *config, double dim, double rotations)
{
    double original = (double)config->original_positions;
    return dim * log(original / (rotations * 2.0 * M_PI)) / (2.0 * log(config->base));
}

static struct ramp yarn_ramp(const rotary_rope_config *config, double dim)
{
    struct ramp ramp = {pair_with_rotations(config, dim, config->beta_fast),
                        pair_with_rotations(config, dim, config->beta_slow)};
    if (config->truncate || config->compat == ROTARY_COMPAT_GGML)
        ramp = (struct ramp){floor(ramp.low), ceil(ramp.high)};
    ramp.low = fmax(ramp.low, 0.0);
    ramp.high = fmin(ramp.high, dim - 1.0);
    if (ramp.low == ramp.high)
        ramp.high += 0.001;
    return ramp;
}

static double yarn(const rotary_rope_config *config, int64_t pair)
{
    struct ramp ramp = yarn_ramp(config, dim_of(config, pair));
    double distance = (double)rotary_rope_pair_index(config, pair).pair - ramp.low;
    double ramp_position = rounded(config, rounded(config, distance) / rounded(config, ramp.high - ramp.low));
    double kept = rounded(config, 1.0 - fmin(fmax(ramp_position, 0.0), 1.0));
    double w = plain(config, pair);
    double slow =
        config->angles_f32
            ? rounded(config, 1.0 / rounded(config, config->factor * period(config, config->base, pair)))
            : w / config->factor;
    return rounded(config, rounded(config, slow * rounded(config, 1.0 - kept)) + rounded(config, w * kept));
}

static bool longrope_is_long(const rotary_rope_config *config)
{
    bool configured = config->compat == ROTARY_COMPAT_VLLM || config->compat == ROTARY_COMPAT_GGML;
    return (configured ? config->max_positions : config->sequence_length) > config->original_positions;
}

/* Transformers' code of Phi-3.5-MoE, the only models with a magnitude for each list, changes the magnitude
 * beyond L0 and keeps the short list. */
static bool longrope_keeps_short(const rotary_rope_config *config)
{
    return config->compat == ROTARY_COMPAT_HUGGINGFACE && config->long_attention_factor > 0;
}

static double longrope(const rotary_rope_config *config, int64_t pair)
{
    bool is_long = longrope_is_long(config) && !longrope_keeps_short(config);
    const double *factors = is_long ? config->long_factors : config->short_factors;
    if (!config->angles_f32)
        return plain(config, pair) / factors[pair];
    return rounded(
        config, 1.0 / rounded(config, rounded(config, factors[pair]) * period(config, config->base, pair)));
}

static double llama3(const rotary_rope_config *config, int64_t pair)
{
    double w = plain(config, pair), original = (double)config->original_positions;
    double wavelength = rounded(config, 2.0 * M_PI / w), slow = rounded(config, w / config->factor);
    double low = config->low_frequency_factor, high = config->high_frequency_factor;
    if (wavelength > original / low)
        return slow;
    if (wavelength < original / high || low == high) /* without a range between them there is no ramp */
        return w;
    double smooth =
        rounded(config, rounded(config, rounded(config, original / wavelength) - low) / (high - low));
    double blended = rounded(config, rounded(config, 1.0 - smooth) * slow);
    return rounded(config, blended + rounded(config, smooth * w));
}

static double proportional(const rotary_rope_config *config, int64_t pair)
{
    struct rotary_pair_index index = rotary_rope_pair_index(config, pair);
    bool rotates = (double)index.pair < floor(config->rotary_fraction * (double)index.pairs);
    return rotates ? rounded(config, plain(config, pair) / config->factor) : 0.0;
}

static double scaled(const rotary_rope_config *config, int64_t pair)
{
    switch (config->scaling) {
    case ROTARY_SCALING_LINEAR:
        return rounded(config, plain(config, pair) / config->factor);
    case ROTARY_SCALING_NTK:
        return config->compat == ROTARY_COMPAT_VLLM ? vllm_ntk(config, pair)
                                                    : ntk(config, config->factor, pair);
    case ROTARY_SCALING_DYNAMIC_NTK:
        return ntk(config, dynamic_stretch(config), pair);
    case ROTARY_SCALING_YARN:
        return yarn(config, pair);
    case ROTARY_SCALING_LONGROPE:
        return longrope(config, pair);
    case ROTARY_SCALING_LLAMA3:
        return llama3(config, pair);
    case ROTARY_SCALING_PROPORTIONAL:
        return proportional(config, pair);
    default:
        return plain(config, pair);
    }
}

/* YaRN's get_mscale(s, k). */
static double yarn_magnitude(double s, double k)
{
    return s <= 1.0 ? 1.0 : 0.1 * k * log(s) + 1.0;
}

static double yarn_attention_factor(const rotary_rope_config *config)
{
    double s = config->factor, given = config->attention_factor;
    if (config->compat == ROTARY_COMPAT_GGML) /* multiplies the given factor; below 1 for s < 1 */
        return (given > 0 ? given : 1.0) * (1.0 + 0.1 * log(s));
    if (given > 0 && config->compat != ROTARY_COMPAT_VLLM)
        return given;
    if (config->mscale > 0 && config->mscale_all_dim > 0)
        return yarn_magnitude(s, config->mscale) / yarn_magnitude(s, config->mscale_all_dim);
    return yarn_magnitude(s, 1.0);
}

static double attention_factor(const rotary_rope_config *config)
{
    double s = config->factor;
    if (config->scaling == ROTARY_SCALING_YARN)
        return yarn_attention_factor(config);
    bool longrope = config->scaling == ROTARY_SCALING_LONGROPE;
    double list_factor =
        longrope_is_long(config) ? config->long_attention_factor : config->short_attention_factor;
    if (longrope && list_factor > 0)
        return list_factor;
    if (config->attention_factor > 0)
        return config->attention_factor;
    if (longrope && s > 1.0)
        return sqrt(1.0 + log(s) / log((double)config->original_positions));
    return 1.0;
}

static double softmax_factor(const rotary_rope_config *config)
{
    if (config->scaling != ROTARY_SCALING_YARN || config->mscale_all_dim == 0)
        return 1.0;
    double magnitude = yarn_magnitude(config->factor, config->mscale_all_dim);
    return magnitude * magnitude;
}

void rotary_rope_set_factors(rotary_rope *rope, const rotary_rope_config *config)
{
    rope->attention_factor = attention_factor(config);
    rope->softmax_factor = softmax_factor(config);
}

void rotary_rope_set_frequencies(rotary_rope *rope, const rotary_rope_config *config)
{
    double dim = (double)config->rotary_dim;
    for (int axis = 0; axis < ROTARY_MAX_AXES; axis++) {
        double pairs = rope->axes_restart ? (double)config->sections[axis] : dim / 2.0;
        rope->ratio[axis] = (float)pow(config->base, -1.0 / pairs);
    }
    for (int64_t pair = 0; pair < rope->pairs; pair++) {
        double w = scaled(config, pair);
        if (config->pair_factors)
            w = rounded(config, w / config->pair_factors[pair]);
        rope->inverse_frequency[pair] = w;
        if (rope->frequency_scale)
            rope->frequency_scale[pair] = w == 0.0 ? 0.0f : (float)(w / formula(config, config->base, pair));
        rope->axis[pair] = (uint8_t)rotary_rope_axis_of(config, pair);
        if (rope->xpos_growth)
            rope->xpos_growth[pair] =
                log((2.0 * (double)pair + 0.4 * dim) / (1.4 * dim)) / config->xpos_scale;
    }
}
