/* SPDX-License-Identifier: Apache-2.0
 *
 * The score term of a piecewise-linear bias (rotary/attention.h).
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/diagonal_sums.h"
#include "kernel/attention/piecewise_tile.h"
#include "kernel/attention/vector_tile.h"

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->piecewise_bias.intercepts != NULL;
}

struct limits {
    float low, high;
};

static struct limits limits_of(const float *numbers, int64_t count)
{
    struct limits limits = {numbers[0], numbers[0]};
    for (int64_t i = 1; i < count; i++) {
        limits.low = fminf(limits.low, numbers[i]);
        limits.high = fmaxf(limits.high, numbers[i]);
    }
    return limits;
}

/* A linear function is largest at an end of what its segment has of the inputs. */
static struct rotary_attention_term_bound bound(const rotary_attention_problem *problem, int64_t head)
{
    const rotary_attention_piecewise_bias *bias = &problem->piecewise_bias;
    const float *intercepts = bias->intercepts + head * bias->segments,
                *slopes = bias->slopes + head * bias->segments;
    struct limits input = limits_of(bias->distance_inputs, bias->distances),
                  scale = limits_of(bias->query_scales, bias->positions),
                  x = {fminf(input.low * scale.low, input.low * scale.high),
                       fmaxf(input.high * scale.low, input.high * scale.high)};
    float max = 0;
    for (int64_t i = 0; i < bias->segments; i++) {
        float low = i > 0 ? fmaxf(bias->knots[i - 1], x.low) : x.low,
              high = i + 1 < bias->segments ? fminf(bias->knots[i], x.high) : x.high;
        if (low <= high)
            max = fmaxf(
                max, fmaxf(fabsf(intercepts[i] + slopes[i] * low), fabsf(intercepts[i] + slopes[i] * high)));
    }
    return (struct rotary_attention_term_bound){.constant = max};
}

/* Fills the biases of a run's distances, where up to LANES - 1 floats after them may be written too. */
static void fill_run(const struct piecewise_tile *t, const struct piecewise_run *run, float *to)
{
    int64_t segment = segment_of_run(t, run->run);
    const float *input = t->input + run->first;
    vfloat slope = v_set(t->slopes[segment] * t->scale), intercept = v_set(t->intercepts[segment]);
    for (int64_t at = run->begin; at < run->end; at += LANES)
        v_store(to + at, v_fma(v_load(input + at), slope, intercept));
}

static void reverse(float *to, const float *from, int64_t count)
{
    for (int64_t at = 0; at < count; at++)
        to[at] = from[count - 1 - at];
}

/* With one scale: the biases of the tile's distances. A tile is a part of them whose rows are one distance
 * apart, as that of a bias by distance. */
static struct rotary_attention_term_tile distance_scores(struct piecewise_tile *t, bool transposed,
                                                         float *table)
{
    piecewise_query(t, 0);
    struct piecewise_run run = runs_of_tile(t);
    while (next_run(t, &run))
        fill_run(t, &run, table);
    if (!transposed)
        return rotary_attention_whole_tile(table + t->queries - 1, -1);
    float *reversed = table + t->distances + LANES;
    reverse(reversed, table, t->distances);
    return rotary_attention_whole_tile(reversed + t->keys - 1, -1);
}

static struct rotary_attention_term_tile scores(const rotary_attention_problem *problem,
                                                const struct rotary_attention_tile *tile, float *scratch)
{
    struct piecewise_tile t;
    piecewise_begin(&t, problem, tile, scratch);
    float *rows = scratch + t.distances + LANES, *columns = rows + t.queries * t.keys + LANES;
    if (has_one_scale(&t))
        return distance_scores(&t, tile->transposed, rows);
    for (int64_t row = 0; row < t.queries; row++) {
        piecewise_query(&t, row);
        struct piecewise_run run = runs_of_query(&t, row);
        while (next_run(&t, &run))
            fill_run(&t, &run, rows + row * t.keys);
    }
    if (!tile->transposed)
        return rotary_attention_whole_tile(rows, tile->columns);
    transpose_tile(columns, t.queries, rows, t.keys, t.queries, t.keys);
    return rotary_attention_whole_tile(columns, tile->columns);
}

/* Adds ds and ds x of a run to the sums of its segment, and writes ds slope scale. Returns the lanes of the
 * sum of ds slope input. */
static vfloat add_run(const struct piecewise_tile *t, const struct piecewise_run *run, const float *ds,
                      float *d_input, float *head_sums)
{
    int64_t segment = segment_of_run(t, run->run), at = run->begin;
    const float *input = t->input + run->first;
    float *sums = head_sums + segment * 2 * ROTARY_ATTENTION_SUM_LANES;
    vfloat slope = v_set(t->slopes[segment] * t->scale), of_ds = {0}, of_product = {0};
    for (; at + LANES <= run->end; at += LANES) {
        vfloat one = v_load(ds + at);
        of_ds += one;
        of_product = v_fma(one, v_load(input + at), of_product);
        v_store(d_input + at, one * slope);
    }
    if (at < run->end) {
        vfloat one = v_load_part(ds + at, run->end - at);
        of_ds += one;
        of_product = v_fma(one, v_load(input + at), of_product);
        v_store(d_input + at, one * slope);
    }
    v_store(sums, v_load(sums) + of_ds);
    sums += ROTARY_ATTENTION_SUM_LANES;
    v_store(sums, v_fma(of_product, v_set(t->scale), v_load(sums)));
    return of_product * v_set(t->slopes[segment]);
}

/* Where the sums of a tile begin. */
struct tile_sums {
    float *head;
    float *corner; /* of distances: that of the tile's first query and first key */
    float *query;
};

static struct tile_sums sums_of(const rotary_attention_problem *problem, const rotary_attention_work *work,
                                const struct rotary_attention_tile *tile, float *item)
{
    int64_t group = problem->heads / problem->key_value_heads, queries = work->query_end - work->query_begin,
            keys = work->key_end - work->key_begin, query = tile->query - work->query_begin;
    const struct rotary_attention_piecewise_sums sums =
        rotary_attention_piecewise_sums_of(group, problem->piecewise_bias.segments, queries, keys);
    return (struct tile_sums){item + tile->head % group * sums.head,
                              item + sums.distances + tile->key - work->key_begin - query + queries - 1,
                              item + sums.queries + query};
}

/* A tile of ds, as the kernel has it. */
struct gradient_tile {
    const float *ds;
    int64_t rows, columns, row_stride;
};

/* ds summed over each distance of the tile. LANES floats after those are zero. */
static void sum_distances(const struct piecewise_tile *t, const struct gradient_tile *tile, bool transposed,
                          float *sums, float *reversed)
{
    float *to = transposed ? reversed : sums;
    memset(to, 0, (size_t)(t->distances + LANES) * sizeof *to);
    add_diagonals(to + tile->rows - 1, tile->ds, tile->row_stride, tile->rows, tile->columns);
    if (!transposed)
        return;
    reverse(sums, reversed, t->distances);
    memset(sums + t->distances, 0, LANES * sizeof *sums);
}

/* to[query] += sum of ds factor(distance) over the query's keys. */
static void add_query_sums(const struct gradient_tile *tile, bool transposed, const float *factor, float *to)
{
    for (int64_t row = 0; row < tile->rows; row++) {
        const float *ds = tile->ds + row * tile->row_stride, *of_row = factor + tile->rows - 1 - row;
        vfloat sum = {0};
        for (int64_t column = 0; column < tile->columns; column += LANES) {
            vfloat product = v_load(ds + column) * v_load(of_row + column);
            if (transposed)
                v_store(to + column, v_load(to + column) + product);
            else
                sum += product;
        }
        if (!transposed)
            to[row] += v_sum(sum);
    }
}

/* With one scale, from the sums of each distance. */
static void add_distance_gradient(struct piecewise_tile *t, const struct gradient_tile *tile, bool transposed,
                                  const struct tile_sums *sums, float *scratch)
{
    int64_t room = round_up(t->distances, LANES) + 2 * LANES;
    float *by_distance = scratch, *d_input = by_distance + room, *factor = d_input + room,
          *reversed = factor + room, *to = sums->corner - (t->queries - 1);
    sum_distances(t, tile, transposed, by_distance, reversed);
    piecewise_query(t, 0);
    struct piecewise_run run = runs_of_tile(t);
    while (next_run(t, &run)) {
        vfloat slope = v_set(t->slopes[segment_of_run(t, run.run)]);
        add_run(t, &run, by_distance, d_input, sums->head);
        for (int64_t at = run.begin; at < run.end; at += LANES)
            v_store(factor + at, v_load(t->input + at) * slope);
    }
    for (int64_t at = 0; at < t->distances; at++)
        to[at] += d_input[at];
    if (transposed)
        reverse(reversed, factor, t->distances);
    memset((transposed ? reversed : factor) + t->distances, 0, LANES * sizeof *factor);
    add_query_sums(tile, transposed, transposed ? reversed : factor, sums->query);
}

/* Row after row. */
static void add_row_gradients(struct piecewise_tile *t, const struct gradient_tile *tile,
                              const struct tile_sums *sums, float *d_input)
{
    int64_t stride = round_up(t->keys, LANES) + LANES;
    v_store(d_input - LANES, (vfloat){0});
    for (int64_t row = 0; row < t->queries; row++) {
        vfloat of_query = {0};
        piecewise_query(t, row);
        struct piecewise_run run = runs_of_query(t, row);
        float *to = d_input + row * stride;
        while (next_run(t, &run))
            of_query += add_run(t, &run, tile->ds + row * tile->row_stride, to, sums->head);
        for (int64_t key = t->keys; key < stride; key += LANES)
            v_store(to + key, (vfloat){0});
        sums->query[row] += v_sum(of_query);
    }
    add_diagonals(sums->corner, d_input, stride, t->queries, t->keys);
}

static void add_gradient(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient)
{
    if (!gradient->sums->piecewise_bias)
        return;
    struct piecewise_tile t;
    piecewise_begin(&t, problem, tile, gradient->scratch);
    struct gradient_tile ds = {gradient->from, tile->rows, tile->columns, gradient->row_stride};
    const struct tile_sums sums = sums_of(problem, work, tile, gradient->sums->piecewise_bias);
    int64_t columns = round_up(t.keys, LANES), rows = round_up(t.queries, LANES);
    float *square = gradient->scratch + t.distances + LANES, *rest = square + columns * rows + LANES;
    if (has_one_scale(&t)) {
        add_distance_gradient(&t, &ds, tile->transposed, &sums, square);
        return;
    }
    if (tile->transposed) {
        transpose_tile(square, columns, ds.ds, ds.row_stride, columns, rows);
        ds = (struct gradient_tile){square, t.queries, t.keys, columns};
    }
    add_row_gradients(&t, &ds, &sums, rest);
}

const struct rotary_attention_score_term ROTARY_KERNEL(rotary_attention_piecewise_bias_term) = {
    .is_present = is_present, .bound = bound, .scores = scores, .add_gradient = add_gradient};
