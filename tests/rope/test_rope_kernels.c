/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation kernels of every instruction set against the reference: random tiles in guarded memory. What a
 * kernel must not write is compared bit by bit.
 */
#include "rope/rotation_reference.h"
#include "support/check.h"
#include "support/guard.h"

#include "base/isa.h"
#include "base/random.h"
#include "kernel/rope/rope_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { TILES = 300, MAX_PAIRS = 70, GAP = 3 };
static const char *const dtype_names[] = {"f32", "f16", "bf16"};

static struct rotary_random random_state;

static int64_t draw(int64_t low, int64_t high)
{
    return low + (int64_t)rotary_random_below(&random_state, (uint32_t)(high - low + 1));
}

/* A tile whose heads are `stride` elements apart, in two buffers of `elements` each. */
struct problem {
    rotary_pairing pairing;
    rotary_dtype in, out;
    struct rotary_rope_tile tile;
    int64_t elements;
    struct guarded input, output, cosine, sine;
    bool in_place;
    uint64_t seed;
};

static struct problem make(bool at_end)
{
    struct problem p = {.pairing = (rotary_pairing)draw(0, 1),
                        .in = (rotary_dtype)draw(0, 2),
                        .out = (rotary_dtype)draw(0, 2),
                        .in_place = draw(0, 1),
                        .seed = (uint64_t)draw(0, 1 << 30)};
    if (p.in_place)
        p.out = p.in;
    struct rotary_rope_tile *tile = &p.tile;
    tile->times = draw(1, 4);
    tile->heads = draw(1, 4);
    tile->pairs = draw(1, MAX_PAIRS);
    tile->partner = tile->pairs + draw(0, GAP);
    int64_t width = p.pairing == ROTARY_PAIRING_HALF ? tile->partner + tile->pairs : 2 * tile->pairs;
    int64_t stride = width + draw(0, GAP);
    bool heads_first = draw(0, 1);
    tile->input_head_stride = tile->output_head_stride = heads_first ? stride * tile->times : stride;
    tile->input_time_stride = tile->output_time_stride = heads_first ? stride : stride * tile->heads;
    p.elements = stride * (tile->times * tile->heads - 1) + width;
    p.input = guarded_create((size_t)p.elements * rotary_dtype_size(p.in), at_end);
    if (!p.in_place)
        p.output = guarded_create((size_t)p.elements * rotary_dtype_size(p.out), at_end);
    p.cosine = guarded_create((size_t)(tile->times * tile->pairs) * sizeof(float), at_end);
    p.sine = guarded_create((size_t)(tile->times * tile->pairs) * sizeof(float), at_end);
    tile->input = p.input.data;
    tile->output = p.in_place ? p.input.data : p.output.data;
    tile->cosine = p.cosine.data;
    tile->sine = p.sine.data;
    for (int64_t i = 0; i < tile->times * tile->pairs; i++) {
        ((float *)p.cosine.data)[i] = check_random(p.seed + 1, (uint64_t)i, 1);
        ((float *)p.sine.data)[i] = check_random(p.seed + 2, (uint64_t)i, 1);
    }
    return p;
}

static void fill(const struct problem *p)
{
    for (int64_t i = 0; i < p->elements; i++) {
        if (!p->in_place)
            rotary_set_element(p->output.data, i, p->out, 77.0f);
        rotary_set_element(p->input.data, i, p->in,
                           check_random(p->seed, (uint64_t)i, p->in == ROTARY_F32 ? 20 : 4));
    }
}

static void run(const struct problem *p, const struct rotary_rope_kernels *kernels)
{
    fill(p);
    size_t in_bytes = (size_t)p->elements * rotary_dtype_size(p->in);
    size_t out_size = rotary_dtype_size(p->out);
    char *input = malloc(in_bytes), *untouched = malloc((size_t)p->elements * out_size);
    struct reference_element *expected = calloc((size_t)p->elements, sizeof *expected);
    memcpy(input, p->tile.input, in_bytes);
    memcpy(untouched, p->tile.output, (size_t)p->elements * out_size);
    kernels->rotate[p->pairing][p->in][p->out](&p->tile);
    reference_rotate(&p->tile, p->pairing, p->in, input, expected);
    const char *output = p->tile.output;
    int64_t changed = 0;
    for (int64_t i = 0; i < p->elements; i++)
        if (expected[i].rotated)
            element_check(element_get(output, i, p->out), expected[i].value, expected[i].error, p->out);
        else
            changed += memcmp(untouched + (size_t)i * out_size, output + (size_t)i * out_size, out_size) != 0;
    CHECK_INT(changed, 0);
    free(input);
    free(untouched);
    free(expected);
}

/* Copies between different types round once; copies of one type keep every bit, also of NaN. */
static void test_copy(const struct rotary_rope_kernels *kernels)
{
    for (int64_t count = 0; count <= 40; count++) {
        rotary_dtype in = (rotary_dtype)draw(0, 2), out = (rotary_dtype)draw(0, 2);
        struct guarded from = guarded_create((size_t)count * rotary_dtype_size(in), true);
        struct guarded to = guarded_create((size_t)count * rotary_dtype_size(out), true);
        for (int64_t i = 0; i < count; i++)
            rotary_set_element(from.data, i, in, i == 3 ? NAN : check_random(9, (uint64_t)i, 4));
        kernels->copy[in][out](from.data, to.data, count);
        if (in == out)
            CHECK(memcmp(from.data, to.data, (size_t)count * rotary_dtype_size(in)) == 0);
        for (int64_t i = 0; i < count; i++) {
            double value = element_get(from.data, i, in), got = element_get(to.data, i, out);
            if (isnan(value))
                CHECK(isnan(got));
            else
                element_check(got, value, 0, out);
        }
        guarded_destroy(&from);
        guarded_destroy(&to);
    }
}

static float widened(uint32_t bits, rotary_dtype dtype)
{
    uint16_t half = (uint16_t)bits;
    return dtype == ROTARY_F16 ? rotary_f16_to_float(half) : rotary_bf16_to_float(half);
}

static uint16_t narrowed(float value, rotary_dtype dtype)
{
    return dtype == ROTARY_F16 ? rotary_f16_from_float(value) : rotary_bf16_from_float(value);
}

/* Converts every 16-bit number to f32. Converts to 16 bits the middle between it and the next one, and the
 * neighbours of that middle in f32. Results must be those of base/half.h, except that any NaN is accepted,
 * and that instructions that `flush` give 0 below 2^-126. */
static void test_conversions(const struct rotary_rope_kernels *kernels, rotary_dtype dtype, bool flush)
{
    enum { ALL = 1 << 16 };
    uint16_t *halves = malloc(3 * ALL * sizeof *halves);
    float *floats = malloc(3 * ALL * sizeof *floats);
    int64_t wrong = 0;
    for (uint32_t i = 0; i < ALL; i++)
        halves[i] = (uint16_t)i;
    kernels->copy[dtype][ROTARY_F32](halves, floats, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        float wanted = widened(i, dtype);
        wrong +=
            isnan(wanted) ? !isnan(floats[i]) : rotary_float_bits(floats[i]) != rotary_float_bits(wanted);
    }
    CHECK_INT(wrong, 0);
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t middle = rotary_float_bits(0.5f * widened(i, dtype) + 0.5f * widened(i + 1, dtype));
        for (uint32_t j = 0; j < 3; j++)
            floats[3 * i + j] = rotary_float_from_bits(middle + j - 1);
    }
    kernels->copy[ROTARY_F32][dtype](floats, halves, 3 * ALL);
    for (uint32_t i = 0; i < 3 * ALL; i++) {
        uint16_t wanted = narrowed(floats[i], dtype);
        bool flushed = flush && fabsf(floats[i]) < 0x1p-126f && halves[i] == (wanted & 0x8000);
        wrong += isnan(floats[i]) ? !isnan(widened(halves[i], dtype)) : halves[i] != wanted && !flushed;
    }
    CHECK_INT(wrong, 0);
    free(halves);
    free(floats);
}

static void test_table(const char *name, const struct rotary_rope_kernels *kernels, uint64_t seed, bool flush)
{
    random_state = (struct rotary_random){.key = {.seed = seed, .stream = ROTARY_STREAM_TEST}};
    for (int i = 0; i < TILES; i++) {
        struct problem p = make(i % 2);
        check_about("%s kernels, seed %llu, tile %d, %s, %s to %s, %lld pairs", name,
                    (unsigned long long)seed, i, p.pairing == ROTARY_PAIRING_HALF ? "half" : "interleaved",
                    dtype_names[p.in], dtype_names[p.out], (long long)p.tile.pairs);
        run(&p, kernels);
        guarded_destroy(&p.input);
        if (!p.in_place)
            guarded_destroy(&p.output);
        guarded_destroy(&p.cosine);
        guarded_destroy(&p.sine);
    }
    check_about("%s copies", name);
    test_copy(kernels);
    test_conversions(kernels, ROTARY_F16, false);
    test_conversions(kernels, ROTARY_BF16, flush);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++)
        if (rotary_isa_available((rotary_isa)isa))
            test_table(rotary_isa_name((rotary_isa)isa), rotary_rope_kernels((rotary_isa)isa), seed,
                       isa == ROTARY_ISA_AVX512BF16 || isa == ROTARY_ISA_AMX);
    return check_report();
}
