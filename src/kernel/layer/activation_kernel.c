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

/* 1 / (1 + e^-x). For bf16 with a relative error of at most 1e-4, where that of a rounding is up to 4e-3: an
 * exponential of full accuracy takes longer than memory takes for the operands. */
INLINE vfloat sigmoid(rotary_dtype storage, vfloat x)
{
    const vfloat one = v_set(1.0f);
#if defined(__AVX512F__)
    if (storage == ROTARY_BF16)
        return one / (one + v_exp2_coarse(x * v_set(-0x1.715476p+0f)));
#endif
    (void)storage;
    vfloat e = v_exp_to_88(-v_max(x, -x)); /* does not overflow */
    return v_select(x < v_set(0.0f), e, one) / (one + e);
}

/* An activation at x and its derivative there. */
struct activated {
    vfloat value, slope;
};

INLINE struct activated silu(rotary_dtype storage, vfloat x)
{
    vfloat s = sigmoid(storage, x);
    return (struct activated){x * s, s * v_fma(x, v_set(1.0f) - s, v_set(1.0f))};
}

/* x sigmoid(argument), where the argument, and its slope, may overflow. */
INLINE struct activated gelu_tanh(rotary_dtype storage, vfloat x)
{
    const vfloat one = v_set(1.0f), two_root = v_set(1.59576912f),
                 cubic = v_set(0.0713548163f); /* 2 sqrt(2 / pi), 0.044715 of it */
    vfloat square = x * x, slope = v_fma(v_set(3.0f) * cubic, square, two_root),
           s = sigmoid(storage, x * v_fma(cubic, square, two_root)), change = s * (one - s);
    /* Far from 0 the sigmoid no longer changes; the slope of its argument may be infinite there. */
    return (struct activated){x * s, v_select(change > v_set(0.0f), v_fma(x * change, slope, s), s)};
}

/* What is not used of it is not computed. Of relu x may be the output instead, which has the same slope. */
INLINE struct activated activated(enum layer_activation kind, rotary_dtype storage, vfloat x)
{
    const vfloat zero = v_set(0.0f), one = v_set(1.0f);
    if (kind == LAYER_RELU) /* NaN stays NaN */
        return (struct activated){v_max(zero, x), v_select(x > zero, one, zero)};
    if (kind == LAYER_SILU)
        return silu(storage, x);
    if (kind == LAYER_GELU_TANH)
        return gelu_tanh(storage, x);
    if (kind == LAYER_TANH) {
        vfloat t = v_tanh(x);
        return (struct activated){t, v_fma(-t, t, one)};
    }
    vfloat cumulative, density;
    normal(x, &cumulative, &density);
    return (struct activated){x * cumulative, v_fma(x, density, cumulative)};
}

INLINE void activate(enum layer_activation kind, rotary_dtype storage, void *out, const void *in,
                     int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        store(storage, out, i, activated(kind, storage, load(storage, in, i, lanes)).value, lanes);
    }
}

INLINE void activate_backward(enum layer_activation kind, rotary_dtype storage, void *d_in, void *out,
                              const void *d_out, const void *saved, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        struct activated at = activated(kind, storage, load(storage, saved, i, lanes));
        store(storage, d_in, i, load(storage, d_out, i, lanes) * at.slope, lanes);
        if (out)
            store(storage, out, i, at.value, lanes);
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

/* Fetches element i of the next row of a matrix, which often begins another page: processors do not fetch ahead from
 * one page to the next. A row of gate | up has two rows of `count` elements. */
INLINE void fetch_next_row(rotary_dtype storage, const void *row, int64_t i, int64_t count)
{
    __builtin_prefetch(row_of(storage, row, i + count, 1));
}

INLINE void gated(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                  const void *up, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        fetch_next_row(storage, gate, i, 2 * count);
        fetch_next_row(storage, up, i, 2 * count);
        vfloat a = activated(kind, storage, load(storage, gate, i, lanes)).value;
        store(storage, out, i, a * load(storage, up, i, lanes), lanes);
    }
}

INLINE void gated_backward(enum layer_activation kind, rotary_dtype storage, void *d_gate, void *d_up,
                           void *out, const void *d_out, const void *gate, const void *up, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        fetch_next_row(storage, gate, i, 2 * count);
        fetch_next_row(storage, up, i, 2 * count);
        fetch_next_row(storage, d_out, i, count);
        vfloat d = load(storage, d_out, i, lanes), u = load(storage, up, i, lanes);
        struct activated at = activated(kind, storage, load(storage, gate, i, lanes));
        store(storage, d_up, i, d * at.value, lanes);
        store(storage, d_gate, i, d * u * at.slope, lanes);
        if (out)
            store(storage, out, i, at.value * u, lanes);
    }
}

INLINE void gated_of(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                     const void *up, int64_t count)
{
    if (storage == ROTARY_BF16)
        gated(kind, ROTARY_BF16, out, gate, up, count);
    else
        gated(kind, ROTARY_F32, out, gate, up, count);
}

INLINE void gated_backward_of(enum layer_activation kind, rotary_dtype storage, void *d_gate, void *d_up,
                              void *out, const void *d_out, const void *gate, const void *up, int64_t count)
{
    if (storage == ROTARY_BF16)
        gated_backward(kind, ROTARY_BF16, d_gate, d_up, out, d_out, gate, up, count);
    else
        gated_backward(kind, ROTARY_F32, d_gate, d_up, out, d_out, gate, up, count);
}

void ROTARY_KERNEL(layer_gated)(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                                const void *up, int64_t count)
{
    if (kind == LAYER_GELU_TANH)
        gated_of(LAYER_GELU_TANH, storage, out, gate, up, count);
    else
        gated_of(LAYER_SILU, storage, out, gate, up, count);
}

void ROTARY_KERNEL(layer_gated_backward)(enum layer_activation kind, rotary_dtype storage, void *d_gate,
                                         void *d_up, void *out, const void *d_out, const void *gate,
                                         const void *up, int64_t count)
{
    if (kind == LAYER_GELU_TANH)
        gated_backward_of(LAYER_GELU_TANH, storage, d_gate, d_up, out, d_out, gate, up, count);
    else
        gated_backward_of(LAYER_SILU, storage, d_gate, d_up, out, d_out, gate, up, count);
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
