/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/learned.h"

#include "task/task.h"

#include <math.h>
#include <string.h>

const double learned_below = 0.99;

const char *const learned_reference_names[] = {
    [LEARNED_UNKNOWN] = "an unknown model",
    [LEARNED_UNCOPIED] = "a model that copies nothing",
    [LEARNED_FREQUENCY] = "a model that knows the frequencies of tokens alone",
    [LEARNED_GUESS] = "a guess",
};

/* ---- generated tasks ---- */

/* The settings of the task alone, as the run's configuration has them. The caller releases them. */
static json_t *task_part(const struct record *record)
{
    struct task_config config;
    struct settings settings[TASK_SETTINGS];
    json_t *part = json_object();
    task_config_default(&config);
    task_settings(&config, settings);
    for (int i = 0; i < TASK_SETTINGS; i++)
        for (int j = 0; j < settings[i].count; j++) {
            const char *key = settings[i].table[j].name;
            json_t *value = json_object_get(record->config, key);
            if (value)
                json_object_set(part, key, value);
        }
    return part;
}

/* NaN where the task is not generated, or its settings are not those of this program. */
static double uncopied_loss(const json_t *part, int64_t seed, int64_t sequences)
{
    struct task_config config;
    struct settings settings[TASK_SETTINGS];
    struct task *task;
    double loss = (double)NAN;
    task_config_default(&config);
    task_settings(&config, settings);
    if (settings_read(settings, TASK_SETTINGS, part, "", NULL) != ROTARY_OK || !task_is_generated(&config) ||
        task_create(&task, &config, NULL, NULL) != ROTARY_OK)
        return loss;
    loss = task_uncopied_loss(task, (uint64_t)seed, sequences);
    task_destroy(task);
    return loss;
}

/* Whether both are evaluated on the same sequences. */
static bool same_sequences(const struct record *a, const struct record *b, const json_t *part)
{
    static const char sequences[] = "validation_sequences";
    if (a->seed != b->seed ||
        !json_equal(json_object_get(a->config, sequences), json_object_get(b->config, sequences)))
        return false;
    json_t *other = task_part(b);
    const bool same = json_equal(part, other);
    json_decref(other);
    return same;
}

/* The loss of a model that copies nothing is that of another arm of the same seed, where there is one. */
static double reference_of(const struct learned *learned, const struct record *records, int index)
{
    const struct record *record = &records[index];
    const json_t *sequences = json_object_get(record->config, "validation_sequences");
    if (!json_is_integer(sequences) || json_integer_value(sequences) < 1 ||
        !json_object_get(record->config, "sequence_length"))
        return (double)NAN;
    json_t *part = task_part(record);
    double loss = (double)NAN;
    for (int i = 0; i < index && isnan(loss); i++)
        if (learned[i].kind == LEARNED_UNCOPIED && same_sequences(record, &records[i], part))
            loss = learned[i].reference;
    if (isnan(loss))
        loss = uncopied_loss(part, record->seed, json_integer_value(sequences));
    json_decref(part);
    return loss;
}

/* ---- one run ---- */

static double lowest_loss(const struct record *record)
{
    double lowest = (double)INFINITY;
    for (int64_t i = 0; i < record->evaluation_count; i++)
        lowest = fmin(lowest, record->evaluations[i].loss);
    return lowest;
}

static bool begins_elsewhere(const struct record *record)
{
    const char *init = json_string_value(json_object_get(record->config, "init"));
    return init && *init;
}

static struct learned judge(const struct learned *before, const struct record *records, int index)
{
    const struct record *record = &records[index];
    const struct record_evaluation *last = record_last_evaluation(record);
    const enum scoring scoring = record_scoring(record);
    const json_int_t tokens = json_integer_value(json_object_get(record->config, "vocab_size"));
    struct learned learned = {
        .kind = LEARNED_UNKNOWN, .reference = (double)NAN, .lowest = (double)NAN, .begun = true};
    if (!last || scoring == SCORING_CLASSES || scoring == SCORING_NUMBERS || begins_elsewhere(record))
        return learned;
    const double uncopied = reference_of(before, records, index);
    if (!isnan(uncopied))
        learned = (struct learned){.kind = LEARNED_UNCOPIED, .reference = uncopied};
    else if (last->frequency_loss > 0)
        learned = (struct learned){.kind = LEARNED_FREQUENCY, .reference = last->frequency_loss};
    else if (tokens > 1)
        learned = (struct learned){.kind = LEARNED_GUESS, .reference = log((double)tokens)};
    else
        return learned;
    learned.lowest = lowest_loss(record);
    learned.begun = learned.lowest < learned_below * learned.reference;
    return learned;
}

void learned_judge(struct learned *learned, const struct record *records, int count)
{
    for (int i = 0; i < count; i++)
        learned[i] = judge(learned, records, i);
}
