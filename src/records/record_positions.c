/* SPDX-License-Identifier: Apache-2.0 */
#include "records/record_positions.h"

#include "file/file.h"

#include <math.h>

json_t *record_positions_json(const struct position_losses *losses)
{
    json_t *list = json_array();
    for (int bin = 0; bin < position_bins(losses->length); bin++) {
        const double loss = position_loss(losses, bin);
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:o}", "begin", (json_int_t)position_begin(losses->length, bin),
                            "tokens", (json_int_t)losses->bins[bin].counted, "loss", file_json_number(loss)));
    }
    return list;
}

static rotary_status read_bin(const struct json_source *source, const json_t *object, int64_t begin,
                              struct position_bin *bin, rotary_error *error)
{
    int64_t starts = 0;
    double loss = (double)NAN;
    rotary_status status = json_field_count(source, object, "begin", &starts, error);
    if (status == ROTARY_OK && starts != begin)
        status = json_field_fail(source, "begin", json_object_get(object, "begin"),
                                 "the first position of each bin", error);
    if (status == ROTARY_OK)
        status = json_field_count(source, object, "tokens", &bin->counted, error);
    if (status == ROTARY_OK)
        status = json_field_measured(source, object, "loss", &loss, error);
    bin->total = bin->counted > 0 ? loss * (double)bin->counted : 0;
    return status;
}

rotary_status record_positions_read(const struct json_source *source, const json_t *object, int64_t length,
                                    struct position_losses *losses, rotary_error *error)
{
    const json_t *list = json_object_get(object, "positions");
    struct position_losses read = {.length = length};
    rotary_status status = ROTARY_OK;
    *losses = (struct position_losses){0};
    if (!list)
        return ROTARY_OK;
    if (length == 0 || (int64_t)json_array_size(list) != position_bins(length))
        return json_field_fail(source, "positions", list, "a list with each bin of positions", error);
    for (int bin = 0; status == ROTARY_OK && bin < position_bins(length); bin++)
        status = read_bin(source, json_array_get(list, (size_t)bin), position_begin(length, bin),
                          &read.bins[bin], error);
    if (status == ROTARY_OK)
        *losses = read;
    return status;
}
