/* SPDX-License-Identifier: Apache-2.0 */
#include "report/remarks.h"

#include <math.h>

void remark_vocabularies(FILE *stream, const struct comparison *comparison, int index)
{
    (void)index;
    if (comparison->vocabularies_differ)
        fprintf(stream, "the vocabularies differ, so that losses per token do not compare%s",
                comparison->measures[0] == MEASURE_BITS_PER_BYTE ? ": bits per byte decide" : "");
}

/* The smallest and the largest of an arm's runs that have not begun. */
struct span {
    double low, high;
};

static void widen(struct span *span, double value)
{
    span->low = fmin(span->low, value);
    span->high = fmax(span->high, value);
}

static void write_span(FILE *stream, struct span span, int decimals)
{
    fprintf(stream, "%.*f", decimals, span.low);
    if (span.high - span.low > 0.5 * pow(10, -decimals))
        fprintf(stream, " to %.*f", decimals, span.high);
}

void remark_learned(FILE *stream, const struct comparison *comparison, int index)
{
    enum { DECIMALS = 3 };
    const struct comparison_arm *arm = &comparison->arms[index];
    struct span losses = {(double)INFINITY, (double)-INFINITY}, references = losses;
    enum learned_reference kind = LEARNED_UNKNOWN;
    if (!arm->too_short)
        return;
    for (int i = 0; i < arm->run_count; i++) {
        const struct learned *learned = &comparison->learned[arm->runs[i]];
        if (learned->begun)
            continue;
        widen(&losses, learned->lowest);
        widen(&references, learned->reference);
        kind = learned->kind;
    }
    fprintf(stream,
            "%s is trained too short to rank: %d of %d run%s not begun to learn, with a lowest loss of ",
            arm->name, arm->unlearned, arm->run_count, arm->run_count == 1 ? " has" : "s have");
    write_span(stream, losses, DECIMALS);
    fprintf(stream, " where %s has ", learned_reference_names[kind]);
    write_span(stream, references, DECIMALS);
}

void remark_too_short(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    const struct comparison_arm *arm = &comparison->arms[contrast->arm],
                                *baseline = &comparison->arms[contrast->baseline];
    if (contrast->pair_count > 0 && arm->too_short != baseline->too_short)
        fprintf(stream, "; %s is trained too short to rank", arm->too_short ? arm->name : baseline->name);
}
