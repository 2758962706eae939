/* SPDX-License-Identifier: Apache-2.0
 *
 * make_heatmaps DIR: the files of `rotary heatmap` for made-up heads, for browsers and parsers to look at.
 *
 *     single/   one run of a decoder
 *     pair/     two encoder–decoders side by side, three runs each
 *     hostile/  two whose labels and names are full of markup
 *     long/     texts of 120 tokens and more
 */
#include "report/heatmap/heatmap_files.h"
#include "report/synthetic_heatmaps.h"
#include "support/check.h"

#include "file/file.h"

#include <stdio.h>

static rotary_status allow(void *context, const char *path, rotary_error *error)
{
    (void)context;
    (void)path;
    (void)error;
    return ROTARY_OK;
}

static void make(const char *output, const char *name, const struct synthetic_heatmaps *wanted)
{
    char folder[FILE_PATH_BYTES];
    rotary_error error = {0};
    struct heatmaps maps = synthetic_heatmaps(wanted);
    const struct heatmap_files files = {.folder = folder, .check = allow};
    json_t *written = json_array();
    check_about("%s", name);
    CHECK_INT(file_path(folder, output, name, &error), ROTARY_OK);
    CHECK_INT(file_make_folder(folder, &error), ROTARY_OK);
    if (!CHECK_INT(heatmap_files_write(&maps, &files, written, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    CHECK(json_array_size(written) > 3);
    json_decref(written);
    heatmaps_free(&maps);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: make_heatmaps DIR\n");
        return 2;
    }
    make(arguments[1], "single", &(struct synthetic_heatmaps){.sides = 1, .runs = 1, .tokens = 9});
    make(arguments[1], "pair",
         &(struct synthetic_heatmaps){.encoder = true, .sides = 2, .runs = 3, .tokens = 12});
    make(arguments[1], "hostile",
         &(struct synthetic_heatmaps){.encoder = true, .hostile = true, .sides = 2, .runs = 1, .tokens = 6});
    make(arguments[1], "long",
         &(struct synthetic_heatmaps){.encoder = true, .sides = 2, .runs = 1, .tokens = 120});
    return check_report();
}
