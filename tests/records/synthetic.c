/* SPDX-License-Identifier: Apache-2.0 */
#include "records/synthetic.h"

#include "support/check.h"

#include "base/random.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct synthetic_run synthetic_quick = {
    .task = "index", .seed = 1, .steps = 600, .done = 600, .evaluate_every = 100, .problems = 128};

enum { PATH_BYTES = 2048, PATH_BUFFERS = 16 };

const char *synthetic_path(const char *folder, const char *name)
{
    static char buffers[PATH_BUFFERS][PATH_BYTES];
    static unsigned next;
    char *buffer = buffers[next++ % PATH_BUFFERS];
    snprintf(buffer, PATH_BYTES, "%s/%s", folder, name);
    return buffer;
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    perror(what);
    exit(1);
}

static void put(const char *folder, const char *name, const char *mode, const char *text)
{
    char path[PATH_BYTES];
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    must(file != NULL, path);
    must(fputs(text, file) >= 0 && fclose(file) == 0, path);
}

void synthetic_write(const char *folder, const char *name, const char *text)
{
    put(folder, name, "w", text);
}

void synthetic_append(const char *folder, const char *name, const char *text)
{
    put(folder, name, "a", text);
}

static void put_json(const char *folder, const char *name, const char *mode, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    must(text != NULL, "json_dumps");
    put(folder, name, mode, text);
    put(folder, name, "a", "\n");
    free(text);
    json_decref(object);
}

static json_t *config_of(const struct synthetic_run *run)
{
    json_t *config =
        json_pack("{s:i, s:s, s:I, s:I, s:I, s:i, s:i, s:i, s:s, s:f, s:f, s:b}", "format", 2, "task",
                  run->task, "seed", (json_int_t)run->seed, "steps", (json_int_t)run->steps, "evaluate_every",
                  (json_int_t)run->evaluate_every, "hidden_size", 128, "num_hidden_layers", 3, "batch_size",
                  16, "norm", "layer_norm", "learning_rate", 0.001, "dropout", 0.0, "tie_word_embeddings", 0);
    if (run->position)
        json_object_set_new(config, "position", json_string(run->position));
    return config;
}

static double fraction_at(const struct synthetic_run *run, double step)
{
    return 1 / (1 + exp(-(step - run->half) / (0.08 * (double)run->steps)));
}

static json_t *samples_of(const struct synthetic_run *run, double fraction)
{
    json_t *samples = json_array();
    for (int i = 0; i < 6; i++) {
        char prompt[64], answer[32], generated[40];
        int from = (5 * i) % 13;
        snprintf(prompt, sizeof prompt, "?s='dyjeofuxvejmg'; s[%d:]==", from);
        snprintf(answer, sizeof answer, "'%s'", &"dyjeofuxvejmg"[from]);
        bool correct = i < 6 * fraction;
        snprintf(generated, sizeof generated, "%s#", correct ? answer : "'vejvejmg'");
        json_array_append_new(samples,
                              json_pack("{s:s, s:s, s:s, s:b}", "prompt", run->prompt ? run->prompt : prompt,
                                        "answer", answer, "generated", generated, "correct", (int)correct));
    }
    return samples;
}

void synthetic_run(const char *folder, const struct synthetic_run *run)
{
    put_json(folder, "config.json", "w", config_of(run));
    put(folder, "metrics.jsonl", "w", "");
    struct rotary_random_key key = {.seed = (uint64_t)run->seed,
                                    .stream = ROTARY_STREAM_TEST,
                                    .step = (uint32_t)rotary_hash(run->position, strlen(run->position))};
    for (int64_t step = 10; step <= run->done; step += 10) {
        double fraction = fraction_at(run, (double)step),
               noise = (double)rotary_random_normal(key, (uint64_t)step);
        double loss = 1.1 + 1.9 * exp(-(double)step / (0.06 * (double)run->steps)) + 0.8 * (1 - fraction) +
                      0.02 * noise;
        put_json(folder, "metrics.jsonl", "a",
                 json_pack("{s:I, s:f, s:f, s:f, s:f}", "step", (json_int_t)step, "loss", loss,
                           "learning_rate", 0.001, "gradient_norm", 0.7, "tokens_per_second", 51234.5));
        if (step % run->evaluate_every != 0 && step != run->steps)
            continue;
        json_int_t correct =
            (json_int_t)round((double)run->problems * fmin(1, fmax(0, fraction + 0.02 * noise)));
        json_t *line = json_pack("{s:I, s:{s:I, s:I, s:f, s:f, s:f}}", "step", (json_int_t)step, "evaluation",
                                 "correct", correct, "problems", (json_int_t)run->problems, "loss",
                                 loss + 0.01, "accuracy", 0.4 + 0.5 * fraction, "seconds", 1.1);
        if (run->problems)
            json_object_set_new(line, "samples", samples_of(run, fraction));
        put_json(folder, "metrics.jsonl", "a", line);
    }
    if (run->diverged)
        put_json(folder, "metrics.jsonl", "a",
                 json_pack("{s:I, s:s}", "step", (json_int_t)run->done + 1, "diverged", "loss"));
}

void synthetic_run_of(const char *folder, const struct synthetic_run *run)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%lld", run->position, (long long)run->seed);
    synthetic_run(synthetic_path(folder, name), run);
}

void synthetic_comparison(const char *folder, const struct synthetic_run *run, int runs, int positions,
                          const char *const *names, const double *halves)
{
    struct synthetic_run one = *run;
    json_t *arms = json_array(), *seeds = json_array();
    for (int i = 0; i < positions; i++)
        json_array_append_new(arms,
                              json_pack("{s:s, s:{s:s}}", "name", names[i], "set", "position", names[i]));
    for (int i = 0; i < runs; i++)
        json_array_append_new(seeds, json_integer(run->seed + i));
    one.position = NULL;
    put_json(
        folder, "compare.json", "w",
        json_pack("{s:i, s:[s], s:o, s:o, s:o, s:[{s:s}]}", "format", COMPARE_FORMAT, "varied", "position",
                  "arms", arms, "seeds", seeds, "config", config_of(&one), "commands", "command",
                  "rotary compare index --positions rope,roper --runs 3 --preset quick --out runs/quick"));
    for (int i = 0; i < runs * positions; i++) {
        struct rotary_random_key key = {.seed = (uint64_t)(i / positions), .stream = ROTARY_STREAM_TEST};
        one.position = names[i % positions];
        one.seed = run->seed + i / positions;
        one.half = halves[i % positions] + 0.05 * (double)run->steps * (double)rotary_random_normal(key, 0);
        synthetic_run_of(folder, &one);
    }
}

void synthetic_stop(const char *folder, int64_t seed, int64_t done, bool diverged)
{
    struct synthetic_run run = synthetic_quick;
    run.position = "roper";
    run.seed = seed;
    run.done = done;
    run.half = 300;
    run.diverged = diverged;
    synthetic_run_of(folder, &run);
}

struct collection synthetic_read(const char *folder)
{
    struct collection collection;
    rotary_error error = {0};
    if (!CHECK_INT(collection_read(&collection, &folder, 1, &error), ROTARY_OK))
        printf("    %s\n", error.message);
    return collection;
}
