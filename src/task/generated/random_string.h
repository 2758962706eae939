/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings of random letters, and what tasks ask of them, written as Python would:
 *
 *     ?s='dyjeofuxvejmg'; s[8:]=='vejmg'#
 */
#ifndef ROTARY_TASK_GENERATED_RANDOM_STRING_H
#define ROTARY_TASK_GENERATED_RANDOM_STRING_H

#include "task/generated/generated.h"

enum {
    STRING_MIN_LETTERS =
        3, /* of strings of several lengths: of fewer letters there are too few to hold out */
    STRING_MAX_LETTERS = 99,
    STRING_BYTES = STRING_MAX_LETTERS + 1,
};

/* A zero-terminated string of so many letters, at most STRING_MAX_LETTERS, uniform over a to z. */
void random_string(struct rotary_random *random, int64_t letters, char string[STRING_BYTES]);

/* Draws one of STRING_MIN_LETTERS to max_letters letters, each number equally likely. */
void random_length_string(struct rotary_random *random, int64_t max_letters, char string[STRING_BYTES]);

/* Asks for `slice` ("[8:]") of a string, which is `result`. A string is held out with all its slices. */
void string_example(const char *string, const char *slice, const char *result, struct example *example);

/* This is uncopied_example where the closing quote of the string costs `length`, and the slice `slice`. */
void string_uncopied(const struct example *example, double length, double slice, double *nats);

/* The size of a problem whose string and result have so many letters. */
struct problem_size string_size(int64_t letters, const char *slice);

#endif
