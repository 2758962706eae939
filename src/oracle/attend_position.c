/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/attend_position.h"

#include "base/fail.h"
#include "file/memory.h"
#include "oracle/heads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line ---- */

static rotary_status find(const char *name, struct attend_position *position, rotary_error *error)
{
    const char *names[32] = {NULL};
    char text[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
    int count = 0;
    for (int i = 0; formula_encodings[i]; i++)
        if (!formula_encodings[i]->in_embedding)
            names[count++] = formula_encodings[i]->name;
    position->encoding = formula_find(name);
    if (!position->encoding)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--position is \"%.80s\", wanted %s%s", name,
                           settings_names(names, text), settings_hint(name, names, hint));
    if (position->encoding->in_embedding)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--position %s is added to embeddings, and attention has no part of it; wanted %s",
                           name, settings_names(names, text));
    return ROTARY_OK;
}

/* "t5 has no key ...": `names` are those it has. */
static rotary_status refuse(const char *option, const char *word, size_t length,
                            const struct formula_encoding *encoding, const char *const *names,
                            rotary_error *error)
{
    char text[SETTINGS_NAMES_BYTES];
    bool any = names[0] != NULL;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s %.*s: %s has no such %s%s%s", option,
                       (int)(length < 80 ? length : 80), word, encoding->name,
                       strcmp(option, "--set") == 0 ? "setting" : "parameter", any ? ", wanted " : "",
                       any ? settings_names(names, text) : "");
}

static rotary_status assign(const char *assignment, struct attend_position *position, rotary_error *error)
{
    const struct formula_encoding *encoding = position->encoding;
    const struct settings settings = {encoding->settings, encoding->setting_count, &position->settings};
    size_t length = strcspn(assignment, "=");
    void *member;
    const char *names[FORMULA_SETTINGS + 1] = {NULL};
    for (int i = 0; i < encoding->setting_count; i++)
        names[i] = encoding->settings[i].name;
    if (assignment[length] == '=' && !settings_find(&settings, 1, assignment, length, &member))
        return refuse("--set", assignment, length, encoding, names, error);
    return settings_assign(&settings, 1, assignment, error);
}

static int list(const struct position_formula *formula, struct formula_parameter rows[FORMULA_PARAMETERS])
{
    return formula->encoding->list ? formula->encoding->list(formula, rows) : 0;
}

static rotary_status take_file(const char *word, struct attend_position *position, rotary_error *error)
{
    const struct position_formula formula = {.encoding = position->encoding, .settings = position->settings};
    struct formula_parameter rows[FORMULA_PARAMETERS];
    const char *names[FORMULA_PARAMETERS + 1] = {NULL};
    int count = list(&formula, rows), row = 0;
    size_t length = strcspn(word, "=");
    for (int i = 0; i < count; i++)
        names[i] = rows[i].name;
    if (word[length] != '=' || word[length + 1] == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--parameter: \"%.80s\" is not NAME=FILE", word);
    while (row < count && (strlen(names[row]) != length || strncmp(names[row], word, length) != 0))
        row++;
    if (row == count)
        return refuse("--parameter", word, length, position->encoding, names, error);
    if (position->files[row])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--parameter %s is given twice", names[row]);
    position->files[row] = word + length + 1;
    return ROTARY_OK;
}

rotary_status attend_position_parse(const struct attend_position_words *words,
                                    struct attend_position *position, rotary_error *error)
{
    *position = (struct attend_position){.settings = formula_default_settings};
    if (!words->name)
        return !words->assignments[0] && !words->parameters[0]
                   ? ROTARY_OK
                   : rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s wants --position NAME",
                                 words->assignments[0] ? "--set" : "--parameter");
    rotary_status status = find(words->name, position, error);
    for (const char *const *word = words->assignments; !status && *word; word++)
        status = assign(*word, position, error);
    if (!status && position->encoding->check)
        status = position->encoding->check(&position->settings, error);
    for (const char *const *word = words->parameters; !status && *word; word++)
        status = take_file(*word, position, error);
    if (status)
        return status;
    const struct position_formula formula = {.encoding = position->encoding, .settings = position->settings};
    struct formula_parameter rows[FORMULA_PARAMETERS];
    int count = list(&formula, rows);
    for (int i = 0; !status && i < count; i++)
        if (!position->files[i])
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--position %s wants --parameter %s=FILE",
                                 words->name, rows[i].name);
    return status;
}

/* ---- parameters and terms ---- */

/* "[48, W] for relative_keys.weight": W is a size that the file may decide. */
static rotary_status refuse_shape(const struct formula_parameter *row, const struct tensor *tensor,
                                  rotary_error *error)
{
    char wanted[SHAPE_TEXT_BYTES];
    int length = snprintf(wanted, sizeof wanted, "[");
    for (int i = 0; i < row->dimensions; i++)
        length += snprintf(wanted + length, sizeof wanted - (size_t)length, "%s%s", i > 0 ? ", " : "",
                           row->shape[i] ? digits_of(row->shape[i]).text : "W");
    snprintf(wanted + length, sizeof wanted - (size_t)length, "] for %.80s", row->name);
    return tensor_refuse_shape(tensor, wanted, error);
}

/* Reads parameter i, and with it the width if it is the first that has one. */
static rotary_status read_parameter(struct position_formula *formula, int i, const char *file,
                                    struct tensor *tensor, rotary_error *error)
{
    struct formula_parameter rows[FORMULA_PARAMETERS], *row = &rows[i];
    rotary_status status = tensor_open(file, tensor, error);
    if (!status)
        status = tensor_check_float(tensor, error);
    if (status)
        return status;
    list(formula, rows);
    bool fits = tensor->dimensions == row->dimensions;
    for (int axis = 0; fits && axis < row->dimensions; axis++) {
        if (row->shape[axis] == 0)
            formula->width = tensor->shape[axis];
        fits = tensor->shape[axis] == (row->shape[axis] ? row->shape[axis] : formula->width);
    }
    if (!fits || tensor->elements == 0)
        return refuse_shape(row, tensor, error);
    status = tensor_load(tensor, error);
    formula->parameters[i] = tensor->values;
    return status;
}

/* Distances go from the first key as the last query sees it to the last key as the first does. */
static void set_distances(struct reference_attention *attention)
{
    int64_t first = attention->sequences[0].first_query, last = first;
    for (int64_t b = 1; b < attention->batch; b++) {
        int64_t at = attention->sequences[b].first_query;
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    attention->distances.first = 1 - attention->queries - last;
    attention->distances.count = attention->keys + attention->queries - 1 + last - first;
}

/* [heads, distances, channels], which the caller frees. */
static rotary_status make_table(const struct reference_attention *attention, int64_t channels, double **table,
                                rotary_error *error)
{
    size_t numbers = (size_t)(attention->heads * attention->distances.count * channels);
    rotary_status status = memory_check(numbers * sizeof **table, "what a position encoding adds", error);
    if (status)
        return status;
    *table = calloc(numbers, sizeof **table);
    return *table ? ROTARY_OK : rotary_fail_memory(error, "for what a position encoding adds");
}

static rotary_status make_tables(const struct formula_encoding *encoding,
                                 const struct reference_attention *attention, struct attend_terms *terms,
                                 rotary_error *error)
{
    int64_t channels = attention->head_dim;
    rotary_status status = ROTARY_OK;
    if (encoding->bias)
        status = make_table(attention, 1, &terms->bias, error);
    if (!status && encoding->key)
        status = make_table(attention, channels, &terms->keys, error);
    if (!status && encoding->query)
        status = make_table(attention, channels, &terms->queries, error);
    if (!status && encoding->value)
        status = make_table(attention, attention->value_dim, &terms->values, error);
    return status;
}

static double pair_bias(const void *context, int64_t head, int64_t query, int64_t key)
{
    const struct position_formula *formula = context;
    return formula->encoding->pair_bias(formula, head, query, key);
}

static void fill_tables(const struct position_formula *formula, struct reference_attention *attention,
                        const struct attend_terms *terms)
{
    const struct formula_encoding *encoding = formula->encoding;
    struct reference_distances *distances = &attention->distances;
    for (int64_t row = 0; row < formula->heads * distances->count; row++) {
        int64_t head = row / distances->count, distance = distances->first + row % distances->count;
        if (encoding->bias)
            terms->bias[row] = encoding->bias(formula, head, distance);
        if (encoding->key)
            encoding->key(formula, head, distance, terms->keys + row * formula->head_dim);
        if (encoding->query)
            encoding->query(formula, head, distance, terms->queries + row * formula->head_dim);
        if (encoding->value)
            encoding->value(formula, head, distance, terms->values + row * formula->value_dim);
    }
    distances->bias = terms->bias;
    distances->keys = terms->keys;
    distances->queries = terms->queries;
    distances->values = terms->values;
    if (encoding->content_bias)
        distances->content_bias = formula->parameters[encoding->content_bias];
    if (encoding->position_bias)
        distances->position_bias = formula->parameters[encoding->position_bias];
}

rotary_status attend_position_make(const struct attend_position *position,
                                   struct reference_attention *attention, struct attend_terms *terms,
                                   rotary_error *error)
{
    struct position_formula *formula = &terms->formula;
    *formula = (struct position_formula){.encoding = position->encoding,
                                         .settings = position->settings,
                                         .heads = attention->heads,
                                         .head_dim = attention->head_dim,
                                         .value_dim = attention->value_dim,
                                         .causal = attention->after == 0};
    rotary_status status = ROTARY_OK;
    if (!position->encoding)
        return ROTARY_OK;
    for (int i = 0; !status && i < FORMULA_PARAMETERS && position->files[i]; i++)
        status = read_parameter(formula, i, position->files[i], &terms->parameters[i], error);
    if (status)
        return status;
    if (formula->encoding->pair_bias)
        attention->pairs = (struct reference_pairs){pair_bias, formula};
    set_distances(attention);
    status = make_tables(formula->encoding, attention, terms, error);
    if (!status)
        fill_tables(formula, attention, terms);
    return status;
}

void attend_terms_free(struct attend_terms *terms)
{
    for (int i = 0; i < FORMULA_PARAMETERS; i++)
        tensor_free(&terms->parameters[i]);
    free(terms->values);
    free(terms->queries);
    free(terms->keys);
    free(terms->bias);
    *terms = (struct attend_terms){0};
}
