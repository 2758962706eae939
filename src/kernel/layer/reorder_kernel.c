/* SPDX-License-Identifier: Apache-2.0
 *
 * bf16 transposition and VNNI packing; non-temporal copies.
 */
#include "base/integer.h"
#include "kernel/layer/layer_variant.h"

#if defined(__AVX512BW__)
enum { SQUARE = 32 }; /* rows and columns of a block: a vector of bf16 */

/* Not inlined: in a loop over columns the compiler would keep a pointer per row and spill most of them. */
static __attribute__((noinline)) void transpose_square(uint16_t *out, int64_t out_stride, const uint16_t *in,
                                                       int64_t in_stride, int64_t prefetch_offset)
{
    /* Interleave pairs of rows to 32-bit words: columns 8 l ... 8 l + 3 of 128-bit lane l go to low, the next
     * four to high. Each row is read once, as rows a power of two apart evict each other from the L1 cache.
     */
    __m512i low[16], high[16];
    for (int pair = 0; pair < 16; pair++, in += 2 * in_stride) {
        __m512i even = _mm512_loadu_si512(in), odd = _mm512_loadu_si512(in + in_stride);
        _mm_prefetch((const char *)(in + prefetch_offset), _MM_HINT_T1);
        _mm_prefetch((const char *)(in + in_stride + prefetch_offset), _MM_HINT_T1);
        low[pair] = _mm512_unpacklo_epi16(even, odd);
        high[pair] = _mm512_unpackhi_epi16(even, odd);
    }
    v_transpose_words(low);
    for (int i = 0; i < 16; i++)
        _mm512_storeu_si512(out + (i / 4 * 8 + i % 4) * out_stride, low[i]);
    v_transpose_words(high);
    for (int i = 0; i < 16; i++)
        _mm512_storeu_si512(out + (i / 4 * 8 + 4 + i % 4) * out_stride, high[i]);
}
#else
enum { SQUARE = 8 };

INLINE void transpose_square(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride,
                             int64_t prefetch_offset)
{
    (void)prefetch_offset;
    for (int column = 0; column < SQUARE; column++)
        for (int row = 0; row < SQUARE; row++)
            out[column * out_stride + row] = in[row * in_stride + column];
}
#endif

void ROTARY_KERNEL(layer_transpose)(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride,
                                    int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; row += SQUARE)
        for (int64_t column = 0; column < columns; column += SQUARE) {
            uint16_t *to = out + column * out_stride + row;
            const uint16_t *from = in + row * in_stride + column;
            if (rows - row >= SQUARE && columns - column >= SQUARE) {
                /* Prefetches the block of rows below, if there is one. */
                transpose_square(to, out_stride, from, in_stride,
                                 rows - row >= 2 * SQUARE ? SQUARE * in_stride : 0);
                continue;
            }
            for (int64_t j = 0; j < SQUARE && column + j < columns; j++)
                for (int64_t i = 0; i < SQUARE && row + i < rows; i++)
                    to[j * out_stride + i] = from[i * in_stride + j];
        }
}

enum {
    GROUP_ROWS = LAYER_VNNI_ROWS,
    GROUP_COLUMNS = LAYER_VNNI_COLUMNS,
    PREFETCH_ROWS = 16 /* the distance of the prefetch */
};

/* Two rows of 64 columns. */
INLINE void vnni_pair(uint16_t *out, const uint16_t *even, const uint16_t *odd, int64_t prefetch_offset)
{
    for (int i = 0; i < GROUP_COLUMNS; i += 32) {
        __builtin_prefetch(even + prefetch_offset + i);
        __builtin_prefetch(odd + prefetch_offset + i);
    }
#if defined(__AVX512BW__)
    for (int i = 0; i < 2; i++) {
        __m512i a = _mm512_loadu_si512(even + 32 * i), b = _mm512_loadu_si512(odd + 32 * i);
        _mm512_storeu_si512(out + 64 * i, v_alternate_low(a, b));
        _mm512_storeu_si512(out + 64 * i + 32, v_alternate_high(a, b));
    }
#else
    for (int i = 0; i < GROUP_COLUMNS; i++) {
        out[2 * i] = even[i];
        out[2 * i + 1] = odd[i];
    }
#endif
}

/* Up to two rows of up to 64 columns, padded with zeros. */
static void vnni_edge(uint16_t *out, const uint16_t *in, int64_t in_stride, int64_t rows, int64_t columns)
{
    uint16_t pair[2][GROUP_COLUMNS] = {{0}};
    size_t bytes = (size_t)(columns < GROUP_COLUMNS ? columns : GROUP_COLUMNS) * sizeof(uint16_t);
    for (int64_t i = 0; i < rows && i < 2; i++)
        memcpy(pair[i], in + i * in_stride, bytes);
    vnni_pair(out, pair[0], pair[1], 0);
}

void ROTARY_KERNEL(layer_pack_vnni)(uint16_t *out, const uint16_t *in, int64_t in_stride, int64_t rows,
                                    int64_t columns)
{
    int64_t padded = round_up(rows, GROUP_ROWS);
    /* Rows are the outer loop: each is read contiguously, while the output goes to a few panels. */
    for (int64_t row = 0; row < padded; row += 2) {
        int64_t prefetch_offset = rows - row >= PREFETCH_ROWS + 2 ? PREFETCH_ROWS * in_stride : 0;
        for (int64_t column = 0; column < columns; column += GROUP_COLUMNS) {
            uint16_t *to = out + column * padded + row * GROUP_COLUMNS;
            const uint16_t *from = in + row * in_stride + column;
            if (rows - row >= 2 && columns - column >= GROUP_COLUMNS)
                vnni_pair(to, from, from + in_stride, prefetch_offset);
            else
                vnni_edge(to, from, in_stride, rows - row, columns - column);
        }
    }
}

void ROTARY_KERNEL(layer_copy_nontemporal)(void *to, int64_t to_stride, const void *from, int64_t rows,
                                           int64_t row_bytes)
{
#if defined(__AVX512F__) || defined(__AVX2__)
    enum { LINE = LANES * 4 };
    bool aligned = ((uintptr_t)to | (uintptr_t)to_stride | (uintptr_t)row_bytes) % LINE == 0;
    if (aligned) {
        for (int64_t row = 0; row < rows; row++)
            for (int64_t i = 0; i < row_bytes; i += LINE) {
                char *line = (char *)to + row * to_stride + i;
                const char *source = (const char *)from + row * row_bytes + i;
#if defined(__AVX512F__)
                _mm512_stream_si512((void *)line, _mm512_loadu_si512(source));
#else
                _mm256_stream_si256((void *)line, _mm256_loadu_si256((const void *)source));
#endif
            }
        _mm_sfence(); /* orders these stores before those that signal the end of the work */
        return;
    }
#endif
    for (int64_t row = 0; row < rows; row++)
        memcpy((char *)to + row * to_stride, (const char *)from + row * row_bytes, (size_t)row_bytes);
}
