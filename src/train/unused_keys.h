/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that change nothing beside the others of a configuration.
 */
#ifndef ROTARY_TRAIN_UNUSED_KEYS_H
#define ROTARY_TRAIN_UNUSED_KEYS_H

#include "train/run.h"

/* Checks that `key` changes what at least one of `configs` computes. ROTARY_INVALID_ARGUMENT, with the key
 * that excludes it, if it changes none of them, and one of them has another value than its default: so nobody
 * compares, and believes to have changed, what is the same. A key that says how a vocabulary is made is
 * refused, whatever its value, where the vocabulary is that of a folder. The check is for keys that a person
 * set; a stored configuration has all keys. */
struct unused_keys_call {
    const struct run_config *configs;
    int count;
    const char
        *folder; /* of the run that all are, which has its vocabulary. NULL: `init` may say which does */
};
ROTARY_CHECKED rotary_status unused_keys_check(const struct unused_keys_call *call, const char *key,
                                               rotary_error *error);
/* Checks the key of each "key=value" that settings_assign took. */
ROTARY_CHECKED rotary_status unused_keys_check_assigned(const struct unused_keys_call *call,
                                                        const char *const *assignments, int count,
                                                        rotary_error *error);

#endif
