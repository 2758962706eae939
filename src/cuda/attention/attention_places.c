/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/attention/attention_places.h"

#include "attention/attention_plan.h"

#include <stdlib.h>

/* ---- Rows of cosines and sines. ---- */

const rotary_rope *cuda_attention_rope_of(const struct attention_plan *plan, int role)
{
    return role == ROTARY_ROLE_VALUE ? plan->checked->value_rope : plan->checked->rope;
}

static int64_t position_of(const struct placed_tokens *tokens, int64_t token)
{
    if (tokens->positions)
        return tokens->positions[token];
    if (tokens->lengths)
        return tokens->lengths[token / tokens->each] + token % tokens->each;
    return tokens->first + token;
}

/* Whether the plan's tables have the rows of all tokens. */
static bool is_in_tables(const struct attention_plan *plan, const struct placed_tokens *tokens)
{
    bool inside = true;
    int64_t step = tokens->positions || tokens->lengths ? 1 : max_i64(tokens->count - 1, 1);
    for (int64_t token = 0; token < tokens->count && inside; token += step) {
        int64_t position = position_of(tokens, token);
        inside = position >= 0 && position < plan->positions;
    }
    return inside;
}

static int64_t pairs_of(const struct attention_plan *plan, int role)
{
    return rotary_rope_span(cuda_attention_rope_of(plan, role)).dim / 2;
}

/* Computes the rows of a role. While measuring there is no memory. */
static void make_rows(const struct attention_plan *plan, const struct placed_tokens *tokens, int role,
                      struct placed_rows *made, struct rotary_arena *arena)
{
    int64_t pairs = pairs_of(plan, role);
    float *cosine = rotary_arena_push(arena, tokens->count * pairs, sizeof(float)),
          *sine = rotary_arena_push(arena, tokens->count * pairs, sizeof(float));
    for (int64_t token = 0; token < tokens->count && cosine && sine; token++)
        rotary_rope_role_rows(cuda_attention_rope_of(plan, role), position_of(tokens, token), 1,
                              (enum rotary_rope_role)role, cosine + token * pairs, sine + token * pairs);
    made->cosine[role] = cosine;
    made->sine[role] = sine;
}

/* Tokens with positions of their own have a row each: that of their position in the plan's tables, or, of own
 * rows, that of their place. */
static void place_rows(const struct attention_plan *plan, const struct placed_tokens *tokens,
                       struct placed_rows *made, struct rotary_arena *arena)
{
    *made = (struct placed_rows){.own = !is_in_tables(plan, tokens)};
    const bool listed = tokens->positions || (tokens->lengths && made->own);
    int32_t *rows = listed ? rotary_arena_push(arena, tokens->count, sizeof *rows) : NULL;
    for (int64_t token = 0; token < tokens->count && rows; token++)
        rows[token] = (int32_t)(made->own ? token : position_of(tokens, token));
    made->rows = rows;
    made->origin = made->own && !listed ? tokens->first : 0;
    for (int role = 0; role < ROTARY_ROLES && made->own; role++)
        if (cuda_attention_rope_of(plan, role) && (int)plan->checked->rows[role] == role)
            make_rows(plan, tokens, role, made, arena);
}

struct cuda_attention_rotation cuda_attention_rotation_of(const struct attention_plan *plan,
                                                          const struct placed_rows *rows,
                                                          rotary_attention_rotate part)
{
    const enum rotary_rope_role role = rotary_attention_role_of(part);
    const rotary_rope *rope = cuda_attention_rope_of(plan, (int)role);
    if (!(plan->checked->rotated & part))
        return (struct cuda_attention_rotation){0};
    const enum rotary_rope_role from = plan->checked->rows[role];
    const struct rotary_span span = rotary_rope_span(rope);
    return (struct cuda_attention_rotation){
        .cosine = rows->own ? rows->cosine[from] : plan->table[from].cosine,
        .sine = rows->own ? rows->sine[from] : plan->table[from].sine,
        .rows = rows->rows,
        .origin = rows->origin,
        .start = (int32_t)span.start,
        .pairs = (int32_t)(span.dim / 2),
        .row_stride = span.dim / 2,
        .interleaved = span.pairing == ROTARY_PAIRING_INTERLEAVED,
    };
}

/* ---- All of it. ---- */

static const void *place(const void *array, int64_t count, size_t size, struct rotary_arena *arena)
{
    void *copy = array ? rotary_arena_push(arena, count, size) : NULL;
    if (copy && count > 0)
        memcpy(copy, array, (size_t)count * size);
    return copy;
}

/* The places with all arrays in the arena. */
static struct attention_places copied(const struct attention_plan *plan, const struct attention_places *from,
                                      struct rotary_arena *arena)
{
    struct attention_places to = *from;
    to.query_starts = place(from->query_starts, from->starts, sizeof(int32_t), arena);
    to.key_starts = place(from->key_starts, from->starts, sizeof(int32_t), arena);
    to.source = place(from->source, from->sources, sizeof(int32_t), arena);
    to.key_lengths = place(from->key_lengths, from->batch, sizeof(int64_t), arena);
    to.lengths = place(from->lengths, from->batch, sizeof(int64_t), arena);
    to.keep = place(from->keep, from->batch, sizeof(int64_t), arena);
    to.discard = place(from->discard, from->batch, sizeof(int64_t), arena);
    place_rows(plan, &from->query_tokens, &to.query_rows, arena);
    place_rows(plan, &from->key_tokens, &to.key_rows, arena);
    return to;
}

/* Where the copy of what is at `pointer` is on the device. */
struct moved {
    const unsigned char *host, *device;
};

static const void *moved_to(const struct moved *moved, const void *pointer)
{
    return pointer ? moved->device + ((const unsigned char *)pointer - moved->host) : NULL;
}

static void move_rows(const struct moved *moved, struct placed_rows *rows)
{
    rows->rows = moved_to(moved, rows->rows);
    for (int role = 0; role < ROTARY_ROLES; role++) {
        rows->cosine[role] = moved_to(moved, rows->cosine[role]);
        rows->sine[role] = moved_to(moved, rows->sine[role]);
    }
}

static void move_places(const struct moved *moved, struct attention_places *places)
{
    places->query_starts = moved_to(moved, places->query_starts);
    places->key_starts = moved_to(moved, places->key_starts);
    places->source = moved_to(moved, places->source);
    places->key_lengths = moved_to(moved, places->key_lengths);
    places->lengths = moved_to(moved, places->lengths);
    places->keep = moved_to(moved, places->keep);
    places->discard = moved_to(moved, places->discard);
    move_rows(moved, &places->query_rows);
    move_rows(moved, &places->key_rows);
}

rotary_status cuda_attention_place(const struct backend *backend, const struct attention_plan *plan,
                                   struct attention_places *places, rotary_error *error)
{
    struct rotary_arena measured = {0};
    const struct attention_places none = copied(plan, places, &measured);
    if (measured.used == 0) {
        *places = none;
        return ROTARY_OK;
    }
    struct rotary_arena arena = measured;
    rotary_status status = rotary_arena_allocate(&arena, "the positions of attention", error);
    if (status)
        return status;
    struct attention_places copy = copied(plan, places, &arena);
    void *device = NULL;
    status = cuda_upload(backend, CUDA_SCRATCH_INDEX, arena.memory, measured.used, &device, error);
    const struct moved moved = {arena.memory, device};
    if (status == ROTARY_OK) {
        move_places(&moved, &copy);
        *places = copy;
    }
    rotary_arena_free(&arena);
    return status;
}
