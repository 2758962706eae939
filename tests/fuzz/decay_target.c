/* SPDX-License-Identifier: Apache-2.0
 *
 * decay.json: what is read is written and read again, as large.
 */
#include "file/file.h"
#include "fuzz/target.h"
#include "records/measured_decay.h"

static bool same_size(const struct decay_kind *a, const struct decay_kind *b)
{
    for (int axis = 0; axis < DECAY_AXES; axis++)
        if (a->axes[axis].first != b->axes[axis].first || a->axes[axis].count != b->axes[axis].count)
            return false;
    return a->layers == b->layers && a->heads * a->layers == b->heads * b->layers;
}

static void check_decay(const struct measured_decay *decay)
{
    rotary_error error = {0};
    struct measured_decay again;
    json_t *object = measured_decay_json(decay);
    if (!object) /* without memory */
        return;
    if (measured_decay_parse(&again, object, "again", &error) != ROTARY_OK) {
        if (error.status != ROTARY_OUT_OF_MEMORY)
            fuzz_fail("what was written is refused: %s", error.message);
    } else {
        for (int kind = 0; kind < ATTENTION_KINDS; kind++)
            if (!same_size(&again.kinds[kind], &decay->kinds[kind]))
                fuzz_fail("kind %d is of another size", kind);
        measured_decay_free(&again);
    }
    json_decref(object);
}

static bool read_decay(const char *path)
{
    rotary_error error = {0};
    struct measured_decay decay;
    json_t *object;
    if (fuzz_refused(file_read_json(path, &object, &error), &error))
        return false;
    const bool good = !fuzz_refused(measured_decay_parse(&decay, object, path, &error), &error);
    if (good) {
        check_decay(&decay);
        measured_decay_free(&decay);
    }
    json_decref(object);
    return good;
}

static const char *const decay_words[] = {
    "format",  "position", "step",        "checkpoint", "seed",  "sequences", "length", "scaling", "kinds",
    "kind",    "encoder",  "decoder",     "distance",   "pairs", "score",     "weight", "bias",    "query",
    "queries", "entropy",  "output_norm", "null",       "-1",    "[]",        "{}",     NULL};

const struct fuzz_target fuzz_decay = {.name = "decay", .read = read_decay, .words = decay_words};
