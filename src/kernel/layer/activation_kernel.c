/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations and their derivatives, and conversion between f32 and the storage type.
 */
#include "kernel/layer/layer_variant.h"

/* Cumulative distribution and density of the normal distribution, by Abramowitz and Stegun 1964,
 * formula 7.1.26, with an absolute error of at most 1.5e-7 / 2. */
INLINE void normal(vfloat x, vfloat *cumulative, vfloat *density)
{
    vfloat magnitude = v_max(x, -x) * v_set(0.70710678f);
    vfloat t = v_set(1.0f) / v_fma(v_set(0.3275911f), magnitude, v_set(1.0f));
    vfloat e = v_exp_to_88(v_set(-0.5f) * x * x);
    vfloat p = v_set(1.061405429f);
    p = v_fma(p, t, v_set(-1.453152027f));
    p = v_fma(p, t, v_set(1.421413741f));
    p = v_fma(p, t, v_set(-0.284496736f));
    p = v_fma(p, t, v_set(0.254829592f));
    vfloat tail = v_set(0.5f) * p * t * e;
    *cumulative = v_select(x < v_set(0.0f), tail, v_set(1.0f) - tail);
    *density = e * v_set(0.39894228f);
}

/* e^x / (1 + e^x), from e^-|x|, which does not overflow. */
INLINE vfloat sigmoid(vfloat x)
{
    const vfloat one = v_set(1.0f);
    vfloat e = v_exp_to_88(-v_max(x, -x));
    return v_select(x < v_set(0.0f), e, one) / (one + e);
}

/* What gelu_tanh gives to the sigmoid, and its derivative. */
INLINE vfloat gelu_argument(vfloat x, vfloat *slope)
{
    const vfloat two_root = v_set(1.59576912f),
                 cubic = v_set(0.0713548163f); /* 2 sqrt(2 / pi), 0.044715 of it */
    vfloat square = x * x;
    *slope = v_fma(v_set(3.0f) * cubic, square, two_root);
    return x * v_fma(cubic, square, two_root);
}

/* x sigmoid(argument), where the argument may overflow. */
INLINE vfloat gelu_tanh(vfloat x)
{
    vfloat slope, argument = gelu_argument(x, &slope);
    return x * sigmoid(argument);
}

INLINE vfloat gelu_tanh_derivative(vfloat x)
{
    const vfloat zero = v_set(0.0f), one = v_set(1.0f);
    vfloat slope, argument = gelu_argument(x, &slope), s = sigmoid(argument), change = s * (one - s);
    /* Far from 0 the sigmoid no longer changes; its slope may be infinite there. */
    return v_select(change > zero, v_fma(x * change, slope, s), s);
}

INLINE vfloat activated(enum layer_activation kind, vfloat x)
{
    if (kind == LAYER_RELU)
        return v_max(v_set(0.0f), x); /* NaN stays NaN */
    if (kind == LAYER_SILU)
        return x * sigmoid(x);
    if (kind == LAYER_GELU_TANH)
        return gelu_tanh(x);
    if (kind == LAYER_TANH)
        return v_tanh(x);
    vfloat cumulative, density;
    normal(x, &cumulative, &density);
    return x * cumulative;
}

INLINE vfloat derivative(enum layer_activation kind, vfloat saved)
{
    if (kind == LAYER_RELU)
        return v_select(saved > v_set(0.0f), v_set(1.0f), v_set(0.0f));
    if (kind == LAYER_SILU) {
        vfloat s = sigmoid(saved);
        return s * v_fma(saved, v_set(1.0f) - s, v_set(1.0f));
    }
    if (kind == LAYER_GELU_TANH)
        return gelu_tanh_derivative(saved);
    if (kind == LAYER_TANH) {
        vfloat t = v_tanh(saved);
        return v_fma(-t, t, v_set(1.0f));
    }
    vfloat cumulative, density;
    normal(saved, &cumulative, &density);
    return v_fma(saved, density, cumulative);
}

INLINE void activate(enum layer_activation kind, rotary_dtype storage, void *out, const void *in,
                     int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        store(storage, out, i, activated(kind, load(storage, in, i, lanes)), lanes);
    }
}

INLINE void activate_backward(enum layer_activation kind, rotary_dtype storage, void *d_in, void *out,
                              const void *d_out, const void *saved, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        vfloat x = load(storage, saved, i, lanes), d = load(storage, d_out, i, lanes) * derivative(kind, x);
        store(storage, d_in, i, d, lanes);
        if (out)
            store(storage, out, i, activated(kind, x), lanes);
    }
}

INLINE void activate_of(enum layer_activation kind, rotary_dtype storage, void *out, const void *in,
                        int64_t count)
{
    if (storage == ROTARY_BF16)
        activate(kind, ROTARY_BF16, out, in, count);
    else
        activate(kind, ROTARY_F32, out, in, count);
}

INLINE void activate_backward_of(enum layer_activation kind, rotary_dtype storage, void *d_in, void *out,
                                 const void *d_out, const void *saved, int64_t count)
{
    if (storage == ROTARY_BF16)
        activate_backward(kind, ROTARY_BF16, d_in, out, d_out, saved, count);
    else
        activate_backward(kind, ROTARY_F32, d_in, out, d_out, saved, count);
}

void ROTARY_KERNEL(layer_activate)(enum layer_activation kind, rotary_dtype storage, void *out,
                                   const void *in, int64_t count)
{
    switch (kind) {
    case LAYER_RELU:
        activate_of(LAYER_RELU, storage, out, in, count);
        break;
    case LAYER_GELU:
        activate_of(LAYER_GELU, storage, out, in, count);
        break;
    case LAYER_SILU:
        activate_of(LAYER_SILU, storage, out, in, count);
        break;
    case LAYER_GELU_TANH:
        activate_of(LAYER_GELU_TANH, storage, out, in, count);
        break;
    case LAYER_TANH:
        activate_of(LAYER_TANH, storage, out, in, count);
        break;
    }
}

void ROTARY_KERNEL(layer_activate_backward)(enum layer_activation kind, rotary_dtype storage, void *d_in,
                                            void *out, const void *d_out, const void *saved, int64_t count)
{
    switch (kind) {
    case LAYER_RELU:
        activate_backward_of(LAYER_RELU, storage, d_in, out, d_out, saved, count);
        break;
    case LAYER_GELU:
        activate_backward_of(LAYER_GELU, storage, d_in, out, d_out, saved, count);
        break;
    case LAYER_SILU:
        activate_backward_of(LAYER_SILU, storage, d_in, out, d_out, saved, count);
        break;
    case LAYER_GELU_TANH:
        activate_backward_of(LAYER_GELU_TANH, storage, d_in, out, d_out, saved, count);
        break;
    case LAYER_TANH:
        activate_backward_of(LAYER_TANH, storage, d_in, out, d_out, saved, count);
        break;
    }
}

INLINE void gated(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                  const void *up, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        vfloat a = activated(kind, load(storage, gate, i, lanes));
        store(storage, out, i, a * load(storage, up, i, lanes), lanes);
    }
}

INLINE void gated_backward(enum layer_activation kind, rotary_dtype storage, void *d_gate, void *d_up,
                           void *out, const void *d_out, const void *gate, const void *up, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        vfloat d = load(storage, d_out, i, lanes), x = load(storage, gate, i, lanes),
               u = load(storage, up, i, lanes), a = activated(kind, x);
        store(storage, d_up, i, d * a, lanes);
        store(storage, d_gate, i, d * u * derivative(kind, x), lanes);
        if (out)
            store(storage, out, i, a * u, lanes);
    }
}

void ROTARY_KERNEL(layer_gated)(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                                const void *up, int64_t count)
{
    if (kind == LAYER_GELU_TANH)
        gated(LAYER_GELU_TANH, storage, out, gate, up, count);
    else
        gated(LAYER_SILU, storage, out, gate, up, count);
}

void ROTARY_KERNEL(layer_gated_backward)(enum layer_activation kind, rotary_dtype storage, void *d_gate,
                                         void *d_up, void *out, const void *d_out, const void *gate,
                                         const void *up, int64_t count)
{
    if (kind == LAYER_GELU_TANH)
        gated_backward(LAYER_GELU_TANH, storage, d_gate, d_up, out, d_out, gate, up, count);
    else
        gated_backward(LAYER_SILU, storage, d_gate, d_up, out, d_out, gate, up, count);
}

void ROTARY_KERNEL(layer_softcap)(float *x, int64_t count, float cap)
{
    const vfloat by = v_set(1.0f / cap);
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        store_f32(x, i, v_set(cap) * v_tanh(load_f32(x, i, lanes) * by), lanes);
    }
}

void ROTARY_KERNEL(layer_to_storage)(rotary_dtype storage, void *out, const float *in, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        store(storage, out, i, load_f32(in, i, lanes), lanes);
    }
}

void ROTARY_KERNEL(layer_from_storage)(rotary_dtype storage, float *out, const void *in, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        store_f32(out, i, load(storage, in, i, lanes), lanes);
    }
}
