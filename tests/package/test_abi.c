/* SPDX-License-Identifier: Apache-2.0
 *
 * What docs/reference/abi.md promises: the library accepts structs that are shorter than its own and neither reads nor
 * writes beyond them; longer ones are refused.
 */
#include "support/check.h"

#include <rotary/rotary.h>
#include <stdio.h>
#include <string.h>

enum { MARK = 0x5a, MARGIN = 64 };

/* A configuration that may be shorter than the library's, followed by marked bytes. */
union rope_memory {
    rotary_rope_config config;
    unsigned char bytes[sizeof(rotary_rope_config) + MARGIN];
};
union attention_memory {
    rotary_attention_config config;
    unsigned char bytes[sizeof(rotary_attention_config) + MARGIN];
};

static int64_t touched(const unsigned char *bytes, size_t begin, size_t end)
{
    int64_t count = 0;
    for (size_t i = begin; i < end; i++)
        count += bytes[i] != MARK;
    return count;
}

static void test_rope(void)
{
    rotary_error error = {0};
    rotary_rope *rope;
    union rope_memory memory;
    /* The sizes of structs that end before each of these members. */
    const size_t sizes[] = {offsetof(rotary_rope_config, scaling), offsetof(rotary_rope_config, axes),
                            offsetof(rotary_rope_config, table_dtype), sizeof(rotary_rope_config)};
    for (int i = 0; i < 4; i++) {
        check_about("a rope configuration of %zu bytes", sizes[i]);
        memset(&memory, MARK, sizeof memory);
        rotary_rope_config_default_sized(&memory.config, sizes[i]);
        CHECK_INT(touched(memory.bytes, sizes[i], sizeof memory.bytes), 0);
        CHECK_INT((int64_t)memory.config.struct_size, (int64_t)sizes[i]);
        memory.config.head_dim = 8;
        CHECK_INT(rotary_rope_create(&rope, &memory.config, &error), ROTARY_OK);
        /* 10000^(-2 / 8): marks that were read as a scaling would change it or be refused. */
        CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[1], 0.1, 1e-15);
        CHECK_INT(rotary_rope_axes(rope), 1);
        rotary_rope_destroy(rope);
    }
    check_about("a rope configuration longer than the library's");
    rotary_rope_config_default_sized(&memory.config, sizeof(rotary_rope_config) + 8);
    memory.config.head_dim = 8;
    CHECK_INT(rotary_rope_create(&rope, &memory.config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "struct_size"));
}

static void test_attention(void)
{
    rotary_error error = {0};
    rotary_attention *attention;
    union attention_memory memory;
    const size_t sizes[] = {offsetof(rotary_attention_config, dtype), offsetof(rotary_attention_config, rope),
                            sizeof(rotary_attention_config)};
    for (int i = 0; i < 3; i++) {
        check_about("an attention configuration of %zu bytes", sizes[i]);
        memset(&memory, MARK, sizeof memory);
        rotary_attention_config_default_sized(&memory.config, sizes[i]);
        CHECK_INT(touched(memory.bytes, sizes[i], sizeof memory.bytes), 0);
        memory.config.heads = memory.config.key_value_heads = 2;
        memory.config.head_dim = 8;
        CHECK_INT(rotary_attention_create(&attention, &memory.config, &error), ROTARY_OK);
        rotary_attention_destroy(attention);
    }
    check_about("an attention configuration longer than the library's");
    rotary_attention_config_default_sized(&memory.config, sizeof(rotary_attention_config) + 8);
    memory.config.heads = memory.config.key_value_heads = 2;
    memory.config.head_dim = 8;
    CHECK_INT(rotary_attention_create(&attention, &memory.config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "struct_size"));
}

/* A call of every kind, zero except for struct_size. */
struct calls {
    rotary_rope_apply_call apply;
    rotary_rope_shift_call shift;
    rotary_rope_rebase_call rebase;
    rotary_rope_gradient_call gradient;
    rotary_rope_permute_call permute;
    rotary_attention_forward_call forward;
    rotary_attention_backward_call backward;
    rotary_attention_decode_call decode;
    rotary_attention_append_call append;
    rotary_attention_reorder_call reorder;
    rotary_attention_shift_call cache_shift;
};

static void refused(rotary_status status, const rotary_error *error, const char *name, size_t size)
{
    char words[96];
    check_about("%s of %zu bytes", name, size);
    snprintf(words, sizeof words, "struct_size is %zu; wanted sizeof(%s), at most ", size, name);
    CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
    if (!CHECK(strstr(error->message, words)))
        printf("    the message is \"%s\"\n", error->message);
}

/* `growth` is added to the correct struct_size, modulo SIZE_MAX + 1; SIZE_MAX: struct_size is 0. */
static void test_calls(const rotary_rope *rope, const rotary_attention *attention, size_t growth)
{
    struct calls c = {0};
    rotary_error e = {0};
#define SIZE(call) (call.struct_size = growth == SIZE_MAX ? 0 : sizeof call + growth)
    size_t size = SIZE(c.apply);
    refused(rotary_rope_apply(rope, &c.apply, &e), &e, "rotary_rope_apply_call", size);
    size = SIZE(c.shift);
    refused(rotary_rope_shift(rope, &c.shift, &e), &e, "rotary_rope_shift_call", size);
    size = SIZE(c.rebase);
    refused(rotary_rope_rebase(rope, rope, &c.rebase, &e), &e, "rotary_rope_rebase_call", size);
    size = SIZE(c.gradient);
    refused(rotary_rope_gradient(rope, &c.gradient, &e), &e, "rotary_rope_gradient_call", size);
    size = SIZE(c.permute);
    refused(rotary_rope_permute(rope, &c.permute, &e), &e, "rotary_rope_permute_call", size);
    size = SIZE(c.forward);
    refused(rotary_attention_forward(attention, &c.forward, &e), &e, "rotary_attention_forward_call", size);
    size = SIZE(c.backward);
    refused(rotary_attention_backward(attention, &c.backward, &e), &e, "rotary_attention_backward_call",
            size);
    size = SIZE(c.decode);
    refused(rotary_attention_decode(attention, &c.decode, &e), &e, "rotary_attention_decode_call", size);
    size = SIZE(c.append);
    refused(rotary_attention_append(attention, &c.append, &e), &e, "rotary_attention_append_call", size);
    size = SIZE(c.reorder);
    refused(rotary_attention_reorder(attention, &c.reorder, &e), &e, "rotary_attention_reorder_call", size);
    size = SIZE(c.cache_shift);
    refused(rotary_attention_shift(attention, &c.cache_shift, &e), &e, "rotary_attention_shift_call", size);
    SIZE(c.forward);
    CHECK_INT((int64_t)rotary_attention_forward_call_bytes(attention, &c.forward), 0);
    SIZE(c.backward);
    CHECK_INT((int64_t)rotary_attention_backward_call_bytes(attention, &c.backward), 0);
#undef SIZE
}

/* Sizes that end within a member, as that of no struct does. */
static void test_cut_configurations(void)
{
    rotary_error error = {0};
    rotary_rope_config rope_config;
    rotary_attention_config config;
    rotary_rope *rope = NULL;
    rotary_attention *attention = NULL;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = 8;
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = 1;
    config.head_dim = 8;
    for (size_t cut = 1; cut < 8; cut++) {
        rope_config.struct_size = offsetof(rotary_rope_config, pair_factors) + cut;
        refused(rotary_rope_create(&rope, &rope_config, &error), &error, "rotary_rope_config",
                rope_config.struct_size);
        config.struct_size = offsetof(rotary_attention_config, rope) + cut;
        refused(rotary_attention_create(&attention, &config, &error), &error, "rotary_attention_config",
                config.struct_size);
    }
    CHECK(!rope && !attention);
}

/* Defaults are written to as many bytes as were given, also where there are too few for struct_size. */
static void test_short_defaults(void)
{
    union rope_memory rope;
    union attention_memory attention;
    for (size_t size = 0; size < 24; size++) {
        check_about("defaults of %zu bytes", size);
        memset(&rope, MARK, sizeof rope);
        memset(&attention, MARK, sizeof attention);
        rotary_rope_config_default_sized(&rope.config, size);
        rotary_attention_config_default_sized(&attention.config, size);
        CHECK_INT(touched(rope.bytes, size, sizeof rope.bytes), 0);
        CHECK_INT(touched(attention.bytes, size, sizeof attention.bytes), 0);
    }
}

/* A caller whose struct ends earlier: the bytes after it are not read. */
static void test_short_call(const rotary_rope *rope)
{
    union {
        rotary_rope_apply_call call;
        unsigned char bytes[sizeof(rotary_rope_apply_call)];
    } memory;
    float vector[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    rotary_error error = {0};
    memset(&memory, MARK, sizeof memory);
    memset(&memory, 0, offsetof(rotary_rope_apply_call, query));
    memory.call.struct_size = offsetof(rotary_rope_apply_call, query);
    memory.call.batch = memory.call.time = 1;
    check_about("a call without tensors");
    CHECK_INT(rotary_rope_apply(rope, &memory.call, &error), ROTARY_OK);
    memory.call.struct_size = offsetof(rotary_rope_apply_call, key);
    memory.call.positions.offset = 1;
    memory.call.query = (rotary_rope_tensor){
        .heads = 1, .input = {vector, ROTARY_F32, 8, 8, 8}, .output = {vector, ROTARY_F32, 8, 8, 8}};
    check_about("a call without keys and values");
    CHECK_INT(rotary_rope_apply(rope, &memory.call, &error), ROTARY_OK);
    CHECK_NEAR((double)vector[0], 1 * 0.54030230586813977 - 5 * 0.8414709848078965, 1e-6);
}

static void test_sizes_of_calls(void)
{
    rotary_rope_config rope_config;
    rotary_attention_config config;
    rotary_rope *rope;
    rotary_attention *attention;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = 8;
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = 1;
    config.head_dim = 8;
    CHECK_INT(rotary_rope_create(&rope, &rope_config, NULL), ROTARY_OK);
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    test_calls(rope, attention, SIZE_MAX);
    test_calls(rope, attention, 8);
    for (size_t cut = 1; cut < 8; cut++)
        test_calls(rope, attention, 0 - cut - 8);
    test_short_call(rope);
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
}

int main(void)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", ROTARY_VERSION_MAJOR, ROTARY_VERSION_MINOR,
             ROTARY_VERSION_PATCH);
    CHECK_TEXT(rotary_version(), wanted);
    CHECK_INT(rotary_version_number(), ROTARY_VERSION_NUMBER);
    test_rope();
    test_attention();
    test_cut_configurations();
    test_short_defaults();
    test_sizes_of_calls();
    return check_report();
}
