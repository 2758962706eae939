/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "huggingface/encoder_config.h"
#include "model/config_check.h"
#include "model/encoding/contradictions.h"
#include "run_folder/folder.h"
#include "run_folder/run_archive.h"
#include "score/measure.h"
#include "train/folder/corpus_record.h"
#include "train/folder/vocabulary.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/shard_sums.h"
#include "train/weights/huggingface_run.h"
#include "train/weights/lora_targets.h"

#include <stdlib.h>
#include <string.h>

const char *const precision_names[] = {"auto", "f32", "bf16", NULL};

#define MEMBER(member) offsetof(struct train_config, member)
enum { MAX_BATCH = 1 << 20, MAX_AVERAGED = 1000, MAX_EPOCHS = 1 << 20, MAX_RANK = 1 << 16 };
#define MAX_STEP    4294967295.0       /* random keys of data and dropout have a 32-bit step */
#define MAX_TOKENS  2147483647.0       /* of a batch, as transformer_create wants */
#define MAX_SEED    9007199254740991.0 /* a JSON number is exact up to 2^53 - 1 */
#define MAX_BETA    0.9999999          /* below 1 in f32 */
#define MIN_EPSILON 1e-20              /* of epsilon: not 0 in f32 */
#define MIN_ALPHA   1e-6

static const struct setting train_table[] = {
    {"steps", SETTING_INTEGER, MEMBER(steps), 0, MAX_STEP, NULL,
     .help = "updates of the parameters; 0: none, the initial weights are all that is written"},
    {"epochs", SETTING_INTEGER, MEMBER(epochs), 0, MAX_EPOCHS, NULL,
     .help = "passes over a finite corpus, from which steps follow; 0: steps says how many"},
    {"batch_size", SETTING_INTEGER, MEMBER(batch_size), 1, MAX_BATCH, NULL,
     .help = "sequences per micro-batch"},
    {"batch_tokens", SETTING_INTEGER, MEMBER(batch_tokens), 0, MAX_TOKENS, NULL,
     .help = "tokens of source and of target per micro-batch at most, of a finite corpus; 0: batch_size"},
    {"gradient_accumulation_steps", SETTING_INTEGER, MEMBER(gradient_accumulation_steps), 1, MAX_BATCH, NULL,
     .help = "micro-batches whose gradients are summed per step"},
    {"shards", SETTING_INTEGER, MEMBER(shards), 1, MAX_SHARDS, NULL,
     .help =
         "parts that each micro-batch is cut into, a power of two, whose gradients are summed in one fixed "
         "tree: mpirun -n N computes N of them side by side"},
    {"learning_rate", SETTING_REAL, MEMBER(learning_rate), 0, 1e6, NULL,
     .help = "maximum learning rate; with noam, its factor"},
    {"minimum_learning_rate", SETTING_REAL, MEMBER(minimum_learning_rate), 0, 1e6, NULL,
     .help = "learning rate at the end of linear and cosine"},
    {"schedule", SETTING_CHOICE, MEMBER(schedule), 0, 0, schedule_names,
     .help = "the learning rate after the warm-up"},
    {"warmup_steps", SETTING_INTEGER, MEMBER(warmup_steps), 0, MAX_STEP, NULL,
     .help = "steps in which the learning rate rises from 0"},
    {"optimizer", SETTING_CHOICE, MEMBER(optimizer), 0, 0, optimizer_names,
     .help = "how gradients become updates"},
    {"beta1", SETTING_REAL, MEMBER(beta1), 0, MAX_BETA, NULL, .help = "decay of the gradients' mean"},
    {"beta2", SETTING_REAL, MEMBER(beta2), 0, MAX_BETA, NULL, .help = "decay of the gradients' mean square"},
    {"epsilon", SETTING_REAL, MEMBER(epsilon), MIN_EPSILON, 1, NULL,
     .help = "added to the root of the mean square"},
    {"weight_decay", SETTING_REAL, MEMBER(weight_decay), 0, 1e3, NULL, .help = "of matrices alone"},
    {"max_grad_norm", SETTING_REAL, MEMBER(max_grad_norm), 0, 1e9, NULL,
     .help = "norm to which all gradients together are clipped; 0: no clipping"},
    {"precision", SETTING_CHOICE, MEMBER(precision), 0, 0, precision_names,
     .help = "of matmuls and stored activations"},
    {"seed", SETTING_INTEGER, MEMBER(seed), 0, MAX_SEED, NULL,
     .help = "of weights, data, dropout and evaluation"},
    {"log_every", SETTING_INTEGER, MEMBER(log_every), 0, MAX_STEP, NULL,
     .help = "steps from one line of metrics to the next; 0: only the last"},
    {"evaluate_every", SETTING_INTEGER, MEMBER(evaluate_every), 0, MAX_STEP, NULL,
     .help = "steps from one evaluation to the next; 0: only at the end"},
    {"checkpoint_every", SETTING_INTEGER, MEMBER(checkpoint_every), 0, MAX_STEP, NULL,
     .help = "steps from one checkpoint to the next; 0: only at the end"},
    {"average_checkpoints", SETTING_INTEGER, MEMBER(average_checkpoints), 0, MAX_AVERAGED, NULL,
     .help = "the last so many multiples of checkpoint_every whose weights are averaged at the end; 0: none"},
    {"validation_sequences", SETTING_INTEGER, MEMBER(validation_sequences), 1, MAX_BATCH, NULL,
     .help = "sequences of the validation loss"},
    {"primary_measure", SETTING_CHOICE, MEMBER(primary_measure), 0, 0, measure_names,
     .help = "what decides a comparison; auto: what suits the task: exact_match, bleu, classification_score "
             "or validation_loss"},
    {"init", SETTING_TEXT, MEMBER(init),
     .help = "folder of a run, or of a Hugging Face model, whose weights and vocabulary are taken; empty: "
             "random weights"},
    {"lora_rank", SETTING_INTEGER, MEMBER(lora_rank), 0, MAX_RANK, NULL,
     .help = "rank of a low-rank adaptation of the weights of init, which stay frozen; 0: they are trained"},
    {"lora_alpha", SETTING_REAL, MEMBER(lora_alpha), MIN_ALPHA, 1e6, NULL,
     .help = "the adaptation is scaled by lora_alpha / lora_rank"},
    {"lora_targets", SETTING_TEXT, MEMBER(lora_targets),
     .help = "the projections adapted, separated by commas: query, key, value, output, gate, up, down, "
             "attention, feed_forward or all"},
};

static void train_config_default(struct train_config *config)
{
    *config = (struct train_config){
        .steps = 1000,
        .batch_size = 32,
        .gradient_accumulation_steps = 1,
        .shards = 1,
        .learning_rate = 2.5e-4,
        .schedule = SCHEDULE_CONSTANT,
        .optimizer = OPTIMIZER_ADAM,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .max_grad_norm = 1.0,
        .precision = PRECISION_AUTO,
        .seed = 1,
        .log_every = 10,
        .evaluate_every = 500,
        .checkpoint_every = 500,
        .validation_sequences = 64,
        .primary_measure = MEASURE_AUTO,
        .lora_alpha = 8.0,
        .lora_targets = "query,value",
    };
}

void run_config_default(struct run_config *config)
{
    *config = (struct run_config){0};
    task_config_default(&config->task);
    transformer_config_default(&config->model);
    train_config_default(&config->train);
}

void run_settings(struct run_config *config, struct settings settings[RUN_SETTINGS])
{
    task_settings(&config->task, settings);
    transformer_settings(&config->model, settings + TASK_SETTINGS);
    settings[RUN_SETTINGS - 1] =
        (struct settings){train_table, sizeof train_table / sizeof train_table[0], &config->train};
}

void run_config_copy(struct run_config *copy, const struct run_config *config)
{
    struct settings settings[RUN_SETTINGS];
    *copy = *config;
    run_settings(copy, settings);
    settings_share(settings, RUN_SETTINGS);
}

void run_config_free(struct run_config *config)
{
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    settings_free(settings, RUN_SETTINGS);
}

rotary_status run_config_to_json(const struct run_config *config, json_t **object, rotary_error *error)
{
    json_t *made = json_object();
    if (!made)
        return rotary_fail_memory(error, "to write a configuration");
    struct run_config copy = *config; /* settings hold pointers that are not const */
    struct settings settings[RUN_SETTINGS];
    run_settings(&copy, settings);
    rotary_status status = settings_write(settings, RUN_SETTINGS, made, error);
    if (status == ROTARY_OK)
        *object = made;
    else
        json_decref(made);
    return status;
}

rotary_status run_config_from_json(struct run_config *config, const json_t *object, const char *where,
                                   rotary_error *error)
{
    struct run_config made;
    run_config_default(&made);
    struct settings settings[RUN_SETTINGS];
    run_settings(&made, settings);
    rotary_status status = settings_read(settings, RUN_SETTINGS, object, where, error);
    if (status == ROTARY_OK)
        *config = made;
    else
        run_config_free(&made);
    return status;
}

static rotary_status check_measure(const struct run_config *config, const struct task *task,
                                   rotary_error *error)
{
    const enum scoring scoring = task_scoring(task);
    const int measure = config->train.primary_measure;
    const enum label_score label = measure_label((enum measure)measure);
    const bool bytes = measure != MEASURE_BITS_PER_BYTE || config->task.task == TASK_LANGUAGE;
    const bool had = measure == MEASURE_AUTO || (bytes && measure_fits((enum measure)measure, scoring));
    if (had && (label == LABEL_SCORES || label_score_fits(label, task_labels(task).classes)))
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "primary_measure is %s, which the task %s does not have: wanted %s%svalidation_loss or "
        "validation_loss_area",
        measure_names[measure], task_names[config->task.task],
        scoring == SCORING_LOSS ? "" : measure_names[measure_usual(scoring)],
        scoring == SCORING_LOSS ? "" : ", ");
}

static rotary_status check_architecture(const struct run_config *config, const struct task *task,
                                        rotary_error *error)
{
    const bool source = task_vocabulary(task).source > 0, encoder = task_wants_encoder(task);
    const int got = config->model.architecture, wanted = source    ? ARCHITECTURE_ENCODER_DECODER
                                                         : encoder ? ARCHITECTURE_ENCODER
                                                                   : ARCHITECTURE_DECODER;
    if (got == wanted)
        return ROTARY_OK;
    const char *reason = source                        ? "has a source"
                         : task_shape(task).labels     ? "has labels"
                         : encoder                     ? "has masked tokens"
                         : got == ARCHITECTURE_ENCODER ? "has neither masked tokens nor labels"
                                                       : "has no source";
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "architecture is %s, but the task %s %s: wanted %s",
                       architecture_names[got], task_names[config->task.task], reason,
                       architecture_names[wanted]);
}

/* Makes num_labels that of the task, or checks it; pairs of texts have two types of tokens. */
static rotary_status fit_labels_to_task(struct run_config *config, const struct task *task,
                                        rotary_error *error)
{
    struct transformer_config *model = &config->model;
    const struct task_labels labels = task_labels(task);
    const int64_t wanted = labels.regression || task_shape(task).choices > 0 ? 1 : labels.classes;
    const char *name = task_names[config->task.task];
    if (model->num_labels == 0)
        model->num_labels = wanted;
    if (model->num_labels != wanted)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "num_labels is %lld, but the task %s has %s: wanted %lld",
                           (long long)model->num_labels, name,
                           labels.regression ? "a number to predict"
                           : wanted > 0      ? "other labels"
                                             : "no labels",
                           (long long)wanted);
    if (!task_shape(task).segments || model->type_vocab_size >= 2)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "type_vocab_size is %lld, but texts of the task %s are pairs: wanted 2, a type for each",
        (long long)model->type_vocab_size, name);
}

/* Makes source_vocab_size that of the task, or checks it and the rest of the encoder's side. */
static rotary_status fit_encoder_to_task(struct run_config *config, struct task_vocabulary vocabulary,
                                         rotary_error *error)
{
    struct transformer_config *model = &config->model;
    const char *task = task_names[config->task.task];
    if (vocabulary.source == 0)
        return ROTARY_OK;
    if (model->share_encoder_decoder_embeddings && !vocabulary.shared)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "share_encoder_decoder_embeddings is true, but source and target of the task %s "
                           "have a vocabulary each: wanted one for both",
                           task);
    if (model->source_vocab_size == 0)
        model->source_vocab_size = vocabulary.source;
    if (model->source_vocab_size != vocabulary.source)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "source_vocab_size is %lld, but the task %s has %lld tokens: leave it out",
                           (long long)model->source_vocab_size, task, (long long)vocabulary.source);
    return ROTARY_OK;
}

bool run_may_pad(const struct run_config *config)
{
    return config->model.architecture == ARCHITECTURE_ENCODER || config->task.task == TASK_LANGUAGE;
}

/* Whether the vocabulary, which is another's, may have tokens beyond the model's table: those are refused
 * where they occur. Gemma 3 has such a token, for images. */
static bool may_exceed(const struct run_config *config, const struct task_request *vocabularies)
{
    return vocabularies->folder && run_may_pad(config);
}

/* Makes vocab_size and max_position_embeddings those of the task, or checks them. (No problem is longer than
 * a sequence: task_create checks that.) */
static rotary_status fit_model_to_task(struct run_config *config, const struct task_request *vocabularies,
                                       rotary_error *error)
{
    struct task_request request = *vocabularies;
    request.need = TASK_SIZES;
    struct task *task;
    rotary_status status = task_create(&task, &config->task, &request, error);
    if (status != ROTARY_OK)
        return status;
    const struct task_vocabulary vocabulary = task_vocabulary(task);
    int64_t tokens = vocabulary.target, positions = config->task.sequence_length;
    status = check_architecture(config, task, error);
    if (status == ROTARY_OK)
        status = fit_labels_to_task(config, task, error);
    if (status == ROTARY_OK)
        status = check_measure(config, task, error);
    task_destroy(task);
    if (status == ROTARY_OK)
        status = fit_encoder_to_task(config, vocabulary, error);
    if (status != ROTARY_OK)
        return status;
    struct transformer_config *model = &config->model;
    if (model->vocab_size == 0)
        model->vocab_size = tokens;
    if ((model->vocab_size < tokens && !may_exceed(config, vocabularies)) ||
        (model->vocab_size > tokens && !run_may_pad(config)))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "vocab_size is %lld, but the task %s has %lld tokens: leave it out",
                           (long long)model->vocab_size, task_names[config->task.task], (long long)tokens);
    if (model->max_position_embeddings == 0)
        model->max_position_embeddings = positions;
    if (model->max_position_embeddings < positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "max_position_embeddings is %lld, less than sequence_length %lld: leave it out",
                           (long long)model->max_position_embeddings, (long long)positions);
    return ROTARY_OK;
}

/* A run of no steps has nothing to average, and may be resumed for more. */
static rotary_status check_average(const struct train_config *train, rotary_error *error)
{
    const int64_t every = train->checkpoint_every, checkpoints = every > 0 ? train->steps / every : 0;
    if (train->steps == 0 || checkpoints >= train->average_checkpoints)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "average_checkpoints is %lld, but %lld steps with checkpoint_every %lld have %lld "
                       "checkpoints: wanted at most as many, or 0",
                       (long long)train->average_checkpoints, (long long)train->steps, (long long)every,
                       (long long)checkpoints);
}

/* A micro-batch has a row for each shard. Of batch_tokens, a micro-batch of few rows leaves some empty. */
static rotary_status check_shards(const struct train_config *train, rotary_error *error)
{
    if ((train->shards & (train->shards - 1)) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "shards is %lld: wanted a power of two, such as %lld", (long long)train->shards,
                           1LL << shard_levels(train->shards));
    if (train->batch_tokens > 0 || train->batch_size >= train->shards)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "shards is %lld, but batch_size is %lld: wanted at most as many shards as sequences",
                       (long long)train->shards, (long long)train->batch_size);
}

static rotary_status check_training(const struct run_config *config, rotary_error *error)
{
    const struct train_config *train = &config->train;
    const double tokens = (double)train->batch_size * (double)config->task.sequence_length *
                          (double)max_i64(task_choices(&config->task), 1);
    if (train->batch_tokens == 0 && tokens > MAX_TOKENS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "batch_size %lld times sequence_length %lld is %.0f tokens, wanted at most %.0f",
                           (long long)train->batch_size, (long long)config->task.sequence_length, tokens,
                           MAX_TOKENS);
    rotary_status status = check_average(train, error);
    if (status == ROTARY_OK)
        status = check_shards(train, error);
    if (status != ROTARY_OK)
        return status;
    if (train->minimum_learning_rate > train->learning_rate)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "minimum_learning_rate is %g, wanted at most learning_rate, which is %g",
                           train->minimum_learning_rate, train->learning_rate);
    if ((double)train->steps * (double)train->gradient_accumulation_steps > MAX_STEP)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "steps times gradient_accumulation_steps is %.0f micro-batches, wanted at most %.0f",
            (double)train->steps * (double)train->gradient_accumulation_steps, MAX_STEP);
    return ROTARY_OK;
}

static rotary_status check_lora(const struct run_config *config, rotary_error *error)
{
    const struct train_config *train = &config->train;
    if (train->lora_rank == 0)
        return ROTARY_OK;
    if (train->init[0])
        return lora_check(&config->model, train->lora_rank, train->lora_targets, error);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "lora_rank is %lld, which adapts the weights of another run, but init names none: "
                       "wanted its folder, or lora_rank 0",
                       (long long)train->lora_rank);
}

/* The folder that the initial weights are from has a run. */
static rotary_status check_init(const struct run_config *config, rotary_error *error)
{
    const char *folder = config->train.init;
    enum folder_state state;
    if (!folder[0])
        return ROTARY_OK;
    rotary_status status = folder_inspect(folder, &state, error);
    if (status != ROTARY_OK || state == FOLDER_RUN)
        return status;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "init is %s, which is not the folder of a run: it has no " FOLDER_CONFIG, folder);
}

static const char configuration_name[] = "the configuration";

static rotary_status check_settings(struct run_config *config, const struct task_request *vocabularies,
                                    rotary_error *error)
{
    struct run_config checked = *config;
    struct settings settings[RUN_SETTINGS];
    run_settings(&checked, settings);
    rotary_status status = settings_check(settings, TASK_SETTINGS, configuration_name, error);
    if (status == ROTARY_OK)
        status = fit_model_to_task(&checked, vocabularies, error);
    if (status == ROTARY_OK)
        status = settings_check(settings, RUN_SETTINGS, configuration_name, error);
    if (status == ROTARY_OK)
        status = transformer_config_check(&checked.model, error);
    if (status == ROTARY_OK)
        status = check_training(&checked, error);
    if (status == ROTARY_OK)
        status = check_lora(&checked, error);
    if (status == ROTARY_OK)
        *config = checked;
    return status;
}

rotary_status run_config_check_recorded(struct run_config *config, const char *folder, rotary_error *error)
{
    const struct task_request vocabularies = {.folder = run_vocabulary_folder(config, folder),
                                              .own = folder != NULL};
    return check_settings(config, &vocabularies, error);
}

rotary_status run_config_check(struct run_config *config, rotary_error *error)
{
    struct run_config checked = *config;
    struct settings settings[RUN_SETTINGS];
    run_settings(&checked, settings);
    rotary_status status = settings_check(settings, TASK_SETTINGS, configuration_name, error);
    if (status == ROTARY_OK) /* the training's */
        status = settings_check(&settings[RUN_SETTINGS - 1], 1, configuration_name, error);
    if (status == ROTARY_OK)
        status = check_init(&checked, error);
    const char *folder = run_vocabulary_folder(&checked, NULL);
    if (status == ROTARY_OK)
        status = run_config_derive_steps(&checked, folder, error);
    if (status == ROTARY_OK)
        status = check_settings(&checked, &(struct task_request){.folder = folder}, error);
    if (status == ROTARY_OK)
        status = contradictions_check(&checked.model, error);
    if (status == ROTARY_OK)
        *config = checked;
    return status;
}

void run_config_keep_fixed(struct run_config *config)
{
    struct train_config defaults;
    train_config_default(&defaults);
    config->train.steps = defaults.steps;
    config->train.epochs = defaults.epochs;
    config->train.log_every = defaults.log_every;
    config->train.evaluate_every = defaults.evaluate_every;
    config->train.checkpoint_every = defaults.checkpoint_every;
}

const char *run_vocabulary_folder(const struct run_config *config, const char *folder)
{
    if (folder)
        return folder;
    return config->train.init[0] ? config->train.init : NULL;
}

bool run_config_equal(const struct run_config *a, const struct run_config *b)
{
    json_t *first = NULL, *second = NULL;
    const bool equal = run_config_to_json(a, &first, NULL) == ROTARY_OK &&
                       run_config_to_json(b, &second, NULL) == ROTARY_OK && json_equal(first, second);
    json_decref(first);
    json_decref(second);
    return equal;
}

static rotary_status fail_difference(const char *key, const json_t *recorded, const json_t *now,
                                     const char *where, rotary_error *error)
{
    char *before = file_json_text(recorded, JSON_ENCODE_ANY), *after = file_json_text(now, JSON_ENCODE_ANY);
    rotary_status status = rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "%s is %s in %s and %s now; only steps, epochs, log_every, evaluate_every and checkpoint_every may "
        "change",
        key, before ? before : "something else", where, after ? after : "something else");
    free(before);
    free(after);
    return status;
}

rotary_status run_config_check_same(const struct run_config *config, const struct run_config *recorded,
                                    const char *where, rotary_error *error)
{
    struct run_config fixed = *config, fixed_recorded = *recorded;
    run_config_keep_fixed(&fixed);
    run_config_keep_fixed(&fixed_recorded);
    json_t *now, *before;
    rotary_status status = run_config_to_json(&fixed, &now, error);
    if (status != ROTARY_OK)
        return status;
    status = run_config_to_json(&fixed_recorded, &before, error);
    if (status == ROTARY_OK) {
        const char *key;
        json_t *value;
        json_object_foreach (before, key, value) {
            const json_t *other = json_object_get(now, key);
            if (!task_is_location(key) && !json_equal(value, other)) {
                status = fail_difference(key, value, other, where, error);
                break;
            }
        }
        json_decref(before);
    }
    json_decref(now);
    return status;
}

rotary_status run_config_check_steps(const struct run_config *config, const struct run_config *recorded,
                                     const char *where, rotary_error *error)
{
    int schedule = recorded->train.schedule;
    if (recorded->train.average_checkpoints > 0 && recorded->train.steps > 0 &&
        config->train.checkpoint_every != recorded->train.checkpoint_every)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "checkpoint_every is %lld in %s and %lld now: other checkpoints would be averaged "
                           "than by a run that was not interrupted; wanted the same",
                           (long long)recorded->train.checkpoint_every, where,
                           (long long)config->train.checkpoint_every);
    bool depends_on_steps = schedule == SCHEDULE_LINEAR || schedule == SCHEDULE_COSINE;
    if (!depends_on_steps || config->train.steps == recorded->train.steps || recorded->train.steps == 0)
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "steps is %lld in %s and %lld now: the learning rate of a %s schedule depends on the number "
        "of steps, so the steps already taken would differ; wanted the same steps, or "
        "another folder by --out",
        (long long)recorded->train.steps, where, (long long)config->train.steps, schedule_names[schedule]);
}

/* Makes an invalid argument ROTARY_BAD_FILE, and puts the path into a message that lacks it. */
static rotary_status fail_in_file(const char *path, rotary_status status, rotary_error *error)
{
    if (status != ROTARY_INVALID_ARGUMENT)
        return status;
    rotary_error inner = error ? *error : (rotary_error){0};
    if (strstr(inner.message, path))
        return rotary_fail(error, ROTARY_BAD_FILE, "%s", inner.message);
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: %.400s", path, inner.message);
}

/* Reads those of a Hugging Face model. */
static rotary_status read_transformers(const json_t *object, const char *path, struct run_config *config,
                                       rotary_error *error)
{
    enum { BATCH_TOKENS = 4096 };
    struct huggingface_run run;
    rotary_status status = huggingface_run_describe(&run, object, path, error);
    if (status != ROTARY_OK)
        return status;
    run_config_default(config);
    config->model = run.model;
    config->task.task = run.task;
    config->task.sequence_length = run.sequence_length;
    config->train.batch_size = max_i64(BATCH_TOKENS / run.sequence_length, 1);
    return ROTARY_OK;
}

/* Reads those of a run of this program; `object` is changed. */
static rotary_status read_own(const char *folder, const char *path, json_t *object, struct run_config *config,
                              rotary_error *error)
{
    rotary_status status = file_check_format(path, object, RUN_FORMAT, error);
    json_object_del(object, "format"); /* not a setting, nor are the following */
    json_object_del(object, RUN_PARAMETERS);
    json_object_del(object, RUN_CORPUS);
    json_object_del(object, RUN_VOCABULARY_HASH);
    json_object_del(object, RUN_PROVENANCE);
    json_object_del(object, JSON_CHECKSUM); /* run_check_unchanged; other checks say more */
    json_t *vocabulary = vocabulary_take(object);
    if (status == ROTARY_OK)
        status = run_config_from_json(config, object, path, error);
    if (status == ROTARY_OK)
        status = run_config_check_recorded(config, folder, error);
    if (status == ROTARY_OK)
        status = vocabulary_check(vocabulary, &config->task, folder, path, error);
    json_decref(vocabulary);
    return status;
}

rotary_status run_read_folder(const char *folder, struct run_config *config, json_t **transformers,
                              rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    *transformers = NULL;
    rotary_status status = run_archive_refuse(folder, error);
    if (status == ROTARY_OK)
        status = huggingface_run_read(folder, path, &object, error);
    if (status != ROTARY_OK)
        return status;
    if (!object)
        return folder_fail_no_run(folder, error);
    struct run_config read = {0};
    const bool others = huggingface_run_is(object);
    if (others) {
        status = read_transformers(object, path, &read, error);
        if (status == ROTARY_OK)
            status = run_config_check_recorded(&read, folder, error);
    } else {
        status = read_own(folder, path, object, &read, error);
    }
    if (status == ROTARY_OK)
        *config = read;
    else
        run_config_free(&read);
    if (status == ROTARY_OK && others)
        *transformers = object;
    else
        json_decref(object);
    return fail_in_file(path, status, error);
}

rotary_status run_check_unchanged(const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &object, error);
    if (status != ROTARY_OK)
        return status;
    status = json_checksum_take(object, path, error);
    json_decref(object);
    return status;
}

rotary_status run_read_config(const char *folder, struct run_config *config, rotary_error *error)
{
    json_t *transformers;
    rotary_status status = run_read_folder(folder, config, &transformers, error);
    json_decref(transformers);
    return status;
}

static rotary_status write_corpus(json_t *object, const struct task_config *config, rotary_error *error)
{
    struct corpus corpus;
    rotary_status status = corpus_read(&corpus, config, TASK_TRAINING, error);
    if (status == ROTARY_OK)
        corpus_write(object, &corpus);
    return status;
}

rotary_status run_write_config(const char *folder, const struct run_config *config, const struct task *task,
                               const struct run_record *record, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_output_path(path, folder, FOLDER_CONFIG, error);
    if (status != ROTARY_OK)
        return status;
    json_t *settings;
    status = run_config_to_json(config, &settings, error);
    if (status != ROTARY_OK)
        return status;
    json_t *object = json_pack("{s:i}", "format", RUN_FORMAT);
    if (record->parameters)
        json_object_set_new(object, RUN_PARAMETERS, json_integer(record->parameters));
    json_object_update(object, settings);
    if (record->provenance)
        json_object_set_new(object, RUN_PROVENANCE, json_deep_copy(record->provenance));
    vocabulary_write(object, task);
    status = write_corpus(object, &config->task, error);
    if (status == ROTARY_OK)
        status =
            task_save(task, folder, error); /* before config.json, which makes the folder that of a run */
    if (status == ROTARY_OK)
        status = vocabulary_write_hash(object, task, folder, error);
    json_checksum_set(object);
    if (status == ROTARY_OK)
        status = file_replace_json(path, object, error);
    json_decref(object);
    json_decref(settings);
    return status;
}
