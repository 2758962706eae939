/* SPDX-License-Identifier: Apache-2.0
 *
 * What librotary computes, as one line `name hash` for each case and each instruction set that the machine
 * has: scripts/compare-programs links this with two builds of the library and compares the lines. It calls
 * the public functions alone.
 *
 *     compare_outputs THREADS
 *
 * A hash is of a complete buffer, which held known bytes before the call, so that a write outside the result
 * changes the hash too. A call that is refused prints its status in place of a hash.
 */
#include "output_hashes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xa5 };

int threads;
rotary_isa isa;
static char about[NAME_BYTES]; /* the case, in front of every name */

void stop(const char *what)
{
    fprintf(stderr, "compare_outputs: %s: %s\n", about, what);
    exit(1);
}

struct buffer buffer_create(size_t bytes)
{
    struct buffer made = {aligned_alloc(64, (bytes + 127) / 64 * 64), bytes};
    if (!made.data)
        stop("out of memory");
    memset(made.data, UNTOUCHED, bytes);
    return made;
}

void buffer_destroy(struct buffer *buffer)
{
    free(buffer->data);
    buffer->data = NULL;
}

/* splitmix64 */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

struct buffer numbers(rotary_dtype dtype, int64_t count, uint64_t seed)
{
    struct buffer made = buffer_create((size_t)count * rotary_dtype_size(dtype));
    uint64_t state = seed * 1000003 + 17;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = random_bits(&state), octave = (bits >> 32) % 10, rare = (bits >> 40) % 256;
        uint32_t sign = (uint32_t)(bits >> 63);
        uint32_t f32 = sign << 31 | (uint32_t)(119 + octave) << 23 | (uint32_t)(bits & 0x7fffff);
        uint32_t bf16 = sign << 15 | (uint32_t)(119 + octave) << 7 | (uint32_t)(bits & 0x7f);
        uint32_t f16 = sign << 15 | (uint32_t)(7 + octave) << 10 | (uint32_t)(bits & 0x3ff);
        if (rare < 3) {
            uint32_t tail = rare == 0 ? 3 : 0;
            f32 = sign << 31 | tail, bf16 = f16 = sign << 15 | tail;
        }
        uint16_t half = (uint16_t)(dtype == ROTARY_F16 ? f16 : bf16);
        if (dtype == ROTARY_F32)
            memcpy((char *)made.data + 4 * i, &f32, sizeof f32);
        else
            memcpy((char *)made.data + 2 * i, &half, sizeof half);
    }
    return made;
}

struct buffer copy_of(const struct buffer *from)
{
    struct buffer made = buffer_create(from->bytes);
    memcpy(made.data, from->data, from->bytes);
    return made;
}

void *element_at(const struct buffer *buffer, rotary_dtype dtype, int64_t element)
{
    return (char *)buffer->data + element * (int64_t)rotary_dtype_size(dtype);
}

void begin(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(about, sizeof about, format, arguments) >= (int)sizeof about)
        stop("the name is too long");
    va_end(arguments);
}

/* FNV-1a of 64 bits */
void print_hash(const char *what, const void *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    printf("%s %s %s: %016" PRIx64 "\n", rotary_isa_name(isa), about, what, hash);
}

void print_buffer(const char *what, const struct buffer *buffer)
{
    print_hash(what, buffer->data, buffer->bytes);
}

bool done(const char *what, rotary_status status)
{
    if (status != ROTARY_OK)
        printf("%s %s %s: refused, %s\n", rotary_isa_name(isa), about, what, rotary_status_name(status));
    return status == ROTARY_OK;
}

rotary_rope_config rope_config(int64_t head_dim, rotary_pairing pairing)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = head_dim;
    config.pairing = pairing;
    config.table_positions = 64;
    config.threads = threads;
    config.isa = isa;
    return config;
}

rotary_rope *rope_create(const rotary_rope_config *config)
{
    rotary_rope *rope = NULL;
    return done("plan", rotary_rope_create(&rope, config, NULL)) ? rope : NULL;
}

int main(int argc, char **argv)
{
    threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 1) {
        fputs("usage: compare_outputs THREADS\n", stderr);
        return 2;
    }
    static const char *const names[] = {"scalar", "neon", "avx2", "avx512", "avx512bf16", "amx"};
    for (int i = 0; i < COUNT(names); i++) {
        if (rotary_isa_from_name(&isa, names[i], NULL) != ROTARY_OK || !rotary_isa_available(isa))
            continue;
        print_rotation();
        print_attention();
    }
    return 0;
}
