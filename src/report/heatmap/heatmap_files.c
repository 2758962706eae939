/* SPDX-License-Identifier: Apache-2.0 */
#include "report/heatmap/heatmap_files.h"

#include "base/fail.h"
#include "file/file.h"
#include "file/npy.h"
#include "file/print.h"
#include "report/heatmap/heatmap_names.h"
#include "report/heatmap/heatmap_page.h"
#include "report/heatmap/heatmap_svg.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256, SIDE_BYTES = 128, TITLE_BYTES = 512 };

/* What a file shows; layer -1: an array of all. text -1: the page. */
struct target {
    const struct heatmaps *maps;
    int side;
    int64_t text;
    enum attention_kind kind;
    int64_t layer;
    char path[FILE_PATH_BYTES];
};

/* The name of a side as files have it: what is neither a letter nor a digit nor one of "._=,-" is "_". */
static void name_side(char name[SIDE_BYTES], const char *side)
{
    char *end = name;
    for (; *side && end < name + SIDE_BYTES - 1; side++) {
        const bool kept = isalnum((unsigned char)*side) || strchr("._=,-", *side);
        if (kept || (end > name && end[-1] != '_'))
            *end++ = kept ? *side : '_';
    }
    while (end > name + 1 && end[-1] == '_')
        end--;
    *end = '\0';
}

/* Sides whose names are one in files are numbered. */
static void name_apart(const struct heatmaps *maps, int index, char name[SIDE_BYTES])
{
    char other[SIDE_BYTES];
    bool again = false;
    name_side(name, maps->sides[index].name);
    for (int side = 0; side < maps->side_count; side++) {
        name_side(other, maps->sides[side].name);
        again = again || (side != index && strcmp(other, name) == 0);
    }
    const size_t length = strlen(name);
    if (again)
        snprintf(name + length, SIDE_BYTES - length, "-%d", index + 1);
}

static rotary_status name_file(struct target *target, const char *folder, rotary_error *error)
{
    char name[NAME_BYTES] = "heatmap.html", side[SIDE_BYTES], layer[32] = ".npy";
    if (target->text >= 0) {
        name_apart(target->maps, target->side, side);
        if (target->layer >= 0)
            snprintf(layer, sizeof layer, "-layer%lld.svg", (long long)target->layer + 1);
        snprintf(name, sizeof name, "%s-text%lld-%s%s", side, (long long)target->text + 1,
                 attention_kind_name(target->kind), layer);
    }
    return file_output_path(target->path, folder, name, error);
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

/* ---- files of an earlier call ---- */

/* What follows the digits that `text` begins with; NULL: it begins with none. */
static const char *after_digits(const char *text)
{
    const size_t digits = text ? strspn(text, "0123456789") : 0;
    return digits > 0 ? text + digits : NULL;
}

/* Whether a name is that of a picture or of an array: ...-text1-decoder-layer1.svg, ...-text1-decoder.npy. */
static bool is_ours(const char *name)
{
    for (const char *text = strstr(name, "-text"); text; text = strstr(text + 1, "-text")) {
        const char *rest = after_digits(text + strlen("-text"));
        for (int kind = 0; rest && kind < ATTENTION_KINDS; kind++) {
            const char *of = attention_kind_name((enum attention_kind)kind);
            const size_t length = strlen(of);
            if (*rest != '-' || strncmp(rest + 1, of, length) != 0)
                continue;
            const char *end = rest + 1 + length,
                       *layer = strncmp(end, "-layer", 6) == 0 ? after_digits(end + 6) : NULL;
            return !strchr(name, '/') && (strcmp(end, ".npy") == 0 || (layer && strcmp(layer, ".svg") == 0));
        }
    }
    return false;
}

static bool is_among(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
            return true;
    return false;
}

/* Removes a file if it is there and may be replaced. */
static rotary_status remove_file(const struct heatmap_files *files, const char *name, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, files->folder, name, error);
    if (status != ROTARY_OK || !file_exists(path))
        return status;
    status = files->check(files->context, path, error);
    if (status == ROTARY_OK && remove(path) != 0)
        status = rotary_fail(error, ROTARY_IO_ERROR, "cannot remove %s, a file of an earlier heatmap: %s",
                             path, strerror(errno));
    return status;
}

/* Removes what an earlier call listed and this one does not write, and PNG files that scripts/heatmap-png
 * made of its pictures. */
static rotary_status remove_stale(const struct heatmap_files *files, const char *list, const json_t *names,
                                  rotary_error *error)
{
    json_t *object = NULL;
    if (!file_exists(list) || file_read_json(list, &object, error) != ROTARY_OK)
        return ROTARY_OK; /* it is replaced */
    rotary_status status = ROTARY_OK;
    const json_t *earlier = json_object_get(object, "files");
    for (size_t i = 0; status == ROTARY_OK && i < json_array_size(earlier); i++) {
        char png[NAME_BYTES];
        const char *name = json_string_value(json_array_get(earlier, i));
        const size_t length = name ? strlen(name) : 0;
        if (length == 0 || length >= NAME_BYTES || !is_ours(name))
            continue;
        if (!is_among(names, name))
            status = remove_file(files, name, error);
        snprintf(png, sizeof png, "%.*s.png", (int)(length - 4), name);
        if (status == ROTARY_OK && strcmp(name + length - 4, ".svg") == 0)
            status = remove_file(files, png, error);
    }
    json_decref(object);
    return status;
}

/* Writes the numbers, and the names of all files beside them. */
static rotary_status write_list(const struct heatmaps *maps, const char *path, json_t *names,
                                rotary_error *error)
{
    json_t *object = NULL;
    rotary_status status = heatmap_json(maps, &object, error);
    if (status != ROTARY_OK)
        return status;
    json_object_set(object, "files", names);
    status = file_replace_json(path, object, error);
    json_decref(object);
    return status;
}

/* Checks a file, and adds its name to the list. */
static rotary_status check_file(const struct target *target, const struct heatmap_files *files, json_t *names,
                                rotary_error *error)
{
    json_array_append_new(names, json_string(file_name_of(target->path)));
    return files->check(files->context, target->path, error);
}

rotary_status heatmap_files_write(const struct heatmaps *maps, const struct heatmap_files *files,
                                  json_t *written, rotary_error *error)
{
    char list[FILE_PATH_BYTES];
    json_t *names = json_array();
    rotary_status status = file_output_path(list, files->folder, "heatmap.json", error);
    if (status == ROTARY_OK)
        status = visit_all(maps, files, check_file, names, error);
    if (status == ROTARY_OK)
        status = files->check(files->context, list, error);
    if (status == ROTARY_OK)
        status = remove_stale(files, list, names, error);
    if (status == ROTARY_OK)
        status = write_list(maps, list, names, error);
    json_decref(names);
    if (status == ROTARY_OK)
        status = visit_all(maps, files, write_file, written, error);
    if (status == ROTARY_OK)
        json_array_append_new(written, json_string(list));
    return status;
}
