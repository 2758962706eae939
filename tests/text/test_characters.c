/* SPDX-License-Identifier: Apache-2.0
 *
 * The character tokenizer: round trips, and the error for a character outside the alphabet.
 */
#include "support/check.h"

#include "text/characters.h"

#include <string.h>

static void test_round_trip(void)
{
    struct characters characters;
    characters_create(&characters, "hello, world");
    CHECK_INT(characters.count, 9);
    CHECK(memcmp(characters.character, "helo, wrd", 9) == 0);

    static const char text[] = "drow ,olleh";
    int32_t tokens[sizeof text];
    char back[sizeof text + 1];
    CHECK_INT(characters_encode(&characters, text, (int64_t)strlen(text), tokens, NULL), ROTARY_OK);
    CHECK_INT(tokens[0], 8);
    CHECK_INT(tokens[10], 0);
    memset(back, 'x', sizeof back);
    characters_decode(&characters, tokens, (int64_t)strlen(text), back);
    CHECK_TEXT(back, text);
    CHECK_INT(back[sizeof text], 'x');
    characters_decode(&characters, tokens, 0, back);
    CHECK_TEXT(back, "");
}

/* Bytes above 127 must not become negative indices. */
static void test_every_byte(void)
{
    char all[256];
    for (int byte = 1; byte < 256; byte++)
        all[byte - 1] = (char)byte;
    all[255] = '\0';
    struct characters characters;
    characters_create(&characters, all);
    CHECK_INT(characters.count, 255);
    CHECK_INT(characters.token[0], -1);
    int32_t tokens[255];
    char back[256];
    CHECK_INT(characters_encode(&characters, all, 255, tokens, NULL), ROTARY_OK);
    for (int i = 0; i < 255; i++)
        CHECK_INT(tokens[i], i);
    characters_decode(&characters, tokens, 255, back);
    CHECK(memcmp(back, all, 256) == 0);
}

static void test_unknown(void)
{
    struct characters characters;
    characters_create(&characters, "abc");
    static const struct {
        const char *text, *named, *position;
    } unknown[] = {{"abxc", "'x'", "position 3 "},
                   {"\nab", "0x0a", "position 1 "},
                   {"ab\xc3\xa9", "0xc3", "position 3 "}};
    for (int i = 0; i < 3; i++) {
        int32_t tokens[8] = {-7, -7, -7, -7};
        rotary_error error = {0};
        check_about("text %d", i);
        CHECK_INT(
            characters_encode(&characters, unknown[i].text, (int64_t)strlen(unknown[i].text), tokens, &error),
            ROTARY_INVALID_ARGUMENT);
        CHECK(strstr(error.message, unknown[i].named) != NULL);
        CHECK(strstr(error.message, unknown[i].position) != NULL);
        CHECK(strstr(error.message, "\"abc\"") != NULL);
        CHECK_INT(tokens[0], -7);
    }
}

int main(void)
{
    test_round_trip();
    test_every_byte();
    test_unknown();
    return check_report();
}
