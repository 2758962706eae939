/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of cosines and sines, from the plan's table or computed. Angles are products in double (at position
 * 1,000,000 a product in f32 is wrong by several hundredths of a radian), their cosine and sine are rounded
 * to f32 once.
 */
#include "base/threads.h"
#include "rope/plan.h"

#include <math.h>
#include <string.h>

enum { TABLE_ROWS_PER_PIECE = 64 };

static void compute(const rotary_rope *rope, double position, int64_t first, int64_t count, float *cosine,
                    float *sine)
{
    const double *inverse_frequency = rope->inverse_frequency + first;
    for (int64_t pair = 0; pair < count; pair++) {
        double angle = position * inverse_frequency[pair];
        if (rope->angles_f32)
            angle = (double)((float)position * (float)inverse_frequency[pair]);
        cosine[pair] = (float)cos(angle);
        sine[pair] = (float)sin(angle);
    }
}

void rotary_rope_row(const rotary_rope *rope, double position, int64_t first, int64_t count, float *cosine,
                     float *sine)
{
    bool in_table = position >= 0 && position < (double)rope->table_positions && position == floor(position);
    if (!in_table) {
        compute(rope, position, first, count, cosine, sine);
        return;
    }
    int64_t at = (int64_t)position * rope->pairs + first;
    memcpy(cosine, rope->cosine + at, (size_t)count * sizeof *cosine);
    memcpy(sine, rope->sine + at, (size_t)count * sizeof *sine);
}

static void fill_piece(void *argument, int64_t index, int worker)
{
    (void)worker;
    rotary_rope *rope = argument;
    int64_t first = index * TABLE_ROWS_PER_PIECE, end = first + TABLE_ROWS_PER_PIECE;
    for (int64_t position = first; position < end && position < rope->table_positions; position++) {
        int64_t at = position * rope->pairs;
        compute(rope, (double)position, 0, rope->pairs, rope->cosine + at, rope->sine + at);
    }
}

void rotary_rope_fill_table(rotary_rope *rope)
{
    int64_t pieces = (rope->table_positions + TABLE_ROWS_PER_PIECE - 1) / TABLE_ROWS_PER_PIECE;
    rotary_parallel_for(rope->threads, pieces, fill_piece, rope);
}

void rotary_rope_rows(const rotary_rope *rope, int64_t first, int64_t count, bool unit, float *cosine,
                      float *sine)
{
    float factor = unit ? 1.0f : (float)rope->attention_factor;
    for (int64_t row = 0; row < count; row++) {
        float *row_cosine = cosine + row * rope->pairs, *row_sine = sine + row * rope->pairs;
        rotary_rope_row(rope, (double)(first + row), 0, rope->pairs, row_cosine, row_sine);
        for (int64_t pair = 0; pair < rope->pairs && factor != 1.0f; pair++) {
            row_cosine[pair] *= factor;
            row_sine[pair] *= factor;
        }
    }
}
