/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation kernels, compiled once per variant. A vector of first channels and one of second channels are
 * rotated together; interleaved pairs are deinterleaved into such vectors on load and interleaved on store.
 */
#include "kernel/rope/rope_kernels.h"

#include "kernel/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* `count` channels from `at` on, at most a vector; the others are zero. */
INLINE vfloat load(const void *from, int64_t at, int64_t count, rotary_dtype dtype)
{
    const float *floats = (const float *)from + at;
    const uint16_t *halves = (const uint16_t *)from + at;
    if (count <= 0)
        return v_set(0.0f);
    switch (dtype) {
    case ROTARY_F16:
        return count >= LANES ? v_load_f16(halves) : v_load_part_f16(halves, count);
    case ROTARY_BF16:
        return count >= LANES ? v_load_bf16(halves) : v_load_part_bf16(halves, count);
    default:
        return count >= LANES ? v_load(floats) : v_load_part(floats, count);
    }
}

INLINE void store_floats(float *to, vfloat v, int64_t count)
{
    if (count >= LANES)
        v_store(to, v);
    else if (count > 0)
        v_store_part(to, v, count);
}

INLINE void store_f16(uint16_t *to, vfloat v, int64_t count)
{
    if (count >= LANES)
        v_store_f16(to, v);
    else if (count > 0)
        v_store_part_f16(to, v, count);
}

INLINE void store_bf16(uint16_t *to, vfloat v, int64_t count)
{
    if (count >= LANES)
        v_store_bf16(to, v);
    else if (count > 0)
        v_store_part_bf16(to, v, count);
}

INLINE void store(void *to, int64_t at, vfloat v, int64_t count, rotary_dtype dtype)
{
    if (dtype == ROTARY_F16)
        store_f16((uint16_t *)to + at, v, count);
    else if (dtype == ROTARY_BF16)
        store_bf16((uint16_t *)to + at, v, count);
    else
        store_floats((float *)to + at, v, count);
}

/* Prefetches elements BYTES_AHEAD bytes later: the hardware prefetcher does not follow the two halves of a
 * head as streams. Past the end of a tensor a prefetch does nothing. */
enum { BYTES_AHEAD = 6144 };

INLINE void fetch_ahead(const void *from, int64_t at, rotary_dtype dtype)
{
    intptr_t size = dtype == ROTARY_F32 ? 4 : 2;
    __builtin_prefetch((const void *)((intptr_t)from + at * size + BYTES_AHEAD));
}

struct pairs {
    vfloat first, second;
};

INLINE struct pairs rotated(struct pairs x, vfloat cosine, vfloat sine)
{
    return (struct pairs){.first = v_fma(x.first, cosine, -(x.second * sine)),
                          .second = v_fma(x.first, sine, x.second * cosine)};
}

/* `count` pairs, at most a vector of them, half-split. */
INLINE void rotate_half(const struct rotary_rope_tile *tile, int64_t from, int64_t to, const float *cosine,
                        const float *sine, int64_t count, rotary_dtype in, rotary_dtype out)
{
    fetch_ahead(tile->input, from, in);
    fetch_ahead(tile->input, from + tile->partner, in);
    struct pairs x = {.first = load(tile->input, from, count, in),
                      .second = load(tile->input, from + tile->partner, count, in)};
    struct pairs y = rotated(x, load(cosine, 0, count, ROTARY_F32), load(sine, 0, count, ROTARY_F32));
    store(tile->output, to, y.first, count, out);
    store(tile->output, to + tile->partner, y.second, count, out);
}

/* Rotates interleaved pairs. A pair of bf16 is as wide as an f32: it is loaded as one and split by shifts. */
INLINE void rotate_interleaved(const struct rotary_rope_tile *tile, int64_t from, int64_t to,
                               const float *cosine, const float *sine, int64_t count, rotary_dtype in,
                               rotary_dtype out)
{
    fetch_ahead(tile->input, from, in);
    fetch_ahead(tile->input, from + LANES, in);
    struct pairs x;
    vfloat c = load(cosine, 0, count, ROTARY_F32), s = load(sine, 0, count, ROTARY_F32);
    if (in == ROTARY_BF16 && out == ROTARY_BF16) {
        vint both = (vint)load((const uint16_t *)tile->input + from, 0, count, ROTARY_F32);
        v_deinterleave_bf16(both, &x.first, &x.second);
        x = rotated(x, c, s);
        store((uint16_t *)tile->output + to, 0, (vfloat)v_interleave_bf16(x.first, x.second), count,
              ROTARY_F32);
        return;
    }
    vfloat low = load(tile->input, from, 2 * count, in);
    vfloat high = load(tile->input, from + LANES, 2 * count - LANES, in);
    v_deinterleave(low, high, &x.first, &x.second);
    x = rotated(x, v_deinterleaved_order(c), v_deinterleaved_order(s));
    v_interleave(x.first, x.second, &low, &high);
    store(tile->output, to, low, 2 * count, out);
    store(tile->output, to + LANES, high, 2 * count - LANES, out);
}

INLINE void rotate_pairs(const struct rotary_rope_tile *tile, rotary_pairing pairing, int64_t from,
                         int64_t to, const float *cosine, const float *sine, int64_t count, rotary_dtype in,
                         rotary_dtype out)
{
    if (pairing == ROTARY_PAIRING_HALF)
        rotate_half(tile, from, to, cosine, sine, count, in, out);
    else
        rotate_interleaved(tile, from, to, cosine, sine, count, in, out);
}

/* `count` pairs from `pair` on, at most a vector, in every head of a token. */
INLINE void rotate_heads(const struct rotary_rope_tile *tile, rotary_pairing pairing, int64_t time,
                         int64_t pair, int64_t count, rotary_dtype in, rotary_dtype out)
{
    const float *cosine = tile->cosine + time * tile->pairs + pair,
                *sine = tile->sine + time * tile->pairs + pair;
    const int64_t channel = pairing == ROTARY_PAIRING_HALF ? pair : 2 * pair;
    int64_t from = time * tile->input_time_stride + channel, to = time * tile->output_time_stride + channel;
    for (int64_t head = 0; head < tile->heads; head++) {
        rotate_pairs(tile, pairing, from, to, cosine, sine, count, in, out);
        from += tile->input_head_stride;
        to += tile->output_head_stride;
    }
}

/* Every full vector of pairs, head by head. */
INLINE void rotate_token(const struct rotary_rope_tile *tile, rotary_pairing pairing, int64_t time,
                         rotary_dtype in, rotary_dtype out)
{
    const int64_t step = pairing == ROTARY_PAIRING_HALF ? 1 : 2;
    const float *cosine = tile->cosine + time * tile->pairs, *sine = tile->sine + time * tile->pairs;
    int64_t from = time * tile->input_time_stride, to = time * tile->output_time_stride;
    for (int64_t head = 0; head < tile->heads; head++) {
        for (int64_t pair = 0; pair + LANES <= tile->pairs; pair += LANES)
            rotate_pairs(tile, pairing, from + pair * step, to + pair * step, cosine + pair, sine + pair,
                         LANES, in, out);
        from += tile->input_head_stride;
        to += tile->output_head_stride;
    }
}

INLINE void rotate(const struct rotary_rope_tile *given, rotary_pairing pairing, rotary_dtype in,
                   rotary_dtype out)
{
    const struct rotary_rope_tile tile = *given; /* a copy, which no store can alias */
    const int64_t rest = tile.pairs % LANES;
    for (int64_t time = 0; time < tile.times; time++) {
        rotate_token(&tile, pairing, time, in, out);
        if (rest)
            rotate_heads(&tile, pairing, time, tile.pairs - rest, rest, in, out);
    }
}

INLINE void copy(const void *input, void *output, int64_t count, rotary_dtype in, rotary_dtype out)
{
    if (in == out)
        memcpy(output, input, (size_t)count * (in == ROTARY_F32 ? sizeof(float) : sizeof(uint16_t)));
    else
        for (int64_t at = 0; at < count; at += LANES)
            store(output, at, load(input, at, count - at, in), count - at, out);
}

/* One function for every pairing and pair of types, which are constants in it. */
#define INSTANCES(in, out)                                                                                   \
    static void rotate_half_##in##_##out(const struct rotary_rope_tile *tile)                                \
    {                                                                                                        \
        rotate(tile, ROTARY_PAIRING_HALF, ROTARY_##in, ROTARY_##out);                                        \
    }                                                                                                        \
    static void rotate_interleaved_##in##_##out(const struct rotary_rope_tile *tile)                         \
    {                                                                                                        \
        rotate(tile, ROTARY_PAIRING_INTERLEAVED, ROTARY_##in, ROTARY_##out);                                 \
    }                                                                                                        \
    static void copy_##in##_##out(const void *input, void *output, int64_t count)                            \
    {                                                                                                        \
        copy(input, output, count, ROTARY_##in, ROTARY_##out);                                               \
    }

/* clang-format off */
INSTANCES(F32, F32) INSTANCES(F32, F16) INSTANCES(F32, BF16)
INSTANCES(F16, F32) INSTANCES(F16, F16) INSTANCES(F16, BF16)
INSTANCES(BF16, F32) INSTANCES(BF16, F16) INSTANCES(BF16, BF16)

#define ALL_TYPES(function)                                                                                  \
    {                                                                                                        \
        [ROTARY_F32] = {[ROTARY_F32] = function##_F32_F32, [ROTARY_F16] = function##_F32_F16,                \
                        [ROTARY_BF16] = function##_F32_BF16},                                                \
        [ROTARY_F16] = {[ROTARY_F32] = function##_F16_F32, [ROTARY_F16] = function##_F16_F16,                \
                        [ROTARY_BF16] = function##_F16_BF16},                                                \
        [ROTARY_BF16] = {[ROTARY_F32] = function##_BF16_F32, [ROTARY_F16] = function##_BF16_F16,             \
                         [ROTARY_BF16] = function##_BF16_BF16},                                              \
    }
    /* clang-format on */

    extern const struct rotary_rope_kernels ROTARY_KERNEL(rotary_rope_kernels);
const struct rotary_rope_kernels ROTARY_KERNEL(rotary_rope_kernels) = {
    .rotate = {[ROTARY_PAIRING_HALF] = ALL_TYPES(rotate_half),
               [ROTARY_PAIRING_INTERLEAVED] = ALL_TYPES(rotate_interleaved)},
    .copy = ALL_TYPES(copy),
};
