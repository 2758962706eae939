/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: opening every state in which a killed process can leave the folder. Damaged files, files of
 * other programs and files of different steps are refused and stay unchanged.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/safetensors.h"
#include "train/folder/checkpoint.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MODEL     "model.safetensors"
#define OPTIMIZER "optimizer.safetensors"

static struct run_config config;
static struct backend backend;

static const char *next_folder(void)
{
    static int number;
    char name[32];
    snprintf(name, sizeof name, "folder%d", number++);
    return new_folder(name);
}

/* A table of three parameters whose contents are a function of the step. Step 0 is all zeros. */
static void make_parameters(struct parameters *parameters, int64_t step)
{
    static const struct parameter rows[] = {{.name = "matrix", .rows = 7, .columns = 9},
                                            {.name = "vector", .rows = 5},
                                            {.name = "wide", .rows = 1, .columns = 33}};
    *parameters = (struct parameters){.backend = &backend};
    int index;
    for (int i = 0; i < 3; i++)
        CHECK(parameters_add(parameters, &rows[i], &index, NULL) == ROTARY_OK);
    CHECK(parameters_allocate(parameters, true, NULL) == ROTARY_OK);
    static const enum parameter_array arrays[] = {PARAMETER_VALUES, PARAMETER_MOMENT1, PARAMETER_MOMENT2};
    for (int array = 0; step > 0 && array < 3; array++) {
        float *drawn = parameter_copy(parameters, arrays[array]);
        for (int i = 0; i < 3; i++)
            for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
                drawn[parameters->rows[i].offset + j] =
                    check_random((uint64_t)(10 * step + array), (uint64_t)(100 * i + j), 20);
        parameter_give(parameters, arrays[array], drawn);
    }
}

static bool same_parameters(const struct parameters *a, const struct parameters *b)
{
    return parameter_same(a, b, PARAMETER_VALUES) && parameter_same(a, b, PARAMETER_MOMENT1) &&
           parameter_same(a, b, PARAMETER_MOMENT2);
}

static struct checkpoint_state state_at(int64_t step)
{
    return (struct checkpoint_state){.step = step,
                                     .loss_total = 1.0 / 3.0 + (double)step,
                                     .loss_counted = 7 * step,
                                     .loss_steps = step / 3,
                                     .gradient_norm = 0.1 * (double)step};
}

static const char *folder_at(int64_t step)
{
    const char *folder = next_folder();
    struct parameters parameters;
    make_parameters(&parameters, step);
    struct checkpoint_state state = state_at(step);
    CHECK(checkpoint_write(folder, &config, &parameters, &state, NULL) == ROTARY_OK);
    parameters_free(&parameters);
    return folder;
}

/* Opens and loads the checkpoint, and compares it with that of `step`. */
static void check_opens(const char *folder, int64_t step)
{
    struct checkpoint checkpoint;
    rotary_error error = {0};
    if (!CHECK(checkpoint_open(&checkpoint, folder, &config, &error) == ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    struct checkpoint_state wanted = state_at(step);
    CHECK_INT(checkpoint.state.step, step);
    CHECK_NEAR(checkpoint.state.loss_total, wanted.loss_total, 0.0);
    CHECK_INT(checkpoint.state.loss_counted, wanted.loss_counted);
    CHECK_INT(checkpoint.state.loss_steps, wanted.loss_steps);
    CHECK_NEAR(checkpoint.state.gradient_norm, wanted.gradient_norm, 0.0);
    struct parameters parameters, written;
    make_parameters(&parameters, 0);
    make_parameters(&written, step);
    CHECK(checkpoint_load(&checkpoint, &parameters, &error) == ROTARY_OK);
    CHECK(same_parameters(&parameters, &written));
    checkpoint_close(&checkpoint);
    parameters_free(&parameters);
    parameters_free(&written);
}

/* The checkpoint is refused, with `words` in the message, and the folder stays unchanged. */
static void check_refused(const char *folder, const char *words)
{
    uint64_t before = hash_folder(folder);
    struct checkpoint checkpoint;
    rotary_error error = {0};
    CHECK_INT(checkpoint_open(&checkpoint, folder, &config, &error), ROTARY_BAD_FILE);
    CHECK_INT(error.status, ROTARY_BAD_FILE);
    if (!CHECK(strstr(error.message, words) != NULL))
        printf("wanted \"%s\" in: %s\n", words, error.message);
    CHECK(strchr(error.message, '\n') == NULL);
    CHECK(hash_folder(folder) == before);
    checkpoint_close(&checkpoint);
}

static void test_killed(void)
{
    const char *five = folder_at(5), *ten = folder_at(10);
    check_about("no checkpoint yet");
    struct checkpoint checkpoint;
    const char *folder = next_folder();
    CHECK(checkpoint_open(&checkpoint, folder, &config, NULL) == ROTARY_OK);
    CHECK_INT(checkpoint.state.step, 0);
    CHECK(checkpoint.model == NULL);

    check_about("both in place");
    check_opens(five, 5);
    CHECK(!has_file(five, MODEL ".next"));
    CHECK(!has_file(five, OPTIMIZER ".next"));

    check_about("killed before the first renaming");
    folder = folder_at(5);
    copy_file(ten, MODEL, folder, MODEL ".next");
    copy_file(ten, OPTIMIZER, folder, OPTIMIZER ".next");
    check_opens(folder, 5);

    check_about("killed in the middle of writing");
    write_file(folder, MODEL ".next", "abc", 3);
    write_file(folder, OPTIMIZER ".next", "", 0);
    check_opens(folder, 5);

    check_about("killed between the renamings");
    folder = folder_at(5);
    copy_file(ten, OPTIMIZER, folder, OPTIMIZER);
    copy_file(ten, MODEL, folder, MODEL ".next");
    check_opens(folder, 10);
    CHECK(same_file(folder, ten, MODEL));
    CHECK(!has_file(folder, MODEL ".next"));
    check_opens(folder, 10);

    check_about("killed between the renamings of the first checkpoint");
    folder = next_folder();
    copy_file(ten, OPTIMIZER, folder, OPTIMIZER);
    copy_file(ten, MODEL, folder, MODEL ".next");
    check_opens(folder, 10);
    check_about("%s", "");
}

static void test_different_steps(void)
{
    const char *five = folder_at(5), *ten = folder_at(10);
    const char *folder = folder_at(5);
    copy_file(ten, OPTIMIZER, folder, OPTIMIZER);
    check_refused(folder, "is of step 10, and ");
    copy_file(five, MODEL, folder, MODEL ".next");
    check_refused(folder, "do not belong together");
    folder = folder_at(5);
    copy_file(ten, MODEL, folder, MODEL);
    check_refused(folder, "do not belong together");
    folder = next_folder();
    copy_file(ten, MODEL, folder, MODEL);
    check_refused(folder, "no ");
    folder = next_folder();
    copy_file(ten, OPTIMIZER, folder, OPTIMIZER);
    check_refused(folder, "there is no ");
    copy_file(five, MODEL, folder, MODEL ".next");
    check_refused(folder, "there is no ");
}

static void test_damage(void)
{
    static const char *const names[] = {MODEL, OPTIMIZER};
    for (int i = 0; i < 2; i++) {
        const char *folder = folder_at(5);
        size_t count;
        char *bytes = read_file(folder, names[i], &count);
        for (size_t length = 0; length < count; length += 1 + count / 23) {
            check_about("%s cut to %zu of %zu bytes", names[i], length, count);
            write_file(folder, names[i], bytes, length);
            check_refused(folder, names[i]);
        }
        for (size_t at = 0; at < count; at += 1 + count / 61) {
            check_about("%s with another byte %zu", names[i], at);
            bytes[at] = (char)(bytes[at] ^ 0x10);
            write_file(folder, names[i], bytes, count);
            check_refused(folder, names[i]);
            bytes[at] = (char)(bytes[at] ^ 0x10);
        }
        free(bytes);
    }
    check_about("a damaged model.safetensors.next");
    const char *ten = folder_at(10), *folder = folder_at(5);
    copy_file(ten, OPTIMIZER, folder, OPTIMIZER);
    write_file(folder, MODEL ".next", "abc", 3);
    check_refused(folder, MODEL ".next");
    check_about("%s", "");
}

/* An optimizer.safetensors that is valid except for its metadata; without the key `missing`, if that is not
 * NULL. */
static void write_metadata(const char *folder, const char *format, const char *step,
                           const char *configuration, const char *missing)
{
    json_t *metadata =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "format", format, "step", step,
                  "configuration", configuration, "loss_total", "0x0p+0", "loss_counted", "576", "loss_steps",
                  "3", "gradient_norm", "0x1p-1", "isa", "avx2", "files", "{}");
    if (missing)
        json_object_del(metadata, missing);
    float value = 1.0f;
    struct safetensor tensor = {
        .name = "matrix", .dtype = ROTARY_F32, .dimensions = 1, .shape = {1}, .data = &value};
    char path[600];
    snprintf(path, sizeof path, "%s/" OPTIMIZER, folder);
    rotary_error error;
    CHECK(safetensors_write(path, &tensor, 1, metadata, &error) == ROTARY_OK);
    json_decref(metadata);
}

static void test_metadata(void)
{
    const char *folder = folder_at(5);
    write_metadata(folder, "1", "5", "{}", NULL);
    check_refused(folder, "has format 1, of another version of this program; this one reads format 2");
    write_metadata(folder, "pt", "5", "{}", NULL);
    check_refused(folder, "has no valid \"format\" in its metadata");
    write_metadata(folder, "2", "-1", "{}", NULL);
    check_refused(folder, "has no valid \"step\" in its metadata");
    write_metadata(folder, "2", "5", "{", NULL);
    check_refused(folder, "has no valid \"configuration\" in its metadata");
    write_metadata(folder, "2", "5", "{\"hidden_size\":-3}", NULL);
    check_refused(folder, "hidden_size");
    static const char *const keys[] = {"format",     "step", "configuration", "loss_total", "loss_counted",
                                       "loss_steps", "isa",  "gradient_norm", NULL};
    for (int i = 0; keys[i]; i++) {
        char words[64];
        snprintf(words, sizeof words, "has no valid \"%s\" in its metadata: it is not a checkpoint", keys[i]);
        write_metadata(folder, "2", "5", "{}", keys[i]);
        check_refused(folder, words);
    }

    folder = folder_at(5);
    struct run_config mine = config;
    config.train.learning_rate *= 2.0;
    check_refused(folder, "learning_rate is 0.001 in ");
    config = mine;
    /* The four keys that may change are ignored. */
    config.train.steps++;
    config.train.log_every++;
    config.train.evaluate_every++;
    config.train.checkpoint_every++;
    check_opens(folder, 5);
    config = mine;
}

/* The configuration of the checkpoint in a folder, which the caller frees. */
static char *configuration_of(const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/" MODEL, folder);
    struct safetensors *model;
    if (!CHECK_INT(safetensors_open(&model, path, NULL), ROTARY_OK))
        return NULL;
    char *text = strdup(safetensors_metadata(model, "configuration"));
    safetensors_close(model);
    return text;
}

/* A checkpoint of an earlier version does not say what files it belongs to. */
static void test_without_files(void)
{
    const char *folder = folder_at(5);
    char *configuration = configuration_of(folder);
    write_metadata(folder, "2", "5", configuration, "files");
    check_refused(folder, "does not name the files of its run");
    write_metadata(folder, "2", "5", configuration, NULL);
    struct checkpoint checkpoint;
    CHECK_INT(checkpoint_open(&checkpoint, folder, &config, NULL), ROTARY_OK);
    checkpoint_close(&checkpoint);
    free(configuration);
}

/* Weights mean nothing beside another vocabulary, or names of labels: whichever changes, comes or goes is
 * named. */
static void test_files(void)
{
    static const char *const names[] = {"source.json",  "target.json",      "vocabulary.json", "source.model",
                                        "target.model", "vocabulary.model", "labels.json"};
    const struct checkpoint_best best = {.step = 5, .loss = 1.0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *folder = folder_at(1);
        struct parameters parameters;
        char path[600], words[64];
        rotary_error error = {0};
        int64_t step;
        make_parameters(&parameters, 5);
        check_about("%s", names[i]);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        scratch_write(path, "{\"b\": 1}", 8);
        snprintf(words, sizeof words, "/%s was not there when ", names[i]);
        check_refused(folder, words);
        struct checkpoint_state state = state_at(5);
        CHECK_INT(checkpoint_write(folder, &config, &parameters, &state, &error), ROTARY_OK);
        CHECK_INT(checkpoint_write_best(folder, &config, &parameters, &best, &error), ROTARY_OK);
        check_opens(folder, 5);
        scratch_write(path, "{\"c\": 1}", 8);
        snprintf(words, sizeof words, "/%s is not the file with which ", names[i]);
        check_refused(folder, words);
        for (int kind = CHECKPOINT_LAST; kind <= CHECKPOINT_BEST; kind++) {
            CHECK_INT(checkpoint_load_model(folder, (enum checkpoint_kind)kind, &config, &parameters, &step,
                                            &error),
                      ROTARY_BAD_FILE);
            CHECK(strstr(error.message, words) != NULL);
        }
        CHECK(remove(path) == 0);
        snprintf(words, sizeof words, "/%s is gone, with which ", names[i]);
        check_refused(folder, words);
        scratch_write(path, "{\"b\": 1}", 8);
        check_opens(folder, 5);
        parameters_free(&parameters);
    }
    check_about("%s", "");
}

static void test_other_model(void)
{
    const char *folder = folder_at(5);
    struct checkpoint checkpoint;
    CHECK(checkpoint_open(&checkpoint, folder, &config, NULL) == ROTARY_OK);
    for (int variant = 0; variant < 4; variant++) {
        struct parameters parameters;
        make_parameters(&parameters, 0);
        struct parameter *vector = &parameters.rows[1];
        if (variant == 0)
            vector->rows = 4;
        if (variant == 1)
            vector->columns = 1;
        if (variant == 2)
            strcpy(vector->name, "other");
        if (variant == 3)
            parameters.count = 2;
        rotary_error error = {0};
        CHECK_INT(checkpoint_load(&checkpoint, &parameters, &error), ROTARY_BAD_FILE);
        static const char *const words[] = {"tensor vector is F32 [5], wanted F32 [4]",
                                            "tensor vector is F32 [5], wanted F32 [5, 1]",
                                            "has no tensor other", "has 3 tensors, wanted the model's 2"};
        if (!CHECK(strstr(error.message, words[variant]) != NULL))
            printf("%s\n", error.message);
        parameters_free(&parameters);
    }
    checkpoint_close(&checkpoint);

    struct parameters parameters, written;
    make_parameters(&parameters, 0);
    make_parameters(&written, 5);
    int64_t step = -1;
    CHECK(checkpoint_load_model(folder, CHECKPOINT_LAST, &config, &parameters, &step, NULL) == ROTARY_OK);
    CHECK_INT(step, 5);
    CHECK(parameter_same(&parameters, &written, PARAMETER_VALUES));
    rotary_error error = {0};
    CHECK_INT(checkpoint_load_model(next_folder(), CHECKPOINT_LAST, &config, &parameters, &step, &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "holds no trained model yet") != NULL);
    parameters_free(&parameters);
    parameters_free(&written);
}

/* On a full disk the old checkpoint stays. */
static void test_full_disk(void)
{
    const char *folder = folder_at(5);
    struct parameters parameters;
    make_parameters(&parameters, 10);
    struct checkpoint_state state = state_at(10);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    size_t count;
    char *model = read_file(folder, MODEL, &count);
    free(model);
    /* First too small for the model, then for its moments. */
    for (int i = 0; i < 2; i++) {
        small = before;
        small.rlim_cur = (rlim_t)(i == 0 ? 100 : count + 8);
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        rotary_error error = {0};
        CHECK_INT(checkpoint_write(folder, &config, &parameters, &state, &error), ROTARY_IO_ERROR);
        CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
        CHECK(strstr(error.message, i == 0 ? MODEL : OPTIMIZER) != NULL);
        check_opens(folder, 5);
    }
    CHECK(checkpoint_write(folder, &config, &parameters, &state, NULL) == ROTARY_OK);
    check_opens(folder, 10);
    parameters_free(&parameters);
}

int main(void)
{
    tiny_config(&config);
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    test_killed();
    test_different_steps();
    test_damage();
    test_metadata();
    test_without_files();
    test_files();
    test_other_model();
    test_full_disk();
    backend_destroy(&backend);
    return check_report();
}
