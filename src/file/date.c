/* SPDX-License-Identifier: Apache-2.0 */
#include "file/date.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static time_t now(void)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL;
    errno = 0;
    const long long seconds = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && !*end && errno == 0 ? (time_t)seconds : time(NULL);
}

const char *date_today(char text[DATE_BYTES])
{
    const time_t seconds = now();
    struct tm day;
    if (!gmtime_r(&seconds, &day) || strftime(text, DATE_BYTES, "%Y-%m-%d", &day) == 0)
        snprintf(text, DATE_BYTES, "unknown");
    return text;
}
