/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/encoding.h"

#include <string.h>

#define ENCODING_POINTER(capitals, name, text) &encoding_##name,
static const struct position_encoding *const encodings[] = {ROTARY_ENCODINGS(ENCODING_POINTER)};

#define ENCODING_NAME(capitals, name, text) text,
const char *const position_names[] = {ROTARY_ENCODINGS(ENCODING_NAME) NULL};

const struct position_encoding *position_encoding(enum position position)
{
    return position == POSITION_CUSTOM ? &encoding_none : encodings[position];
}

/* ---- names ---- */

const char *const rotate_names[] = {"position", "q",  "k",   "qk", "v",   "qv",  "kv",   "qkv", "o",
                                    "qo",       "ko", "qko", "vo", "qvo", "kvo", "qkvo", NULL};

const char *encoding_names(bool (*fits)(const struct position_encoding *encoding),
                           char text[SETTINGS_NAMES_BYTES])
{
    const char *names[POSITIONS + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < POSITIONS; i++)
        if (fits(encodings[i]))
            names[count++] = position_names[i];
    return settings_names(names, text);
}

const char *encoding_names_with_key(const char *key, char text[SETTINGS_NAMES_BYTES])
{
    const char *names[POSITIONS + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < POSITIONS; i++)
        if (encoding_has_key(encodings[i], key))
            names[count++] = position_names[i];
    return count > 0 ? settings_names(names, text) : NULL;
}

/* ---- keys ---- */

bool encoding_has_key(const struct position_encoding *encoding, const char *key)
{
    for (int i = 0; encoding->keys && i < encoding->keys->count; i++)
        if (strcmp(encoding->keys->settings[i].name, key) == 0)
            return true;
    return false;
}

/* The first encoding that has the keys of this one. */
static int first_with_keys_of(int position)
{
    int first = 0;
    while (encodings[first]->keys != encodings[position]->keys)
        first++;
    return first;
}

void encoding_options_default(union encoding_options options[POSITIONS])
{
    for (int i = 0; i < POSITIONS; i++) {
        const struct encoding_keys *keys = encodings[i]->keys;
        options[i] = (union encoding_options){0};
        if (keys)
            memcpy(&options[i], keys->defaults, keys->options_bytes);
    }
}

void encoding_settings(union encoding_options options[POSITIONS], struct settings settings[POSITIONS])
{
    for (int i = 0; i < POSITIONS; i++) {
        const struct encoding_keys *keys = encodings[i]->keys;
        const bool has_table = keys && first_with_keys_of(i) == i;
        settings[i] =
            (struct settings){has_table ? keys->settings : NULL, has_table ? keys->count : 0, &options[i]};
    }
}

union encoding_options encoding_options_of(const union encoding_options options[POSITIONS],
                                           enum position position)
{
    return position == POSITION_CUSTOM ? (union encoding_options){0}
                                       : options[first_with_keys_of((int)position)];
}
