/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoding/custom_encoding.h"

#include "base/fail.h"
#include "config/settings.h"
#include "file/file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLIP = 1 << 20 };

static const char *const keys[] = {"name", "embedding", "rotate",  "frequencies",
                                   "bias", "learned",   "vectors", NULL};
static const char *const vector_keys[] = {"of", "clip", NULL};
static const char *const number_keys[] = {"initial", "shared", NULL};
static const char *const embeddings[] = {
    [EMBEDDING_POSITION_NONE] = "none",
    [EMBEDDING_POSITION_LEARNED] = "learned",
    [EMBEDDING_POSITION_SINUSOIDAL] = "sinusoidal",
    NULL,
};

/* An object that is read. */
struct reader {
    const json_t *object;
    const char *where;
    struct custom_encoding *encoding;
    rotary_error *error;
};

/* ---- errors ---- */

/* "mine.json: "rotate" is 5, wanted ..." */
static rotary_status refuse(const struct reader *reader, const char *key, const json_t *value,
                            const char *wanted)
{
    char *got = file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    rotary_status status =
        rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT, "%.200s: \"%s\" is %.80s, wanted %s",
                    reader->where, key, got ? got : "not printable", wanted);
    free(got);
    return status;
}

static rotary_status refuse_names(const struct reader *reader, const char *key, const json_t *value,
                                  const char *const *names)
{
    char wanted[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES] = "",
                                       both[SETTINGS_NAMES_BYTES + SETTINGS_HINT_BYTES];
    if (json_is_string(value))
        settings_hint(json_string_value(value), names, hint);
    snprintf(both, sizeof both, "%s%s", settings_names(names, wanted), hint);
    return refuse(reader, key, value, both);
}

/* Refuses keys of `object`, the value of `within` if that is not NULL, that are not `known`. */
static rotary_status check_keys(const struct reader *reader, const char *within, const json_t *object,
                                const char *const *known)
{
    const char *key;
    json_t *value;
    char wanted[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        int i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                               "%.200s: %s%s%sthere is no key \"%.80s\", wanted %s%s", reader->where,
                               within ? "\"" : "", within ? within : "", within ? "\": " : "", key,
                               settings_names(known, wanted), settings_hint(key, known, hint));
    }
    return ROTARY_OK;
}

/* ---- names, embedding, rotation ---- */

/* Names are folders' too. */
static bool allows_name(const char *name)
{
    size_t length = strlen(name);
    bool good = length > 0 && length < ENCODING_NAME_BYTES && isalnum((unsigned char)name[0]);
    for (size_t i = 0; good && i < length; i++)
        good = isalnum((unsigned char)name[i]) || strchr("._+-", name[i]);
    return good;
}

static rotary_status read_name(const struct reader *reader)
{
    const json_t *value = json_object_get(reader->object, "name");
    const char *name = json_string_value(value);
    if (!value)
        return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                           "%.200s: there is no \"name\", wanted that of the encoding", reader->where);
    if (!name || !allows_name(name))
        return refuse(reader, "name", value,
                      "at most 63 letters, digits and \"._+-\", the first a letter or digit");
    bool taken = strcmp(name, "all") == 0;
    for (int i = 0; position_names[i]; i++)
        taken = taken || strcmp(name, position_names[i]) == 0;
    if (taken)
        return refuse(reader, "name", value, "one that no other encoding has");
    snprintf(reader->encoding->name, ENCODING_NAME_BYTES, "%s", name);
    return ROTARY_OK;
}

static rotary_status read_embedding(const struct reader *reader)
{
    const json_t *value = json_object_get(reader->object, "embedding");
    const char *name = json_string_value(value);
    if (!value)
        return ROTARY_OK;
    for (int i = 0; name && embeddings[i]; i++)
        if (strcmp(name, embeddings[i]) == 0) {
            reader->encoding->terms.embedding = (enum embedding_position)i;
            return ROTARY_OK;
        }
    return refuse_names(reader, "embedding", value, embeddings);
}

/* Which of query, key and value a list names. False for what is no such list, and for a name given twice. */
static bool read_roles(const json_t *list, bool found[3])
{
    static const char *const names[] = {"query", "key", "value"};
    const json_t *value;
    size_t known = 0, index;
    json_array_foreach (list, index, value)
        for (int i = 0; i < 3; i++)
            if (json_is_string(value) && strcmp(json_string_value(value), names[i]) == 0 && !found[i]) {
                found[i] = true;
                known++;
            }
    return json_is_array(list) && known == json_array_size(list);
}

static rotary_status read_rotate(const struct reader *reader)
{
    const json_t *list = json_object_get(reader->object, "rotate");
    bool found[3] = {false};
    if (!list)
        return ROTARY_OK;
    if (!read_roles(list, found) || found[0] != found[1])
        return refuse(reader, "rotate", list,
                      "[\"query\", \"key\"], [\"query\", \"key\", \"value\"], [\"value\"] or []");
    reader->encoding->terms.rotate =
        (found[0] ? (unsigned)ROTATE_QUERY_KEY : 0) | (found[2] ? (unsigned)ROTATE_VALUE_OUTPUT : 0);
    return ROTARY_OK;
}

/* ---- vectors by distance ---- */

static rotary_status read_vectors(const struct reader *reader)
{
    const json_t *value = json_object_get(reader->object, "vectors"), *of = json_object_get(value, "of"),
                 *clip = json_object_get(value, "clip");
    bool found[3] = {false};
    if (!value)
        return ROTARY_OK;
    if (!json_is_object(value))
        return refuse(reader, "vectors", value, "{\"of\": [\"key\", \"value\"], \"clip\": a distance}");
    rotary_status status = check_keys(reader, "vectors", value, vector_keys);
    if (status != ROTARY_OK)
        return status;
    if (!read_roles(of, found) || found[0] || !(found[1] || found[2]))
        return refuse(reader, "vectors", value, "an \"of\" that is [\"key\"], [\"value\"] or both");
    if (!json_is_integer(clip) || json_integer_value(clip) < 1 || json_integer_value(clip) > MAX_CLIP)
        return refuse(reader, "vectors", value, "a \"clip\" from 1 to 1048576");
    reader->encoding->clip = json_integer_value(clip);
    if (found[1])
        reader->encoding->terms.distance_vectors.keys = DISTANCE_VECTORS_TABLE;
    if (found[2])
        reader->encoding->terms.distance_vectors.values = DISTANCE_VECTORS_TABLE;
    return ROTARY_OK;
}

/* ---- formulas ---- */

static rotary_status create_formula(const struct reader *reader, const char *key, const json_t *value,
                                    const struct formula_name *names, int count, struct formula **formula)
{
    rotary_error wrong = {0};
    if (!json_is_string(value))
        return refuse(reader, key, value, "a formula, as a text, or a list of numbers");
    rotary_status status = formula_create(formula, json_string_value(value), names, count, &wrong);
    if (status != ROTARY_OK)
        return rotary_fail(reader->error, status, "%.200s: \"%s\", %s", reader->where, key, wrong.message);
    return ROTARY_OK;
}

/* ---- frequencies ---- */

static rotary_status create_frequencies(const struct reader *reader, const json_t *value,
                                        struct formula **formula)
{
    static const struct formula_name names[] = {{"pair", FORMULA_SERIES}, {"pairs", FORMULA_NUMBER}};
    return create_formula(reader, "frequencies", value, names, 2, formula);
}

/* Checks what does not depend on the number of pairs. */
static rotary_status read_frequencies(const struct reader *reader)
{
    const json_t *value = json_object_get(reader->object, "frequencies"), *number;
    const struct position_encoding *terms = &reader->encoding->terms;
    size_t index;
    if (!value)
        return ROTARY_OK;
    if (!terms->rotate)
        return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                           "%.200s: \"frequencies\" without \"rotate\", wanted what they rotate",
                           reader->where);
    if (!json_is_string(value) && !json_is_array(value))
        return refuse(reader, "frequencies", value, "a formula of pair and pairs, or a list of numbers");
    json_array_foreach (value, index, number)
        if (!json_is_number(number))
            return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                               "%.200s: \"frequencies\" has no number as entry %zu, wanted a list of numbers",
                               reader->where, index);
    return json_is_array(value) ? ROTARY_OK
                                : create_frequencies(reader, value, &reader->encoding->frequencies);
}

static rotary_status evaluate_frequencies(const struct custom_encoding *encoding, int64_t pairs, json_t *list,
                                          rotary_error *error)
{
    for (int64_t i = 0; i < pairs; i++) {
        const double pair = (double)i, count = (double)pairs;
        const double *const inputs[] = {&pair, &count};
        double value;
        formula_values(encoding->frequencies, inputs, 1, &value);
        if (!isfinite(value))
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "position %s: \"frequencies\" is %g for pair %lld of %lld, wanted a finite number",
                encoding->name, value, (long long)i, (long long)pairs);
        if (json_array_append_new(list, json_real(value)) != 0)
            return rotary_fail_memory(error, "for frequencies");
    }
    return ROTARY_OK;
}

static json_t *frequency_list(const struct custom_encoding *encoding)
{
    json_t *value = json_object_get(encoding->description.json, "frequencies");
    return json_is_array(value) ? value : NULL;
}

bool custom_encoding_has_frequencies(const struct custom_encoding *encoding)
{
    return encoding->frequencies || frequency_list(encoding);
}

rotary_status custom_encoding_frequencies(const struct custom_encoding *encoding, int64_t pairs,
                                          json_t **list, rotary_error *error)
{
    json_t *given = frequency_list(encoding);
    *list = NULL;
    if (given && json_array_size(given) != (size_t)pairs)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "position %s: \"frequencies\" has %zu numbers, wanted %lld, one for each pair of "
                           "rotated channels",
                           encoding->name, json_array_size(given), (long long)pairs);
    if (given)
        *list = json_deep_copy(given);
    if (!encoding->frequencies)
        return ROTARY_OK;
    json_t *made = json_array();
    rotary_status status = evaluate_frequencies(encoding, pairs, made, error);
    if (status == ROTARY_OK)
        *list = made;
    else
        json_decref(made);
    return status;
}

/* ---- the bias ---- */

static rotary_status read_initial(const struct reader *reader, const char *key, const json_t *value,
                                  struct custom_number *number)
{
    static const struct formula_name names[] = {{"head", FORMULA_NUMBER}, {"heads", FORMULA_NUMBER}};
    rotary_status status = ROTARY_OK;
    number->value = json_number_value(value);
    if (json_is_string(value))
        status = create_formula(reader, key, value, names, 2, &number->initial);
    else if (!json_is_number(value))
        status = refuse(reader, key, value,
                        "its initial value: a number, a formula, or {\"initial\": ..., \"shared\": true}");
    if (status == ROTARY_OK && number->shared && number->initial && formula_uses(number->initial, 0))
        status = rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                             "%.200s: \"%s\" is shared by all heads, and its initial value depends on head",
                             reader->where, key);
    return status;
}

static rotary_status read_number(const struct reader *reader, const char *name, const json_t *value)
{
    struct custom_encoding *encoding = reader->encoding;
    char key[FORMULA_NAME_BYTES + 16];
    if (!formula_allows_name(name) || strcmp(name, "distance") == 0 || strcmp(name, "head") == 0 ||
        strcmp(name, "heads") == 0)
        return rotary_fail(
            reader->error, ROTARY_INVALID_ARGUMENT,
            "%.200s: \"learned\": a number is named \"%.40s\", wanted at most 31 letters, digits "
            "and \"_\", and no name that formulas have",
            reader->where, name);
    if (encoding->learned == DISTANCE_BIAS_PARAMETERS)
        return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                           "%.200s: \"learned\" has more than %d numbers, wanted fewer", reader->where,
                           (int)DISTANCE_BIAS_PARAMETERS);
    struct custom_number *number = &encoding->numbers[encoding->learned++];
    snprintf(number->name, sizeof number->name, "%s", name);
    snprintf(key, sizeof key, "learned\": \"%s", name);
    if (!json_is_object(value))
        return read_initial(reader, key, value, number);
    const json_t *shared = json_object_get(value, "shared");
    rotary_status status = check_keys(reader, key, value, number_keys);
    if (status == ROTARY_OK && shared && !json_is_boolean(shared))
        status = refuse(reader, "shared", shared, "true or false");
    number->shared = json_is_true(shared);
    if (status != ROTARY_OK)
        return status;
    if (!json_object_get(value, "initial"))
        return refuse(reader, key, value, "an \"initial\" value");
    return read_initial(reader, key, json_object_get(value, "initial"), number);
}

static rotary_status read_numbers(const struct reader *reader)
{
    const json_t *learned = json_object_get(reader->object, "learned");
    const char *name;
    json_t *value;
    rotary_status status = ROTARY_OK;
    if (!learned)
        return ROTARY_OK;
    if (!json_is_object(learned))
        return refuse(reader, "learned", learned, "an object of names and initial values");
    json_object_foreach ((json_t *)(uintptr_t)learned, name, value)
        if (status == ROTARY_OK)
            status = read_number(reader, name, value);
    return status;
}

/* The formula, which must depend on all the numbers. */
static rotary_status read_formula(const struct reader *reader, const json_t *value)
{
    struct formula_name names[FORMULA_BIAS_NAMES + DISTANCE_BIAS_PARAMETERS] = {
        [FORMULA_BIAS_DISTANCE] = {"distance", FORMULA_SERIES},
        [FORMULA_BIAS_HEAD] = {"head", FORMULA_NUMBER},
        [FORMULA_BIAS_HEADS] = {"heads", FORMULA_NUMBER}};
    struct custom_encoding *encoding = reader->encoding;
    for (int i = 0; i < encoding->learned; i++) {
        names[FORMULA_BIAS_NAMES + i].role = FORMULA_LEARNED;
        memcpy(names[FORMULA_BIAS_NAMES + i].name, encoding->numbers[i].name, FORMULA_NAME_BYTES);
    }
    rotary_status status =
        create_formula(reader, "bias", value, names, FORMULA_BIAS_NAMES + encoding->learned, &encoding->bias);
    for (int i = 0; status == ROTARY_OK && i < encoding->learned; i++)
        if (!formula_uses(encoding->bias, FORMULA_BIAS_NAMES + i))
            status = rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                                 "%.200s: \"learned\" has \"%s\", which is not in \"bias\"", reader->where,
                                 encoding->numbers[i].name);
    return status;
}

static rotary_status read_formula_bias(const struct reader *reader, const json_t *value)
{
    rotary_status status = read_numbers(reader);
    if (status == ROTARY_OK)
        status = read_formula(reader, value);
    reader->encoding->terms.distance_bias = formula_bias_function(reader->encoding->learned);
    return status;
}

/* Copies a row of a table whose rows have table->columns numbers. */
static rotary_status read_row(const struct reader *reader, const json_t *row, int64_t index)
{
    struct table_bias *table = &reader->encoding->table;
    if (json_array_size(row) != (size_t)table->columns)
        return rotary_fail(
            reader->error, ROTARY_INVALID_ARGUMENT,
            "%.200s: \"bias\" has no list of %lld numbers as row %lld, wanted rows of one length",
            reader->where, (long long)table->columns, (long long)index);
    for (int64_t i = 0; i < table->columns; i++) {
        const json_t *number = json_array_get(row, (size_t)i);
        const float value = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(value))
            return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                               "%.200s: \"bias\" has no finite number as entry %lld of row %lld",
                               reader->where, (long long)i, (long long)index);
        table->values[index * table->columns + i] = value;
    }
    return ROTARY_OK;
}

/* A list of numbers, or of such lists for each head. */
static rotary_status read_table(const struct reader *reader, const json_t *value)
{
    struct table_bias *table = &reader->encoding->table;
    const json_t *first = json_array_get(value, 0), *learned = json_object_get(reader->object, "learned");
    const bool by_head = json_is_array(first);
    table->rows = by_head ? (int64_t)json_array_size(value) : 1;
    table->columns = (int64_t)json_array_size(by_head ? first : value);
    table->is_learned = json_is_true(learned);
    if (learned && !json_is_boolean(learned))
        return refuse(reader, "learned", learned, "true or false, as \"bias\" is a table");
    if (table->columns == 0)
        return refuse(reader, "bias", value, "a number at least");
    table->values = calloc((size_t)table->rows * (size_t)table->columns, sizeof *table->values);
    if (!table->values)
        return rotary_fail_memory(reader->error, "for a table of biases");
    rotary_status status = ROTARY_OK;
    for (int64_t row = 0; status == ROTARY_OK && row < table->rows; row++)
        status = read_row(reader, by_head ? json_array_get(value, (size_t)row) : value, row);
    reader->encoding->terms.distance_bias = table_bias_function(table);
    return status;
}

static rotary_status read_bias(const struct reader *reader)
{
    const json_t *value = json_object_get(reader->object, "bias");
    if (value)
        return json_is_array(value) ? read_table(reader, value) : read_formula_bias(reader, value);
    if (!json_object_get(reader->object, "learned"))
        return ROTARY_OK;
    return rotary_fail(reader->error, ROTARY_INVALID_ARGUMENT,
                       "%.200s: \"learned\" without \"bias\", whose numbers it has", reader->where);
}

/* ---- a model's ---- */

/* Evaluates the initial value of a number for each head. */
static rotary_status fill_initial(const struct custom_encoding *encoding, const struct custom_number *given,
                                  int64_t heads, struct formula_bias_number *number, rotary_error *error)
{
    const int64_t values = given->shared ? 1 : heads;
    double head, count = (double)heads, value = given->value;
    const double *const inputs[] = {&head, &count};
    memcpy(number->name, given->name, sizeof number->name);
    number->shared = given->shared;
    number->initial = calloc((size_t)values + 1, sizeof *number->initial);
    if (!number->initial)
        return rotary_fail_memory(error, "for the initial values of %s", given->name);
    for (int64_t i = 0; i < values; i++) {
        head = (double)i;
        if (given->initial)
            formula_values(given->initial, inputs, 1, &value);
        number->initial[i] = (float)value;
        if (!isfinite(number->initial[i]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "position %s: \"learned\": \"%s\" begins as %g in head %lld of %lld, wanted a "
                               "finite number",
                               encoding->name, given->name, value, (long long)i, (long long)heads);
    }
    return ROTARY_OK;
}

rotary_status custom_encoding_bias(const struct custom_encoding *encoding, int64_t heads,
                                   struct formula_bias *bias, rotary_error *error)
{
    struct formula_bias made = {.formula = encoding->bias};
    const int64_t rows = encoding->table.rows;
    rotary_status status = ROTARY_OK;
    if (rows > 1 && rows != heads)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "position %s: \"bias\" has %lld rows, wanted %lld, one for each head, or 1",
                           encoding->name, (long long)rows, (long long)heads);
    for (int i = 0; status == ROTARY_OK && i < encoding->learned; i++)
        status = fill_initial(encoding, &encoding->numbers[i], heads, &made.numbers[made.learned++], error);
    if (status == ROTARY_OK)
        *bias = made;
    else
        formula_bias_free(&made);
    return status;
}

/* ---- public ---- */

static void destroy(struct setting_description *description)
{
    custom_encoding_free((struct custom_encoding *)(void *)description);
}

rotary_status custom_encoding_read(const json_t *object, const char *where, struct custom_encoding **encoding,
                                   rotary_error *error)
{
    struct custom_encoding *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "to read a position encoding");
    made->description = (struct setting_description){
        .json = json_deep_copy(object), .owners = 1, .destroy = destroy}; /* nobody else can change it */
    const struct reader reader = {object, where, made, error};
    rotary_status (*const steps[])(const struct reader *reader) = {
        read_name, read_embedding, read_rotate, read_frequencies, read_vectors, read_bias,
    };
    rotary_status status = check_keys(&reader, NULL, object, keys);
    for (size_t i = 0; status == ROTARY_OK && i < sizeof steps / sizeof *steps; i++)
        status = steps[i](&reader);
    if (status == ROTARY_OK)
        *encoding = made;
    else
        custom_encoding_free(made);
    return status;
}

void custom_encoding_free(struct custom_encoding *encoding)
{
    if (!encoding)
        return;
    json_decref(encoding->description.json);
    formula_destroy(encoding->frequencies);
    formula_destroy(encoding->bias);
    for (int i = 0; i < encoding->learned; i++)
        formula_destroy(encoding->numbers[i].initial);
    table_bias_free(&encoding->table);
    free(encoding);
}

rotary_status custom_encoding_describe(const json_t *object, struct setting_description **description,
                                       rotary_error *error)
{
    enum { WHERE_BYTES = ENCODING_NAME_BYTES + 16 };
    const char *name = file_json_name(object);
    struct custom_encoding *made;
    char where[WHERE_BYTES];
    snprintf(where, sizeof where, "position %s", name ? name : "without a name");
    rotary_status status = custom_encoding_read(object, where, &made, error);
    if (status == ROTARY_OK)
        *description = &made->description;
    return status;
}
