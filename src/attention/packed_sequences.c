/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed sequences: each is a call of its own over its tokens. Short ones are shared out among the workers;
 * where one is long, each in turn is cut for all of them. Either way a sequence gives the bits it gives
 * alone.
 */
#include "attention/packed_sequences.h"

#include "base/fail.h"
#include "base/threads.h"
#include "rope/positions.h"

/* Up to so many queries and keys a sequence is one worker's. */
enum { SHORT_SEQUENCE = 1024 };

static const int32_t *key_starts(const rotary_attention_packed_sequences *packing)
{
    return packing->key_starts ? packing->key_starts : packing->query_starts;
}

rotary_status rotary_attention_check_packing(rotary_attention_shape shape,
                                             const rotary_attention_packed_sequences *packing,
                                             rotary_error *error)
{
    if (!packing->query_starts) {
        if (packing->key_starts || packing->sequences != 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "packed_sequences has %s but no query_starts; wanted both, or none of it",
                               packing->key_starts ? "key_starts" : "sequences");
        return ROTARY_OK;
    }
    struct rotary_starts starts = {"packed_sequences", "query_starts", packing->query_starts,
                                   packing->sequences};
    rotary_status status = rotary_rope_check_starts(&starts, shape.batch, shape.queries, error);
    if (packing->key_starts) {
        starts.name = "key_starts";
        starts.starts = packing->key_starts;
    }
    return status ? status : rotary_rope_check_starts(&starts, shape.batch, shape.keys, error);
}

static struct attention_sequence sequence_of(rotary_attention_shape shape,
                                             const rotary_attention_packed_sequences *packing, int64_t index)
{
    const int32_t *queries = packing->query_starts, *keys = key_starts(packing);
    shape.queries = queries[index + 1] - queries[index];
    shape.keys = keys[index + 1] - keys[index];
    /* One without tokens stands at the start: behind the last token there is nothing to step to. */
    return (struct attention_sequence){
        .query = shape.queries ? queries[index] : 0, .key = shape.keys ? keys[index] : 0, .shape = shape};
}

/* How a packed call is done: all is one worker's work, or all workers'. */
struct plan {
    rotary_attention attention; /* of one sequence */
    int workers;
    size_t bytes; /* of a worker */
};

static struct plan plan_of(const rotary_attention *attention, rotary_attention_shape shape,
                           const rotary_attention_packed_sequences *packing, attention_bytes *bytes)
{
    struct plan plan = {.attention = *attention, .workers = 1};
    bool all_short = true;
    for (int64_t i = 0; i < packing->sequences; i++) {
        rotary_attention_shape one = sequence_of(shape, packing, i).shape;
        all_short = all_short && one.queries <= SHORT_SEQUENCE && one.keys <= SHORT_SEQUENCE;
    }
    if (all_short) {
        plan.workers = attention->threads;
        plan.attention.threads = 1;
    }
    for (int64_t i = 0; i < packing->sequences; i++) {
        size_t needed = bytes(&plan.attention, sequence_of(shape, packing, i).shape);
        plan.bytes = needed > plan.bytes ? needed : plan.bytes;
    }
    return plan;
}

size_t rotary_attention_packed_sequences_bytes(const rotary_attention *attention,
                                               rotary_attention_shape shape,
                                               const rotary_attention_packing *packing,
                                               attention_bytes *bytes)
{
    struct rotary_arena arena = {0};
    if (rotary_attention_check_packing(shape, packing, NULL))
        return 0;
    if (!packing->query_starts)
        return bytes(attention, shape);
    struct plan plan = plan_of(attention, shape, packing, bytes);
    rotary_arena_push(&arena, plan.workers, plan.bytes);
    return arena.used;
}

struct packed_sequences {
    struct plan plan;
    rotary_attention_shape shape;
    const rotary_attention_packed_sequences *packing;
    attention_run *run;
    const void *call;
    unsigned char *workspace;
};

static void run_sequence(void *argument, int64_t index, int worker)
{
    const struct packed_sequences *packed_sequences = argument;
    struct attention_sequence sequence =
        sequence_of(packed_sequences->shape, packed_sequences->packing, index);
    packed_sequences->run(&packed_sequences->plan.attention, packed_sequences->call, &sequence,
                          packed_sequences->workspace + (size_t)worker * packed_sequences->plan.bytes);
}

void rotary_attention_run_packed_sequences(const rotary_attention *attention, rotary_attention_shape shape,
                                           const rotary_attention_packing *packing, attention_bytes *bytes,
                                           attention_run *run, const void *call, void *workspace)
{
    struct attention_sequence all = {.shape = shape};
    if (!packing->query_starts) {
        run(attention, call, &all, workspace);
        return;
    }
    struct packed_sequences packed_sequences = {.plan = plan_of(attention, shape, packing, bytes),
                                                .shape = shape,
                                                .packing = packing,
                                                .run = run,
                                                .call = call,
                                                .workspace = workspace};
    rotary_parallel_for(packed_sequences.plan.workers, packing->sequences, run_sequence, &packed_sequences);
}

rotary_attention_const_view rotary_attention_skip(const rotary_attention *attention,
                                                  rotary_attention_const_view view, int64_t tokens)
{
    int64_t bytes = tokens * view.time_stride * (int64_t)rotary_dtype_size(attention->dtype);
    if (view.data)
        view.data = (const char *)view.data + bytes;
    return view;
}

rotary_attention_view rotary_attention_skip_written(const rotary_attention *attention,
                                                    rotary_attention_view view, int64_t tokens)
{
    int64_t bytes = tokens * view.time_stride * (int64_t)rotary_dtype_size(attention->dtype);
    if (view.data)
        view.data = (char *)view.data + bytes;
    return view;
}

rotary_attention_bias rotary_attention_skip_bias(rotary_attention_bias bias,
                                                 const struct attention_sequence *sequence)
{
    if (bias.data)
        bias.data += sequence->query * bias.query_stride + sequence->key;
    return bias;
}
