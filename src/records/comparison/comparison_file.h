/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.json, what a folder compares and how it came to be:
 *
 *     "format"    COMPARE_FORMAT
 *     "varied"    the keys that are compared: ["position"]
 *     "arms"      one object for each, the baseline first: its "name"; "set", the varied keys with its values;
 *                 "chosen", the keys of a sweep with those that were chosen for it; "derived", keys that follow
 *                 from others and differ from arm to arm (intermediate_size from hidden_size)
 *     "seeds"     in the order in which they were added
 *     "config"    all other keys, which the runs of every arm share
 *     "commands"  what added something: its "command" line, the program's "version", and what it "added":
 *                 "arms" (names), "seeds", "steps" (of each run, from then on)
 *     "looks"     each time that results were shown: the "seeds" that all "arms" (names) had finished, and the
 *                 "steps" of their runs. What was added later may have been added because of what was seen
 *     "until"     "max_seeds" and "alpha" of a sequential comparison (comparison_run.h)
 *     "sweep"     that of a comparison at chosen values: see sweep.h
 *
 * Nothing that it says of finished runs changes later: arms, seeds and steps are only added.
 */
#ifndef ROTARY_RECORDS_COMPARISON_COMPARISON_FILE_H
#define ROTARY_RECORDS_COMPARISON_COMPARISON_FILE_H

#include <jansson.h>
#include <rotary/status.h>
#include <stdbool.h>

enum { COMPARE_FORMAT = 3 }; /* other numbers are refused */

struct file_arm { /* its members belong to the file; NULL: none */
    const char *name;
    const json_t *set, *chosen, *derived;
};

struct comparison_file {
    json_t *object;
    struct file_arm *arms;
    int arm_count;
    int64_t *seeds;
    int seed_count;
    int64_t steps; /* of a run; 0: not given */
    char *varied;  /* the keys as a text: "norm, value_fraction" */
};

bool comparison_file_exists(const char *folder);
/* Reads the compare.json of a folder; one that breaks the format is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status comparison_file_read(struct comparison_file *file, const char *folder,
                                                  rotary_error *error);
void comparison_file_free(struct comparison_file *file);

/* The steps of an arm's runs, which may follow from epochs; 0: compare.json does not say. */
int64_t comparison_file_steps(const struct comparison_file *file, int arm);
/* The configuration of an arm's runs but for their seeds, as an object that the caller owns; NULL without
 * memory. */
json_t *comparison_file_config(const struct comparison_file *file, int arm);

#endif
