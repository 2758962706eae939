/* SPDX-License-Identifier: Apache-2.0
 *
 * Every key of a run's configuration does something: a value other than that of a small run changes what its
 * steps compute, and the keys that are said to change nothing of it do not. A new key wants a row here.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "base/random.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 4 };

/* What a key needs to matter, and a value for it. */
struct change {
    const char *key, *value;
    const char *context; /* assignments separated by ';' */
    bool elsewhere;      /* with a corpus of its own: tests/task/test_translation.c, test_masked.c,
                          * test_language.c,      tests/examples/task; of a classifier:
                          * tests/model/test_classifier.c; of another run:
                          * tests/train/test_lora.c */
    bool no_effect;      /* on steps: it is about lines, checkpoints and evaluations */
};
#define WINDOWS "layer_types=[\"sliding_attention\",\"full_attention\"];sliding_window=6"
#define TRANSLATES                                                                                           \
    "task=translation;translation_data=.;translation_min_frequency=1;translation_shared_vocabulary=true;"    \
    "architecture=encoder_decoder"
#define LABELS                                                                                               \
    "task=classification;classification_examples=20;classification_held_out=2;classification_min_frequency=" \
    "1;"                                                                                                     \
    "architecture=encoder;sequence_length=48"
#define LANGUAGE "task=language;language_documents=20;language_held_out=2"
#define MASKS    "task=masked;masked_documents=20;masked_held_out=2;masked_min_frequency=1;architecture=encoder"
static const struct change changes[] = {
    {.key = "task", .value = "prefix"},
    {.key = "sequence_length", .value = "40"},
    {.key = "problems", .value = "3", .no_effect = true},
    {.key = "addition_digits", .value = "3", .context = "task=addition;sequence_length=128"},
    {.key = "copy_letters", .value = "7", .context = "task=copy"},
    {.key = "index_letters", .value = "6"},
    {.key = "classification_data", .elsewhere = true},
    {.key = "classification_examples", .value = "19", .context = LABELS},
    {.key = "classification_held_out", .value = "4", .context = LABELS, .no_effect = true},
    {.key = "classification_dataset", .elsewhere = true},
    {.key = "classification_split", .elsewhere = true},
    {.key = "classification_held_out_share", .elsewhere = true},
    {.key = "classification_train", .elsewhere = true},
    {.key = "classification_validation", .elsewhere = true},
    {.key = "classification_test", .elsewhere = true},
    {.key = "classification_format", .elsewhere = true},
    {.key = "classification_quoting", .elsewhere = true},
    {.key = "classification_header", .elsewhere = true},
    {.key = "classification_text", .elsewhere = true},
    {.key = "classification_pair", .elsewhere = true},
    {.key = "classification_choices", .elsewhere = true},
    {.key = "classification_label", .elsewhere = true},
    {.key = "classification_regression", .elsewhere = true},
    {.key = "classification_score", .value = "matthews", .context = LABELS, .no_effect = true},
    {.key = "classification_tokenizer", .elsewhere = true},
    {.key = "classification_vocabulary", .elsewhere = true},
    {.key = "classification_min_frequency", .value = "2", .context = LABELS},
    {.key = "classification_model_type", .elsewhere = true},
    {.key = "classification_vocab_size", .elsewhere = true},
    {.key = "language_data", .elsewhere = true},
    {.key = "language_cache", .elsewhere = true},
    {.key = "language_documents", .value = "19", .context = LANGUAGE},
    {.key = "language_held_out", .value = "4", .context = LANGUAGE, .no_effect = true},
    {.key = "language_train", .elsewhere = true},
    {.key = "language_validation", .elsewhere = true},
    {.key = "language_test", .elsewhere = true},
    {.key = "language_boundary", .elsewhere = true},
    {.key = "language_field", .elsewhere = true},
    {.key = "language_tokenizer", .value = "bytes", .context = LANGUAGE},
    {.key = "language_vocabulary", .elsewhere = true},
    {.key = "language_min_frequency", .value = "60", .context = LANGUAGE},
    {.key = "language_model_type", .elsewhere = true},
    {.key = "language_vocab_size", .elsewhere = true},
    {.key = "language_windows", .value = "random", .context = LANGUAGE},
    {.key = "masked_data", .elsewhere = true},
    {.key = "masked_cache", .elsewhere = true},
    {.key = "masked_documents", .value = "19", .context = MASKS},
    {.key = "masked_held_out", .value = "4", .context = MASKS, .no_effect = true},
    {.key = "masked_train", .elsewhere = true},
    {.key = "masked_validation", .elsewhere = true},
    {.key = "masked_test", .elsewhere = true},
    {.key = "masked_boundary", .elsewhere = true},
    {.key = "masked_field", .elsewhere = true},
    {.key = "masked_tokenizer", .elsewhere = true},
    {.key = "masked_vocabulary", .elsewhere = true},
    {.key = "masked_min_frequency", .value = "2", .context = MASKS},
    {.key = "masked_model_type", .elsewhere = true},
    {.key = "masked_vocab_size", .elsewhere = true},
    {.key = "masked_probability", .value = "0.3", .context = MASKS},
    {.key = "masked_whole_words", .elsewhere = true},
    {.key = "passkey_sentences", .value = "2", .context = "task=passkey;sequence_length=96"},
    {.key = "passkey_digits", .value = "4", .context = "task=passkey;sequence_length=96"},
    {.key = "prefix_letters", .value = "5", .context = "task=prefix"},
    {.key = "prefix_random", .value = "3", .context = "task=prefix"},
    {.key = "prefix_substring", .value = "7", .context = "task=prefix"},
    {.key = "reverse_letters", .value = "7", .context = "task=reverse"},
    {.key = "translation_data", .elsewhere = true},
    {.key = "translation_pairs", .elsewhere = true},
    {.key = "translation_held_out", .elsewhere = true},
    {.key = "translation_train", .elsewhere = true},
    {.key = "translation_validation", .elsewhere = true},
    {.key = "translation_test", .elsewhere = true},
    {.key = "translation_source", .elsewhere = true},
    {.key = "translation_target", .elsewhere = true},
    {.key = "translation_tokenizer", .elsewhere = true},
    {.key = "translation_lowercase", .elsewhere = true},
    {.key = "translation_model_type", .elsewhere = true},
    {.key = "translation_vocab_size", .elsewhere = true},
    {.key = "translation_min_frequency", .elsewhere = true},
    {.key = "translation_shared_vocabulary", .elsewhere = true},
    {.key = "position", .value = "roper"},
    {.key = "vocab_size", .value = "45", .no_effect = true},        /* the task's: no other is accepted */
    {.key = "architecture", .value = "decoder", .no_effect = true}, /* the task's: no other is accepted */
    {.key = "source_vocab_size", .value = "10", .context = TRANSLATES, .no_effect = true}, /* the task's */
    {.key = "num_encoder_layers", .value = "1", .context = TRANSLATES},
    {.key = "share_encoder_decoder_embeddings", .value = "true", .context = TRANSLATES},
    {.key = "cross_rotary", .value = "true", .context = TRANSLATES},
    {.key = "hidden_size", .value = "32"},
    {.key = "num_hidden_layers", .value = "3"},
    {.key = "num_attention_heads", .value = "4"},
    {.key = "num_key_value_heads", .value = "1"},
    {.key = "head_dim", .value = "4"},
    {.key = "intermediate_size", .value = "32"},
    {.key = "max_position_embeddings", .value = "90", .context = "position=learned"},
    {.key = "randomized_positions", .value = "300"},
    {.key = "hidden_act", .value = "gelu"},
    {.key = "pairing", .value = "interleaved"},
    {.key = "norm", .value = "rms_norm"},
    {.key = "norm_position", .value = "post"},
    {.key = "parallel_residual", .value = "one_norm"},
    {.key = "query_key_norm", .value = "head"},
    {.key = "key_is_value", .value = "unrotated", .context = "key_is_value=true"},
    {.key = "attention_sinks", .value = "true"},
    {.key = "norm_epsilon", .value = "1e-3"},
    {.key = "initialisation", .value = "normal"},
    {.key = "initializer_range", .value = "0.05", .context = "initialisation=normal"},
    {.key = "rope_theta", .value = "500"},
    {.key = "partial_rotary_factor", .value = "0.5"},
    {.key = "value_fraction", .value = "0.5", .context = "position=roper"},
    {.key = "rotate", .value = "kv"},
    {.key = "rope_scaling", .value = "{\"rope_type\":\"linear\",\"factor\":2}"},
    {.key = "rope_parameters", .value = "{\"rope_type\":\"default\",\"rope_theta\":500}"},
    {.key = "xpos_scale", .value = "64", .context = "position=xpos"},
    {.key = "rope_local_base_freq", .value = "500", .context = WINDOWS},
    {.key = "rope_sequence_length",
     .value = "100000",
     .context = "rope_scaling={\"rope_type\":\"dynamic\",\"factor\":2}"},
    {.key = "query_pre_attn_scalar", .value = "3"},
    {.key = "attn_logit_softcapping", .value = "0.5"},
    {.key = "final_logit_softcapping", .value = "0.5"},
    {.key = "layer_types", .value = "[\"full_attention\",\"sliding_attention\"]", .context = WINDOWS},
    {.key = "sliding_window", .value = "7", .context = WINDOWS},
    {.key = "no_rope_layers", .value = "[1,0]"},
    {.key = "relative_attention_num_buckets", .value = "8", .context = "position=t5"},
    {.key = "relative_attention_max_distance", .value = "20", .context = "position=t5"},
    {.key = "kerple_kernel", .value = "power", .context = "position=kerple"},
    {.key = "sandwich_channels", .value = "16", .context = "position=sandwich"},
    {.key = "max_relative_position", .value = "5", .context = "position=shaw"},
    {.key = "fire_width", .value = "8", .context = "position=fire"},
    {.key = "fire_length", .value = "20", .context = "position=fire"},
    {.key = "dropout", .value = "0.2"},
    {.key = "attention_dropout", .value = "0.2"},
    {.key = "activation_dropout", .value = "0.2"},
    {.key = "label_smoothing", .value = "0.2"},
    {.key = "bias", .value = "false"},
    {.key = "attention_bias", .value = "false"},
    {.key = "attention_output_bias", .value = "false"},
    {.key = "mlp_bias", .value = "false"},
    {.key = "output_bias", .value = "false"},
    {.key = "tie_word_embeddings", .value = "true"},
    {.key = "scale_embedding", .value = "true"},
    {.key = "type_vocab_size", .value = "2"},
    {.key = "embedding_norm", .value = "true"},
    {.key = "output_transform", .value = "true"},
    {.key = "num_labels", .elsewhere = true},
    {.key = "classifier_activation", .elsewhere = true},
    {.key = "classifier_pooling", .elsewhere = true},
    {.key = "steps", .value = "9"}, /* of the cosine */
    {.key = "epochs", .elsewhere = true},
    {.key = "batch_tokens", .elsewhere = true},
    {.key = "batch_size", .value = "3"},
    {.key = "gradient_accumulation_steps", .value = "3"},
    {.key = "shards", .value = "2", .context = "batch_size=4"},
    {.key = "learning_rate", .value = "0.02"},
    {.key = "minimum_learning_rate", .value = "0.002"},
    {.key = "schedule", .value = "linear"},
    {.key = "warmup_steps", .value = "2"},
    {.key = "optimizer", .value = "adam"},
    {.key = "beta1", .value = "0.8"},
    {.key = "beta2", .value = "0.9"},
    {.key = "epsilon", .value = "1e-3"},
    {.key = "weight_decay", .value = "0.2"},
    {.key = "max_grad_norm", .value = "0.1"},
    {.key = "precision", .value = "bf16"},
    {.key = "seed", .value = "2"},
    {.key = "log_every", .value = "3", .no_effect = true},
    {.key = "evaluate_every", .value = "3", .no_effect = true},
    {.key = "checkpoint_every", .value = "3", .no_effect = true},
    {.key = "average_checkpoints", .value = "2", .context = "checkpoint_every=3", .no_effect = true},
    {.key = "validation_sequences", .value = "3", .no_effect = true},
    {.key = "init", .elsewhere = true},
    {.key = "lora_rank", .elsewhere = true},
    {.key = "lora_alpha", .elsewhere = true},
    {.key = "lora_targets", .elsewhere = true},
    {.key = "primary_measure", .value = "validation_loss_area", .no_effect = true},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static const char base[] =
    "task=index;sequence_length=48;index_letters=5;addition_digits=2;position=rope;hidden_size=16;"
    "num_hidden_layers=2;num_attention_heads=2;intermediate_size=24;dropout=0.1;attention_dropout=0.1;"
    "label_smoothing=0.1;batch_size=2;gradient_accumulation_steps=2;optimizer=adamw;learning_rate=0.01;"
    "minimum_learning_rate=0.001;schedule=cosine;warmup_steps=1;weight_decay=0.1;max_grad_norm=0.3;"
    "precision=f32;prefix_substring=6;copy_letters=6;reverse_letters=6;passkey_sentences=1;steps=8";

/* The files of TRANSLATES, in the current folder: splits of ten pairs. */
static void write_pairs(void)
{
    static const char *const names[] = {"train", "val", "test_2016_flickr"},
                             *const languages[] = {"de", "en"}, source[] = "eins zwei\nzwei drei eins\n",
                             target[] = "one two\ntwo three one\n";
    for (int name = 0; name < 3; name++)
        for (int language = 0; language < 2; language++) {
            char path[64], text[512] = "";
            snprintf(path, sizeof path, "%s.%s", names[name], languages[language]);
            for (int i = 0; i < 5; i++)
                strcat(text, language ? target : source);
            scratch_write(scratch_path(path), text, strlen(text));
        }
}

static void assign(struct run_config *config, const char *assignments)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", assignments);
    for (char *one = strtok(text, ";"); one; one = strtok(NULL, ";"))
        set_option(config, one);
}

/* A hash of the losses, norms and rates of STEPS steps and of the weights after them. */
static uint64_t steps_of(const struct change *change, bool changed)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_error error = {0};
    char assignment[1024];
    run_config_default(&config);
    assign(&config, base);
    assign(&config, change->context ? change->context : "");
    snprintf(assignment, sizeof assignment, "%s=%s", change->key, change->value);
    if (changed)
        set_option(&config, assignment);
    struct backend backend;
    struct trainer trainer;
    if (!CHECK(run_config_check(&config, &error) == ROTARY_OK) ||
        !CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, (enum precision)config.train.precision, NULL) ==
               ROTARY_OK)) {
        printf("%s\n", error.message);
        return 0;
    }
    double numbers[STEPS][3];
    CHECK(trainer_create(&trainer, &config, NULL, &backend, NULL) == ROTARY_OK);
    for (int step = 0; step < STEPS; step++) {
        struct trainer_step taken;
        CHECK(trainer_step(&trainer, step + 1, &taken, NULL) == ROTARY_OK);
        numbers[step][0] = taken.loss.total;
        numbers[step][1] = taken.gradient_norm;
        numbers[step][2] = taken.learning_rate;
    }
    const struct parameters *parameters = transformer_parameters(trainer.transformer);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    uint64_t hash = rotary_hash(numbers, sizeof numbers) ^
                    rotary_hash(values, (uint64_t)parameters->elements * sizeof *values);
    free(values);
    trainer_destroy(&trainer);
    backend_destroy(&backend);
    return hash;
}

static void test_key(const char *key)
{
    check_about("%s", key);
    for (int i = 0; i < CHANGES; i++) {
        if (strcmp(changes[i].key, key) != 0)
            continue;
        if (changes[i].elsewhere)
            return;
        if (strcmp(key, "precision") == 0 && !has_bf16())
            return;
        bool same = steps_of(&changes[i], true) == steps_of(&changes[i], false);
        CHECK_INT(same, changes[i].no_effect);
        return;
    }
    CHECK(!"the key has a row in this test");
}

int main(void)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    struct settings settings[RUN_SETTINGS];
    int keys = 0;
    write_pairs();
    if (!CHECK_INT(chdir(scratch_folder()), 0))
        return check_report();
    run_config_default(&config);
    run_settings(&config, settings);
    for (int table = 0; table < RUN_SETTINGS; table++)
        for (int i = 0; i < settings[table].count; i++, keys++)
            test_key(settings[table].table[i].name);
    check_about("%s", "");
    CHECK_INT(keys, CHANGES);
    return check_report();
}
