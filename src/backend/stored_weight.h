/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix whose rows stay where a file has them, as they are: f32, f16 or bf16, in the host's memory,
 * usually that of mapped files (huggingface/weight_files.h). Rows that follow one another in the matrix need
 * not do so in memory: they are parts.
 */
#ifndef ROTARY_BACKEND_STORED_WEIGHT_H
#define ROTARY_BACKEND_STORED_WEIGHT_H

#include <rotary/types.h>

#include <stdint.h>

/* Rows first ... first + rows - 1 of the matrix, contiguous; data is aligned to its type. */
struct stored_rows {
    const void *data;
    rotary_dtype dtype;
    int64_t first, rows;
    void *copy; /* of a file whose numbers are not aligned, owned; else NULL */
};
struct stored_weight {
    int64_t rows, columns;
    const struct stored_rows *parts; /* [count], in the order of their rows, without gaps */
    int64_t count;
};

/* The part that has a row. */
static inline const struct stored_rows *stored_part(const struct stored_weight *weight, int64_t row)
{
    int64_t low = 0, high = weight->count - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (weight->parts[middle].first <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return &weight->parts[low];
}

/* Where a row of a part begins. */
static inline const void *stored_row(const struct stored_weight *weight, const struct stored_rows *part,
                                     int64_t row)
{
    return (const char *)part->data +
           (size_t)((row - part->first) * weight->columns) * rotary_dtype_size(part->dtype);
}

#endif
