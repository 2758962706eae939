/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's configuration: derived values, refusals, and round trips of config.json.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"
#include "train/weights/initial_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_message(const rotary_error *error, const char *words)
{
    if (!CHECK(strstr(error->message, words) != NULL))
        printf("wanted \"%s\" in: %s\n", words, error->message);
    CHECK(strchr(error->message, '\n') == NULL);
}

static void test_derived(void)
{
    struct run_config config;
    run_config_default(&config);
    CHECK(run_config_check(&config, NULL) == ROTARY_OK);
    CHECK_INT(config.model.max_position_embeddings, config.task.sequence_length);
    CHECK(config.model.vocab_size > 26);
    struct run_config again = config;
    CHECK(run_config_check(&again, NULL) == ROTARY_OK);
    again.train.steps++; /* may change */
    CHECK(run_config_check_same(&again, &config, "DIR", NULL) == ROTARY_OK);

    struct task *task;
    CHECK(task_create(&task, &config.task, NULL, NULL) == ROTARY_OK);
    CHECK_INT(config.model.vocab_size, tokenizer_size(task_tokenizer(task)));
    task_destroy(task);
}

/* A default configuration with one invalid change is refused, and stays unchanged. */
static void check_refused(void (*change)(struct run_config *config), const char *words)
{
    struct run_config config, before;
    run_config_default(&config);
    change(&config);
    before = config;
    rotary_error error = {0};
    CHECK_INT(run_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    check_message(&error, words);
    CHECK(memcmp(&config, &before, sizeof config) == 0);
}

static void other_vocabulary(struct run_config *config)
{
    config->model.vocab_size = 12345;
}
static void few_positions(struct run_config *config)
{
    config->model.max_position_embeddings = config->task.sequence_length - 1;
}
static void inverted_rates(struct run_config *config)
{
    config->train.minimum_learning_rate = 1.0;
}
static void no_batch(struct run_config *config)
{
    config->train.batch_size = 0;
}
static void short_sequence(struct run_config *config)
{
    config->task.sequence_length = 16;
}
static void negative_sequence(struct run_config *config)
{
    config->task.sequence_length = -1;
}
static void many_batches(struct run_config *config)
{
    config->train.steps = 1 << 30;
    config->train.gradient_accumulation_steps = 16;
}
static void uneven_heads(struct run_config *config)
{
    config->model.hidden_size = 100;
    config->model.num_attention_heads = 3;
}
static void beta_of_one(struct run_config *config)
{
    config->train.beta2 = 1.0;
}
static void rate_of_nan(struct run_config *config)
{
    config->train.learning_rate = NAN;
}
static void unknown_task(struct run_config *config)
{
    config->task.task = TASK_COUNT;
}
static void negative_schedule(struct run_config *config)
{
    config->train.schedule = -1;
}

static void test_refused(void)
{
    check_refused(other_vocabulary, "vocab_size is 12345, but the task index has");
    check_refused(few_positions, "max_position_embeddings is 639, less than sequence_length 640");
    check_refused(inverted_rates,
                  "minimum_learning_rate is 1, wanted at most learning_rate, which is 0.00025");
    check_refused(no_batch,
                  "the configuration: \"batch_size\" is 0, wanted a whole number from 1 to 1048576");
    check_refused(short_sequence, "sequence_length 16 is too short");
    check_refused(negative_sequence, "the configuration: \"sequence_length\" is -1, wanted");
    check_refused(many_batches, "steps times gradient_accumulation_steps is 17179869184 micro-batches");
    check_refused(uneven_heads, "3");
    check_refused(beta_of_one, "the configuration: \"beta2\" is 1.0, wanted a number from 0 to 0.9999999");
    check_refused(rate_of_nan, "\"learning_rate\" is not printable, wanted a number from 0 to 1000000");
    check_refused(unknown_task, "wanted addition, classification, copy, index, language, masked, passkey, "
                                "prefix, reverse or translation");
    check_refused(negative_schedule, "\"schedule\" is -1, wanted constant, linear, cosine, noam or");
}

static void test_round_trip(void)
{
    const char *folder = new_folder("written");
    struct run_config config, read;
    tiny_config(&config);
    config.train.learning_rate = 0.1 + 0.2; /* seventeen digits */
    config.train.schedule = 3;
    config.train.seed = 9007199254740991;
    config.model.dropout = 1.0 / 3.0;
    write_config(folder, &config);
    rotary_error error = {0};
    if (!CHECK(run_read_config(folder, &read, &error) == ROTARY_OK))
        printf("%s\n", error.message);
    CHECK(read.train.learning_rate == config.train.learning_rate);
    CHECK(read.model.dropout == config.model.dropout);
    CHECK_INT(read.train.seed, config.train.seed);
    CHECK(run_config_check_same(&read, &config, "DIR", NULL) == ROTARY_OK);

    size_t count;
    char *text = read_file(folder, "config.json", &count);
    CHECK(strncmp(text, "{\n  \"format\": 2,\n", 17) == 0);
    CHECK(strstr(text, "\"schedule\": \"noam\"") != NULL);
    free(text);

    /* Every key of every table is there, once. */
    json_t *object;
    CHECK(run_config_to_json(&config, &object, NULL) == ROTARY_OK);
    struct settings settings[RUN_SETTINGS];
    run_settings(&config, settings);
    int keys = 0;
    for (int i = 0; i < RUN_SETTINGS; i++)
        for (int j = 0; j < settings[i].count; j++, keys++)
            CHECK(json_object_get(object, settings[i].table[j].name) != NULL);
    CHECK_INT((int64_t)json_object_size(object), keys);
    json_decref(object);
}

static void check_file_refused(const char *folder, const char *text, const char *words)
{
    if (text)
        write_file(folder, "config.json", text, strlen(text));
    struct run_config config;
    memset(&config, 0x55, sizeof config);
    rotary_error error = {0};
    CHECK_INT(run_read_config(folder, &config, &error), text ? ROTARY_BAD_FILE : ROTARY_INVALID_ARGUMENT);
    CHECK_INT(error.status, text ? ROTARY_BAD_FILE : ROTARY_INVALID_ARGUMENT);
    check_message(&error, words);
    CHECK_INT(config.train.steps, 0x5555555555555555);
}

static void test_bad_files(void)
{
    const char *folder = new_folder("bad");
    check_file_refused(folder, NULL, "is not the folder of a run: it has no config.json");
    check_file_refused(folder, "{\"format\":1,\"something\":\"new\"}",
                       "has format 1, of another version of this program; this one reads format 2");
    check_file_refused(folder, "{\"hidden_size\":64}", "has no valid \"format\"");
    check_file_refused(folder, "{\"format\":\"1\"}", "has no valid \"format\"");
    check_file_refused(folder, "[1]", "config.json");
    check_file_refused(folder, "{\"format\":2,", "config.json, line 1");
    check_file_refused(folder, "{\"format\":2,\"learning_rat\":1}", "did you mean \"learning_rate\"?");
    check_file_refused(folder, "{\"format\":2,\"steps\":-1}", "\"steps\" is -1");
    check_file_refused(folder, "{\"format\":2,\"num_attention_heads\":7}",
                       "config.json: hidden_size 128 is not a multiple of num_attention_heads 7");
    check_file_refused(scratch_path("not there"), NULL, "is not the folder of a run");
}

static void test_same(void)
{
    struct run_config config, recorded;
    tiny_config(&config);
    recorded = config;
    recorded.train.steps = 1;
    recorded.train.log_every = 0;
    recorded.train.evaluate_every = 77;
    recorded.train.checkpoint_every = 99;
    CHECK(run_config_check_same(&config, &recorded, "DIR", NULL) == ROTARY_OK);
    rotary_error error = {0};
    recorded.model.position = !config.model.position;
    CHECK_INT(run_config_check_same(&config, &recorded, "DIR", &error), ROTARY_INVALID_ARGUMENT);
    check_message(&error, "position is ");
    recorded = config;
    recorded.train.beta1 = 0.85;
    CHECK_INT(run_config_check_same(&config, &recorded, "DIR", &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message,
               "beta1 is 0.85 in DIR and 0.9 now; only steps, epochs, log_every, evaluate_every and "
               "checkpoint_every may change");
}

/* Tokens and special ones are in config.json, and are the task's. */
static void test_vocabulary(void)
{
    static const enum task_id kinds[] = {TASK_INDEX, TASK_ADDITION, TASK_PREFIX};
    for (int i = 0; i < 3; i++) {
        const char *folder = new_folder(task_names[kinds[i]]);
        struct run_config config;
        tiny_config(&config);
        set_option(&config, i == 1 ? "sequence_length=400" : "sequence_length=64");
        config.model.vocab_size = config.model.max_position_embeddings = 0;
        config.task.task = kinds[i];
        CHECK(run_config_check(&config, NULL) == ROTARY_OK);
        write_config(folder, &config);
        size_t count;
        char *text = read_file(folder, "config.json", &count);
        json_t *object = json_loads(text, 0, NULL);
        const json_t *tokens = json_object_get(object, "vocabulary");
        const json_t *stop = json_object_get(json_object_get(object, "special_tokens"), "stop");
        check_about("%s", task_names[kinds[i]]);
        CHECK_INT((int64_t)json_array_size(tokens), config.model.vocab_size);
        if (config.task.task == TASK_PREFIX) {
            CHECK_TEXT(json_string_value(json_array_get(tokens, 4)), ">");
            CHECK(!stop);
        } else {
            CHECK_TEXT(json_string_value(json_array_get(tokens, (size_t)json_integer_value(stop))), "#");
        }
        check_about("%s", "");
        json_decref(object);
        free(text);
    }
}

/* index has 46 characters, the first of which are the letters. */
static void test_other_vocabulary(void)
{
    const char *folder = new_folder("vocabulary");
    struct run_config config, read;
    tiny_config(&config);
    write_config(folder, &config);
    size_t count;
    char *text = read_file(folder, "config.json", &count);
    static const char *const changes[][3] = {
        {"\n    \"c\"", "\n    \"C\"",
         "config.json: token 2 of \"vocabulary\" is \"C\", and \"c\" in the vocabulary of the task"},
        {"\n    \"c\",", "          ",
         "config.json: \"vocabulary\" is not a list of 45 tokens, as the task has"},
        {"\"stop\": 4", "\"stop\": 3", "config.json: \"special_tokens\" is {\"stop\": 3"},
    };
    for (int i = 0; i < 3; i++) {
        char *changed = strdup(text), *at = strstr(changed, changes[i][0]);
        if (CHECK(at != NULL))
            memcpy(at, changes[i][1], strlen(changes[i][1]));
        check_file_refused(folder, changed, changes[i][2]);
        free(changed);
    }
    /* An earlier version of the program wrote none. */
    json_t *object = json_loads(text, 0, NULL);
    json_object_del(object, "vocabulary");
    json_object_del(object, "special_tokens");
    char *earlier = json_dumps(object, 0);
    write_file(folder, "config.json", earlier, strlen(earlier));
    CHECK(run_read_config(folder, &read, NULL) == ROTARY_OK);
    json_decref(object);
    free(earlier);
    free(text);
}

/* A new run may not contradict itself; one that an earlier version trained so is read, and may resume. */
static void test_earlier_contradiction(void)
{
    const char *folder = new_folder("contradiction");
    struct run_config config RUN_CONFIG_LOCAL = {0}, read RUN_CONFIG_LOCAL = {0};
    tiny_config(&config);
    set_option(&config, "no_rope_layers=[0]");
    CHECK_INT(run_config_check(&config, NULL), ROTARY_INVALID_ARGUMENT);
    CHECK_INT(run_config_check_recorded(&config, NULL, NULL), ROTARY_OK);
    write_config(folder, &config);
    CHECK_INT(run_read_config(folder, &read, NULL), ROTARY_OK);
    CHECK(json_equal(read.model.no_rope_layers, config.model.no_rope_layers));
}

/* A learned table of positions, of whichever encoding, stays as long as it is where its weights are taken. */
static void test_position_table(void)
{
    static const char *const positions[] = {"position=learned",
                                            "position={\"name\":\"mine\",\"embedding\":\"learned\"}"};
    for (int i = 0; i < 2; i++) {
        const char *folder = new_folder(i == 0 ? "learned" : "mine");
        struct run_config begun RUN_CONFIG_LOCAL = {0}, config RUN_CONFIG_LOCAL = {0};
        struct transformer_config taken TRANSFORMER_CONFIG_LOCAL = {0};
        check_about("%s", positions[i]);
        tiny_config(&begun);
        set_option(&begun, positions[i]);
        CHECK_INT(run_config_check(&begun, NULL), ROTARY_OK);
        write_config(folder, &begun);
        tiny_config(&config);
        snprintf(config.train.init, sizeof config.train.init, "%s", folder);
        CHECK_INT(initial_weights_model(&config, NULL), ROTARY_OK);
        transformer_config_copy(&taken, &config.model);
        config.task.sequence_length = 96;
        CHECK_INT(initial_weights_fit(&taken, &config, NULL), ROTARY_OK);
        CHECK_INT(config.model.max_position_embeddings, 48);
    }
    check_about("%s", "");
}

int main(void)
{
    test_derived();
    test_position_table();
    test_refused();
    test_round_trip();
    test_bad_files();
    test_same();
    test_vocabulary();
    test_other_vocabulary();
    test_earlier_contradiction();
    return check_report();
}
