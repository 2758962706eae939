/* SPDX-License-Identifier: Apache-2.0
 *
 * Valid beginnings of texts: a byte that belongs to no character is found at every place, among ASCII, which is read
 * eight bytes at a time, and behind longer characters.
 */
#include "support/check.h"
#include "text/utf8.h"

#include <string.h>

enum { BYTES = 40 };

static void check_places(const char *text)
{
    const char bad[] = {'\0', '\xc1', '\xff'};
    for (int64_t at = 0; at < BYTES; at++)
        for (size_t i = 0; i < sizeof bad; i++) {
            char changed[BYTES];
            memcpy(changed, text, BYTES);
            changed[at] = bad[i];
            /* Of a longer character that is cut, nothing is valid. */
            int64_t wanted = at;
            while (wanted > 0 && ((unsigned char)text[wanted] & 0xc0) == 0x80)
                wanted--;
            check_about("byte %d at %d of \"%s\"", bad[i], (int)at, text);
            CHECK_INT(utf8_valid_bytes(changed, BYTES), wanted);
        }
    check_about("%s", "");
    CHECK_INT(utf8_valid_bytes(text, BYTES), BYTES);
}

int main(void)
{
    check_places("A line of ASCII, with signs: ~!@#$%^&*()");
    check_places("ein Käse für die große Maus € 5, ja");
    for (int64_t bytes = 0; bytes <= 20; bytes++)
        CHECK_INT(utf8_valid_bytes("twenty plain letters", bytes), bytes);
    return check_report();
}
