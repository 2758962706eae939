/* SPDX-License-Identifier: Apache-2.0
 *
 * The workspace of a call suffices for calls with fewer sequences, queries and keys, although those may be
 * cut into other work items.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <stdlib.h>

static rotary_attention *make_attention(rotary_isa isa, rotary_dtype dtype, int64_t heads, int threads)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_attention_config_default(&config);
    config.heads = heads;
    config.key_value_heads = 2;
    config.head_dim = 16;
    config.dtype = dtype;
    config.causal = true;
    config.threads = threads;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    return attention;
}

static rotary_attention_shape shape_of(int64_t batch, int64_t queries, int64_t keys)
{
    return (rotary_attention_shape){.batch = batch, .queries = queries, .keys = keys};
}

static void try_smaller(const rotary_attention *attention, int64_t batch, int64_t queries, int64_t keys)
{
    size_t forward = rotary_attention_forward_bytes(attention, shape_of(batch, queries, keys)),
           backward = rotary_attention_backward_bytes(attention, shape_of(batch, queries, keys));
    for (int64_t b = 1; b <= batch; b++)
        for (int64_t q = 1; q <= queries; q += 1 + q / 4)
            for (int64_t k = 1; k <= keys; k += 1 + k / 4) {
                CHECK(rotary_attention_forward_bytes(attention, shape_of(b, q, k)) <= forward);
                CHECK(rotary_attention_backward_bytes(attention, shape_of(b, q, k)) <= backward);
            }
}

static void test_bytes(rotary_isa isa)
{
    static const int64_t sizes[][3] = {{32, 512, 512}, {33, 2049, 1025}, {1, 300, 3000}, {2, 1, 1}};
    for (int dtype = 0; dtype < 2; dtype++)
        for (int64_t heads = 2; heads <= 6; heads += 4)
            for (int threads = 1; threads <= 3; threads += 2) {
                rotary_attention *attention =
                    make_attention(isa, dtype ? ROTARY_BF16 : ROTARY_F32, heads, threads);
                check_about("%s, %s, %d heads, %d threads", rotary_isa_name(isa), dtype ? "bf16" : "f32",
                            (int)heads, threads);
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                    try_smaller(attention, sizes[i][0], sizes[i][1], sizes[i][2]);
                rotary_attention_destroy(attention);
            }
    check_about("%s", "");
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    for (int i = 0; i < count; i++)
        test_bytes(isas[i]);
    return check_report();
}
