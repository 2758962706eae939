/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings that contradict each other are refused by a sentence that names both; settings beside them that
 * agree are not. Settings without effect are refused where a person set them.
 */
#include "support/check.h"
#include "train/runs.h"
#include "train/unused_keys.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 512 };

/* Applies "key=value;key=value" to the default configuration. */
static void configure(struct run_config *config, const char *settings)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s", settings);
    run_config_default(config);
    for (char *assignment = strtok(text, ";"); assignment; assignment = strtok(NULL, ";"))
        set_option(config, assignment);
}

static void check_contradictory(const char *settings, const char *words)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    check_about("%s", settings);
    configure(&config, settings);
    CHECK_INT(run_config_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    CHECK(strchr(error.message, '\n') == NULL);
}

static void check_agrees(const char *settings)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    check_about("%s", settings);
    configure(&config, settings);
    if (!CHECK_INT(run_config_check(&config, &error), ROTARY_OK))
        printf("  %s\n", error.message);
}

#define SLIDING "[\"sliding_attention\",\"full_attention\",\"full_attention\"]"
#define FULL    "[\"full_attention\",\"full_attention\",\"full_attention\"]"

static void test_contradictions(void)
{
    static const struct {
        const char *settings, *words;
    } refused[] = {
        {"hidden_size=36", "9 of a head's 9 channels|head_dim|hidden_size / num_attention_heads"},
        {"head_dim=7", "7 of a head's 7 channels|head_dim"},
        {"hidden_size=100;num_attention_heads=3", "hidden_size 100|num_attention_heads 3"},
        {"num_key_value_heads=3", "num_attention_heads 4|num_key_value_heads 3"},
        {"partial_rotary_factor=0.03", "partial_rotary_factor is 0.03|head_dim 32|at least 0.0625, or 0"},
        {"position=roper;value_fraction=0.03", "value_fraction is 0.03|head_dim 32"},
        {"position=roper;value_fraction=0.1", "value_fraction 0.1|head_dim 32|3 channels"},
        {"position=roper;rotate=kv",
         "position is roper, which rotates qkvo, and rotate is kv: wanted position rope"},
        {"position=xpos;rotate=k", "position is xpos, whose magnitudes|rotate is k: wanted one with q and k"},
        {"rotate=qo;key_is_value=unrotated", "key_is_value is unrotated, and rotate qo rotates no keys"},
        {"rotate=vo;value_fraction=0.1", "value_fraction 0.1|head_dim 32|3 channels"},
        {"rotate=v;value_fraction=0.03", "value_fraction is 0.03|head_dim 32"},
        {"rope_theta=5;rope_parameters={\"rope_theta\":7}",
         "rope_theta is 5.0, and rope_parameters has 7: wanted one of the two"},
        {"rope_theta=5;rope_scaling={\"rope_type\":\"linear\",\"factor\":2,\"rope_theta\":7}",
         "rope_theta is 5.0, and rope_scaling has 7"},
        {"partial_rotary_factor=0.5;rope_parameters={\"partial_rotary_factor\":0.25}",
         "partial_rotary_factor is 0.5, and rope_parameters has 0.25"},
        {"pairing=interleaved;rope_parameters={\"pairing\":\"half\"}",
         "pairing is \"interleaved\", and rope_parameters has \"half\""},
        {"randomized_positions=2048;position=alibi",
         "randomized_positions is 2048|position alibi, which counts the tokens between two"},
        {"randomized_positions=639", "randomized_positions is 639|max_position_embeddings, 640"},
        {"position=xpos;xpos_scale=64;rope_parameters={\"xpos_scale\":32}",
         "xpos_scale is 64.0, and rope_parameters has 32: wanted one of the two"},
        {"rope_parameters={\"xpos_scale\":9};sequence_length=640",
         "xpos_scale is 9|magnitudes of 640 positions|at least 21"},
        {"rope_scaling={\"rope_type\":\"linear\",\"factor\":2,\"attention_factor\":1.5}",
         "attention_factor|1.5, wanted 1: of yarn and longrope"},
        {"rope_scaling={\"rope_type\":\"default\",\"rotary_pct\":0.5}", "rope_scaling|rotary_pct|not known"},
        {"sliding_window=8;layer_types=" SLIDING
         ";rope_parameters={\"full_attention\":{},\"sliding_attention\":{},\"rope_theta\":9}",
         "rope_theta|9, wanted it among the parameters of each layer type"},
        {"position=xpos;xpos_scale=9;sequence_length=640",
         "xpos_scale is 9|magnitudes of 640 positions|e^44.5|at least 11"},
        {"rope_theta=5;sliding_window=8;layer_types=" SLIDING
         ";rope_parameters={\"full_attention\":{\"rope_theta\":7},\"sliding_attention\":{\"rope_theta\":5}}",
         "rope_theta is 5.0, and rope_parameters has 7"},
        {"rope_local_base_freq=5;sliding_window=8;layer_types=" SLIDING
         ";rope_parameters={\"full_attention\":{\"rope_theta\":7},\"sliding_attention\":{\"rope_theta\":9}}",
         "rope_local_base_freq is 5.0, and rope_parameters has 9"},
        {"rope_scaling={\"rope_type\":\"linear\",\"factor\":2};rope_parameters={\"rope_theta\":7}",
         "\"rope_scaling\"|\"rope_parameters\"|differ"},
        {"rope_scaling={\"rope_type\":\"yarn\"}", "\"factor\"|rope_type yarn"},
        {"no_rope_layers=[0,0,0]", "no_rope_layers|position is rope|position none"},
        {"rope_parameters={\"full_attention\":null,\"sliding_attention\":{}}",
         "position is rope|rope_parameters|position none"},
        {"sliding_window=8;layer_types=" SLIDING
         ";no_rope_layers=[1,0,0];rope_parameters={\"full_attention\":{},\"sliding_attention\":null}",
         "no_rope_layers or rope_parameters"},
        {"rope_scaling={\"rope_type\":\"linear\",\"factor\":2,\"beta_fast\":3}",
         "rope_scaling has beta_fast|rope_type is linear: wanted rope_type yarn"},
        {"rope_scaling={\"rope_type\":\"yarn\",\"factor\":2,\"low_freq_factor\":3}",
         "low_freq_factor|rope_type is yarn: wanted rope_type llama3"},
        {"rope_parameters={\"rope_theta\":7,\"truncate\":false}", "truncate|rope_type is default"},
        {"rope_parameters={\"rope_type\":\"default\",\"factor\":7}", "factor|rope_type is default"},
        {"sliding_window=8;layer_types=" SLIDING
         ";rope_parameters={\"full_attention\":{\"short_factor\":[1]},\"sliding_attention\":{}}",
         "rope_parameters has short_factor|wanted rope_type longrope"},
        {"rope_parameters={\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.01}",
         "rotary_fraction is 0.01|16 pairs"},
        {"no_rope_layers=[1,1]", "no_rope_layers|2 entries|num_hidden_layers"},
        {"layer_types=[\"full_attention\"]", "layer_types|1 entries|num_hidden_layers"},
        {"sliding_window=8;layer_types=" FULL, "sliding_window is 8|layer_types has no sliding_attention"},
        {"layer_types=" SLIDING, "sliding_window is 0|layer_types has sliding_attention"},
        {"rope_local_base_freq=5", "rope_local_base_freq is 5|no layer|sliding_attention"},
        {"minimum_learning_rate=1", "minimum_learning_rate is 1|learning_rate, which is 0.00025"},
        {"max_position_embeddings=639", "max_position_embeddings is 639|sequence_length 640"},
        {"vocab_size=7", "vocab_size is 7|task index"},
        {"architecture=encoder_decoder", "architecture is encoder_decoder|task index has no source"},
        {"architecture=encoder", "architecture is encoder|task index has neither masked tokens nor labels"},
        {"task=masked", "architecture is decoder|task masked has masked tokens: wanted encoder"},
        {"task=classification", "architecture is decoder|task classification has labels: wanted encoder"},
        {"task=prefix;prefix_random=640", "prefix_random is 640|sequence_length 640"},
        {"sequence_length=32", "sequence_length 32|task index|by index_letters"},
        {"batch_size=1048576;sequence_length=2048",
         "batch_size 1048576|sequence_length 2048|2147483648 tokens"},
        {"steps=1048576;gradient_accumulation_steps=4096", "steps|gradient_accumulation_steps|4294967296"},
        {"parallel_residual=one_norm;norm_position=post", "norm_position post|parallel_residual"},
        {"key_is_value=true;position=xpos", "key_is_value is true|magnitudes: wanted key_is_value unrotated"},
        {"key_is_value=true;rope_scaling={\"rope_type\":\"yarn\",\"factor\":4}",
         "key_is_value is true|attention factor of 1.13863: wanted attention_factor 1"},
        {"key_is_value=true;position=roper;value_fraction=0.5",
         "value_fraction is 0.5|wanted 1|32 of 32 channels"},
        {"key_is_value=true;position=roper;partial_rotary_factor=0",
         "position roper rotates values but no keys"},
        {"key_is_value=unrotated;position=roper", "key_is_value is unrotated|position roper|wanted|true"},
        {"key_is_value=unrotated;position=alibi", "position alibi rotates no keys: wanted true"},
    };
    static const char *const agree[] = {
        "partial_rotary_factor=0",
        "partial_rotary_factor=0.0625",
        "position=roper;value_fraction=0",
        "position=roper;rotate=qkvo",
        "position=xpos;rotate=qkvo",
        "rotate=o;value_fraction=0.5",
        "rotate=vo;value_fraction=0.5;rope_scaling={\"rope_type\":\"yarn\",\"factor\":4,"
        "\"original_max_position_embeddings\":160}",
        "head_dim=7;position=none",
        "rope_theta=7;rope_parameters={\"rope_theta\":7.0}",
        "rope_parameters={\"rope_theta\":7}",
        "rope_theta=5;rope_scaling={\"rope_type\":\"linear\",\"factor\":2}",
        "rope_theta=5;sliding_window=8;layer_types=" SLIDING
        ";rope_parameters={\"full_attention\":{},\"sliding_attention\":{\"rope_theta\":7}}",
        "position=none;no_rope_layers=[0,0,0];partial_rotary_factor=0.03",
        "no_rope_layers=[0,0,1]",
        "sliding_window=8;layer_types=" SLIDING
        ";no_rope_layers=[0,1,0];rope_parameters={\"full_attention\":{},\"sliding_attention\":null}",
        "rope_scaling={\"rope_type\":\"linear\",\"factor\":2,\"beta_fast\":null}",
        "rope_scaling={\"type\":\"deepseek_yarn\",\"factor\":2,\"beta_fast\":3,\"mscale\":1,\"truncate\":"
        "true}",
        "value_fraction=0.03",
        "sliding_window=8;layer_types=" SLIDING,
        "sliding_window=8",
        "task=prefix;prefix_random=639",
        "learning_rate=0.5;minimum_learning_rate=0.5;schedule=linear",
        "key_is_value=true;position=roper;partial_rotary_factor=0.5",
        "key_is_value=true;position=roper;partial_rotary_factor=0.5;value_fraction=0.5",
        "key_is_value=true;position=alibi",
        "key_is_value=unrotated;position=xpos",
        "key_is_value=true;rope_scaling={\"rope_type\":\"yarn\",\"factor\":4,\"attention_factor\":1}",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        check_contradictory(refused[i].settings, refused[i].words);
    for (size_t i = 0; i < sizeof agree / sizeof agree[0]; i++)
        check_agrees(agree[i]);
    check_about("%s", "");
}

/* Of runs that begin anew. */
static rotary_status check_key(const struct run_config *configs, int count, const char *key,
                               rotary_error *error)
{
    const struct unused_keys_call call = {.configs = configs, .count = count};
    return unused_keys_check(&call, key, error);
}

/* Checks the first key of `settings`. words NULL: it is used, or has its default value. */
static void check_use(const char *settings, const char *words)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    char key[TEXT_BYTES];
    check_about("%s", settings);
    configure(&config, settings);
    if (!CHECK_INT(run_config_check(&config, &error), ROTARY_OK))
        printf("  %s\n", error.message);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(settings, "="), settings);
    rotary_status status = check_key(&config, 1, key, &error);
    CHECK_INT(status, words ? ROTARY_INVALID_ARGUMENT : ROTARY_OK);
    if (words)
        CHECK_WORDS(error.message, words);
}

static void test_use(void)
{
    check_use("value_fraction=0.5", "value_fraction is 0.5|position rope: wanted position roper");
    check_use("value_fraction=0.5;position=roper", NULL);
    check_use("value_fraction=0.5;rotate=o", NULL);
    check_use("value_fraction=0.5;rotate=qk", "value_fraction is 0.5|rotate qk: wanted rotate with v or o");
    check_use("partial_rotary_factor=0.5;rotate=vo",
              "partial_rotary_factor is 0.5|rotate vo: wanted rotate with q or k");
    check_use("partial_rotary_factor=0.5;rotate=ko", NULL);
    check_use("rotate=kv;position=alibi", "rotate is kv|position alibi: wanted position rope, roper or xpos");
    check_use("rotate=kv", NULL);
    check_use("value_fraction=1", NULL);
    static const char *const rotations[] = {"rope_theta=5",
                                            "partial_rotary_factor=0.5",
                                            "pairing=interleaved",
                                            "rope_scaling={\"rope_type\":\"linear\",\"factor\":2}",
                                            "rope_parameters={\"rope_theta\":5}",
                                            "rope_local_base_freq=5;sliding_window=8",
                                            "no_rope_layers=[1,0,1]"};
    for (size_t i = 0; i < sizeof rotations / sizeof rotations[0]; i++) {
        char settings[TEXT_BYTES], words[TEXT_BYTES];
        check_use(rotations[i], NULL);
        snprintf(settings, sizeof settings, "%s;position=learned", rotations[i]);
        snprintf(words, sizeof words,
                 "%.*s is |does nothing with position learned: wanted position rope, roper or xpos",
                 (int)strcspn(settings, "="), settings);
        check_use(settings, words);
    }
    check_use("xpos_scale=64", "xpos_scale is 64.0|position rope: wanted position xpos");
    check_use("xpos_scale=64;position=xpos", NULL);
    check_use("rope_theta=5;position=xpos", NULL);
    check_use("relative_attention_num_buckets=8", "position rope: wanted position t5");
    check_use("relative_attention_num_buckets=8;position=t5", NULL);
    check_use("relative_attention_max_distance=99;position=alibi", "position alibi: wanted position t5");
    check_use("kerple_kernel=power", "kerple_kernel is power|position rope: wanted position kerple");
    check_use("kerple_kernel=power;position=kerple", NULL);
    check_use("sandwich_channels=64;position=kerple", "position kerple: wanted position sandwich");
    check_use("sandwich_channels=64;position=sandwich", NULL);
    check_use("max_relative_position=5;position=t5", "position t5: wanted position shaw or deberta");
    check_use("max_relative_position=5;position=shaw", NULL);
    check_use("max_relative_position=5;position=deberta", NULL);
    check_use("fire_width=8;position=shaw", "position shaw: wanted position fire");
    check_use("fire_length=64;position=t5", "position t5: wanted position fire");
    check_use("fire_width=8;fire_length=64;position=fire", NULL);
    check_use("minimum_learning_rate=1e-5", "schedule constant: wanted schedule linear or cosine");
    check_use("minimum_learning_rate=1e-5;schedule=noam", "schedule noam");
    check_use("minimum_learning_rate=1e-5;schedule=linear", NULL);
    check_use("minimum_learning_rate=1e-5;schedule=cosine", NULL);
    check_use("initializer_range=0.1", "initialisation pytorch: wanted initialisation normal");
    check_use("initializer_range=0.1;initialisation=normal", NULL);
    check_use("num_encoder_layers=2", "architecture decoder: wanted architecture encoder_decoder");
    check_use("source_vocab_size=20", "architecture decoder: wanted architecture encoder_decoder");
    check_use("share_encoder_decoder_embeddings=true", "wanted architecture encoder_decoder");
    check_use("cross_rotary=true", "cross_rotary is true|wanted architecture encoder_decoder");
    check_use("sliding_window=640", "max_position_embeddings 640: wanted a window that is shorter");
    check_use("sliding_window=639", NULL);
    check_use("sliding_window=640;rope_local_base_freq=5", NULL);
    check_use("index_letters=5;task=addition", "index_letters is 5|task addition: wanted another task");
    check_use("index_letters=5", NULL);
    check_use("problems=5;task=prefix", "problems is 5|task prefix");
    check_use("problems=5;task=addition", NULL);
    check_use("learning_rate=0.5", NULL);
    check_about("%s", "");
}

/* What an encoder or a classifier does not use; the tasks here are those of decoders. */
static void test_encoders(void)
{
    static const struct {
        const char *assignments, *key, *words; /* words NULL: it is used */
        int64_t labels;
    } cases[] = {
        {"xpos_scale=64;position=xpos", "xpos_scale", "with architecture encoder", 0},
        {"output_transform=true", "output_transform", NULL, 0},
        {"output_transform=true", "output_transform", "with num_labels 3: wanted num_labels 0", 3},
        {"tie_word_embeddings=true", "tie_word_embeddings", "with num_labels 3", 3},
        {"output_bias=false", "output_bias", "with num_labels 3", 3},
        {"classifier_activation=gelu", "classifier_activation", "with num_labels 0: wanted num_labels", 0},
        {"classifier_activation=gelu", "classifier_activation", NULL, 3},
        {"classifier_pooling=mean", "classifier_pooling", "with num_labels 0: wanted num_labels", 0},
        {"classifier_pooling=mean", "classifier_pooling", NULL, 3},
        {"label_smoothing=0.1", "label_smoothing", NULL, 3},
        {"label_smoothing=0.1", "label_smoothing", "with num_labels 1", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_config config RUN_CONFIG_LOCAL = {0};
        rotary_error error = {0};
        configure(&config, cases[i].assignments);
        config.model.architecture = ARCHITECTURE_ENCODER;
        config.model.num_labels = cases[i].labels;
        rotary_status status = check_key(&config, 1, cases[i].key, &error);
        check_about("%s, %d labels: %s", cases[i].assignments, (int)cases[i].labels, error.message);
        CHECK_INT(status, cases[i].words ? ROTARY_INVALID_ARGUMENT : ROTARY_OK);
        CHECK(!cases[i].words || strstr(error.message, cases[i].words));
    }
    check_about("%s", "");
}

/* What one of several configurations uses is used. */
static void test_several(void)
{
    struct run_config configs[2];
    configure(&configs[0], "value_fraction=0.5;position=rope");
    configure(&configs[1], "value_fraction=0.5;position=roper");
    CHECK_INT(check_key(configs, 2, "value_fraction", NULL), ROTARY_OK);
    configs[1].model.position = configs[0].model.position;
    CHECK_INT(check_key(configs, 2, "value_fraction", NULL), ROTARY_INVALID_ARGUMENT);
    configs[0].model.value_fraction = 1; /* the default; the other's is not */
    CHECK_INT(check_key(configs, 2, "value_fraction", NULL), ROTARY_INVALID_ARGUMENT);
    configs[1].model.value_fraction = 1;
    CHECK_INT(check_key(configs, 2, "value_fraction", NULL), ROTARY_OK);
}

/* Keys of a vocabulary that is that of a folder are refused, whatever their value; what they would exclude is
 * used. */
static void test_vocabularies(void)
{
    static const struct {
        const char *task, *key;
        bool makes; /* says how a vocabulary is made */
    } cases[] = {
        {"language", "language_tokenizer", true},
        {"language", "language_vocabulary", true},
        {"language", "language_min_frequency", true},
        {"language", "language_model_type", true},
        {"language", "language_vocab_size", true},
        {"language", "language_windows", false},
        {"masked", "masked_tokenizer", true},
        {"masked", "masked_vocab_size", true},
        {"masked", "masked_probability", false},
        {"masked", "masked_whole_words", false}, /* else it needs masked_tokenizer sentencepiece */
        {"classification", "classification_tokenizer", true},
        {"classification", "classification_vocabulary", true},
        {"classification", "classification_examples", false},
        {"translation", "translation_vocab_size", true},
        {"translation", "translation_min_frequency", true},
        {"translation", "translation_tokenizer", false}, /* names the files of the folder */
        {"translation", "translation_lowercase", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_config configs[2];
        rotary_error error = {0};
        char words[TEXT_BYTES], task[TEXT_BYTES];
        snprintf(task, sizeof task, "task=%s;masked_whole_words=true", cases[i].task);
        snprintf(words, sizeof words, "%s is set|the vocabulary is that of begun: leave it out",
                 cases[i].key);
        configure(&configs[0], task);
        configs[1] = configs[0];
        snprintf(configs[0].train.init, sizeof configs[0].train.init, "begun");
        check_about("%s", cases[i].key);
        const rotary_status wanted = cases[i].makes ? ROTARY_INVALID_ARGUMENT : ROTARY_OK;
        CHECK_INT(check_key(configs, 1, cases[i].key, &error), wanted);
        if (cases[i].makes)
            CHECK_WORDS(error.message, words);
        /* The folder of a run has its vocabulary too. */
        const struct unused_keys_call of_run = {.configs = &configs[1], .count = 1, .folder = "begun"};
        CHECK_INT(unused_keys_check(&of_run, cases[i].key, &error), wanted);
        if (cases[i].makes)
            CHECK_WORDS(error.message, words);
        /* Of two runs one makes its own. */
        if (strstr(cases[i].key, "_tokenizer"))
            CHECK_INT(check_key(configs, 2, cases[i].key, &error), ROTARY_OK);
    }
    check_about("%s", "");
}

int main(void)
{
    test_contradictions();
    test_use();
    test_vocabularies();
    test_encoders();
    test_several();
    return check_report();
}
