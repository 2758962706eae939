/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings own their keys: each has its table, default values that are valid, and a name in what is said of
 * its keys; encodings that share keys share their values.
 */
#include "layer/encoding_keys.h"
#include "support/check.h"

static bool rotates(const struct position_encoding *encoding)
{
    return encoding->rotate & ROTARY_ROTATE_QUERY;
}

static void test_names(void)
{
    char text[SETTINGS_NAMES_BYTES];
    CHECK_TEXT(encoding_names(rotates, text), "rope, roper or xpos");
    CHECK_TEXT(encoding_names_with_key("fire_width", text), "fire");
    CHECK_TEXT(encoding_names_with_key("max_relative_position", text), "shaw or deberta");
    CHECK(!encoding_names_with_key("rope_theta", text));
    CHECK(encoding_has_key(position_encoding(POSITION_DEBERTA), "max_relative_position"));
    CHECK(!encoding_has_key(position_encoding(POSITION_ROPE), "max_relative_position"));
    CHECK(!encoding_has_key(position_encoding(POSITION_CUSTOM), "fire_width"));
}

/* Every key is in one table, and its default is allowed. */
static void test_tables(void)
{
    union encoding_options options[POSITIONS];
    struct settings settings[POSITIONS];
    void *member;
    encoding_options_default(options);
    encoding_settings(options, settings);
    CHECK_INT(settings_check(settings, POSITIONS, "here", NULL), ROTARY_OK);
    for (int i = 0; i < POSITIONS; i++) {
        const struct encoding_keys *keys = position_encoding((enum position)i)->keys;
        const union encoding_options own = encoding_options_of(options, (enum position)i);
        check_about("%s", position_names[i]);
        CHECK(!keys || keys->options_bytes <= ENCODING_OPTIONS_BYTES);
        CHECK(!keys || !keys->check || keys->check(&own, NULL) == ROTARY_OK);
        for (int key = 0; keys && key < keys->count; key++) {
            const char *name = keys->settings[key].name;
            int tables = 0;
            for (int j = 0; j < POSITIONS; j++)
                tables += settings_find(&settings[j], 1, name, strlen(name), &member) != NULL;
            CHECK_INT(tables, 1);
        }
    }
    check_about("%s", "");
}

static void test_options(void)
{
    const struct position_encoding *shaw = position_encoding(POSITION_SHAW),
                                   *deberta = position_encoding(POSITION_DEBERTA);
    const union encoding_options usual = options_with(POSITION_SHAW, ""),
                                 five = options_with(POSITION_DEBERTA, "max_relative_position=5"),
                                 odd = options_with(POSITION_SANDWICH, "sandwich_channels=3"),
                                 few = options_with(POSITION_T5, "relative_attention_num_buckets=64;"
                                                                 "relative_attention_max_distance=32");
    rotary_error error = {0};
    CHECK_INT(shaw->clip(&usual), 16);
    CHECK_INT(deberta->clip(&five), 5);
    CHECK_INT(position_encoding(POSITION_SANDWICH)->keys->check(&odd, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "sandwich_channels is 3: wanted an even number");
    CHECK_INT(position_encoding(POSITION_T5)->keys->check(&few, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "relative_attention_max_distance is 32|relative_attention_num_buckets 64");
}

int main(void)
{
    test_names();
    test_tables();
    test_options();
    return check_report();
}
