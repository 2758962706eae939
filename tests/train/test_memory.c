/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a step and an evaluation of the paper's presets: at most 1 GB for prefix and 8 GB for addition,
 * and close to what transformer_bytes estimates.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "train/runs.h"

#include "file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_preset(struct run_config *config, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/presets/%s/paper.json", getenv("ROTARY_SOURCE_DIR"), name);
    json_t *object = NULL;
    CHECK(file_read_json(path, &object, NULL) == ROTARY_OK);
    CHECK(run_config_from_json(config, object, path, NULL) == ROTARY_OK);
    json_decref(object);
    config->train.steps = 1;
    CHECK(run_config_check(config, NULL) == ROTARY_OK);
}

/* Maximum resident memory of a child process that trains, in bytes. */
static double measure(const struct run_config *config, const char *folder)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        train_to_end(config, 0, folder);
        _exit(check_report());
    }
    int status = 0;
    struct rusage usage;
    CHECK(wait4(child, &status, 0, &usage) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 1024.0 * (double)usage.ru_maxrss;
}

static size_t predicted_bytes(const struct run_config *config)
{
    struct backend backend;
    CHECK(backend_create(&backend, 0, ROTARY_ISA_AUTO, PRECISION_AUTO, NULL) == ROTARY_OK);
    struct transformer_limits limits = {config->train.batch_size, config->task.sequence_length,
                                        .training = true};
    size_t predicted = 0;
    CHECK(transformer_bytes(&backend, &config->model, limits, &predicted, NULL) == ROTARY_OK);
    backend_destroy(&backend);
    return predicted;
}

int main(void)
{
    static struct {
        const char *name;
        double max, used;
        struct run_config config;
    } tests[] = {{.name = "prefix", .max = 1e9}, {.name = "addition", .max = 8e9}};
    /* Children first: a process that has run threads cannot fork one that runs threads. */
    for (int i = 0; i < 2; i++) {
        read_preset(&tests[i].config, tests[i].name);
        tests[i].used = measure(&tests[i].config, scratch_path(tests[i].name));
    }
    for (int i = 0; i < 2; i++) {
        check_about("%s/paper", tests[i].name);
        double predicted = (double)predicted_bytes(&tests[i].config);
        printf("%s/paper: %.0f MB used, %.0f MB predicted\n", tests[i].name, 1e-6 * tests[i].used,
               1e-6 * predicted);
        CHECK(tests[i].used < tests[i].max);
        CHECK(tests[i].used > 0.8 * predicted);
        /* Besides the model: the program, its libraries, and the KV cache of an evaluation. */
        CHECK(tests[i].used < 1.25 * predicted + 64e6);
    }
    return check_report();
}
