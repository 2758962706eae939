/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed sequences: each is a call of its own over its tokens. If all are short, each is run by one worker.
 * If one is long, or adds to gradients of vectors or of a piecewise bias, all workers share one sequence
 * after another. Either way the results have the same bits as those of a call with the sequence alone.
 */
#include "attention/packed_sequences.h"

#include "base/fail.h"
#include "base/threads.h"
#include "rope/positions.h"

/* The max number of queries, and of keys, of a short sequence. */
enum { SHORT_SEQUENCE = 1024 };

static const int32_t *key_starts(const rotary_attention_packed_sequences *packed_sequences)
{
    return packed_sequences->key_starts ? packed_sequences->key_starts : packed_sequences->query_starts;
}

rotary_status
rotary_attention_check_packed_sequences(rotary_attention_shape shape,
                                        const rotary_attention_packed_sequences *packed_sequences,
                                        rotary_error *error)
{
    if (!packed_sequences->query_starts) {
        if (packed_sequences->key_starts || packed_sequences->sequences != 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "packed_sequences has %s but no query_starts; wanted both or neither",
                               packed_sequences->key_starts ? "key_starts" : "sequences");
        return ROTARY_OK;
    }
    struct rotary_starts starts = {"packed_sequences", "query_starts", packed_sequences->query_starts,
                                   packed_sequences->sequences};
    rotary_status status = rotary_rope_check_starts(&starts, shape.batch, shape.queries, error);
    if (packed_sequences->key_starts) {
        starts.name = "key_starts";
        starts.starts = packed_sequences->key_starts;
    }
    return status ? status : rotary_rope_check_starts(&starts, shape.batch, shape.keys, error);
}

struct attention_sequence
rotary_attention_sequence_of(rotary_attention_shape shape,
                             const rotary_attention_packed_sequences *packed_sequences, int64_t index)
{
    const int32_t *queries = packed_sequences->query_starts, *keys = key_starts(packed_sequences);
    shape.queries = queries[index + 1] - queries[index];
    shape.keys = keys[index + 1] - keys[index];
    /* An empty sequence starts at 0, because its start may be the end of the tensor. */
    return (struct attention_sequence){
        .query = shape.queries ? queries[index] : 0, .key = shape.keys ? keys[index] : 0, .shape = shape};
}

/* How packed sequences are run: each by one worker, or each by all. */
struct schedule {
    rotary_attention attention; /* of one sequence */
    int workers;
    size_t bytes; /* of a worker */
};

static struct schedule schedule_of(const rotary_attention *attention, const struct attention_call *call)
{
    const rotary_attention_packed_sequences *packed_sequences = &call->packed_sequences;
    rotary_attention_shape shape = call->shape;
    struct schedule schedule = {.attention = *attention, .workers = 1};
    /* These gradients are added to the caller's sequence after sequence. */
    bool all_short = !call->vector_gradient && !call->piecewise_gradient;
    for (int64_t i = 0; i < packed_sequences->sequences; i++) {
        rotary_attention_shape one = rotary_attention_sequence_of(shape, packed_sequences, i).shape;
        all_short = all_short && one.queries <= SHORT_SEQUENCE && one.keys <= SHORT_SEQUENCE;
    }
    if (all_short) {
        schedule.workers = attention->threads;
        schedule.attention.threads = 1;
    }
    for (int64_t i = 0; i < packed_sequences->sequences; i++) {
        size_t needed = call->bytes(&schedule.attention, call,
                                    rotary_attention_sequence_of(shape, packed_sequences, i).shape);
        schedule.bytes = needed > schedule.bytes ? needed : schedule.bytes;
    }
    return schedule;
}

static size_t distance_sums_bytes(const rotary_attention *attention, const struct attention_call *call)
{
    return (size_t)(attention->heads * (call->shape.queries + call->shape.keys)) * sizeof(float);
}

size_t rotary_attention_workspace_bytes(const rotary_attention *attention, const struct attention_call *call)
{
    struct rotary_arena arena = {0};
    if (rotary_attention_check_shape(call->shape, NULL) ||
        rotary_attention_check_packed_sequences(call->shape, &call->packed_sequences, NULL))
        return 0;
    if (call->packed_sequences.query_starts) {
        struct schedule schedule = schedule_of(attention, call);
        rotary_arena_push(&arena, schedule.workers, schedule.bytes);
    } else {
        arena.used = call->bytes(attention, call, call->shape);
    }
    if (call->distance_gradient)
        rotary_arena_push(&arena, 1, distance_sums_bytes(attention, call));
    return arena.used;
}

float *rotary_attention_distance_sums_of(const rotary_attention *attention, const struct attention_call *call)
{
    size_t before = rotary_attention_workspace_bytes(attention, call) - distance_sums_bytes(attention, call);
    return (float *)(void *)((unsigned char *)call->workspace + before);
}

struct sequences_run {
    struct schedule schedule;
    const struct attention_call *call;
};

static void run_sequence(void *argument, int64_t index, int worker)
{
    const struct sequences_run *run = argument;
    const struct schedule *schedule = &run->schedule;
    const struct attention_call *call = run->call;
    struct attention_sequence sequence =
        rotary_attention_sequence_of(call->shape, &call->packed_sequences, index);
    struct rotary_arena workspace = rotary_arena_over(
        (unsigned char *)call->workspace + (size_t)worker * schedule->bytes, schedule->bytes);
    call->run(&schedule->attention, call, &sequence, &workspace);
}

void rotary_attention_run_packed_sequences(const rotary_attention *attention,
                                           const struct attention_call *call)
{
    if (!call->packed_sequences.query_starts) {
        struct attention_sequence all = {.shape = call->shape};
        struct rotary_arena workspace =
            rotary_arena_over(call->workspace, call->bytes(attention, call, call->shape));
        call->run(attention, call, &all, &workspace);
        return;
    }
    struct sequences_run run = {.schedule = schedule_of(attention, call), .call = call};
    rotary_parallel_for(run.schedule.workers, call->packed_sequences.sequences, run_sequence, &run);
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
