/* SPDX-License-Identifier: Apache-2.0 */
#include "model/generation/beam.h"

#include "base/integer.h"

#include <math.h>
#include <string.h>

/* A hypothesis of the next step: that of slot `parent`, and one token more. */
struct beam_choice {
    double sum;
    int32_t parent, token;
};

void beam_carve(struct beam *beam, const struct beam_config *config, struct rotary_arena *arena)
{
    int64_t size = config->size;
    beam->config = config;
    beam->slots = rotary_arena_push(arena, size, sizeof *beam->slots);
    beam->order = rotary_arena_push(arena, size, sizeof *beam->order);
    beam->finished = rotary_arena_push(arena, size, sizeof *beam->finished);
    beam->chosen = rotary_arena_push(arena, size, sizeof *beam->chosen);
    int32_t *tokens = rotary_arena_push(arena, 2 * size * config->capacity, sizeof *tokens);
    for (int64_t i = 0; tokens && i < size; i++) {
        beam->slots[i].tokens = tokens + 2 * i * config->capacity;
        beam->finished[i].tokens = tokens + (2 * i + 1) * config->capacity;
    }
}

void beam_start(struct beam *beam, int64_t source, int64_t max_length)
{
    beam->source = source;
    beam->max_length = max_length;
    beam->length = 0;
    beam->kept = 0;
    beam->live = beam->config->independent ? beam->config->size : 1;
    for (int64_t i = 0; i < beam->live; i++) {
        beam->order[i] = (int32_t)i;
        beam->slots[i].sum = 0.0;
        beam->slots[i].length = 0;
    }
}

static double score_of(const struct beam *beam, double sum, int64_t length)
{
    return sum / pow((double)length, beam->config->length_penalty);
}

/* Keeps a copy of the hypothesis, one token longer than `parent` unless that token is -1, if fewer than
 * `size` are kept, or instead of a worse one. Equal ones keep their order. */
static void keep(struct beam *beam, const struct hypothesis *parent, double sum, int32_t token)
{
    int64_t length = parent->length + (token >= 0), place = beam->kept;
    double score = score_of(beam, sum, length);
    bool full = place == beam->config->size;
    if (full && !(score > beam->finished[place - 1].score))
        return;
    place -= full;
    struct hypothesis made = beam->finished[place];
    for (; place > 0 && beam->finished[place - 1].score < score; place--)
        beam->finished[place] = beam->finished[place - 1];
    made.sum = sum;
    made.score = score;
    made.length = length;
    memcpy(made.tokens, parent->tokens, (size_t)parent->length * sizeof *made.tokens);
    if (token >= 0)
        made.tokens[length - 1] = token;
    beam->finished[place] = made;
    beam->kept += !full;
}

/* The next slots continue the hypotheses chosen. The first that continues a slot stays there; others take
 * slots that nobody continues, whose tokens are free. */
static void place_choices(struct beam *beam, int64_t count, int32_t *parents)
{
    int64_t size = beam->config->size, free_slot = 0;
    for (int64_t i = 0; i < size; i++)
        parents[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        int32_t parent = beam->chosen[i].parent;
        beam->order[i] = parents[parent] < 0 ? parent : -1;
        parents[parent] = parent;
    }
    for (int64_t i = 0; i < count; i++) {
        if (beam->order[i] >= 0)
            continue;
        while (parents[free_slot] >= 0)
            free_slot++;
        const struct hypothesis *parent = &beam->slots[beam->chosen[i].parent];
        memcpy(beam->slots[free_slot].tokens, parent->tokens, (size_t)beam->length * sizeof *parent->tokens);
        parents[free_slot] = beam->chosen[i].parent;
        beam->order[i] = (int32_t)free_slot;
    }
    for (int64_t i = 0; i < size; i++)
        if (parents[i] < 0)
            parents[i] = (int32_t)i;
    for (int64_t i = 0; i < count; i++) {
        struct hypothesis *slot = &beam->slots[beam->order[i]];
        slot->tokens[beam->length] = beam->chosen[i].token;
        slot->sum = beam->chosen[i].sum;
        slot->length = beam->length + 1;
    }
    beam->live = count;
    beam->length++;
}

/* The best of the next candidates of all slots, next[i] of the hypothesis order[i]; false: there is none. */
static bool take_best(const struct beam *beam, const struct beam_candidates *candidates, int64_t *next,
                      struct beam_choice *best)
{
    int64_t found = -1;
    for (int64_t i = 0; i < beam->live; i++) {
        if (next[i] >= candidates->count)
            continue;
        int32_t slot = beam->order[i];
        int64_t at = slot * candidates->count + next[i];
        double sum = beam->slots[slot].sum + (double)candidates->log_probabilities[at];
        if (found >= 0 && !(sum > best->sum))
            continue;
        found = i;
        *best = (struct beam_choice){.sum = sum, .parent = slot, .token = candidates->tokens[at]};
    }
    if (found < 0)
        return false;
    next[found]++;
    return true;
}

/* Chooses the next hypotheses and keeps those that end; returns how many go on. */
static int64_t choose(struct beam *beam, const struct beam_candidates *candidates)
{
    int64_t size = beam->config->size, next[BEAM_MAX_SIZE] = {0}, count = 0;
    for (int64_t taken = 0; taken < 2 * size && count < size; taken++) {
        struct beam_choice best;
        if (!take_best(beam, candidates, next, &best) || best.sum == -(double)INFINITY)
            break;
        if (best.token != beam->config->end)
            beam->chosen[count++] = best;
        else if (taken < size)
            keep(beam, &beam->slots[best.parent], best.sum, best.token);
    }
    return count;
}

/* Each slot takes its own candidate. */
static int64_t choose_independently(struct beam *beam, const struct beam_candidates *candidates)
{
    int64_t count = 0;
    for (int64_t i = 0; i < beam->live; i++) {
        int32_t slot = beam->order[i];
        const struct beam_choice choice = {.sum = beam->slots[slot].sum +
                                                  (double)candidates->log_probabilities[slot],
                                           .parent = slot,
                                           .token = candidates->tokens[slot]};
        if (choice.token == beam->config->end)
            keep(beam, &beam->slots[slot], choice.sum, choice.token);
        else
            beam->chosen[count++] = choice;
    }
    return count;
}

void beam_advance(struct beam *beam, const struct beam_candidates *candidates, int32_t *parents)
{
    int64_t count =
        beam->config->independent ? choose_independently(beam, candidates) : choose(beam, candidates);
    place_choices(beam, count, parents);
    if (beam->length < beam->max_length)
        return;
    for (int64_t i = 0; i < beam->live; i++) {
        const struct hypothesis *slot = &beam->slots[beam->order[i]];
        keep(beam, slot, slot->sum, -1);
    }
    beam->live = 0;
}

bool beam_is_done(const struct beam *beam)
{
    if (beam->live == 0)
        return true;
    if (beam->config->independent || beam->kept < beam->config->size)
        return false;
    const struct hypothesis *best = &beam->slots[beam->order[0]];
    return beam->finished[beam->kept - 1].score >= score_of(beam, best->sum, best->length);
}
