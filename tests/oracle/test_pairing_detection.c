/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairing of projections that this test trains, by gradient descent on scores, is detected; that of
 * initial weights is unknown.
 */
#include "oracle/pairing_detection.h"

#include "rope/elements.h"
#include "rope/plans.h"

#include <math.h>
#include <string.h>

enum { HEADS = 8, HEAD_DIM = 16, INPUTS = 12, TIME = 24, STEPS = 300 };
enum { MAX_WEIGHTS = HEADS * HEAD_DIM * INPUTS, MAX_ROTATED = TIME * HEADS * HEAD_DIM };

static void succeeded(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        printf("    %s\n", error->message);
}

/* ---- training ---- */

/* The projections of one layer; all are f32, dense, without biases but for the last input, which is 1. */
struct layer {
    const rotary_rope *rope;
    int64_t query_heads, key_heads;
    float query[MAX_WEIGHTS], key[MAX_WEIGHTS];
};

static struct layer *draw_layer(const rotary_rope *rope, int64_t query_heads, int64_t key_heads, double scale,
                                uint64_t seed)
{
    struct layer *layer = malloc(sizeof *layer);
    *layer = (struct layer){.rope = rope, .query_heads = query_heads, .key_heads = key_heads};
    for (int64_t i = 0; i < MAX_WEIGHTS; i++) {
        layer->query[i] = (float)scale * check_random(seed, (uint64_t)i, 0);
        layer->key[i] = (float)scale * check_random(seed + 1, (uint64_t)i, 0);
    }
    return layer;
}

static void rotate(const rotary_rope *rope, rotary_direction direction, float *x, int64_t heads)
{
    rotary_rope_apply_call call = {
        .struct_size = sizeof call, .batch = 1, .time = TIME, .direction = direction};
    call.query = plan_tensor(x, x, TIME, heads, HEAD_DIM);
    rotary_error error = {0};
    succeeded(rotary_rope_apply(rope, &call, &error), &error);
}

static void project(const float *inputs, const float *weight, int64_t heads, float *rows)
{
    for (int64_t t = 0; t < TIME; t++)
        for (int64_t r = 0; r < heads * HEAD_DIM; r++) {
            float sum = 0;
            for (int64_t i = 0; i < INPUTS; i++)
                sum += weight[r * INPUTS + i] * inputs[t * INPUTS + i];
            rows[t * heads * HEAD_DIM + r] = sum;
        }
}

/* Rotated queries and keys, and the scores of every query head, [heads, TIME, TIME]. */
struct run {
    float query[MAX_ROTATED], key[MAX_ROTATED], scores[HEADS * TIME * TIME];
};

static void score(const struct layer *layer, const float *inputs, struct run *run)
{
    int64_t group = layer->query_heads / layer->key_heads;
    project(inputs, layer->query, layer->query_heads, run->query);
    project(inputs, layer->key, layer->key_heads, run->key);
    rotate(layer->rope, ROTARY_FORWARD, run->query, layer->query_heads);
    rotate(layer->rope, ROTARY_FORWARD, run->key, layer->key_heads);
    for (int64_t h = 0; h < layer->query_heads; h++)
        for (int64_t m = 0; m < TIME; m++)
            for (int64_t n = 0; n < TIME; n++) {
                float sum = 0;
                for (int64_t c = 0; c < HEAD_DIM; c++)
                    sum += run->query[(m * layer->query_heads + h) * HEAD_DIM + c] *
                           run->key[(n * layer->key_heads + h / group) * HEAD_DIM + c];
                run->scores[(h * TIME + m) * TIME + n] = sum;
            }
}

static void descend(float *weight, const float *gradient, const float *inputs, int64_t heads, float rate)
{
    for (int64_t r = 0; r < heads * HEAD_DIM; r++)
        for (int64_t i = 0; i < INPUTS; i++) {
            float sum = 0;
            for (int64_t t = 0; t < TIME; t++)
                sum += gradient[t * heads * HEAD_DIM + r] * inputs[t * INPUTS + i];
            weight[r * INPUTS + i] -= rate * sum;
        }
}

/* A step towards the teacher's scores by the squares of the differences, whose mean is returned. */
static double train_step(struct layer *layer, const struct layer *teacher, const float *inputs)
{
    static struct run own, wanted, gradient;
    int64_t group = layer->query_heads / layer->key_heads;
    score(layer, inputs, &own);
    score(teacher, inputs, &wanted);
    gradient = (struct run){.query = {0}};
    double loss = 0;
    for (int64_t h = 0; h < layer->query_heads; h++)
        for (int64_t m = 0; m < TIME; m++)
            for (int64_t n = 0; n < TIME; n++) {
                int64_t at = (h * TIME + m) * TIME + n;
                float difference = own.scores[at] - wanted.scores[at];
                int64_t q = (m * layer->query_heads + h) * HEAD_DIM;
                int64_t k = (n * layer->key_heads + h / group) * HEAD_DIM;
                for (int64_t c = 0; c < HEAD_DIM; c++) {
                    gradient.query[q + c] += difference * own.key[k + c];
                    gradient.key[k + c] += difference * own.query[q + c];
                }
                loss += (double)(difference * difference) / (double)(layer->query_heads * TIME * TIME);
            }
    rotate(layer->rope, ROTARY_TRANSPOSE, gradient.query, layer->query_heads);
    rotate(layer->rope, ROTARY_TRANSPOSE, gradient.key, layer->key_heads);
    const float rate = 2e-5f;
    descend(layer->query, gradient.query, inputs, layer->query_heads, rate);
    descend(layer->key, gradient.key, inputs, layer->key_heads, rate);
    return loss;
}

static void train(struct layer *layer, uint64_t seed)
{
    struct layer *teacher = draw_layer(layer->rope, layer->query_heads, layer->key_heads, 0.8, seed);
    double first = 0, last = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        float inputs[TIME * INPUTS];
        for (uint64_t i = 0; i < TIME * INPUTS; i++)
            inputs[i] = i % INPUTS == INPUTS - 1 ? 1 : check_random(seed + 100 + step, i, 0);
        last = train_step(layer, teacher, inputs);
        first = step == 0 ? last : first;
    }
    printf("  loss %g to %g\n", first, last);
    CHECK(last < first / 2);
    free(teacher);
}

/* ---- what is found ---- */

static struct pairing_layer view_of(const struct layer *layer)
{
    return (struct pairing_layer){
        .inputs = INPUTS,
        .query = {.heads = layer->query_heads, .weight = layer->query},
        .key = {.heads = layer->key_heads, .weight = layer->key},
    };
}

static struct pairing_finding find(const rotary_rope *rope, const struct pairing_layer *layer)
{
    struct pairing_evidence evidence = {0};
    rotary_error error = {0};
    succeeded(pairing_add_layer(rope, layer, &evidence, &error), &error);
    return pairing_judge(&evidence);
}

static void permute(struct layer *layer, rotary_pairing from)
{
    float *const weights[] = {layer->query, layer->key};
    const int64_t heads[] = {layer->query_heads, layer->key_heads};
    float moved[MAX_WEIGHTS];
    for (int i = 0; i < 2; i++) {
        rotary_rope_permute_call call = {.struct_size = sizeof call,
                                         .heads = heads[i],
                                         .row_bytes = INPUTS * sizeof(float),
                                         .input = weights[i],
                                         .output = moved,
                                         .from = from,
                                         .to = from == ROTARY_PAIRING_HALF ? ROTARY_PAIRING_INTERLEAVED
                                                                           : ROTARY_PAIRING_HALF};
        rotary_error error = {0};
        succeeded(rotary_rope_permute(layer->rope, &call, &error), &error);
        memcpy(weights[i], moved, (size_t)(heads[i] * HEAD_DIM * INPUTS) * sizeof(float));
    }
}

static const enum pairing_verdict verdicts[] = {PAIRING_IS_HALF, PAIRING_IS_INTERLEAVED};

static void test_trained(rotary_pairing pairing, int64_t key_heads, int64_t rotary_dim, int64_t rotary_start)
{
    rotary_rope_config config = plan_config(HEAD_DIM);
    config.pairing = pairing;
    config.base = 50; /* so that every pair rotates noticeably over so few positions */
    config.rotary_dim = rotary_dim;
    config.rotary_start = rotary_start;
    rotary_rope *rope = plan_make(&config);
    struct layer *layer = draw_layer(rope, HEADS, key_heads, 0.3, 7);
    check_about("pairing %d, %d key heads, %d channels from %d", (int)pairing, (int)key_heads,
                (int)rotary_dim, (int)rotary_start);
    struct pairing_layer view = view_of(layer);
    struct pairing_finding before = find(rope, &view);
    CHECK_INT(before.verdict, PAIRING_UNKNOWN);
    train(layer, 1000 + (uint64_t)key_heads);
    struct pairing_finding after = find(rope, &view);
    printf("  half %6.3f %5.1f %5.1f, interleaved %6.3f %5.1f %5.1f\n", after.correlation[0], after.score[0],
           after.contrast[0], after.correlation[1], after.score[1], after.contrast[1]);
    CHECK_INT(after.verdict, verdicts[pairing]);
    permute(layer, pairing);
    struct pairing_finding moved = find(rope, &view);
    CHECK_INT(moved.verdict, verdicts[1 - pairing]);
    CHECK_NEAR(moved.correlation[1 - pairing], after.correlation[pairing], 1e-12);
    CHECK_NEAR(moved.score[1 - pairing], after.score[pairing], 1e-9);
    free(layer);
    rotary_rope_destroy(rope);
}

/* ---- weights that do not show a pairing ---- */

/* Of 400 that were drawn, one in a thousand may look trained. */
static void test_untrained(void)
{
    rotary_rope_config config = plan_config(HEAD_DIM);
    rotary_rope *rope = plan_make(&config);
    int named = 0;
    double scores = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct layer *layer = draw_layer(rope, HEADS, HEADS, 0.3, 5000 + 2 * seed);
        struct pairing_layer view = view_of(layer);
        struct pairing_finding finding = find(rope, &view);
        named += finding.verdict != PAIRING_UNKNOWN;
        for (int i = 0; i < 2; i++)
            scores += finding.score[i] * finding.score[i] / 800;
        free(layer);
    }
    check_about("untrained weights");
    CHECK(named <= 2);
    CHECK_NEAR(scores, 1, 0.2); /* the score's variance: 800 of them leave it uncertain by 1/20 */
    rotary_rope_destroy(rope);
}

/* Rows whose sizes change from channel to channel, against each other in queries and keys, are no pairs: the
 * ends of any long distance are anticorrelated. */
static void test_trend(void)
{
    rotary_rope_config config = plan_config(HEAD_DIM);
    rotary_rope *rope = plan_make(&config);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct layer *layer = draw_layer(rope, HEADS, HEADS, 0.3, 9000 + 2 * seed);
        for (int64_t i = 0; i < MAX_WEIGHTS; i++) {
            float growth = (float)exp2(cos(3.14 * (double)(i / INPUTS % HEAD_DIM) / HEAD_DIM));
            layer->query[i] *= growth;
            layer->key[i] /= growth;
        }
        struct pairing_layer view = view_of(layer);
        struct pairing_finding finding = find(rope, &view);
        check_about("a trend, seed %d", (int)seed);
        CHECK(finding.chance[ROTARY_PAIRING_HALF] < 1e-3);
        CHECK_INT(finding.verdict, PAIRING_UNKNOWN);
        free(layer);
    }
    rotary_rope_destroy(rope);
}

static void test_no_evidence(void)
{
    struct pairing_evidence evidence = {0};
    struct pairing_finding finding = pairing_judge(&evidence);
    rotary_error error = {0};
    CHECK_INT(finding.verdict, PAIRING_UNKNOWN);
    CHECK_NEAR(finding.chance[0], 1, 0);
    rotary_rope_config config = plan_config(HEAD_DIM);
    config.rotary_dim = 2; /* one pair: half and interleaved are the same */
    rotary_rope *rope = plan_make(&config);
    struct layer *layer = draw_layer(rope, HEADS, HEADS, 1, 3);
    struct pairing_layer view = view_of(layer);
    succeeded(pairing_add_layer(rope, &view, &evidence, &error), &error);
    CHECK_INT(evidence.pairs, 0);
    rotary_rope_destroy(rope);
    config.rotary_dim = HEAD_DIM;
    rope = plan_make(&config);
    memset(layer->key, 0, HEAD_DIM * INPUTS * sizeof(float)); /* a head that was pruned */
    succeeded(pairing_add_layer(rope, &view, &evidence, &error), &error);
    CHECK_INT(evidence.heads, HEADS - 1);
    CHECK_INT(evidence.pairs, (HEADS - 1) * HEAD_DIM / 2);
    free(layer);
    rotary_rope_destroy(rope);
}

/* ---- where the numbers lie, and of what type they are ---- */

/* Query, key and value rows side by side in one matrix, head by head, and biases likewise; a bias says the
 * same as a column of the weight. */
static void test_views(void)
{
    rotary_rope_config config = plan_config(HEAD_DIM);
    rotary_rope *rope = plan_make(&config);
    struct layer *layer = draw_layer(rope, HEADS, HEADS, 1, 21);
    struct pairing_layer whole = view_of(layer);
    struct pairing_finding wanted = find(rope, &whole);
    for (int type = 0; type < 3; type++) {
        static float fused[HEADS * 3 * HEAD_DIM * (INPUTS - 1)], biases[HEADS * 3 * HEAD_DIM];
        const float *const weights[] = {layer->query, layer->key, layer->query};
        rotary_dtype dtype = (rotary_dtype)type;
        for (int64_t row = 0; row < HEADS * 3 * HEAD_DIM; row++) {
            int64_t part = row / HEAD_DIM % 3, from = row / (3 * HEAD_DIM) * HEAD_DIM + row % HEAD_DIM;
            for (int64_t i = 0; i < INPUTS; i++) {
                float value = weights[part][from * INPUTS + i];
                if (i < INPUTS - 1)
                    rotary_set_element(fused, row * (INPUTS - 1) + i, dtype, value);
                else
                    rotary_set_element(biases, row, dtype, value);
            }
        }
        size_t bytes = rotary_dtype_size(dtype);
        struct pairing_projection query = {.heads = HEADS,
                                           .weight = fused,
                                           .head_stride = 3 * HEAD_DIM * (INPUTS - 1),
                                           .bias = biases,
                                           .bias_stride = 3 * HEAD_DIM,
                                           .dtype = dtype};
        struct pairing_projection key = query;
        key.weight = (const char *)fused + HEAD_DIM * (INPUTS - 1) * bytes;
        key.bias = (const char *)biases + HEAD_DIM * bytes;
        struct pairing_layer view = {.inputs = INPUTS - 1, .query = query, .key = key};
        struct pairing_finding got = find(rope, &view);
        const double bounds[] = {1e-12, 1e-2, 5e-2}; /* 16-bit weights are other weights */
        check_about("fused, type %d", type);
        for (int i = 0; i < 2; i++) {
            CHECK_NEAR(got.correlation[i], wanted.correlation[i], bounds[type]);
            CHECK_NEAR(got.contrast[i], wanted.contrast[i], 20 * bounds[type]);
        }
    }
    free(layer);
    rotary_rope_destroy(rope);
}

static void refused(const rotary_rope *rope, struct pairing_layer view, const char *said)
{
    struct pairing_evidence evidence = {.heads = 3, .products = {1, 2}}, before = evidence;
    rotary_error error = {0};
    check_about("%s", said);
    CHECK_INT(pairing_add_layer(rope, &view, &evidence, &error), ROTARY_INVALID_ARGUMENT);
    if (!CHECK(strstr(error.message, said) != NULL))
        printf("    %s\n", error.message);
    CHECK(memcmp(&evidence, &before, sizeof evidence) == 0);
}

static void test_refusals(void)
{
    rotary_rope_config config = plan_config(HEAD_DIM);
    rotary_rope *rope = plan_make(&config);
    struct layer *layer = draw_layer(rope, HEADS, HEADS / 2, 1, 31);
    const struct pairing_layer good = view_of(layer);
    struct pairing_layer view = good;
    view.inputs = 0;
    refused(rope, view, "inputs is 0; wanted at least 1");
    view = good;
    view.key.weight = NULL;
    refused(rope, view, "key.heads is 4 and its weight is NULL");
    view = good;
    view.query.heads = 0;
    refused(rope, view, "query.heads is 0 and its weight is there");
    view = good;
    view.query.heads = 3;
    view.key.heads = 2;
    refused(rope, view, "query.heads is 3; wanted a multiple of key.heads, 2");
    view = good;
    view.key.dtype = (rotary_dtype)9;
    refused(rope, view, "key.dtype is 9");
    view = good;
    view.query.head_stride = HEAD_DIM * INPUTS - 1;
    refused(rope, view, "query.head_stride is 191; wanted 0 or at least 192");
    view = good;
    view.query.bias = layer->key;
    view.query.bias_stride = -HEAD_DIM;
    refused(rope, view, "query.bias_stride is -16");
    layer->key[(2 * HEAD_DIM + 5) * INPUTS + 1] = (float)NAN;
    refused(rope, good, "row 5 of key head 2 has values that are not finite");
    free(layer);
    rotary_rope_destroy(rope);
}

int main(void)
{
    for (int pairing = 0; pairing < 2; pairing++) {
        test_trained((rotary_pairing)pairing, HEADS, HEAD_DIM, 0);
        test_trained((rotary_pairing)pairing, HEADS / 2, HEAD_DIM, 0);
        test_trained((rotary_pairing)pairing, HEADS, 8, 6);
    }
    test_untrained();
    test_trend();
    test_no_evidence();
    test_views();
    test_refusals();
    return check_report();
}
