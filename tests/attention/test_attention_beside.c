/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoding step gives a sequence the same bits alone, beside a few sequences and beside many, which are
 * shared among threads in other ways. Their caches are cut into parts, or are too short for it.
 */
#include "attention/trial.h"
#include "base/half.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 12, FEW = 3, CAPACITY = 420, HEADS = 10, DIM = 64, ROW = HEADS * DIM };

static const int64_t lengths[SEQUENCES] = {0, 419, 3, 250, 64, 130, 207, 301, 1, 410, 99, 380};

/* Signed numbers, the same for the same seed. */
static void *random_rows(uint64_t seed, int64_t rows, bool bf16)
{
    void *memory = trial_memory((size_t)(rows * ROW) * sizeof(float));
    for (int64_t i = 0; i < rows * ROW; i++) {
        float value = (float)check_random(seed, (uint64_t)i, 0);
        if (bf16)
            ((uint16_t *)memory)[i] = rotary_bf16_from_float(value);
        else
            ((float *)memory)[i] = value;
    }
    return memory;
}

struct step {
    size_t element;
    void *inputs, *key_cache, *value_cache; /* [SEQUENCES, ROW] and [SEQUENCES, CAPACITY, ROW] */
    struct trial_plan plan;
};

/* Decodes a token of each of sequences first ... first + batch - 1 to `output`, [batch, ROW]. */
static void decode(const struct step *step, int64_t first, int64_t batch, char *output)
{
    const int64_t many = batch > 1 ? 1 : 0;
    char *input = (char *)step->inputs + (size_t)(first * ROW) * step->element;
    const size_t cache = (size_t)(first * CAPACITY * ROW) * step->element;
    const rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = batch,
        .queries = 1,
        .capacity = CAPACITY,
        .lengths = lengths + first,
        .query = {input, many * ROW, 0, DIM},
        .key = {input, many * ROW, 0, DIM},
        .value = {input, many * ROW, 0, DIM},
        .key_cache = {(char *)step->key_cache + cache, many * CAPACITY * ROW, ROW, DIM},
        .value_cache = {(char *)step->value_cache + cache, many * CAPACITY * ROW, ROW, DIM},
        .output = {output, many * ROW, 0, DIM},
        .workspace = trial_memory(rotary_attention_decode_bytes(step->plan.attention, batch, 1, CAPACITY)),
    };
    rotary_error error;
    CHECK_INT(rotary_attention_decode(step->plan.attention, &call, &error), ROTARY_OK);
    free(call.workspace);
}

static void try_batches(bool bf16, rotary_isa isa, int threads)
{
    const struct reference_rotation rotation = {.present = true, .dim = DIM};
    const struct reference_case c = {.batch = 1,
                                     .queries = 1,
                                     .keys = 1,
                                     .heads = HEADS,
                                     .key_value_heads = HEADS,
                                     .head_dim = DIM,
                                     .causal = true,
                                     .bf16 = bf16,
                                     .scale = 0.125,
                                     .rope = rotation};
    struct step step = {.element = bf16 ? 2 : 4,
                        .inputs = random_rows(1, SEQUENCES, bf16),
                        .key_cache = random_rows(2, SEQUENCES * CAPACITY, bf16),
                        .value_cache = random_rows(3, SEQUENCES * CAPACITY, bf16),
                        .plan = trial_plan_make(&c, isa, threads)};
    const size_t row = ROW * step.element;
    char *all = trial_memory(SEQUENCES * row), *few = trial_memory(FEW * row), *one = trial_memory(row);
    check_about("%s %s, %d threads", rotary_isa_name(isa), bf16 ? "bf16" : "f32", threads);
    decode(&step, 0, SEQUENCES, all);
    for (int64_t first = 0; first < SEQUENCES; first += FEW) {
        decode(&step, first, FEW, few);
        CHECK(memcmp(few, all + (size_t)first * row, FEW * row) == 0);
    }
    for (int64_t sequence = 0; sequence < SEQUENCES; sequence++) {
        decode(&step, sequence, 1, one);
        CHECK(memcmp(one, all + (size_t)sequence * row, row) == 0);
    }
    free(step.inputs);
    free(step.key_cache);
    free(step.value_cache);
    free(all);
    free(few);
    free(one);
    trial_plan_free(&step.plan);
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    for (int i = 0; i < count; i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            try_batches(bf16, isas[i], 1 + (i + bf16) % 3);
    return check_report();
}
