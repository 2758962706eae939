/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches reorder and fork: every row that holds a token of a source is copied, and no other byte changes.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 5, HEADS = 3, DIM = 20, GAP = 7 /* elements between heads, tokens and sequences */ };

struct scene {
    int64_t capacity, element;
    bool head_major;
    const int64_t *lengths;
    const int32_t *source;
};

static rotary_attention_view view(const struct scene *s, char *data)
{
    int64_t vector = DIM + GAP;
    rotary_attention_view v = {data, HEADS * s->capacity * vector + GAP, HEADS * vector, vector};
    if (s->head_major) {
        v.time_stride = vector;
        v.head_stride = s->capacity * vector;
    }
    return v;
}

/* What reordering must give, vector by vector from a copy. */
static void reorder(const struct scene *s, char *to, const char *from)
{
    rotary_attention_view v = view(s, NULL);
    for (int64_t b = 0; b < BATCH; b++) {
        int64_t source = s->source[b], rows = s->lengths ? s->lengths[source] : s->capacity;
        for (int64_t row = 0; row < rows && row < s->capacity; row++)
            for (int64_t head = 0; head < HEADS; head++) {
                int64_t at = row * v.time_stride + head * v.head_stride;
                memcpy(to + (b * v.batch_stride + at) * s->element,
                       from + (source * v.batch_stride + at) * s->element, (size_t)(DIM * s->element));
            }
    }
}

static void try_scene(const struct scene *s, int threads)
{
    struct reference_case c = {
        .heads = HEADS, .key_value_heads = HEADS, .head_dim = DIM, .bf16 = s->element == 2, .scale = 1};
    struct trial_plan plan = trial_plan_make(&c, ROTARY_ISA_AUTO, threads);
    size_t bytes = (size_t)(BATCH * view(s, NULL).batch_stride * s->element);
    char *given[2], *wanted[2], *got[2];
    for (int cache = 0; cache < 2; cache++) {
        given[cache] = trial_memory(bytes);
        wanted[cache] = trial_memory(bytes);
        got[cache] = trial_memory(bytes);
        for (size_t i = 0; i < bytes; i++)
            given[cache][i] = (char)(i * 31 + i / 251 + (size_t)cache * 5);
        memcpy(wanted[cache], given[cache], bytes);
        memcpy(got[cache], given[cache], bytes);
        reorder(s, wanted[cache], given[cache]);
    }
    rotary_error error = {0};
    rotary_attention_reorder_call call = {
        .struct_size = sizeof call,
        .batch = BATCH,
        .capacity = s->capacity,
        .lengths = s->lengths,
        .source = s->source,
        .key_cache = view(s, got[0]),
        .value_cache = view(s, got[1]),
        .workspace = trial_memory(rotary_attention_reorder_bytes(plan.attention, BATCH)),
    };
    check_about("capacity %lld, %d bytes an element, %s, %s, %d threads", (long long)s->capacity,
                (int)s->element, s->head_major ? "head-major" : "by token",
                s->lengths ? "lengths" : "all rows", threads);
    CHECK_INT(rotary_attention_reorder(plan.attention, &call, &error), ROTARY_OK);
    for (int cache = 0; cache < 2; cache++) {
        CHECK(memcmp(got[cache], wanted[cache], bytes) == 0);
        CHECK((memcmp(got[cache], given[cache], bytes) == 0) == (s->source[1] == 1)); /* the identity */
        free(given[cache]);
        free(wanted[cache]);
        free(got[cache]);
    }
    free(call.workspace);
    trial_plan_free(&plan);
}

static void refuse(rotary_attention_reorder_call call, const char *words)
{
    struct reference_case c = {.heads = HEADS, .key_value_heads = HEADS, .head_dim = DIM, .scale = 1};
    struct trial_plan plan = trial_plan_make(&c, ROTARY_ISA_AUTO, 1);
    rotary_error error = {0};
    CHECK_INT(rotary_attention_reorder(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    trial_plan_free(&plan);
}

/* Whether there must be a workspace: in a device's memory there need not be one. */
static bool needs_workspace(void)
{
    struct reference_case c = {.heads = HEADS, .key_value_heads = HEADS, .head_dim = DIM, .scale = 1};
    struct trial_plan plan = trial_plan_make(&c, ROTARY_ISA_AUTO, 1);
    size_t bytes = rotary_attention_reorder_bytes(plan.attention, 2);
    trial_plan_free(&plan);
    return bytes > 0;
}

static void try_refusals(void)
{
    static const int32_t source[2] = {1, 0}, beyond[2] = {0, 2}, negative[2] = {-1, 0};
    static const int64_t lengths[2] = {1, -3};
    float data[2 * HEADS * DIM] = {0};
    const rotary_attention_reorder_call good = {.struct_size = sizeof good,
                                                .batch = 2,
                                                .capacity = 1,
                                                .source = source,
                                                .key_cache = {data, HEADS * DIM, HEADS * DIM, DIM},
                                                .value_cache = {data, HEADS * DIM, HEADS * DIM, DIM}};
    rotary_attention_reorder_call call = good;
    check_about("refusals");
    if (needs_workspace())
        refuse(call, "there is no workspace");
    call.source = beyond;
    refuse(call, "source[1] is 2; wanted a sequence, 0 ... 1");
    call.source = negative;
    refuse(call, "source[0] is -1");
    call.source = NULL;
    refuse(call, "source is missing; wanted one for each of 2 sequences");
    call = good;
    call.lengths = lengths;
    refuse(call, "lengths[1] is -3; wanted 0 or more");
    call = good;
    call.batch = -1;
    refuse(call, "batch is -1");
    call = good;
    call.value_cache.data = NULL;
    refuse(call, "value_cache has no data");
    call = good;
    call.struct_size = 3;
    refuse(call, "struct_size is 3");
}

int main(void)
{
    static const int32_t sources[][BATCH] = {
        {4, 0, 1, 2, 3}, {1, 0, 0, 0, 4}, {3, 3, 3, 3, 3}, {0, 1, 2, 3, 4}};
    static const int64_t lengths[BATCH] = {3, 100, 0, 16, 33}; /* the second fills a ring buffer */
    for (int bits = 0; bits < 16; bits++)
        for (int i = 0; i < 4; i++) {
            struct scene s = {.capacity = bits & 1 ? 50 : 33,
                              .element = bits & 2 ? 2 : 4,
                              .head_major = bits & 4,
                              .lengths = bits & 8 ? lengths : NULL,
                              .source = sources[i]};
            try_scene(&s, 1);
            try_scene(&s, 3);
        }
    try_refusals();
    return check_report();
}
