/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/export_tensors.h"

#include "base/element.h"
#include "base/fail.h"
#include "huggingface/tensor_names.h"
#include "rope_config/rope_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3 };

/* ---- rows ---- */

/* How the rows of a projection to queries, keys and values are numbered. */
enum fused {
    FUSED_STACKED, /* all query heads, all key heads, all value heads, as ours are */
    FUSED_GROUPED  /* query, key and value of the first head, those of the second, ... (GPT-NeoX) */
};

/* Which rows of a parameter a tensor has, and how they are converted. */
struct export_source {
    const struct parameters *parameters;
    char name[TENSOR_NAME_BYTES];
    int index;              /* of the parameter */
    int64_t first, columns; /* of its rows; columns of a vector are 1 */
    rotary_dtype dtype;
    float offset; /* added to each element */
    /* These are of projections to heads; head_dim 0: of another, whose rows stay in their order. */
    int64_t head_dim, rotary_dim, heads, rotated_rows; /* rows before that one are of queries and keys */
    enum fused fused;
    rotary_pairing from, to;
};

/* The channel of ours that is channel `channel` of a head of theirs. Half-split pairs are (i, i + pairs),
 * interleaved ones (2i, 2i + 1). */
static int64_t source_channel(const struct export_source *source, int64_t channel)
{
    const int64_t pairs = source->rotary_dim / 2;
    if (source->from == source->to || channel >= source->rotary_dim)
        return channel;
    if (source->to == ROTARY_PAIRING_HALF)
        return 2 * (channel % pairs) + channel / pairs;
    return channel / 2 + channel % 2 * pairs;
}

/* The row of ours, counted from that of the parameter, that is row `row` of the tensor. */
static int64_t source_row(const struct export_source *source, int64_t row)
{
    const int64_t width = source->head_dim;
    if (width == 0)
        return source->first + row;
    int64_t head = source->first / width + row / width;
    if (source->fused == FUSED_GROUPED)
        head = head % PARTS * source->heads + head / PARTS;
    const bool rotated = head * width < source->rotated_rows;
    const int64_t channel = row % width;
    return head * width + (rotated ? source_channel(source, channel) : channel);
}

/* Reads elements first ... first + count - 1 of the tensor, which are in one row. */
static rotary_status read_part_of_row(const struct export_source *source, int64_t first, int64_t count,
                                      float *to, rotary_error *error)
{
    const int64_t row = source_row(source, first / source->columns), column = first % source->columns;
    const struct parameter_range range = {
        .index = source->index, .first = row * source->columns + column, .count = count};
    return parameters_read(source->parameters, range, to, error);
}

/* file_fetch of a tensor. Blocks begin and end between elements. */
static rotary_status fetch(void *context, size_t first, void *to, size_t count, rotary_error *error)
{
    enum { ELEMENTS = 4096 };
    const struct export_source *source = context;
    const size_t size = rotary_dtype_size(source->dtype);
    const int64_t begin = (int64_t)(first / size), end = (int64_t)((first + count) / size);
    float block[ELEMENTS];
    rotary_status status = ROTARY_OK;
    for (int64_t at = begin, next; at < end && status == ROTARY_OK; at = next) {
        next = at + source->columns - at % source->columns; /* where the row ends */
        next = next > at + ELEMENTS ? at + ELEMENTS : next;
        next = next > end ? end : next;
        status = read_part_of_row(source, at, next - at, block, error);
        for (int64_t i = at; i < next && status == ROTARY_OK; i++)
            rotary_set_element(to, i - begin, source->dtype, block[i - at] + source->offset);
    }
    return status;
}

/* ---- the list ---- */

static int64_t rows_of(const struct parameter *row)
{
    return row->rows;
}

/* How a parameter is divided: rows of each part. Queries, keys and values, or equal parts. */
static void part_rows(const struct transformer_config *config, const struct parameter *row, int parts,
                      bool heads, int64_t rows[PARTS])
{
    const int64_t query = config->num_attention_heads * config->head_dim,
                  key = config->num_key_value_heads * config->head_dim;
    for (int i = 0; i < parts; i++)
        rows[i] = heads && parts == PARTS ? (i == 0 ? query : key) : rows_of(row) / parts;
}

/* Says of a projection to heads, or a norm of heads, how its rows are permuted. */
static void set_heads(struct export_source *source, const struct export_tensors_call *call,
                      const char *module)
{
    const struct transformer_config *config = call->config;
    const bool projection = strstr(module, ".query_key_value") != NULL,
               norm = strstr(module, ".query_norm") != NULL || strstr(module, ".key_norm") != NULL;
    if (!projection && !norm)
        return;
    source->head_dim = config->head_dim;
    source->rotary_dim = rope_config_channels(config->head_dim, config->partial_rotary_factor);
    source->heads = config->num_attention_heads;
    source->rotated_rows =
        (config->num_attention_heads + config->num_key_value_heads) * config->head_dim; /* all of a norm's */
    source->from = (rotary_pairing)config->pairing;
    source->to = call->pairing;
    if (projection && json_is_true(json_object_get(call->family->form, "query_key_value_by_head")))
        source->fused = FUSED_GROUPED;
}

/* Adds the tensor of `rows` rows of a parameter from row `first` on. */
static void add_tensor(struct export_tensors *list, const struct export_tensors_call *call, int index,
                       const char *module, const char *name, int64_t first, int64_t rows)
{
    const struct parameter *row = &call->parameters->rows[index];
    const bool vector = row->columns == 0;
    struct export_source *source = &list->sources[list->count];
    *source = (struct export_source){.parameters = call->parameters,
                                     .index = index,
                                     .first = first,
                                     .columns = vector ? 1 : row->columns,
                                     .dtype = vector && call->vectors_f32 ? ROTARY_F32 : call->dtype};
    if (row->initial == INITIAL_ONE) /* the gain of a norm */
        source->offset = -(float)json_number_value(json_object_get(call->family->form, "norm_offset"));
    snprintf(source->name, TENSOR_NAME_BYTES, "%s", name);
    set_heads(source, call, module);
    list->tensors[list->count++] = (struct safetensor){.name = source->name,
                                                       .dtype = source->dtype,
                                                       .dimensions = vector ? 1 : 2,
                                                       .shape = {rows, row->columns},
                                                       .fetch = fetch,
                                                       .context = source};
}

/* Adds the tensors of a parameter. */
static rotary_status add_parameter(struct export_tensors *list, const struct export_tensors_call *call,
                                   int index, const char *where, rotary_error *error)
{
    const struct parameter *row = &call->parameters->rows[index];
    const json_t *names = json_object_get(call->family->form, "tensors");
    char name[TENSOR_NAME_BYTES];
    struct tensor_name split;
    const json_t *entry = tensor_name_split(row->name, &split) ? json_object_get(names, split.module) : NULL;
    const bool listed = json_is_array(entry);
    const int parts = listed ? (int)json_array_size(entry) : 1;
    if (!entry || parts > PARTS)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "%s: the %s format has no tensor for the parameter %s",
                           where, export_family_text(call->family, "architecture"), row->name);
    int64_t rows[PARTS], first = 0;
    part_rows(call->config, row, parts, strstr(split.module, ".query_key_value") != NULL, rows);
    for (int i = 0; i < parts; i++) {
        const json_t *pattern = listed ? json_array_get(entry, (size_t)i) : entry;
        tensor_name_fill(name, json_string_value(pattern), &split);
        add_tensor(list, call, index, split.module, name, first, rows[i]);
        first += rows[i];
    }
    return ROTARY_OK;
}

rotary_status export_tensors_make(struct export_tensors *list, const struct export_tensors_call *call,
                                  const char *where, rotary_error *error)
{
    const size_t max = PARTS * (size_t)call->parameters->count + 2; /* and two that a file may add */
    struct export_tensors made = {.tensors = calloc(max, sizeof *made.tensors),
                                  .sources = calloc(max, sizeof *made.sources)};
    rotary_status status =
        made.tensors && made.sources
            ? ROTARY_OK
            : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory for a list of its tensors", where);
    for (int i = 0; i < call->parameters->count && status == ROTARY_OK; i++)
        status = add_parameter(&made, call, i, where, error);
    if (status == ROTARY_OK)
        *list = made;
    else
        export_tensors_free(&made);
    return status;
}

void export_tensors_free(struct export_tensors *list)
{
    free(list->tensors);
    free(list->sources);
    *list = (struct export_tensors){0};
}
