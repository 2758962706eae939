/* SPDX-License-Identifier: Apache-2.0
 *
 * The training loop: the loss decreases in every configuration; the same seed gives the same bits on any
 * number of threads; a step allocates nothing and creates no thread; and a refused call never damages a run.
 */
#include "support/allocations.h"
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "support/thread_list.h"
#include "train/runs.h"

#include "layer/encoding/encoding.h"
#include "train/folder/checkpoint.h"
#include "train/schedule.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *numbered(const char *kind, int number)
{
    char name[32];
    snprintf(name, sizeof name, "%s%d", kind, number);
    return scratch_path(name);
}

/* Calls train_run(), and checks the status and `words` in the message. */
static struct train_result call_train(const struct run_config *config, const char *folder, bool resume,
                                      rotary_status wanted, const char *words)
{
    struct backend backend;
    rotary_error error = {0};
    struct train_result result = {0};
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, (enum precision)config->train.precision, NULL) ==
          ROTARY_OK);
    struct train_call call = {.config = config, .backend = &backend, .folder = folder, .resume = resume};
    if (!CHECK_INT(train_run(&call, &result, &error), wanted) || !CHECK(strstr(error.message, words) != NULL))
        printf("wanted \"%s\" in: %s\n", words, error.message);
    CHECK(strchr(error.message, '\n') == NULL);
    backend_destroy(&backend);
    return result;
}

static void test_learns(void)
{
    struct run_config config;
    for (int precision = PRECISION_F32; precision <= (has_bf16() ? PRECISION_BF16 : PRECISION_F32);
         precision++) {
        check_about("learning in %s", precision_names[precision]);
        tiny_config(&config);
        config.model.dropout = 0.0;
        config.train.precision = precision;
        config.train.batch_size = 8;
        config.train.gradient_accumulation_steps = 1;
        config.train.learning_rate = 1e-2;
        config.train.steps = 120;
        config.train.log_every = 20;
        struct train_result result = call_train(&config, numbered("learns", precision), false, ROTARY_OK, "");
        /* About 3.8 nats at first; 1.6 is what knowing the letters' frequencies and the frame gives. */
        CHECK(result.loss < 2.0);
        CHECK(result.evaluation.loss < 2.0);
        CHECK(result.evaluation.accuracy > 0.3);
        CHECK_INT(result.evaluation.problems, 4);
        CHECK_INT(result.steps_done, 120);
        CHECK_INT(result.first_step, 0);
    }
    check_about("%s", "");
}

/* Every encoding with every norm, norm position and activation; optimizers, schedules, precisions and tasks
 * of characters alternate. */
static void test_every_kind_of_model(void)
{
    static const int tasks[] = {TASK_ADDITION, TASK_COPY, TASK_INDEX};
    for (int kind = 0; kind < 5 * 2 * 2 * 3; kind++) {
        struct run_config config;
        tiny_config(&config);
        config.task.task = tasks[kind % 3];
        config.task.sequence_length = 128;
        set_option(&config, "addition_digits=2");
        config.model.vocab_size = 0;
        config.model.max_position_embeddings = 0;
        config.model.position = kind % 5;
        config.model.norm = kind / 5 % 2;
        config.model.norm_position = kind / 10 % 2;
        config.model.hidden_act = kind / 20;
        config.train.optimizer = kind % 2;
        config.train.schedule = kind % 4;
        config.train.precision = kind % 7 < 4 || !has_bf16() ? PRECISION_F32 : PRECISION_BF16;
        config.train.weight_decay = 0.01;
        config.train.steps = 3;
        config.train.log_every = 1;
        check_about("position %d, norm %d %d, act %d, task %s", config.model.position, config.model.norm,
                    config.model.norm_position, config.model.hidden_act, task_names[config.task.task]);
        CHECK(run_config_check(&config, NULL) == ROTARY_OK);
        struct train_result result = call_train(&config, numbered("kind", kind), false, ROTARY_OK, "");
        CHECK(result.loss > 0.5 && result.loss < 8.0);
        CHECK(isfinite(result.evaluation.loss));
    }
    check_about("%s", "");
}

/* Every scaling of the rotation can be trained with, and makes another model. */
static void test_scalings(void)
{
    static const char *const scalings[] = {
        "rope_scaling=null",
        "rope_scaling={\"rope_type\":\"linear\",\"factor\":2}",
        "rope_scaling={\"rope_type\":\"ntk\",\"factor\":2}",
        "rope_scaling={\"rope_type\":\"dynamic\",\"factor\":2,\"original_max_position_embeddings\":16}",
        "rope_scaling={\"rope_type\":\"yarn\",\"factor\":2,\"original_max_position_embeddings\":16}",
        "rope_scaling={\"rope_type\":\"longrope\",\"short_factor\":[1,1,1,1],\"long_factor\":[1,2,3,5],"
        "\"original_max_position_embeddings\":16}",
        "rope_scaling={\"rope_type\":\"llama3\",\"factor\":2,\"low_freq_factor\":1,\"high_freq_factor\":4,"
        "\"original_max_position_embeddings\":16}",
        "rope_parameters={\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.5,\"factor\":2}"};
    enum { SCALINGS = sizeof scalings / sizeof *scalings };
    const char *folders[SCALINGS];
    for (int i = 0; i < SCALINGS; i++) {
        struct run_config config RUN_CONFIG_LOCAL = {0};
        tiny_config(&config);
        config.train.steps = 2;
        set_option(&config, scalings[i]);
        check_about("%s", scalings[i]);
        CHECK(run_config_check(&config, NULL) == ROTARY_OK);
        folders[i] = numbered("scaling", i);
        train_to_end(&config, 1, folders[i]);
        for (int j = 0; j < i; j++)
            CHECK(!same_file(folders[i], folders[j], "model.safetensors"));
    }
    check_about("%s", "");
}

static void test_threads(void)
{
    for (int precision = PRECISION_F32; precision <= (has_bf16() ? PRECISION_BF16 : PRECISION_F32);
         precision++) {
        struct run_config config;
        tiny_config(&config);
        config.train.precision = precision;
        config.train.batch_size = 5;
        config.train.steps = 20;
        const char *one = numbered("one", precision);
        train_to_end(&config, 1, one);
        for (int threads = 2; threads <= 4; threads++) {
            check_about("%s, %d threads", precision_names[precision], threads);
            const char *folder = numbered(precision_names[precision], threads);
            train_to_end(&config, threads, folder);
            CHECK(same_file(folder, one, "model.safetensors"));
            CHECK(same_file(folder, one, "optimizer.safetensors"));
            char *lines = timeless_metrics(folder), *wanted = timeless_metrics(one);
            CHECK_TEXT(lines, wanted);
            free(lines);
            free(wanted);
        }
    }
    check_about("%s", "");
}

struct step_count {
    int64_t allocations;
    long threads[THREAD_LIST];
    int thread_count;
};

static void note_counts(void *argument, const struct train_progress *progress)
{
    struct step_count *count = (struct step_count *)argument + progress->step;
    count->allocations = allocations_counted();
    count->thread_count = thread_list(count->threads);
}

/* After the first step nothing is allocated, and no thread is created or ended; also not for vectors by
 * distance. */
static void test_steps_take_nothing(void)
{
    for (int precision = PRECISION_F32; precision <= (has_bf16() ? PRECISION_BF16 : PRECISION_F32);
         precision++)
        for (int threads = 1; threads <= 3; threads++) {
            struct run_config config;
            tiny_config(&config);
            config.train.precision = precision;
            if (threads > 1)
                config.model.position = threads == 2 ? POSITION_TRANSFORMER_XL : POSITION_SHAW;
            config.train.steps = 8;
            config.train.log_every = 1;
            config.train.evaluate_every = config.train.checkpoint_every = 0;
            struct backend backend;
            CHECK(backend_create(&backend, threads, ROTARY_ISA_AUTO, (enum precision)precision, NULL) ==
                  ROTARY_OK);
            struct step_count counts[9] = {{0}};
            struct train_call call = {.config = &config,
                                      .backend = &backend,
                                      .folder = numbered(precision_names[precision], 100 + threads),
                                      .progress = note_counts,
                                      .argument = counts};
            struct train_result result;
            CHECK(train_run(&call, &result, NULL) == ROTARY_OK);
            for (int step = 2; step < 8; step++) {
                check_about("%s, %d threads, step %d", precision_names[precision], threads, step);
                CHECK_INT(counts[step].allocations - counts[step - 1].allocations, 0);
                CHECK_INT(counts[step].thread_count, counts[1].thread_count);
                CHECK_INT(memcmp(counts[step].threads, counts[1].threads, sizeof counts[1].threads), 0);
            }
            CHECK(counts[1].allocations > 0 && counts[1].thread_count >= threads); /* the counts do count */
            backend_destroy(&backend);
        }
    check_about("%s", "");
}

static void test_refused(void)
{
    struct run_config config;
    tiny_config(&config);
    config.train.steps = 10;
    const char *folder = scratch_path("kept");
    struct train_result result = call_train(&config, folder, false, ROTARY_OK, "");
    uint64_t before = hash_folder(folder);

    /* A finished run returns its results again. */
    struct train_result again = call_train(&config, folder, true, ROTARY_OK, "");
    CHECK_INT(again.steps_done, 10);
    CHECK_INT(again.first_step, 10);
    CHECK_NEAR(again.loss, result.loss, 1e-8);
    CHECK_NEAR(again.evaluation.loss, result.evaluation.loss, 1e-8);
    CHECK_INT(again.evaluation.correct, result.evaluation.correct);
    CHECK_INT(again.evaluation.problems, 4);

    struct run_config other = config;
    other.train.log_every = 7; /* there is nothing left to log */
    CHECK_INT(call_train(&other, folder, true, ROTARY_OK, "").steps_done, 10);

    call_train(&config, folder, false, ROTARY_INVALID_ARGUMENT, "holds a run already");
    other = config;
    other.train.seed = 2;
    call_train(&other, folder, true, ROTARY_INVALID_ARGUMENT, "seed is 1 in ");
    other = config;
    other.train.steps = 9;
    call_train(&other, folder, true, ROTARY_INVALID_ARGUMENT,
               "is at step 10 already, past the 9 steps wanted");
    int lock = open(folder, O_RDONLY | O_DIRECTORY);
    CHECK(flock(lock, LOCK_EX) == 0);
    call_train(&config, folder, true, ROTARY_IO_ERROR, "another process is training in");
    close(lock);
    CHECK(hash_folder(folder) == before);

    /* A damaged file is an error, and is not overwritten. */
    static const char *const names[] = {"model.safetensors", "optimizer.safetensors", "config.json"};
    other = config;
    other.train.steps = 20;
    for (int i = 0; i < 3; i++) {
        size_t count;
        char *bytes = read_file(folder, names[i], &count);
        write_file(folder, names[i], bytes, count / 2);
        uint64_t damaged = hash_folder(folder);
        call_train(&other, folder, true, ROTARY_BAD_FILE, names[i]);
        CHECK(hash_folder(folder) == damaged);
        write_file(folder, names[i], bytes, count);
        free(bytes);
    }
    CHECK(hash_folder(folder) == before);
    write_file(folder, "config.json", "{\"format\":7}", 12);
    call_train(&config, folder, true, ROTARY_BAD_FILE, "has format 7");

    folder = scratch_path("foreign");
    CHECK(mkdir(folder, 0777) == 0);
    write_file(folder, "model.safetensors", "mine", 4);
    call_train(&config, folder, false, ROTARY_INVALID_ARGUMENT, "no config.json");
    call_train(&config, folder, true, ROTARY_INVALID_ARGUMENT, "no config.json");
    write_file(scratch_folder(), "file", "mine", 4);
    call_train(&config, scratch_path("file"), false, ROTARY_IO_ERROR, "is a file, wanted a run's folder");

    /* Refused before anything is allocated or written. */
    other = config;
    other.model.hidden_size = 65536;
    other.model.num_attention_heads = 1024;
    other.model.head_dim = other.model.num_key_value_heads = 0;
    other.model.intermediate_size = 0;
    other.model.num_hidden_layers = 100;
    CHECK(run_config_check(&other, NULL) == ROTARY_OK);
    folder = scratch_path("large");
    call_train(&other, folder, false, ROTARY_OUT_OF_MEMORY, "GiB of memory; this machine has");
    CHECK(!has_file(folder, "config.json"));
    call_train(&config, folder, false, ROTARY_OK, "");
}

/* A full disk is an error; once there is space, the run resumes bit-exactly. */
static void test_full_disk(void)
{
    struct run_config config;
    tiny_config(&config);
    const char *folder = scratch_path("full"), *reference = scratch_path("not full");
    struct rlimit before, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 6000;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    struct train_result result =
        call_train(&config, folder, false, ROTARY_IO_ERROR, "model.safetensors.next");
    CHECK_INT(result.steps_done, 5);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(!has_file(folder, "model.safetensors.next"));
    train_to_end(&config, 1, folder);
    train_to_end(&config, 1, reference);
    CHECK(same_file(folder, reference, "model.safetensors"));
    call_train(&config, "/proc/rotary", false, ROTARY_IO_ERROR, "cannot make the folder /proc/rotary");
}

/* Resuming a finished run with more steps gives the same bits as a single run of as many; lines and
 * evaluations come where they are due. */
static void test_more_steps(void)
{
    struct run_config config;
    tiny_config(&config);
    config.train.steps = 40;
    config.train.evaluate_every = config.train.checkpoint_every = 10;
    const char *reference = scratch_path("at once"), *folder = scratch_path("in parts");
    train_to_end(&config, 1, reference);
    config.train.steps = 10;
    train_to_end(&config, 1, folder);
    config.train.steps = 20;
    config.train.checkpoint_every = 0;
    train_to_end(&config, 1, folder);
    config.train.steps = 40;
    config.train.checkpoint_every = 10;
    train_to_end(&config, 1, folder);
    CHECK(same_file(folder, reference, "model.safetensors"));
    CHECK(same_file(folder, reference, "config.json"));

    /* Schedules that depend on the number of steps refuse another number; the others resume. */
    static const int schedules[] = {SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_NOAM};
    for (int i = 0; i < 3; i++) {
        config.train.schedule = schedules[i];
        config.train.steps = 6;
        folder = numbered("schedule", i);
        train_to_end(&config, 1, folder);
        config.train.steps = 9;
        if (schedules[i] == SCHEDULE_NOAM)
            train_to_end(&config, 1, folder);
        else
            call_train(&config, folder, true, ROTARY_INVALID_ARGUMENT, "the learning rate of a ");
    }
    config.train.schedule = SCHEDULE_CONSTANT;

    config.train.steps = 3;
    config.train.log_every = config.train.evaluate_every = config.train.checkpoint_every = 0;
    folder = scratch_path("only the end");
    train_to_end(&config, 1, folder);
    char *lines = timeless_metrics(folder);
    CHECK(strncmp(lines, "{\"step\":3,\"loss\":", 17) == 0);
    const char *second = strchr(lines, '\n') + 1;
    CHECK(strncmp(second, "{\"step\":3,\"evaluation\":{\"correct\":", 32) == 0);
    CHECK(strchr(second, '\n')[1] == 0);
    free(lines);
}

static void stop_at_four(void *argument, const struct train_progress *progress)
{
    if (progress->step == 4)
        atomic_store((atomic_bool *)argument, true);
}

/* A run interrupted between two lines, and then given that step as its last, ends like a run of that many
 * steps.
 */
static void test_fewer_steps(void)
{
    struct run_config config;
    tiny_config(&config);
    struct backend backend;
    atomic_bool interrupted = false;
    const char *folder = scratch_path("stopped"), *planned = scratch_path("planned to end");
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    struct train_call call = {.config = &config,
                              .backend = &backend,
                              .folder = folder,
                              .progress = stop_at_four,
                              .argument = &interrupted,
                              .interrupted = &interrupted};
    struct train_result result;
    CHECK_INT(train_run(&call, &result, NULL), ROTARY_INTERRUPTED);
    backend_destroy(&backend);
    static const int steps[] = {4, 4, 10}; /* the second call finds a finished run, the third resumes it */
    for (int i = 0; i < 3; i++) {
        config.train.steps = steps[i];
        train_to_end(&config, 1, folder);
        train_to_end(&config, 1, planned);
        char *lines = timeless_metrics(folder), *wanted = timeless_metrics(planned);
        if (!CHECK(strcmp(lines, wanted) == 0))
            printf("got\n%swanted\n%s", lines, wanted);
        free(lines);
        free(wanted);
    }
    CHECK(same_file(folder, planned, "model.safetensors"));
}

/* Random positions are the same for any number of threads and in a resumed run; others are drawn in each
 * step.
 */
static void test_randomized_positions(void)
{
    struct run_config config;
    tiny_config(&config);
    set_option(&config, "randomized_positions=150");
    const char *whole = scratch_path("randomized"), *parts = scratch_path("randomized-parts"),
               *plain = scratch_path("randomized-not");
    config.train.steps = 6;
    train_to_end(&config, 1, whole);
    config.train.steps = 3;
    train_to_end(&config, 2, parts);
    config.train.steps = 6;
    train_to_end(&config, 2, parts);
    CHECK(same_file(parts, whole, "model.safetensors"));
    CHECK(same_file(parts, whole, "optimizer.safetensors"));
    config.model.randomized_positions = 0;
    train_to_end(&config, 1, plain);
    CHECK(!same_file(plain, whole, "model.safetensors"));
}

/* A finished run of ten steps. */
static const char *train_ten_steps(const char *name, struct run_config *config, struct backend *backend)
{
    tiny_config(config);
    config->train.steps = 10;
    const char *folder = scratch_path(name);
    train_to_end(config, 1, folder);
    CHECK(backend_create(backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    return folder;
}

/* Makes weights of the last checkpoint NaN; returns the name of their tensor. */
static const char *spoil(const char *folder, const struct run_config *config, const struct backend *backend)
{
    struct transformer *transformer;
    const struct transformer_limits limits = {.batch = 2, .time = 48, .training = true};
    CHECK(transformer_create(&transformer, backend, &config->model, limits, 1, NULL) == ROTARY_OK);
    struct checkpoint checkpoint;
    CHECK(checkpoint_open(&checkpoint, folder, config, NULL) == ROTARY_OK);
    CHECK(checkpoint_load(&checkpoint, transformer_parameters(transformer), NULL) == ROTARY_OK);
    struct checkpoint_state state = checkpoint.state;
    checkpoint_close(&checkpoint);
    struct parameters *parameters = transformer_parameters(transformer);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int64_t i = 0; i < parameter_elements(parameters->rows); i++)
        values[parameters->rows[0].offset + i] = NAN;
    parameter_give(parameters, PARAMETER_VALUES, values);
    CHECK(checkpoint_write(folder, config, transformer_parameters(transformer), &state, NULL) == ROTARY_OK);
    static char name[128];
    snprintf(name, sizeof name, "%s", parameters->rows[0].name);
    transformer_destroy(transformer);
    return name;
}

/* A weight that is NaN: the run diverges, and its last checkpoint stays. */
static void test_diverged(void)
{
    struct run_config config;
    struct backend backend;
    const char *folder = train_ten_steps("diverged", &config, &backend);
    const char *name = spoil(folder, &config, &backend);
    char words[512];
    snprintf(
        words, sizeof words,
        "is nan at step 11: training diverged; the checkpoint of step 10 in %s is kept; %s has values that "
        "are not finite",
        folder, name);
    backend_destroy(&backend);
    size_t count;
    char *model = read_file(folder, "model.safetensors", &count);
    config.train.steps = 20;
    struct train_result result = call_train(&config, folder, true, ROTARY_INVALID_ARGUMENT, words);
    CHECK_INT(result.steps_done, 10);
    size_t after_count;
    char *after = read_file(folder, "model.safetensors", &after_count);
    CHECK(count == after_count && memcmp(model, after, count) == 0);
    free(model);
    free(after);
    CHECK_INT(result.diverged, 11);
    /* metrics.jsonl records it, and resuming is refused. */
    char *metrics = read_file(folder, "metrics.jsonl", &count);
    CHECK(strstr(metrics, "}\n{\"step\":11,\"diverged\":\"loss\",\"checksum\":\"") != NULL);
    result = call_train(&config, folder, true, ROTARY_INVALID_ARGUMENT, "training diverged at step 11 in ");
    CHECK_INT(result.diverged, 11);
    char *same = read_file(folder, "metrics.jsonl", &after_count);
    CHECK(count == after_count && memcmp(metrics, same, count) == 0);
    free(metrics);
    free(same);
}

/* A run that is killed before its last evaluation evaluates when it resumes. A model whose answers are none is
 * no failure of the evaluation then: it has diverged, which metrics.jsonl records. */
static void test_diverged_evaluation(void)
{
    static const char wanted[] = "{\"step\":10,\"diverged\":\"validation loss\",";
    struct run_config config;
    struct backend backend;
    const char *folder = train_ten_steps("diverged-evaluation", &config, &backend);
    spoil(folder, &config, &backend);
    backend_destroy(&backend);
    size_t count;
    char *metrics = read_file(folder, "metrics.jsonl", &count);
    char *last = strstr(metrics, "{\"step\":10,\"evaluation\":");
    if (CHECK(last != NULL))
        write_file(folder, "metrics.jsonl", metrics, (size_t)(last - metrics));
    free(metrics);
    const struct train_result result =
        call_train(&config, folder, true, ROTARY_INVALID_ARGUMENT,
                   "nan at step 10: training diverged; the checkpoint of step 10 in ");
    CHECK_INT(result.diverged, 10);
    metrics = read_file(folder, "metrics.jsonl", &count);
    CHECK(strstr(metrics, wanted) != NULL);
    free(metrics);
}

/* Lines up to a checkpoint are written before it, so a file without them is damaged. Later lines, complete or
 * not, are truncated. */
static void test_damaged_metrics(void)
{
    struct run_config config;
    tiny_config(&config);
    config.train.steps = 10;
    config.train.log_every = 3;
    const char *reference = scratch_path("all lines"), *folder = scratch_path("missing lines");
    train_to_end(&config, 1, folder);
    config.train.steps = 12;
    train_to_end(&config, 1, reference);
    size_t count;
    char *text = read_file(folder, "metrics.jsonl", &count);
    char *last = strstr(text, "{\"step\":10,"), *before = strstr(text, "{\"step\":9,");
    struct {
        size_t kept;
        const char *added, *words; /* words: NULL if the run can be resumed */
    } cases[] = {
        {0, "", "is of step 0; wanted one of step 10"},
        {(size_t)(last - text), "", "is of step 9; wanted one of step 10"},
        {(size_t)(last - text) + 20, "", "is of step 9; wanted one of step 10"},
        {(size_t)(before - text), last, NULL}, /* a missing line in between looks like another log_every */
        {count, "{\"step\":11,\"lo", NULL},
        {count, "nonsense\n{\"step\":11}\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("damage %zu", i);
        const char *copy = numbered("damaged", (int)i);
        CHECK(mkdir(copy, 0777) == 0);
        static const char *const names[] = {"config.json", "model.safetensors", "optimizer.safetensors"};
        for (int j = 0; j < 3; j++)
            copy_file(folder, names[j], copy, names[j]);
        char damaged[8192];
        int length = snprintf(damaged, sizeof damaged, "%.*s%s", (int)cases[i].kept, text, cases[i].added);
        write_file(copy, "metrics.jsonl", damaged, (size_t)length);
        if (cases[i].words) {
            call_train(&config, copy, true, ROTARY_BAD_FILE, cases[i].words);
            CHECK(!same_file(copy, reference, "model.safetensors"));
        } else {
            call_train(&config, copy, true, ROTARY_OK, "");
            CHECK(same_file(copy, reference, "model.safetensors"));
        }
    }
    check_about("%s", "");
    free(text);
}

static void test_load(void)
{
    struct run_config config;
    struct backend backend;
    const char *folder = train_ten_steps("loaded", &config, &backend);
    struct trained_model model;
    rotary_error error = {0};
    struct train_load_call load = {.folder = folder, .backend = &backend, .limits = {.batch = 4, .time = 48}};
    if (!CHECK(train_load(&load, &model, &error) == ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    CHECK(run_config_check_same(&model.config, &config, "there", NULL) == ROTARY_OK);
    /* Its scores are those of the run's last evaluation. */
    struct train_result result = call_train(&config, folder, true, ROTARY_OK, "");
    struct evaluation evaluation = {0};
    struct evaluation_config how = {
        .seed = (uint64_t)config.train.seed, .problems = 4, .validation_sequences = 2};
    CHECK(evaluation_run(model.task, model.transformer, &how, &evaluation, NULL) == ROTARY_OK);
    CHECK_NEAR(evaluation.loss, result.evaluation.loss, 1e-8);
    CHECK_INT(evaluation.correct, result.evaluation.correct);
    transformer_destroy(model.transformer);
    task_destroy(model.task);

    CHECK(remove(scratch_path("loaded/model.safetensors")) == 0);
    CHECK_INT(train_load(&load, &model, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "holds no trained model yet") != NULL);
    load.folder = scratch_folder();
    CHECK_INT(train_load(&load, &model, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "is not the folder of a run") != NULL);
    backend_destroy(&backend);
}

int main(void)
{
    test_steps_take_nothing();
    test_learns();
    test_every_kind_of_model();
    test_scalings();
    test_threads();
    test_refused();
    test_full_disk();
    test_more_steps();
    test_fewer_steps();
    test_randomized_positions();
    test_diverged();
    test_diverged_evaluation();
    test_damaged_metrics();
    test_load();
    return check_report();
}
