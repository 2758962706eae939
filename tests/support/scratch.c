/* SPDX-License-Identifier: Apache-2.0 */
#include "support/scratch.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BUFFERS = 16 };

static char folder[64];

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    return remove(path);
}

void scratch_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_folder(void)
{
    scratch_remove(folder);
}

const char *scratch_folder(void)
{
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/rotary-test-XXXXXX");
        if (!mkdtemp(folder)) {
            perror("mkdtemp");
            exit(1);
        }
        atexit(remove_folder);
    }
    return folder;
}

const char *scratch_path(const char *name)
{
    static char buffers[BUFFERS][512];
    static unsigned next;
    char *buffer = buffers[next++ % BUFFERS];
    snprintf(buffer, sizeof buffers[0], "%s/%s", scratch_folder(), name);
    return buffer;
}

void scratch_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "w");
    bool good = file && fwrite(bytes, 1, count, file) == count;
    if (!file || fclose(file) != 0 || !good) {
        perror(path);
        exit(1);
    }
}

void scratch_write_text(const char *name, const char *text)
{
    scratch_write(scratch_path(name), text, strlen(text));
}
