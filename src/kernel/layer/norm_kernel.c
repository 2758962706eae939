/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms fused with the residual sum and dropout before them. A row is read from memory once: it stays in the
 * first-level cache for the passes over it.
 */
#include "kernel/layer/layer_variant.h"

typedef uint64_t vwide __attribute__((vector_size(LANES * 4)));

INLINE vwide multiply_even(vuint a, uint32_t factor)
{
#if defined(__AVX512F__)
    return (vwide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi32((int)factor));
#elif defined(__AVX2__)
    return (vwide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi32((int)factor));
#else
    return ((vwide)a & 0xffffffffu) * factor;
#endif
}

INLINE void multiply_wide(vuint *high, vuint *low, vuint a, uint32_t factor)
{
    vwide even = multiply_even(a, factor), odd = multiply_even((vuint)((vwide)a >> 32), factor);
    *low = (vuint)((even & 0xffffffffu) | odd << 32);
    *high = (vuint)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
}

/* LANES blocks of Philox-4x32-10 at once (base/random.c says what it is). */
INLINE void philox(vuint words[4], struct rotary_random_key key, uint32_t row, uint32_t first_block)
{
    vuint c0 = (vuint)v_lanes() + first_block, c1 = (vuint){0} + row, c2 = (vuint){0} + key.stream,
          c3 = (vuint){0} + key.step;
    uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
    for (int round = 0; round < 10; round++) {
        vuint high0, low0, high1, low1;
        multiply_wide(&high0, &low0, c0, 0xD2511F53u);
        multiply_wide(&high1, &low1, c2, 0xCD9E8D57u);
        c0 = high1 ^ c1 ^ k0;
        c2 = high0 ^ c3 ^ k1;
        c1 = low1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

void ROTARY_KERNEL(layer_mask_factors)(const struct layer_mask *mask, int64_t row, int64_t group,
                                       float factors[MASK_GROUP])
{
    enum { BLOCKS = MASK_GROUP / 4 };
    for (int block = 0; block < BLOCKS; block += LANES) {
        vuint words[4];
        philox(words, mask->key, (uint32_t)row, (uint32_t)(group * BLOCKS + block));
        for (int word = 0; word < 4; word++) {
            vint kept = (vint)(words[word] >= ((vuint){0} + mask->threshold));
            v_store(factors + word * BLOCKS + block, (vfloat)(kept & (vint)v_set(mask->scale)));
        }
    }
}

/* sum = residual + mask(branch) of a row; gives the sum over the row. */
INLINE float add_residual(const struct layer_norm_forward *work, rotary_dtype storage, int64_t row)
{
    const float *residual = work->residual + row * work->width;
    const void *sublayer_output = row_of(storage, work->sublayer_output, row, work->sublayer_output_stride);
    float *residual_sum = work->residual_sum + row * work->width;
    float factors[MASK_GROUP];
    vfloat total = {0};
    for (int64_t i = 0; i < work->width; i += LANES) {
        int64_t lanes = remaining_lanes(i, work->width);
        vfloat added = load(storage, sublayer_output, i, lanes);
        if (work->mask.threshold)
            added *= mask_factor(&work->mask, work->first + row, i, factors);
        vfloat x = load_f32(residual, i, lanes) + added;
        store_f32(residual_sum, i, x, lanes);
        total += x;
    }
    return v_sum(total);
}

static float row_sum(const float *x, int64_t width)
{
    vfloat total = {0};
    for (int64_t i = 0; i < width; i += LANES)
        total += load_f32(x, i, remaining_lanes(i, width));
    return v_sum(total);
}

static float squared_deviations(const float *x, int64_t width, float mean)
{
    vfloat total = {0};
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t lanes = remaining_lanes(i, width);
        vfloat deviation = load_f32(x, i, lanes) - v_set(mean);
        if (lanes < LANES)
            deviation = (vfloat)(first_lanes(lanes) & (vint)deviation);
        total = v_fma(deviation, deviation, total);
    }
    return v_sum(total);
}

INLINE void forward(const struct layer_norm_forward *work, rotary_dtype storage)
{
    for (int64_t row = 0; row < work->rows; row++) {
        const float *x = work->residual + row * work->width;
        float total = 0.0f;
        if (work->sublayer_output) {
            total = add_residual(work, storage, row);
            x = work->residual_sum + row * work->width;
        } else if (!work->rms) {
            total = row_sum(x, work->width);
        }
        float mean = work->rms ? 0.0f : total / (float)work->width;
        float variance = squared_deviations(x, work->width, mean) / (float)work->width;
        float rstd = 1.0f / __builtin_sqrtf(variance + work->epsilon);
        void *normalised = mutable_row(storage, work->normalised, row, work->normalised_stride);
        for (int64_t i = 0; i < work->width; i += LANES) {
            int64_t lanes = remaining_lanes(i, work->width);
            vfloat y = (load_f32(x, i, lanes) - v_set(mean)) * v_set(rstd) * load_f32(work->gain, i, lanes);
            if (work->bias)
                y += load_f32(work->bias, i, lanes);
            store(storage, normalised, i, y, lanes);
            if (work->normalised_f32)
                store_f32(work->normalised_f32 + row * work->width, i, y, lanes);
        }
        if (work->mean) {
            work->mean[row] = mean;
            work->rstd[row] = rstd;
        }
    }
}

void ROTARY_KERNEL(layer_norm_forward)(const struct layer_norm_forward *work)
{
    if (work->storage == ROTARY_BF16)
        forward(work, ROTARY_BF16);
    else
        forward(work, ROTARY_F32);
}

INLINE vfloat d_output(const struct layer_norm_backward *work, rotary_dtype storage, int64_t row, int64_t i,
                       int64_t lanes)
{
    vfloat d = {0};
    if (work->d_normalised)
        d = load(storage, row_of(storage, work->d_normalised, row, work->d_normalised_stride), i, lanes);
    if (work->d_normalised_f32)
        d += load_f32(work->d_normalised_f32 + row * work->width, i, lanes);
    return d;
}

INLINE void backward(const struct layer_norm_backward *work, rotary_dtype storage)
{
    int64_t width = work->width;
    for (int64_t row = 0; row < work->rows; row++) {
        const float *residual_sum = work->residual_sum + row * width;
        float *d_residual = work->d_residual + row * width;
        vfloat mean = v_set(work->mean[row]), rstd = v_set(work->rstd[row]);
        vfloat total_g = {0}, total_gx = {0};
        for (int64_t i = 0; i < width; i += LANES) {
            int64_t lanes = remaining_lanes(i, width);
            vfloat d = d_output(work, storage, row, i, lanes);
            vfloat x = (load_f32(residual_sum, i, lanes) - mean) * rstd;
            vfloat g = d * load_f32(work->gain, i, lanes);
            total_g += g;
            total_gx = v_fma(g, x, total_gx);
            store_f32(work->d_gain, i, v_fma(d, x, load_f32(work->d_gain, i, lanes)), lanes);
            if (work->d_bias)
                store_f32(work->d_bias, i, d + load_f32(work->d_bias, i, lanes), lanes);
        }
        vfloat mean_g = v_set(work->rms ? 0.0f : v_sum(total_g) / (float)width);
        vfloat mean_gx = v_set(v_sum(total_gx) / (float)width);
        void *d_sublayer_output = work->d_sublayer_output ? mutable_row(storage, work->d_sublayer_output, row,
                                                                        work->d_sublayer_output_stride)
                                                          : NULL;
        float factors[MASK_GROUP];
        for (int64_t i = 0; i < width; i += LANES) {
            int64_t lanes = remaining_lanes(i, width);
            vfloat x = (load_f32(residual_sum, i, lanes) - mean) * rstd;
            vfloat g = d_output(work, storage, row, i, lanes) * load_f32(work->gain, i, lanes);
            vfloat d = rstd * (g - mean_g - x * mean_gx);
            if (work->accumulate)
                d += load_f32(d_residual, i, lanes);
            store_f32(d_residual, i, d, lanes);
            if (d_sublayer_output && work->mask.threshold)
                d *= mask_factor(&work->mask, work->first + row, i, factors);
            if (d_sublayer_output)
                store(storage, d_sublayer_output, i, d, lanes);
        }
    }
}

void ROTARY_KERNEL(layer_norm_backward)(const struct layer_norm_backward *work)
{
    if (work->storage == ROTARY_BF16)
        backward(work, ROTARY_BF16);
    else
        backward(work, ROTARY_F32);
}
