# SPDX-License-Identifier: Apache-2.0
"""make_unicode_goldens.py > tests/text/unicode_goldens.h: what Python says of every character.

The classes of all code points, as runs; str.lower() of every character alone, as runs of equal differences, and of
words with sigmas; what bytes.decode() with errors="replace" makes of text that is not UTF-8."""
import random
import sys
import unicodedata

POINTS = 0x110000


def class_of(point):
    character = chr(point)
    category = unicodedata.category(character)
    if character.isspace():
        return "s"
    if category in ("Cn", "Cs"):
        return "-"  # not assigned, or half a character
    return category[0] if category[0] in "NPS" else "."


def runs_of_classes():
    text, length = "", 0
    for point in range(POINTS + 1):
        if point and (point == POINTS or class_of(point) != class_of(point - 1)):
            text += f"{class_of(point - 1)}{length}"
            length = 0
        length += 1
    return text


def runs_of_lower_case():
    """[first, last, step, difference] of the characters whose lower case is one other character."""
    changed = {}
    for point in range(POINTS):
        lower = chr(point).lower()
        if not 0xd800 <= point < 0xe000 and lower != chr(point) and len(lower) == 1:
            changed[point] = ord(lower) - point
    runs = []
    for point, difference in changed.items():
        last = runs[-1] if runs else None
        if last and last[3] == difference and point - last[1] in (1, 2) and last[2] in (0, point - last[1]):
            last[1], last[2] = point, point - last[1]
        else:
            runs.append([point, point, 0, difference])
    return runs


def quoted(data):
    """A C string of bytes."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in data) + '"'


def broken_texts(count):
    source = random.Random(5)
    pieces = [b"a", b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80",
              b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff", b"\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf0\x9f",
              b"\xc3", b"\xe2", b"\xf0", b"\xe0\xa0", b"\xf1\x80", b"\xf4\x8f\xbf\xbf"]
    return [b"".join(source.choice(pieces) for _ in range(source.randint(1, 5))) for _ in range(count)]


words = ["ΣΑΣ", "ΟΔΥΣΣΕΥΣ ΚΑΙ ΣΙΣΥΦΟΣ", "Σ", "ΑΣ.", "ΑΣ.Α", "Α\u00adΣ", "ΑΣ\u0301", "ΑΣ\u0301Α", "1Σ", "ΑΣ1", "İSTANBUL", "ÀÉÎ ẞ", "ǅ", "'Σ'", "Σ Σ",
         "aΣ:b", "aΣ’b", "aΣ’ b", "ⒶΣ", "ªΣ", "aªΣ", "aΣª", "aΣʰb", "a'Σ", "a'Σ'b", "a'.ªΣ", "𝐀Σ", "\U00010400Σ"]

print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_unicode_goldens.py with Python {sys.version.split()[0]}, which has Unicode {unicodedata.unidata_version}: do not edit. */
#ifndef TESTS_TEXT_UNICODE_GOLDENS_H
#define TESTS_TEXT_UNICODE_GOLDENS_H

#include <stdint.h>

/* clang-format off */
/* s: white space; N, P, S: the categories; -: not assigned, or a surrogate; a dot: anything else. How many follow. */
static const char golden_classes[] =""")
text = runs_of_classes()
for i in range(0, len(text), 112):
    print(f'    "{text[i:i + 112]}"')
print("""    ;

/* Characters from first to last in steps, and the difference to their lower case. */
static const struct { uint32_t first, last; int step, difference; } golden_lower[] = {""")
runs = runs_of_lower_case()
for i in range(0, len(runs), 4):
    print("    " + " ".join(f"{{0x{a:x}, 0x{b:x}, {max(c, 1)}, {d}}}," for a, b, c, d in runs[i:i + 4]))
print("""};

static const struct { const char *text, *lower; } golden_words[] = {""")
for word in words:
    print(f"    {{{quoted(word.encode())}, {quoted(word.lower().encode())}}},")
print("""};

/* Bytes that are not UTF-8, and the UTF-8 of what they are read as. */
static const struct { const char *bytes, *text; } golden_decoded[] = {""")
for data in broken_texts(60):
    print(f"    {{{quoted(data)}, {quoted(data.decode(errors='replace').encode())}}},")
print("""};
/* clang-format on */

#endif""")
