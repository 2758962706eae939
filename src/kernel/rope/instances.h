/* SPDX-License-Identifier: Apache-2.0
 *
 * Included at the end of a file that has defined
 *
 *     turn(tile, pairing, in, out)          for any pairing and types
 *     copy(input, output, count, in, out)   for any types
 *
 * as always-inlined functions: makes one function of each for every pairing and pair of types, known while
 * compiling, and ROTARY_ROPE_INSTANCES, the table of them.
 */
#define INSTANCES(in, out)                                                                                   \
    static void turn_half_##in##_##out(const struct rotary_rope_tile *tile)                                  \
    {                                                                                                        \
        turn(tile, ROTARY_PAIRING_HALF, ROTARY_##in, ROTARY_##out);                                          \
    }                                                                                                        \
    static void turn_interleaved_##in##_##out(const struct rotary_rope_tile *tile)                           \
    {                                                                                                        \
        turn(tile, ROTARY_PAIRING_INTERLEAVED, ROTARY_##in, ROTARY_##out);                                   \
    }                                                                                                        \
    static void copy_##in##_##out(const void *input, void *output, int64_t count)                            \
    {                                                                                                        \
        copy(input, output, count, ROTARY_##in, ROTARY_##out);                                               \
    }

/* clang-format off */
INSTANCES(F32, F32) INSTANCES(F32, F16) INSTANCES(F32, BF16)
INSTANCES(F16, F32) INSTANCES(F16, F16) INSTANCES(F16, BF16)
INSTANCES(BF16, F32) INSTANCES(BF16, F16) INSTANCES(BF16, BF16)

#define ALL_TYPES(function)                                                                                        \
    {                                                                                                              \
        [ROTARY_F32] = {[ROTARY_F32] = function##_F32_F32, [ROTARY_F16] = function##_F32_F16,                      \
                        [ROTARY_BF16] = function##_F32_BF16},                                                      \
        [ROTARY_F16] = {[ROTARY_F32] = function##_F16_F32, [ROTARY_F16] = function##_F16_F16,                      \
                        [ROTARY_BF16] = function##_F16_BF16},                                                      \
        [ROTARY_BF16] = {[ROTARY_F32] = function##_BF16_F32, [ROTARY_F16] = function##_BF16_F16,                   \
                         [ROTARY_BF16] = function##_BF16_BF16},                                                    \
    }

#define ROTARY_ROPE_INSTANCES                                                                                      \
    {                                                                                                              \
        .turn = {[ROTARY_PAIRING_HALF] = ALL_TYPES(turn_half),                                                     \
                 [ROTARY_PAIRING_INTERLEAVED] = ALL_TYPES(turn_interleaved)},                                      \
        .copy = ALL_TYPES(copy),                                                                                   \
    }
    /* clang-format on */
