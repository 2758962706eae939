# SPDX-License-Identifier: Apache-2.0
"""make_table_goldens.py > tests/text/table_goldens.h: records of random tables, as Python's csv reads them."""
import csv
import io
import random
import sys

TABLES, RECORD, FIELD = 160, "\036", "\037"  # ASCII's separators of records and of units
parts = ["a", "b ", " ", '"', '"', '""', ",", ",", "\t", "\t", "\n", "\r\n", '",', '"\t', '"\n', "\u00e9", "\u2028", "'", "\\"]


def quoted(text):
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def read(text, separator, quoting):
    """The fields of all records, or None if a quote is not closed, or followed by text. Line ends within a quoted field become
    newlines, as they do in this program; empty lines are no records in either."""
    how = {"quoting": csv.QUOTE_MINIMAL, "strict": True} if quoting else {"quoting": csv.QUOTE_NONE}
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, **how))
    except csv.Error:
        return None
    return "".join("".join(field.replace("\r\n", "\n") + FIELD for field in row) + RECORD for row in rows if row)


print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_table_goldens.py with Python {sys.version.split()[0]}'s csv: do not edit. */
#ifndef TESTS_TEXT_TABLE_GOLDENS_H
#define TESTS_TEXT_TABLE_GOLDENS_H

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
/* Fields end with \\037, records with \\036; NULL: refused. */
static const struct {{ char separator; bool quoted; const char *text, *records; }} golden_tables[] = {{""")
draw = random.Random(18)
for i in range(TABLES):
    text = "".join(draw.choice(parts) for _ in range(draw.randrange(1, 16)))
    separator, quoting = ",\t"[i % 2], i % 4 < 3
    records = read(text, separator, quoting)
    print(f"    {{{repr(separator)}, {str(quoting).lower()}, {quoted(text)}, {'NULL' if records is None else quoted(records)}}},")
print("};\n/* clang-format on */\n\n#endif")
