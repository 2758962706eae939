/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/average.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "run_folder/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 48, COUNT_BYTES = 24 };

/* The name of the file that keeps the weights of a step. */
static void kept_name(char name[NAME_BYTES], int64_t step)
{
    snprintf(name, NAME_BYTES, "weights-%lld.safetensors", (long long)step);
}

/* The first of the steps that are averaged; the others follow at distances of checkpoint_every. */
static int64_t first_step(const struct train_config *train)
{
    return (train->steps / train->checkpoint_every - train->average_checkpoints + 1) *
           train->checkpoint_every;
}

static rotary_status find_kept(const char *folder, int64_t step, bool *found, rotary_error *error)
{
    char path[FILE_PATH_BYTES], name[NAME_BYTES];
    kept_name(name, step);
    rotary_status status = file_path(path, folder, name, error);
    return status == ROTARY_OK ? file_find(path, found, error) : status;
}

static rotary_status remove_kept(const char *folder, int64_t step, rotary_error *error)
{
    char path[FILE_PATH_BYTES], name[NAME_BYTES];
    kept_name(name, step);
    rotary_status status = file_path(path, folder, name, error);
    if (status == ROTARY_OK && unlink(path) != 0 && errno != ENOENT)
        status = rotary_fail(error, ROTARY_IO_ERROR, "cannot remove %s: %s", path, strerror(errno));
    return status;
}

/* Reads the step of average.safetensors; 0: there is none. */
static rotary_status find_average(const char *folder, const struct run_config *config, int64_t *step,
                                  rotary_error *error)
{
    const struct checkpoint_weights weights = {
        .folder = folder, .name = FOLDER_AVERAGE, .kind = CHECKPOINT_AVERAGE, .config = config};
    char path[FILE_PATH_BYTES];
    bool found = false;
    struct safetensors *file = NULL;
    *step = 0;
    rotary_status status = file_path(path, folder, FOLDER_AVERAGE, error);
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    if (status == ROTARY_OK && found)
        status = checkpoint_open_weights(&weights, &file, step, error);
    safetensors_close(file);
    return status;
}

rotary_status average_check(const char *folder, const struct run_config *config, int64_t step,
                            rotary_error *error)
{
    const struct train_config *train = &config->train;
    if (train->average_checkpoints == 0 || step == 0)
        return ROTARY_OK;
    int64_t averaged;
    rotary_status status = find_average(folder, config, &averaged, error);
    if (status != ROTARY_OK || averaged == train->steps)
        return status;
    for (int64_t needed = first_step(train); status == ROTARY_OK && needed < step;
         needed += train->checkpoint_every) {
        bool found;
        status = find_kept(folder, needed, &found, error);
        if (status == ROTARY_OK && !found)
            status = rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "average_checkpoints is %lld, and %lld steps would average the weights of step %lld, which "
                "%s "
                "does not have any more: wanted at least %lld steps, or another folder by --out",
                (long long)train->average_checkpoints, (long long)train->steps, (long long)needed, folder,
                (long long)((divide_up(step, train->checkpoint_every) + train->average_checkpoints - 1) *
                            train->checkpoint_every));
    }
    return status;
}

rotary_status average_keep(const char *folder, const struct run_config *config,
                           const struct parameters *parameters, int64_t step, rotary_error *error)
{
    const struct train_config *train = &config->train;
    if (train->average_checkpoints == 0 || step == 0 || step % train->checkpoint_every != 0)
        return ROTARY_OK;
    char name[NAME_BYTES];
    kept_name(name, step);
    bool found;
    rotary_status status = find_kept(folder, step, &found, error);
    if (status != ROTARY_OK)
        return status;
    const struct checkpoint_weights weights = {.folder = folder,
                                               .name = name,
                                               .kind = CHECKPOINT_LAST,
                                               .config = config,
                                               .parameters = parameters,
                                               .step = step};
    if (!found)
        status = checkpoint_write_weights(&weights, error);
    const int64_t unneeded = step - train->average_checkpoints * train->checkpoint_every;
    if (status == ROTARY_OK && unneeded > 0)
        status = remove_kept(folder, unneeded, error);
    return status;
}

/* ---- the mean ---- */

/* The kept weights of a run, open. */
struct kept {
    struct safetensors **files; /* [count] */
    int64_t count;
};

static void close_kept(struct kept *kept)
{
    for (int64_t i = 0; i < kept->count; i++)
        safetensors_close(kept->files[i]);
    free(kept->files);
}

static rotary_status open_kept(struct kept *kept, const char *folder, const struct run_config *config,
                               rotary_error *error)
{
    const struct train_config *train = &config->train;
    const int64_t count = train->average_checkpoints;
    *kept = (struct kept){.files = calloc((size_t)count, sizeof *kept->files)};
    if (!kept->files)
        return rotary_fail_memory(error, "to average %lld checkpoints", (long long)count);
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < count; i++) {
        const int64_t wanted = first_step(train) + i * train->checkpoint_every;
        char name[NAME_BYTES];
        kept_name(name, wanted);
        const struct checkpoint_weights weights = {
            .folder = folder, .name = name, .kind = CHECKPOINT_LAST, .config = config};
        int64_t step;
        status = checkpoint_open_weights(&weights, &kept->files[i], &step, error);
        kept->count += status == ROTARY_OK;
        if (status == ROTARY_OK && step != wanted)
            status = rotary_fail(error, ROTARY_BAD_FILE, "%s/%s is of step %lld, wanted %lld", folder, name,
                                 (long long)step, (long long)wanted);
    }
    return status;
}

/* Writes the mean of a parameter to `mean`, which has room for it. */
static rotary_status average_row(const struct kept *kept, const struct parameter *row, int64_t count,
                                 double *sum, float *mean, rotary_error *error)
{
    for (int64_t i = 0; i < kept->count; i++) {
        const float *values;
        rotary_status status = checkpoint_values(kept->files[i], row, &values, error);
        if (status != ROTARY_OK)
            return status;
        for (int64_t j = 0; j < count; j++)
            sum[j] = (i > 0 ? sum[j] : 0.0) + (double)values[j];
    }
    for (int64_t j = 0; j < count; j++)
        mean[j] = (float)(sum[j] / (double)kept->count);
    return ROTARY_OK;
}

static rotary_status average_values(const struct kept *kept, struct parameters *parameters,
                                    rotary_error *error)
{
    int64_t longest = 0;
    for (int i = 0; i < parameters->count; i++) {
        const int64_t count = parameter_range(parameters, PARAMETER_VALUES, i).count;
        longest = count > longest ? count : longest;
    }
    double *sum = malloc((size_t)longest * sizeof *sum);
    float *mean = malloc((size_t)longest * sizeof *mean);
    rotary_status status = ROTARY_OK;
    if (!sum || !mean)
        status = rotary_fail_memory(error, "to average a parameter of %lld elements", (long long)longest);
    for (int i = 0; status == ROTARY_OK && i < parameters->count; i++) {
        const struct parameter_range range = parameter_range(parameters, PARAMETER_VALUES, i);
        status = average_row(kept, &parameters->rows[i], range.count, sum, mean, error);
        if (status == ROTARY_OK)
            status = parameters_write(parameters, range, mean, error);
    }
    free(sum);
    free(mean);
    return status;
}

static rotary_status write_average(const char *folder, const struct run_config *config,
                                   const struct parameters *parameters, rotary_error *error)
{
    char count[COUNT_BYTES];
    snprintf(count, sizeof count, "%lld", (long long)config->train.average_checkpoints);
    const struct checkpoint_weights weights = {.folder = folder,
                                               .name = FOLDER_AVERAGE,
                                               .kind = CHECKPOINT_AVERAGE,
                                               .mark = count,
                                               .config = config,
                                               .parameters = parameters,
                                               .step = config->train.steps};
    return checkpoint_write_weights(&weights, error);
}

static rotary_status make_average(const char *folder, const struct run_config *config,
                                  struct parameters *parameters, rotary_error *error)
{
    struct kept kept;
    rotary_status status = open_kept(&kept, folder, config, error);
    if (status == ROTARY_OK)
        status = average_values(&kept, parameters, error);
    close_kept(&kept);
    return status == ROTARY_OK ? write_average(folder, config, parameters, error) : status;
}

rotary_status average_finish(const char *folder, const struct run_config *config,
                             struct parameters *parameters, rotary_error *error)
{
    const struct train_config *train = &config->train;
    int64_t averaged;
    rotary_status status = find_average(folder, config, &averaged, error);
    if (status == ROTARY_OK && averaged == train->steps)
        status = checkpoint_load_model(folder, CHECKPOINT_AVERAGE, config, parameters, &averaged, error);
    else if (status == ROTARY_OK)
        status = make_average(folder, config, parameters, error);
    for (int64_t i = 0; status == ROTARY_OK && i < train->average_checkpoints; i++)
        status = remove_kept(folder, first_step(train) + i * train->checkpoint_every, error);
    return status;
}
