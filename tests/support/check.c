/* SPDX-License-Identifier: Apache-2.0 */
#include "support/check.h"

#include "base/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    _Atomic int64_t compared, failed; /* threads may check */
    char about[256];
} totals;

enum { FAILURES_PRINTED = 20 };

static bool count(bool holds, const char *file, int line)
{
    totals.compared++;
    if (!holds && ++totals.failed <= FAILURES_PRINTED)
        printf("%s:%d: %s%s", file, line, totals.about, totals.about[0] ? ": " : "");
    return holds;
}

static bool printing(void)
{
    return totals.failed <= FAILURES_PRINTED;
}

bool check_that(bool holds, const char *text, const char *file, int line)
{
    if (!count(holds, file, line) && printing())
        printf("%s does not hold\n", text);
    return holds;
}

bool check_int(int64_t got, int64_t wanted, const char *text, const char *file, int line)
{
    bool holds = got == wanted;
    if (!count(holds, file, line) && printing())
        printf("%s is %lld, wanted %lld\n", text, (long long)got, (long long)wanted);
    return holds;
}

bool check_text(const char *got, const char *wanted, const char *text, const char *file, int line)
{
    bool holds = got && wanted && strcmp(got, wanted) == 0;
    if (!count(holds, file, line) && printing())
        printf("%s is \"%s\", wanted \"%s\"\n", text, got ? got : "(null)", wanted ? wanted : "(null)");
    return holds;
}

bool check_words(const char *text, const char *words, const char *file, int line)
{
    bool all = true;
    for (const char *word = words; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL) {
        size_t length = strcspn(word, "|");
        bool holds = memmem(text, strlen(text), word, length) != NULL;
        if (!count(holds, file, line) && printing())
            printf("\"%s\" does not say \"%.*s\"\n", text, (int)length, word);
        all = all && holds;
    }
    return all;
}

bool check_near(double got, double wanted, double bound, const char *text, const char *file, int line)
{
    double error = fabs(got - wanted);
    bool holds = error <= bound;
    if (!count(holds, file, line) && printing())
        printf("%s is %.9g, wanted %.9g: off by %.3g, allowed %.3g\n", text, got, wanted, error, bound);
    return holds;
}

void check_about(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(totals.about, sizeof totals.about, format, arguments);
    va_end(arguments);
}

int check_report(void)
{
    printf("%lld compared, %lld failed\n", (long long)totals.compared, (long long)totals.failed);
    return totals.compared > 0 && totals.failed == 0 ? 0 : 1;
}

void check_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("skipped: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    exit(77);
}

float check_random(uint64_t seed, uint64_t index, int octaves)
{
    struct rotary_random_key key = {.seed = seed, .stream = ROTARY_STREAM_TEST};
    float scale = (2.0f * rotary_random_uniform(key, 2 * index + 1) - 1.0f) * (float)octaves;
    key.step = 1;
    return rotary_random_normal(key, index) * exp2f(scale);
}
