/* SPDX-License-Identifier: Apache-2.0 */
#include "file/processor.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

const char *processor_name(char name[PROCESSOR_NAME_BYTES])
{
    struct utsname system;
    snprintf(name, PROCESSOR_NAME_BYTES, "%.*s", PROCESSOR_NAME_BYTES - 1,
             uname(&system) == 0 ? system.machine : "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return name;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(name, PROCESSOR_NAME_BYTES, "%.*s", PROCESSOR_NAME_BYTES - 1,
                 colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(file);
    return name;
}
