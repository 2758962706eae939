/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/attend.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- queries, keys, values ---- */

static rotary_status check_key(const struct attend_work *work, rotary_error *error)
{
    const struct heads *query = &work->query, *key = &work->key;
    const struct digits batch = digits_of(query->batch), channels = digits_of(query->channels);
    const char *front = query->batched ? batch.text : NULL;
    if (key->batched != query->batched || key->batch != query->batch || key->channels != query->channels ||
        query->heads % key->heads != 0) {
        char divisor[64];
        snprintf(divisor, sizeof divisor, ", G a divisor of %lld", (long long)query->heads);
        return heads_refuse(key, &(struct heads_names){front, "S", "G", channels.text}, divisor, query,
                            error);
    }
    return ROTARY_OK;
}

static rotary_status check_value(const struct attend_work *work, rotary_error *error)
{
    const struct heads *query = &work->query, *key = &work->key, *value = &work->value;
    const struct digits batch = digits_of(query->batch), heads = digits_of(key->heads),
                        time = digits_of(key->time);
    const char *front = query->batched ? batch.text : NULL;
    if (value->batched != query->batched || value->batch != query->batch || value->time != key->time ||
        value->heads != key->heads)
        return heads_refuse(value, &(struct heads_names){front, time.text, heads.text, "E"}, "", key, error);
    return ROTARY_OK;
}

/* Prepends the file `label`, if there is one, to `heads`; *length becomes its number of tokens. */
static rotary_status read_past(const char *label, struct heads *heads, int64_t *length, rotary_error *error)
{
    if (!label)
        return ROTARY_OK;
    /* In ONNX keys may be flat, but their past has heads. */
    enum heads_layout layout = heads->layout == HEADS_FLAT ? HEADS_BEFORE_TIME : heads->layout;
    struct heads past;
    struct heads_request request = {label, layout, 0, HEADS_ALSO_EMPTY, {"B", "P", "G", "D"}};
    rotary_status status = heads_read(&request, &past, error);
    if (!status)
        status = heads_join(&past, heads, error);
    *length = past.time;
    heads_free(&past);
    return status;
}

static rotary_status read_heads(const struct attend_config *config, struct attend_work *work, int64_t *past,
                                rotary_error *error)
{
    const struct heads_request
        query = {config->query, config->layout, config->heads, HEADS_ALSO_NOTHING, {"B", "T", "H", "D"}},
        key = {config->key, config->layout, config->key_heads, HEADS_ALSO_NOTHING, {"B", "S", "G", "D"}},
        value = {config->value, config->layout, config->key_heads, HEADS_ALSO_NOTHING, {"B", "S", "G", "E"}};
    rotary_status status = heads_read(&query, &work->query, error);
    if (!status)
        status = heads_read(&key, &work->key, error);
    if (!status && !config->key_is_value)
        status = heads_read(&value, &work->value, error);
    if (!status)
        status = check_key(work, error);
    if (!status && !config->key_is_value)
        status = check_value(work, error);
    if (!status)
        status = read_past(config->past_value, &work->value, past, error);
    if (!status)
        status = read_past(config->past_key, &work->key, past, error);
    if (!status && !config->key_is_value && work->value.time != work->key.time)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld tokens, wanted %lld, as many as %.100s has",
                             config->past_value, (long long)(work->value.time - work->key.time + *past),
                             (long long)*past, config->past_key);
    return status;
}

/* ---- positions of the sequences ---- */

/* Reads a list of `count` whole numbers. */
static rotary_status read_integers(const char *label, int64_t count, struct tensor *list, rotary_error *error)
{
    const struct digits wanted = digits_of(count);
    char shape[64];
    rotary_status status = tensor_open(label, list, error);
    if (status)
        return status;
    snprintf(shape, sizeof shape, "[%s], whole numbers", wanted.text);
    if (list->dimensions != 1 || list->shape[0] != count)
        return tensor_refuse_shape(list, shape, error);
    if (!tensor_is_integer(list))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s holds %s numbers, wanted whole ones", list->label,
                           tensor_type_name(list->type));
    return tensor_load(list, error);
}

static rotary_status read_lengths(const struct attend_config *config, struct attend_work *work,
                                  rotary_error *error)
{
    struct tensor lengths = {0};
    if (!config->key_lengths)
        return ROTARY_OK;
    int64_t batch = work->query.batch, keys = work->key.time;
    rotary_status status = read_integers(config->key_lengths, batch, &lengths, error);
    for (int64_t b = 0; !status && b < batch; b++) {
        double length = lengths.values[b];
        if (length < 0 || length > (double)keys)
            status = rotary_fail(error, ROTARY_BAD_FILE,
                                 "%s: length %lld is %.0f, wanted 0 to %lld, as many as %.100s has",
                                 lengths.label, (long long)b, length, (long long)keys, config->key);
        work->sequences[b].keys = (int64_t)length;
    }
    tensor_free(&lengths);
    return status;
}

static rotary_status read_key_positions(const char *label, struct attend_work *work, rotary_error *error)
{
    struct tensor positions = {0};
    int64_t keys = work->key.time;
    if (!label)
        return ROTARY_OK;
    rotary_status status = read_integers(label, keys, &positions, error);
    work->key_positions = status ? NULL : calloc((size_t)keys, sizeof *work->key_positions);
    if (!status && !work->key_positions)
        status = rotary_fail_memory(error, "for %lld positions", (long long)keys);
    for (int64_t n = 0; !status && n < keys; n++)
        if (fabs(positions.values[n]) > 0x1p53)
            status = rotary_fail(error, ROTARY_BAD_FILE, "%s: position %lld is %.0f, wanted -2^53 to 2^53",
                                 positions.label, (long long)n, positions.values[n]);
        else
            work->key_positions[n] = (int64_t)positions.values[n];
    work->attention.key_positions = work->key_positions;
    tensor_free(&positions);
    return status;
}

/* The last query is at the position of the last key, unless there is a past, or the position is given. */
static rotary_status place_sequences(const struct attend_config *config, int64_t past,
                                     struct attend_work *work, rotary_error *error)
{
    int64_t batch = work->query.batch, queries = work->query.time;
    work->sequences = calloc((size_t)batch, sizeof *work->sequences);
    if (!work->sequences)
        return rotary_fail_memory(error, "for %lld sequences", (long long)batch);
    for (int64_t b = 0; b < batch; b++)
        work->sequences[b].keys = work->key.time;
    rotary_status status = read_lengths(config, work, error);
    for (int64_t b = 0; b < batch; b++)
        work->sequences[b].first_query = config->first_query ? *config->first_query
                                         : config->past_key  ? past
                                                             : work->sequences[b].keys - queries;
    return status;
}

/* ---- the mask ---- */

/* Sizes are compared with [batch, heads, queries, keys] from the last on; a size of 1 is broadcast. */
static bool fit_mask(bool pads, struct reference_attention *attention, const struct tensor *mask)
{
    const int64_t sizes[4] = {attention->batch, attention->heads, attention->queries, attention->keys};
    int64_t stride = 1;
    if (mask->dimensions < 1 || mask->dimensions > 4)
        return false;
    for (int i = mask->dimensions - 1, axis = 3; i >= 0; i--, axis--) {
        int64_t size = mask->shape[i];
        bool short_of_keys = pads && axis == 3 && size > 0 && size < attention->keys;
        if (short_of_keys)
            attention->mask.keys = size;
        else if (size != sizes[axis] && size != 1)
            return false;
        attention->mask.strides[axis] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return true;
}

/* Whether a tensor holds zeros and ones alone, and both. */
static bool is_binary(const struct tensor *tensor)
{
    int64_t ones = 0;
    for (int64_t i = 0; i < tensor->elements; i++) {
        if (tensor->values[i] != 0 && tensor->values[i] != 1)
            return false;
        ones += tensor->values[i] == 1;
    }
    return ones > 0 && ones < tensor->elements;
}

/* Loads a mask. Zeros and ones that are no bools may say what is seen, or be numbers to add. */
static rotary_status load_mask(const struct attend_config *config, struct tensor *mask, rotary_error *error)
{
    rotary_status status = tensor_load(mask, error);
    if (status || mask->type == NPY_BOOL || config->additive_mask || !is_binary(mask))
        return status;
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s is %s and holds zeros and ones alone, which may say what is seen or be added to the "
        "scores; wanted bool, or --additive-mask",
        mask->label, tensor_type_name(mask->type));
}

static rotary_status read_mask(const struct attend_config *config, struct attend_work *work,
                               rotary_error *error)
{
    struct tensor *mask = &work->mask;
    struct reference_attention *attention = &work->attention;
    if (!config->mask)
        return ROTARY_OK;
    rotary_status status = tensor_open(config->mask, mask, error);
    if (status)
        return status;
    if (tensor_is_integer(mask))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s holds whole numbers, wanted bool, or numbers that are added to the scores",
                           mask->label);
    attention->mask.keys = attention->keys;
    if (!fit_mask(config->pad_mask, attention, mask)) {
        char wanted[SHAPE_TEXT_BYTES];
        bool shorter = mask->dimensions > 0 && mask->shape[mask->dimensions - 1] < attention->keys;
        snprintf(wanted, sizeof wanted,
                 "[%lld, %lld], with [heads %lld] and [batch %lld] in front if it has them, each size that "
                 "or 1%s",
                 (long long)attention->queries, (long long)attention->keys, (long long)attention->heads,
                 (long long)attention->batch,
                 shorter && !config->pad_mask ? " (--pad-mask takes fewer keys)" : "");
        return tensor_refuse_shape(mask, wanted, error);
    }
    status = load_mask(config, mask, error);
    attention->mask.values = mask->values;
    attention->mask.allows = mask->type == NPY_BOOL;
    return status;
}

/* ---- sinks ---- */

static rotary_status read_sinks(const char *label, struct attend_work *work, rotary_error *error)
{
    struct tensor *sinks = &work->sinks;
    char wanted[64];
    if (!label)
        return ROTARY_OK;
    rotary_status status = tensor_open(label, sinks, error);
    if (status)
        return status;
    snprintf(wanted, sizeof wanted, "[%lld], one for each query head", (long long)work->attention.heads);
    if (sinks->dimensions != 1 || sinks->shape[0] != work->attention.heads)
        return tensor_refuse_shape(sinks, wanted, error);
    status = tensor_load(sinks, error);
    work->attention.sinks = sinks->values;
    return status;
}

rotary_status attend_read(const struct attend_config *config, struct attend_work *work, rotary_error *error)
{
    int64_t past = 0;
    rotary_status status = read_heads(config, work, &past, error);
    if (status)
        return status;
    const struct heads *query = &work->query, *key = &work->key;
    const struct formula_encoding *encoding = config->position.encoding;
    double products = encoding && encoding->products ? encoding->products : 1;
    work->attention = (struct reference_attention){
        .batch = query->batch,
        .queries = query->time,
        .keys = key->time,
        .heads = query->heads,
        .key_value_heads = key->heads,
        .head_dim = query->channels,
        .value_dim = config->key_is_value ? query->channels : work->value.channels,
        .scale = config->scale ? *config->scale : 1.0 / sqrt(products * (double)query->channels),
        .softcap = config->softcap,
        .before = config->before,
        .after = config->after,
        .stage = config->stage,
    };
    status = place_sequences(config, past, work, error);
    work->attention.sequences = work->sequences;
    if (!status)
        status = read_key_positions(config->key_positions, work, error);
    if (!status)
        status = read_mask(config, work, error);
    return status ? status : read_sinks(config->sinks, work, error);
}
