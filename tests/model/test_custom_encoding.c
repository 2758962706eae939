/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings that a configuration describes: models with them compute what those with the named encodings of
 * the same terms do, bit by bit where the terms are the same; what is wrong is said with its key and column.
 */
#include "model/model_keys.h"
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"

#include "file/file.h"
#include "file/npy.h"
#include "model/encoding/model_encoding.h"
#include "model/encoding/shipped_encodings.h"
#include "model/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VOCABULARY = 11, BATCH = 2, TIME = 9, ROWS = BATCH * TIME };

#define ALIBI                                                                                                \
    "-if(head < 2^floor(log2(heads)), 2^(-8*(head+1)/2^floor(log2(heads))),"                                 \
    " 2^(-4*(2*(head-2^floor(log2(heads)))+1)/2^floor(log2(heads)))) * abs(distance)"

/* ---- models ---- */

/* position: a name, or an object as text. */
static struct transformer_config config_of(const char *position)
{
    struct transformer_config config;
    char assignment[2048];
    transformer_config_default(&config);
    config.vocab_size = VOCABULARY;
    config.hidden_size = 24;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 3;
    config.max_position_embeddings = TIME;
    snprintf(assignment, sizeof assignment, "position=%s", position);
    model_assign(&config, assignment);
    return config;
}

static struct transformer *create(const struct backend *backend, const struct transformer_config *config)
{
    const struct transformer_limits limits = {.batch = BATCH, .time = TIME, .training = true};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, config, limits, 5, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

static double run(struct transformer *transformer)
{
    int32_t tokens[ROWS], targets[ROWS];
    for (int i = 0; i < ROWS; i++) {
        tokens[i] = (i * 7 + 3) % VOCABULARY;
        targets[i] = (i * 5 + 1) % VOCABULARY;
    }
    const struct batch batch = {.input = {.batch = BATCH, .time = TIME, .tokens = tokens},
                                .classes = targets};
    const struct transformer_call call = {.batch = &batch, .backward = true, .gradient_scale = 1.0f};
    struct loss_sums loss = {0};
    rotary_error error = {0};
    CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_OK);
    return loss.total;
}

/* The same loss and gradients as of the named encoding, to the bit. */
static void check_same(const struct backend *backend, const char *own, const char *named)
{
    struct transformer_config a TRANSFORMER_CONFIG_LOCAL = config_of(own), b = config_of(named);
    struct transformer *mine = create(backend, &a), *theirs = create(backend, &b);
    const struct parameters *parameters = transformer_parameters(mine);
    check_about("%s", named);
    CHECK_INT(parameters->count, transformer_parameters(theirs)->count);
    double loss = run(mine);
    CHECK_NEAR(loss, run(theirs), 0);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS),
          *wanted = parameter_copy(transformer_parameters(theirs), PARAMETER_GRADIENTS);
    CHECK_INT(parameters->elements, transformer_parameters(theirs)->elements);
    CHECK(memcmp(gradients, wanted, (size_t)parameters->elements * sizeof *gradients) == 0);
    free(gradients);
    free(wanted);
    transformer_destroy(mine);
    transformer_destroy(theirs);
}

static void set_values(struct transformer *transformer, const char *name, const float *values, int64_t count)
{
    struct parameters *parameters = transformer_parameters(transformer);
    rotary_error error = {0};
    int row = parameters_find(parameters, name);
    check_about("%s", name);
    if (!CHECK(row >= 0) || !CHECK_INT(parameter_elements(&parameters->rows[row]), count))
        exit(1);
    CHECK_INT(
        parameters_write(parameters, parameter_range(parameters, PARAMETER_VALUES, row), values, &error),
        ROTARY_OK);
}

static double gradient_of(struct transformer *transformer, const char *name, int element)
{
    struct parameters *parameters = transformer_parameters(transformer);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    double gradient = (double)gradients[parameters->rows[parameters_find(parameters, name)].offset + element];
    free(gradients);
    return gradient;
}

/* KERPLE, as named and from its formula, with the same numbers. */
static void check_kerple(const struct backend *backend)
{
    struct transformer_config a
        TRANSFORMER_CONFIG_LOCAL =
            config_of("{\"name\":\"mine\",\"bias\":\"-exp(scale) * log(1 + exp(slope) * abs(distance))\","
                      "\"learned\":{\"scale\":0,\"slope\":\"head/heads\"}}"),
        b TRANSFORMER_CONFIG_LOCAL = config_of("kerple");
    struct transformer *mine = create(backend, &a), *theirs = create(backend, &b);
    static const float scale[] = {0.4f, -0.7f, 0.1f}, slope[] = {-1.2f, 0.3f, 0.0f};
    float *values = parameter_copy(transformer_parameters(mine), PARAMETER_VALUES);
    const struct parameters *parameters = transformer_parameters(mine);
    const float *initial = values + parameters->rows[parameters_find(parameters, "position.slope")].offset;
    for (int head = 0; head < 3; head++)
        CHECK_NEAR((double)initial[head], head / 3.0, 1e-7);
    free(values);
    set_values(mine, "position.scale", scale, 3);
    set_values(mine, "position.slope", slope, 3);
    set_values(theirs, "kerple.log_scale", scale, 3);
    set_values(theirs, "kerple.log_slope", slope, 3);
    double loss = run(mine);
    CHECK_NEAR(loss, run(theirs), 1e-5);
    for (int head = 0; head < 3; head++) {
        double by_scale = gradient_of(theirs, "kerple.log_scale", head),
               by_slope = gradient_of(theirs, "kerple.log_slope", head);
        CHECK(fabs(by_scale) > 1e-4 && fabs(by_slope) > 1e-4);
        CHECK_NEAR(gradient_of(mine, "position.scale", head), by_scale, 1e-4 * fabs(by_scale));
        CHECK_NEAR(gradient_of(mine, "position.slope", head), by_slope, 1e-4 * fabs(by_slope));
    }
    transformer_destroy(mine);
    transformer_destroy(theirs);
}

/* A table with ALiBi's numbers of each head is ALiBi, in either direction. */
static void check_table(const struct backend *backend)
{
    char text[2048] = "{\"name\":\"mine\",\"bias\":[";
    const struct distance_bias_shape shape = {.heads = 3, .distances = TIME, .first = 1 - TIME};
    float table[3 * TIME];
    position_encoding(POSITION_ALIBI)->distance_bias->fill(&shape, NULL, table);
    for (int head = 0; head < 3; head++)
        for (int i = 0; i < TIME; i++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%.9g%s", i == 0 ? (head ? ",[" : "[") : ",",
                     (double)table[head * TIME + TIME - 1 - i], i == TIME - 1 ? "]" : "");
        }
    strcat(text, "]}");
    check_same(backend, text, "alibi");
}

/* A learned table of four numbers for all heads, and the same numbers in a formula. */
static void check_learned_table(const struct backend *backend)
{
    static const char *const names[] = {"position.a", "position.b", "position.c", "position.d"};
    struct transformer_config a
        TRANSFORMER_CONFIG_LOCAL =
            config_of("{\"name\":\"mine\",\"bias\":[0.5,-0.25,1,-1.5],\"learned\":true}"),
        b TRANSFORMER_CONFIG_LOCAL =
            config_of("{\"name\":\"theirs\",\"bias\":\"if(distance == 0, a, if(distance == -1, b,"
                      "if(distance == -2, c, d)))\",\"learned\":{"
                      "\"a\":{\"initial\":0.5,\"shared\":true},\"b\":{\"initial\":-0.25,\"shared\":true},"
                      "\"c\":{\"initial\":1,\"shared\":true},\"d\":{\"initial\":-1.5,\"shared\":true}}}");
    struct transformer *mine = create(backend, &a), *theirs = create(backend, &b);
    check_about("%s", "a learned table");
    double loss = run(mine);
    CHECK_NEAR(loss, run(theirs), 0);
    const struct parameters *parameters = transformer_parameters(mine);
    const struct parameter *row = &parameters->rows[parameters_find(parameters, "position.bias")];
    CHECK(row->rows == 1 && row->columns == 4 && !row->decay);
    for (int i = 0; i < 4; i++) {
        double wanted = gradient_of(theirs, names[i], 0);
        CHECK(fabs(wanted) > 1e-4);
        CHECK_NEAR(gradient_of(mine, "position.bias", i), wanted, 1e-6 * fabs(wanted));
    }
    transformer_destroy(mine);
    transformer_destroy(theirs);
}

/* Vectors of keys or of values alone, with the clipping distance of the description. */
static void check_clip(const struct backend *backend)
{
    static const struct {
        const char *of;
        bool keys, values;
    } cases[] = {
        {"[\"key\"]", true, false}, {"[\"value\"]", false, true}, {"[\"key\",\"value\"]", true, true}};
    for (size_t i = 0; i < 3; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"name\":\"mine\",\"vectors\":{\"of\":%s,\"clip\":3}}", cases[i].of);
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = config_of(text);
        struct transformer *transformer = create(backend, &config);
        const struct parameters *parameters = transformer_parameters(transformer);
        int keys = 0, values = 0;
        for (int row = 0; row < parameters->count; row++) {
            const struct parameter *parameter = &parameters->rows[row];
            bool relative = strstr(parameter->name, "relative");
            keys += relative && strstr(parameter->name, "key");
            values += relative && strstr(parameter->name, "value");
            if (relative)
                CHECK_INT(parameter->rows, 4); /* distances 0 ... -3 of a decoder */
        }
        check_about("%s", cases[i].of);
        CHECK_INT(keys, cases[i].keys ? 2 : 0);
        CHECK_INT(values, cases[i].values ? 2 : 0);
        CHECK(isfinite(run(transformer)));
        transformer_destroy(transformer);
    }
}

/* ---- what is refused ---- */

static void refuse(const char *text, const char *message)
{
    rotary_error error = {0};
    struct custom_encoding *encoding = NULL;
    struct formula_bias bias;
    json_t *object = json_loads(text, 0, NULL);
    check_about("%.100s", text);
    if (!CHECK(object))
        return;
    rotary_status status = custom_encoding_read(object, "mine.json", &encoding, &error);
    if (status == ROTARY_OK)
        status = custom_encoding_bias(encoding, 4, &bias, &error);
    CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
    custom_encoding_free(encoding);
    CHECK_WORDS(error.message, message);
    json_decref(object);
}

static void check_refused(void)
{
    refuse("{}", "mine.json: there is no \"name\"");
    refuse("{\"name\": 5}", "mine.json: \"name\" is 5, wanted at most 63 letters");
    refuse("{\"name\": \"../x\"}", "\"name\" is \"../x\", wanted");
    refuse("{\"name\": \"rope\"}", "\"name\" is \"rope\", wanted one that no other encoding has");
    refuse("{\"name\": \"all\"}", "wanted one that no other encoding has");
    refuse("{\"name\": \"a\", \"baas\": \"1\"}",
           "mine.json: there is no key \"baas\", wanted name, |bias|did you mean");
    refuse("{\"name\": \"a\", \"embedding\": \"learnt\"}",
           "\"embedding\" is \"learnt\", wanted none, learned or sinusoidal; did you mean \"learned\"?");
    refuse("{\"name\": \"a\", \"embedding\": 1}", "\"embedding\" is 1, wanted none");
    refuse("{\"name\": \"a\", \"rotate\": [\"query\"]}",
           "\"rotate\" is [\"query\"], wanted [\"query\", \"key\"]");
    refuse("{\"name\": \"a\", \"rotate\": [\"query\", \"key\", \"key\"]}", "\"rotate\" is");
    refuse("{\"name\": \"a\", \"rotate\": true}", "\"rotate\" is true, wanted");
    refuse("{\"name\": \"a\", \"bias\": 3}", "mine.json: \"bias\" is 3, wanted a formula");
    refuse("{\"name\": \"a\", \"bias\": \"-dist\"}",
           "mine.json: \"bias\", column 2: there is no name \"dist\"");
    refuse("{\"name\": \"a\", \"learned\": {\"w\": 1}}", "\"learned\" without \"bias\"");
    refuse("{\"name\": \"a\", \"bias\": \"1\", \"learned\": [1]}", "\"learned\" is [1], wanted an object");
    refuse("{\"name\": \"a\", \"bias\": \"1\", \"learned\": {\"w\": 1}}",
           "\"learned\" has \"w\", which is not in \"bias\"");
    refuse("{\"name\": \"a\", \"bias\": \"1\", \"learned\": {\"head\": 1}}", "a number is named \"head\"");
    refuse("{\"name\": \"a\", \"bias\": \"1\", \"learned\": {\"a-b\": 1}}", "a number is named \"a-b\"");
    refuse("{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": null}}",
           "\"learned\": \"w\" is null, wanted its initial value");
    refuse("{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": \"distance\"}}",
           "\"learned\": \"w\", column 1: there is no name \"distance\", wanted one of head, heads, pi");
    refuse("{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": {\"shared\": true}}}",
           "wanted an \"initial\" value");
    refuse("{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": {\"initial\": 1, \"share\": true}}}",
           "there is no key \"share\", wanted initial or shared");
    refuse("{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": {\"initial\": 1, \"shared\": 1}}}",
           "\"shared\" is 1, wanted true or false");
    refuse(
        "{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": {\"initial\": \"head\", \"shared\": true}}}",
        "\"learned\": \"w\" is shared by all heads, and its initial value depends on head");
    refuse("{\"name\": \"a\", \"bias\": \"w\", \"learned\": {\"w\": \"1/(head - 2)\"}}",
           "\"w\" begins as inf in head 2 of 4, wanted a finite number");
    refuse("{\"name\": \"a\", \"bias\": \"a+b+c+d+f+g+h+i+j\", \"learned\": {\"a\":1,\"b\":1,\"c\":1,\"d\":1,"
           "\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1}}",
           "\"learned\" has more than 8 numbers");
}

static void check_table_refused(void)
{
    refuse("{\"name\": \"a\", \"bias\": []}", "\"bias\" is [], wanted a number at least");
    refuse("{\"name\": \"a\", \"bias\": [[]]}", "\"bias\" is [[]], wanted a number at least");
    refuse("{\"name\": \"a\", \"bias\": [1, \"2\"]}", "\"bias\" has no finite number as entry 1 of row 0");
    refuse("{\"name\": \"a\", \"bias\": [1e39]}", "\"bias\" has no finite number as entry 0 of row 0");
    refuse("{\"name\": \"a\", \"bias\": [1, [2]]}", "\"bias\" has no finite number as entry 1 of row 0");
    refuse("{\"name\": \"a\", \"bias\": [[1, 2], [3, 4], [5], [6, 7]]}",
           "\"bias\" has no list of 2 numbers as row 2, wanted rows of one length");
    refuse("{\"name\": \"a\", \"bias\": [[1], 2, [3], [4]]}", "\"bias\" has no list of 1 numbers as row 1");
    refuse("{\"name\": \"a\", \"bias\": [[1], [2]]}",
           "\"bias\" has 2 rows, wanted 4, one for each head, or 1");
    refuse("{\"name\": \"a\", \"bias\": [1], \"learned\": {}}", "\"learned\" is {}, wanted true or false");
}

static void check_rotation_refused(void)
{
#define ROTATES "{\"name\": \"a\", \"rotate\": [\"query\", \"key\"], "
    refuse("{\"name\": \"a\", \"frequencies\": \"1\"}", "\"frequencies\" without \"rotate\"");
    refuse(ROTATES "\"frequencies\": 1}",
           "\"frequencies\" is 1, wanted a formula of pair and pairs, or a list");
    refuse(ROTATES "\"frequencies\": [1, true]}", "\"frequencies\" has no number as entry 1");
    refuse(ROTATES "\"frequencies\": \"10^-dim\"}",
           "\"frequencies\", column 5: there is no name \"dim\", wanted one of pair, pairs, pi");
    refuse("{\"name\": \"a\", \"vectors\": 16}", "\"vectors\" is 16, wanted {\"of\"");
    refuse("{\"name\": \"a\", \"vectors\": {\"of\": [\"query\"], \"clip\": 2}}",
           "wanted an \"of\" that is [\"key\"]");
    refuse("{\"name\": \"a\", \"vectors\": {\"of\": [], \"clip\": 2}}", "wanted an \"of\" that is [\"key\"]");
    refuse("{\"name\": \"a\", \"vectors\": {\"of\": [\"key\"], \"clip\": 0}}", "wanted a \"clip\" from 1");
    refuse("{\"name\": \"a\", \"vectors\": {\"of\": [\"key\"], \"clip\": 2, \"clop\": 1}}",
           "\"vectors\": there is no key \"clop\", wanted of or clip; did you mean \"clip\"?");
    static const struct {
        const char *frequencies, *message;
    } cases[] = {
        {"[1, 2, 3]", "position mine: \"frequencies\" has 3 numbers, wanted 4, one for each pair"},
        {"\"1/(pair - 2)\"", "position mine: \"frequencies\" is inf for pair 2 of 4, wanted a finite"}};
    for (size_t i = 0; i < 2; i++) {
        char text[128];
        rotary_error error = {0};
        snprintf(text, sizeof text, "{\"name\":\"mine\",\"rotate\":[\"query\",\"key\"],\"frequencies\":%s}",
                 cases[i].frequencies);
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = config_of(text);
        check_about("%s", text);
        CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, cases[i].message);
    }
}

/* What depends on the model is found when its configuration is checked. */
static void check_finite(void)
{
    rotary_error error = {0};
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL =
        config_of("{\"name\":\"mine\",\"bias\":\"log(abs(distance) - 7 + head)\"}");
    CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message,
                "position mine: \"bias\" is |nan at distance 0 in head 0, wanted a finite number");
    transformer_config_free(&config);
    config = config_of("{\"name\":\"mine\",\"bias\":\"1/(8 + distance)\"}");
    CHECK_INT(transformer_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "\"bias\" is inf at distance -8 in head 0");
    config.max_position_embeddings = 8;
    CHECK_INT(transformer_config_check(&config, &error), ROTARY_OK);
}

/* A description is read with the key that has it, and copies of the configuration share what it says. */
static void check_described(void)
{
    rotary_error error = {0};
    struct transformer_config config TRANSFORMER_CONFIG_LOCAL =
        config_of("{\"name\":\"mine\",\"bias\":\"1\"}");
    struct transformer_config copy TRANSFORMER_CONFIG_LOCAL = {0};
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(&config, settings);
    const struct custom_encoding *mine = model_encoding_custom(&config);
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS,
                              "position={\"name\":\"mine\",\"bias\":\"dist\"}", &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "position mine: \"bias\", column 1: there is no name");
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, "position={\"bias\":\"1\"}", &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "position without a name: there is no \"name\"");
    CHECK(model_encoding_custom(&config) == mine);
    transformer_config_copy(&copy, &config);
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, "position=alibi", &error), ROTARY_OK);
    CHECK(!model_encoding_custom(&config));
    CHECK_TEXT(model_encoding_name(&config), "alibi");
    CHECK(model_encoding_custom(&copy) == mine);
    CHECK_TEXT(model_encoding_name(&copy), "mine");
    CHECK(model_encoding(&copy)->distance_bias != NULL);
}

/* ---- files ---- */

static void write_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

/* Numbers of an array beside the file, in as many digits as they have. */
static void check_array(void)
{
    static float numbers[] = {0.1f, 2.0f, -3e-5f};
    struct npy array = {.type = NPY_F32, .dimensions = 1, .shape = {3}, .data = numbers};
    rotary_error error = {0};
    json_t *value = NULL;
    CHECK_INT(mkdir("beside", 0777), 0);
    CHECK_INT(npy_write("beside/some.npy", &array, &error), ROTARY_OK);
    write_text("beside/array.json", "{\"rotate\": [\"query\", \"key\"], \"frequencies\": \"some.npy\"}");
    CHECK_INT(custom_encoding_value("beside/array.json", &value, &error), ROTARY_OK);
    char *text = file_json_text(json_object_get(value, "frequencies"), JSON_COMPACT | JSON_ENCODE_ANY);
    CHECK_TEXT(text, "[0.1,2.0,-3e-5]");
    free(text);
    json_decref(value);
    array.dimensions = 2;
    array.shape[0] = 1;
    array.shape[1] = 3;
    CHECK_INT(npy_write("beside/some.npy", &array, &error), ROTARY_OK);
    write_text("beside/table.json", "{\"bias\": \"some.npy\", \"learned\": true}");
    CHECK_INT(custom_encoding_value("beside/table.json", &value, &error), ROTARY_OK);
    text = file_json_text(json_object_get(value, "bias"), JSON_COMPACT | JSON_ENCODE_ANY);
    CHECK_TEXT(text, "[[0.1,2.0,-3e-5]]");
    free(text);
    json_decref(value);
    static double doubles[] = {0.1, 1.0 / 3.0, -2};
    const struct npy wide = {.type = NPY_F64, .dimensions = 1, .shape = {3}, .data = doubles};
    CHECK_INT(npy_write("beside/some.npy", &wide, &error), ROTARY_OK);
    CHECK_INT(custom_encoding_value("beside/table.json", &value, &error), ROTARY_OK);
    text = file_json_text(json_object_get(value, "bias"), JSON_COMPACT | JSON_ENCODE_ANY);
    CHECK_TEXT(text, "[0.1,0.33333334,-2.0]");
    free(text);
    json_decref(value);
    array.dimensions = 1;
    array.shape[0] = 3;
    numbers[1] = (float)INFINITY;
    CHECK_INT(npy_write("beside/some.npy", &array, &error), ROTARY_OK);
    CHECK_INT(custom_encoding_value("beside/array.json", &value, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "beside/some.npy: number 1 is not finite");
    array.dimensions = 2;
    array.shape[1] = 1;
    CHECK_INT(npy_write("beside/some.npy", &array, &error), ROTARY_OK);
    CHECK_INT(custom_encoding_value("beside/array.json", &value, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "beside/some.npy: wanted an array of one dimension");
}

static void check_files(void)
{
    rotary_error error = {0};
    json_t *value = NULL;
    CHECK_INT(chdir(scratch_folder()), 0);
    write_text("mine.json", "{\"rotate\": [\"query\", \"key\"]}");
    write_text("other.json", "{\"name\": \"theirs\"}");
    write_text("rope.json", "{}");
    write_text("line.json", "{\n\"rotate\" 5}");
    CHECK_INT(custom_encoding_value("mine.json", &value, &error), ROTARY_OK);
    CHECK_TEXT(file_json_name(value), "mine");
    json_decref(value);
    CHECK_INT(custom_encoding_value("./other.json", &value, &error), ROTARY_OK);
    CHECK_TEXT(file_json_name(value), "theirs");
    json_decref(value);
    CHECK_INT(custom_encoding_value("alibi", &value, &error), ROTARY_OK);
    CHECK_TEXT(file_json_name(value), "alibi");
    json_decref(value);
    check_array();
    CHECK(custom_encoding_value("rope.json", &value, &error) != ROTARY_OK);
    CHECK_WORDS(error.message, "rope.json: \"name\" is \"rope\", wanted one that no other encoding has");
    CHECK(custom_encoding_value("line.json", &value, &error) != ROTARY_OK);
    CHECK_WORDS(error.message, "line.json, line 2, column ");
    CHECK(custom_encoding_value("none.json", &value, &error) != ROTARY_OK);
    CHECK_WORDS(error.message, "none.json");
}

/* The files that come with the program make models. */
static void check_shipped(const struct backend *backend)
{
    int count = 0;
    for (; shipped_encoding_names[count]; count++) {
        rotary_error error = {0};
        json_t *value = NULL;
        check_about("%s", shipped_encoding_names[count]);
        if (!CHECK_INT(custom_encoding_value(shipped_encoding_names[count], &value, &error), ROTARY_OK))
            continue;
        CHECK_TEXT(file_json_name(value), shipped_encoding_names[count]);
        char *text = file_json_text(value, JSON_COMPACT);
        struct transformer_config config TRANSFORMER_CONFIG_LOCAL = config_of(text);
        struct transformer *transformer = create(backend, &config);
        CHECK(isfinite(run(transformer)));
        transformer_destroy(transformer);
        free(text);
        json_decref(value);
    }
    CHECK(count >= 3);
}

/* ALiBi whose slopes are learned begins as ALiBi, where the number of heads is a power of two. */
static void check_learned_slopes(const struct backend *backend)
{
    rotary_error error = {0};
    json_t *value = NULL;
    CHECK_INT(custom_encoding_value("alibi-learned", &value, &error), ROTARY_OK);
    char *text = file_json_text(value, JSON_COMPACT);
    struct transformer_config mine TRANSFORMER_CONFIG_LOCAL = config_of(text), theirs = config_of("alibi");
    mine.num_attention_heads = theirs.num_attention_heads = 4;
    struct transformer *a = create(backend, &mine), *b = create(backend, &theirs);
    check_about("%s", "alibi-learned");
    CHECK_NEAR(run(a), run(b), 1e-4);
    transformer_destroy(a);
    transformer_destroy(b);
    free(text);
    json_decref(value);
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    check_same(&backend, "{\"name\":\"mine\"}", "none");
    check_same(&backend, "{\"name\":\"mine\",\"embedding\":\"learned\"}", "learned");
    check_same(&backend, "{\"name\":\"mine\",\"embedding\":\"sinusoidal\"}", "sinusoidal");
    check_same(&backend, "{\"name\":\"mine\",\"rotate\":[\"query\",\"key\"]}", "rope");
    check_same(&backend, "{\"name\":\"mine\",\"rotate\":[\"value\",\"key\",\"query\"]}", "roper");
    check_same(&backend, "{\"name\":\"mine\",\"bias\":\"" ALIBI "\"}", "alibi");
    check_same(&backend,
               "{\"name\":\"mine\",\"rotate\":[\"query\",\"key\"],\"frequencies\":"
               "\"10000^(-pair/pairs)\"}",
               "rope");
    check_same(&backend,
               "{\"name\":\"mine\",\"rotate\":[\"query\",\"key\",\"value\"],\"frequencies\":"
               "[1,0.1,0.01,0.001]}",
               "roper");
    check_same(&backend, "{\"name\":\"mine\",\"vectors\":{\"of\":[\"key\",\"value\"],\"clip\":16}}", "shaw");
    check_kerple(&backend);
    check_table(&backend);
    check_learned_table(&backend);
    check_clip(&backend);
    check_shipped(&backend);
    check_learned_slopes(&backend);
    backend_destroy(&backend);
    check_refused();
    check_table_refused();
    check_rotation_refused();
    check_finite();
    check_described();
    check_files();
    check_about("%s", "");
    return check_report();
}
