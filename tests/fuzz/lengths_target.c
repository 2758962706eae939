/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of a run by length.
 */
#include "fuzz/target.h"
#include "records/record_lengths.h"

#include <math.h>
#include <string.h>

static void check_length(const struct record_length *length)
{
    if (length->length < 0 || length->correct < 0 || length->correct > length->problems)
        fuzz_fail("%lld of %lld problems of length %lld", (long long)length->correct,
                  (long long)length->problems, (long long)length->length);
    if (!length->possible && (length->problems != 0 || length->loss != 0))
        fuzz_fail("scores that are not possible");
    if (isinf(length->loss))
        fuzz_fail("a loss is %g", length->loss);
    if (!memchr(length->scaling, 0, sizeof length->scaling) || strpbrk(length->scaling, "<>&\n"))
        fuzz_fail("a scaling that no page can show");
}

static bool read_lengths(const char *path)
{
    rotary_error error = {0};
    struct record_lengths lengths;
    if (fuzz_refused(record_lengths_read_file(&lengths, path, &error), &error))
        return false;
    for (int i = 0; i < lengths.count; i++)
        check_length(&lengths.items[i]);
    record_lengths_free(&lengths);
    return true;
}

static const char *const lengths_words[] = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ":",
                                            ",",
                                            "null",
                                            "1e309",
                                            "-1",
                                            "1.5",
                                            "\"step\"",
                                            "\"length\"",
                                            "\"lengths\"",
                                            "\"scaling\"",
                                            "\"none\"",
                                            "\"correct\"",
                                            "\"loss\"",
                                            "\"problems\"",
                                            "9223372036854775807",
                                            "\\n",
                                            NULL};

const struct fuzz_target fuzz_lengths = {.name = "lengths", .read = read_lengths, .words = lengths_words};
