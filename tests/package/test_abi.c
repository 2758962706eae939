/* SPDX-License-Identifier: Apache-2.0
 *
 * What docs/abi.md promises: a caller with a shorter struct is served, nothing behind its struct is touched,
 * and a longer one than the library knows is refused.
 */
#include "support/check.h"

#include <rotary/rotary.h>
#include <stdio.h>
#include <string.h>

enum { MARK = 0x5a, BEHIND = 64 };

/* A configuration as a caller with `size` bytes of it has it; bytes behind are marked. */
union rope_memory {
    rotary_rope_config config;
    unsigned char bytes[sizeof(rotary_rope_config) + BEHIND];
};
union attention_memory {
    rotary_attention_config config;
    unsigned char bytes[sizeof(rotary_attention_config) + BEHIND];
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
    /* Up to and without each of these members. */
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
        /* 10000^(-2 / 8): the marks, taken for a scaling, would make another of it or be refused. */
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
    const size_t sizes[] = {offsetof(rotary_attention_config, scale), offsetof(rotary_attention_config, rope),
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

int main(void)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", ROTARY_VERSION_MAJOR, ROTARY_VERSION_MINOR,
             ROTARY_VERSION_PATCH);
    CHECK_TEXT(rotary_version(), wanted);
    CHECK_INT(rotary_version_number(), ROTARY_VERSION_NUMBER);
    test_rope();
    test_attention();
    return check_report();
}
