/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this program share: the case that is tried, memory with known bytes in it, numbers, and
 * the lines that are printed.
 */
#ifndef OUTPUT_HASHES_H
#define OUTPUT_HASHES_H

#include <rotary/rotary.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum {
    GAP = 5, /* elements behind each token, which nothing should write */
    NAME_BYTES = 160
};

extern int threads;
extern rotary_isa isa;

_Noreturn void stop(const char *what);

struct buffer {
    void *data;
    size_t bytes;
};

struct buffer buffer_create(size_t bytes);
void buffer_destroy(struct buffer *buffer);

/* Numbers of -4 ... 4, made of random bits so that no conversion has a part in them; a few are zero, denormal
 * or minus zero. */
struct buffer numbers(rotary_dtype dtype, int64_t count, uint64_t seed);
struct buffer copy_of(const struct buffer *from);
void *element_at(const struct buffer *buffer, rotary_dtype dtype, int64_t element);

/* The case, in front of every name that is printed until the next one. */
__attribute__((format(printf, 1, 2))) void begin(const char *format, ...);

void print_hash(const char *what, const void *data, size_t bytes);
void print_buffer(const char *what, const struct buffer *buffer);

/* Whether the call was done; prints its status if not. */
bool done(const char *what, rotary_status status);

rotary_rope_config rope_config(int64_t head_dim, rotary_pairing pairing);

/* NULL if it is refused. */
rotary_rope *rope_create(const rotary_rope_config *config);

void print_rotation(void);
void print_attention(void);

#endif
