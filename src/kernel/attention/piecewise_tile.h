/* SPDX-License-Identifier: Apache-2.0
 *
 * A tile of queries and keys with a piecewise-linear bias (rotary_attention_piecewise_bias).
 *
 * The input x(m, n) = input(n - m) scale(m) falls along the keys before a query and grows along those after
 * it. So the keys of a query fall into runs, each in one segment: those of the last segment first, down to
 * the first segment, which is nearest the query; then, unless attention is causal, the same the other way
 * round. Runs may be empty. Where a run begins is found by bisection, and from one query of the tile to the
 * next by stepping from there, as its scale changes little or not at all. While it does not, the bias is one
 * of distances alone.
 *
 * Distances are counted from that of the tile's last query and first key.
 */
#ifndef ROTARY_KERNEL_ATTENTION_PIECEWISE_TILE_H
#define ROTARY_KERNEL_ATTENTION_PIECEWISE_TILE_H

#include "kernel/attention/attention_terms.h"
#include "kernel/attention/piecewise_sums.h"
#include "kernel/attention/tile.h"

struct piecewise_tile {
    const rotary_attention_piecewise_bias *bias;
    const float *intercepts, *slopes; /* of the head */
    const float *input;               /* [distances + LANES] */
    int64_t queries, keys, distances;
    int64_t after;     /* the first distance of a key after its query; all before it: distances or more */
    int64_t position;  /* of the first query */
    int64_t runs;      /* that a query may have */
    int64_t first_run; /* of the present scale: the runs of the tile's first and last distance */
    int64_t last_run;
    float scale;                                      /* of the present query */
    int32_t begin[2 * ROTARY_ATTENTION_MAX_SEGMENTS]; /* the first distance of runs first_run + 1 ... last_run
                                                       */
};

/* The inputs of `count` distances from entry `entry` of the table on, with LANES more; the entries at its
 * ends where it has none. */
static inline const float *distance_inputs(const rotary_attention_piecewise_bias *bias, int64_t entry,
                                           int64_t count, float *scratch)
{
    int64_t last = bias->distances - 1;
    if (entry >= 0 && entry + count + LANES - 1 <= last)
        return bias->distance_inputs + entry;
    for (int64_t at = 0; at < count + LANES; at++) {
        int64_t from = entry + at;
        scratch[at] = bias->distance_inputs[from < 0 ? 0 : from > last ? last : from];
    }
    return scratch;
}

/* Starts with a tile; `scratch` takes queries + keys + LANES floats. */
static inline void piecewise_begin(struct piecewise_tile *t, const rotary_attention_problem *problem,
                                   const struct rotary_attention_tile *tile, float *scratch)
{
    const rotary_attention_piecewise_bias *bias = &problem->piecewise_bias;
    t->bias = bias;
    t->intercepts = bias->intercepts + tile->head * bias->segments;
    t->slopes = bias->slopes + tile->head * bias->segments;
    t->queries = tile->transposed ? tile->columns : tile->rows;
    t->keys = tile->transposed ? tile->rows : tile->columns;
    t->distances = t->queries + t->keys - 1;
    int64_t low = tile->key - (tile->query + t->queries - 1) - problem->query_offset;
    t->input = distance_inputs(bias, low - bias->first, t->distances, scratch);
    t->after = 1 - low;
    t->position = problem->first_query + tile->query;
    t->runs = problem->causal ? bias->segments : 2 * bias->segments;
    t->first_run = t->last_run = 0;
    t->scale = NAN;
}

static inline int64_t segment_of_run(const struct piecewise_tile *t, int64_t run)
{
    return run < t->bias->segments ? t->bias->segments - 1 - run : run - t->bias->segments;
}

/* Whether a distance is before the first of a run. */
static inline bool is_before_run(const struct piecewise_tile *t, int64_t run, int64_t distance)
{
    int64_t segments = t->bias->segments;
    bool before_query = distance < t->after;
    if (run == 0)
        return false;
    if (run == segments)
        return before_query;
    float x = t->input[distance] * t->scale;
    return run < segments ? before_query && !(x < t->bias->knots[segments - 1 - run])
                          : before_query || !(x >= t->bias->knots[run - segments - 1]);
}

/* The run of a distance, by steps from a run nearby. */
static inline int64_t run_of_distance(const struct piecewise_tile *t, int64_t distance, int64_t run)
{
    while (is_before_run(t, run, distance))
        run--;
    while (run + 1 < t->runs && !is_before_run(t, run + 1, distance))
        run++;
    return run;
}

/* The first distance of a run. */
static inline int64_t bisect_run(const struct piecewise_tile *t, int64_t run)
{
    int64_t begin = 0, end = t->distances;
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (is_before_run(t, run, middle))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The lanes of distances `from` ... that are before a run, by their inputs alone. */
static inline vint lanes_before_run(const struct piecewise_tile *t, int64_t run, int64_t from)
{
    int64_t segments = t->bias->segments;
    vfloat x = v_load(t->input + from) * v_set(t->scale);
    return run < segments ? ~(x < v_set(t->bias->knots[segments - 1 - run]))
                          : ~(x >= v_set(t->bias->knots[run - segments - 1]));
}

/* Finds it near a distance: among LANES distances around that, whose inputs are compared at once, because where
 * steps end is hard to predict; otherwise by steps. */
static inline int64_t step_to_run(const struct piecewise_tile *t, int64_t run, int64_t from)
{
    int64_t segments = t->bias->segments, after = max_i64(0, min_i64(t->after, t->distances));
    if (run == segments)
        return after;
    int64_t low = run < segments ? 0 : after, high = run < segments ? after : t->distances;
    int64_t begin = max_i64(low, min_i64(from - LANES / 2, high - LANES));
    int before = begin + LANES <= high ? v_count(lanes_before_run(t, run, begin)) : 0;
    if (before > 0 && before < LANES)
        return begin + before;
    while (from > 0 && !is_before_run(t, run, from - 1))
        from--;
    while (from < t->distances && is_before_run(t, run, from))
        from++;
    return from;
}

static inline float scale_of_query(const struct piecewise_tile *t, int64_t row)
{
    int64_t position = t->position + row, last = t->bias->positions - 1;
    return t->bias->query_scales[position < 0 ? 0 : position > last ? last : position];
}

/* Whether all queries of the tile have one scale. */
static inline bool has_one_scale(const struct piecewise_tile *t)
{
    float scale = scale_of_query(t, 0);
    for (int64_t row = 1; row < t->queries; row++)
        if (scale_of_query(t, row) != scale)
            return false;
    return true;
}

/* Moves to query `row` of the tile. */
static inline void piecewise_query(struct piecewise_tile *t, int64_t row)
{
    float scale = scale_of_query(t, row);
    if (scale == t->scale)
        return;
    int64_t first_known = t->first_run, last_known = t->last_run;
    t->scale = scale;
    t->first_run = run_of_distance(t, 0, first_known);
    t->last_run = run_of_distance(t, t->distances - 1, last_known);
    for (int64_t run = t->first_run + 1; run <= t->last_run; run++)
        t->begin[run] = (int32_t)(run > first_known && run <= last_known ? step_to_run(t, run, t->begin[run])
                                                                         : bisect_run(t, run));
}

/* The runs of some distances, first ... first + count - 1: run `run` has those at begin ... end - 1, counted
 * from `first`. */
struct piecewise_run {
    int64_t first, count;
    int64_t run, begin, end;
};

/* Before the first run of a query's keys, or of all distances of the tile. */
static inline struct piecewise_run runs_of_query(const struct piecewise_tile *t, int64_t row)
{
    return (struct piecewise_run){.first = t->queries - 1 - row, .count = t->keys, .run = t->first_run - 1};
}

static inline struct piecewise_run runs_of_tile(const struct piecewise_tile *t)
{
    return (struct piecewise_run){.count = t->distances, .run = t->first_run - 1};
}

/* Moves to the next run that is not empty; false after the last. */
static inline bool next_run(const struct piecewise_tile *t, struct piecewise_run *run)
{
    run->begin = run->end;
    while (run->run < t->last_run && run->begin < run->count) {
        run->run++;
        run->end =
            run->run < t->last_run ? min_i64(t->begin[run->run + 1] - run->first, run->count) : run->count;
        if (run->end > run->begin)
            return true;
    }
    return false;
}

#endif
