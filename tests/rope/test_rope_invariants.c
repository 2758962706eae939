/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of rotations with any angles: they preserve lengths, the inverse restores, the transpose is the
 * adjoint, scores depend on distance alone; and results have the same bits for any number of threads.
 */
#include "base/isa.h"
#include "rope/plans.h"

#include <math.h>
#include <string.h>

enum { TIME = 40, HEADS = 3, HEAD_DIM = 72, COUNT = TIME * HEADS * HEAD_DIM };
static const double UNIT = 0x1p-24;

enum role { QUERY, KEY, VALUE };

/* Rotates a dense tensor as `role`, with positions from `offset` on. */
static void rotate(const rotary_rope *rope, const float *input, float *output, enum role role,
                   rotary_direction direction, int64_t offset)
{
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = 1,
                                   .time = TIME,
                                   .direction = direction,
                                   .positions = {.offset = offset}};
    rotary_rope_tensor tensor = plan_tensor(input, output, TIME, HEADS, HEAD_DIM);
    *(role == QUERY ? &call.query : role == KEY ? &call.key : &call.value) = tensor;
    rotary_error error = {0};
    if (!CHECK(rotary_rope_apply(rope, &call, &error) == ROTARY_OK))
        printf("    %s\n", error.message);
}

static double dot(const float *a, const float *b, int64_t count, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)a[i] * (double)b[i];
        *size += fabs((double)a[i] * (double)b[i]);
    }
    return sum;
}

/* A rotation preserves lengths, so errors are bounded by a few units in the last place of the length. */
static void test_rotation(const rotary_rope *rope)
{
    static const int64_t offsets[] = {0, -50, 131072, 1000000};
    float *x = plan_random(1, COUNT, 3), *y = malloc(COUNT * sizeof *y), *z = malloc(COUNT * sizeof *z);
    for (int i = 0; i < 4; i++) {
        rotate(rope, x, y, VALUE, ROTARY_FORWARD, offsets[i]);
        rotate(rope, y, z, VALUE, ROTARY_INVERSE, offsets[i]);
        for (int64_t vector = 0; vector < TIME * HEADS; vector++) {
            double size, before = dot(x + vector * HEAD_DIM, x + vector * HEAD_DIM, HEAD_DIM, &size);
            double after = dot(y + vector * HEAD_DIM, y + vector * HEAD_DIM, HEAD_DIM, &size);
            CHECK_NEAR(sqrt(after), sqrt(before), 6 * UNIT * sqrt(before));
            double difference = 0;
            for (int64_t k = vector * HEAD_DIM; k < (vector + 1) * HEAD_DIM; k++)
                difference += pow((double)(z[k] - x[k]), 2);
            CHECK_NEAR(sqrt(difference), 0, 12 * UNIT * sqrt(before));
        }
    }
    free(x);
    free(y);
    free(z);
}

/* The inverse divides by magnitudes, the transpose multiplies by them, and <R x, y> = <x, R^T y>. */
static void test_inverse_and_adjoint(const rotary_rope *rope, enum role role, bool has_magnitude)
{
    float *x = plan_random(2, COUNT, 2), *y = plan_random(3, COUNT, 2);
    float *rx = malloc(COUNT * sizeof *rx), *back = malloc(COUNT * sizeof *back);
    rotate(rope, x, rx, role, ROTARY_FORWARD, 1000);
    rotate(rope, rx, back, role, ROTARY_INVERSE, 1000);
    double inverse_difference = plan_max_difference(back, x, COUNT), size, other;
    rotate(rope, rx, back, role, ROTARY_TRANSPOSE, 1000);
    double transpose_difference = plan_max_difference(back, x, COUNT);
    CHECK_NEAR(inverse_difference, 0, 1e-4); /* |x| is up to about 20 */
    CHECK((transpose_difference > 0.1) == has_magnitude);
    rotate(rope, y, back, role, ROTARY_TRANSPOSE, 1000);
    double rotated_dot = dot(rx, y, COUNT, &size), transposed_dot = dot(x, back, COUNT, &other);
    CHECK_NEAR(rotated_dot, transposed_dot, 12 * UNIT * (size + other));
    free(x);
    free(y);
    free(rx);
    free(back);
}

/* <R(m) q, R(n) k> of different m and n with the same m - n. */
static void test_relative(const rotary_rope *rope)
{
    float *q = plan_random(4, COUNT, 1), *k = plan_random(5, COUNT, 1);
    for (int64_t token = 1; token < TIME; token++) { /* the same vector in every token */
        memcpy(q + token * HEADS * HEAD_DIM, q, HEADS * HEAD_DIM * sizeof *q);
        memcpy(k + token * HEADS * HEAD_DIM, k, HEADS * HEAD_DIM * sizeof *k);
    }
    float *rq = malloc(COUNT * sizeof *rq), *rk = malloc(COUNT * sizeof *rk);
    rotate(rope, q, rq, QUERY, ROTARY_FORWARD, 500000);
    rotate(rope, k, rk, KEY, ROTARY_FORWARD, 499900);
    double size, first = dot(rq, rk, HEAD_DIM, &size);
    for (int64_t token = 1; token < TIME; token++) {
        int64_t at = token * HEADS * HEAD_DIM;
        CHECK_NEAR(dot(rq + at, rk + at, HEAD_DIM, &size), first, 20 * UNIT * 4 * size);
    }
    double other_distance = dot(rq, rk + 20 * HEADS * HEAD_DIM, HEAD_DIM, &size);
    CHECK(fabs(other_distance - first) > 1e-3 * size); /* it depends on m - n */
    free(q);
    free(k);
    free(rq);
    free(rk);
}

static void test_threads(rotary_isa isa)
{
    float *x = plan_random(6, COUNT, 3), *results[3];
    for (int threads = 1; threads <= 3; threads++) {
        rotary_rope_config config = plan_config(HEAD_DIM);
        config.threads = threads;
        config.isa = isa;
        rotary_rope *rope = plan_make(&config);
        results[threads - 1] = malloc(COUNT * sizeof(float));
        rotate(rope, x, results[threads - 1], QUERY, ROTARY_FORWARD, 3);
        rotary_rope_destroy(rope);
    }
    CHECK(memcmp(results[0], results[1], COUNT * sizeof(float)) == 0);
    CHECK(memcmp(results[0], results[2], COUNT * sizeof(float)) == 0);
    for (int i = 0; i < 3; i++)
        free(results[i]);
    free(x);
}

static void test_isa(rotary_isa isa)
{
    for (int pairing = 0; pairing < 2; pairing++) {
        rotary_rope_config config = plan_config(HEAD_DIM);
        config.isa = isa;
        config.pairing = (rotary_pairing)pairing;
        config.rotary_dim = 70;
        config.rotary_start = pairing;
        check_about("%s, pairing %d", rotary_isa_name(isa), pairing);
        rotary_rope *rope = plan_make(&config);
        test_rotation(rope);
        test_inverse_and_adjoint(rope, QUERY, false);
        test_relative(rope);
        rotary_rope_destroy(rope);

        config.scaling = ROTARY_SCALING_YARN;
        config.factor = 16;
        config.original_positions = 4096;
        config.xpos_scale = 512;
        rope = plan_make(&config);
        test_inverse_and_adjoint(rope, QUERY, true);
        test_inverse_and_adjoint(rope, KEY, true);
        test_inverse_and_adjoint(rope, VALUE, false);
        rotary_rope_destroy(rope);
    }
    test_threads(isa);
}

int main(void)
{
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++)
        if (rotary_isa_available((rotary_isa)isa))
            test_isa((rotary_isa)isa);
    return check_report();
}
