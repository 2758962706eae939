/* SPDX-License-Identifier: Apache-2.0 */
#include "report/heatmap_files.h"

#include "file/file.h"
#include "file/npy.h"
#include "file/print.h"
#include "report/heatmap_page.h"
#include "report/heatmap_svg.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256, TITLE_BYTES = 512 };

/* What a file shows; layer -1: an array of all. text -1: the page. */
struct target {
    const struct heatmaps *maps;
    int side;
    int64_t text;
    enum attention_kind kind;
    int64_t layer;
    char path[FILE_PATH_BYTES];
};

static rotary_status name_file(struct target *target, const char *folder, rotary_error *error)
{
    char name[NAME_BYTES] = "heatmap.html", side[NAME_BYTES / 2], layer[32] = ".npy";
    if (target->text >= 0) {
        snprintf(side, sizeof side, "%s", target->maps->sides[target->side].name);
        for (char *at = side; *at; at++)
            if (!isalnum((unsigned char)*at) && !strchr("._=,-", *at))
                *at = '_';
        if (target->layer >= 0)
            snprintf(layer, sizeof layer, "-layer%lld.svg", (long long)target->layer + 1);
        snprintf(name, sizeof name, "%s-text%lld-%s%s", side, (long long)target->text + 1,
                 attention_kind_name(target->kind), layer);
    }
    return file_path(target->path, folder, name, error);
}

static rotary_status write_svg(const struct target *target, rotary_error *error)
{
    const struct heatmaps *maps = target->maps;
    const struct heatmap_side *side = &maps->sides[target->side];
    char title[TITLE_BYTES];
    snprintf(title, sizeof title, "%s, text %lld: %s, layer %lld", side->name, (long long)target->text + 1,
             heatmap_kind_title(target->kind, heatmap_has_encoder(maps)), (long long)target->layer + 1);
    const struct heatmap_picture picture = {.title = title,
                                            .example = &side->runs[0].examples[target->text],
                                            .kind = target->kind,
                                            .layer = target->layer};
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    heatmap_svg_write(print.stream, &picture);
    return print_replace(&print, target->path, error);
}

static rotary_status write_npy(const struct target *target, rotary_error *error)
{
    const struct attention_weights *weights =
        &target->maps->sides[target->side].runs[0].examples[target->text].weights[target->kind];
    const struct npy array = {.type = NPY_F32,
                              .dimensions = 4,
                              .shape = {weights->layers, weights->heads, weights->queries, weights->keys},
                              .data = weights->weights};
    return npy_write(target->path, &array, error);
}

/* Checks one file, or writes it. */
typedef rotary_status visit(const struct target *target, const struct heatmap_files *files, json_t *written,
                            rotary_error *error);

static rotary_status check_file(const struct target *target, const struct heatmap_files *files,
                                json_t *written, rotary_error *error)
{
    (void)written;
    return files->check(files->context, target->path, error);
}

static rotary_status write_file(const struct target *target, const struct heatmap_files *files,
                                json_t *written, rotary_error *error)
{
    (void)files;
    rotary_status status = target->text < 0    ? heatmap_page_write(target->maps, target->path, error)
                           : target->layer < 0 ? write_npy(target, error)
                                               : write_svg(target, error);
    if (status == ROTARY_OK)
        json_array_append_new(written, json_string(target->path));
    return status;
}

static rotary_status visit_file(struct target *target, const struct heatmap_files *files, visit *do_it,
                                json_t *written, rotary_error *error)
{
    rotary_status status = name_file(target, files->folder, error);
    return status == ROTARY_OK ? do_it(target, files, written, error) : status;
}

static rotary_status visit_all(const struct heatmaps *maps, const struct heatmap_files *files, visit *do_it,
                               json_t *written, rotary_error *error)
{
    struct target target = {.maps = maps, .text = -1};
    rotary_status status = visit_file(&target, files, do_it, written, error);
    for (target.side = 0; target.side < maps->side_count; target.side++)
        for (target.text = 0; target.text < maps->shown; target.text++)
            for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
                int64_t layers = maps->sides[target.side].runs[0].kinds[kind].layers;
                target.kind = (enum attention_kind)kind;
                for (target.layer = layers > 0 ? -1 : 0; status == ROTARY_OK && target.layer < layers;
                     target.layer++)
                    status = visit_file(&target, files, do_it, written, error);
            }
    return status;
}

rotary_status heatmap_files_write(const struct heatmaps *maps, const struct heatmap_files *files,
                                  json_t *written, rotary_error *error)
{
    rotary_status status = visit_all(maps, files, check_file, written, error);
    return status == ROTARY_OK ? visit_all(maps, files, write_file, written, error) : status;
}
