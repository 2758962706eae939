/* SPDX-License-Identifier: Apache-2.0
 *
 * Results on stdout: as text, or as one JSON object.
 */
#ifndef ROTARY_CLI_OUTPUT_RESULT_H
#define ROTARY_CLI_OUTPUT_RESULT_H

#include "oracle/tensor.h"
#include "records/collection.h"
#include "report/comparison_table.h"
#include "train/evaluation/evaluation.h"

/* Prints `object` and a line feed, and releases it. ROTARY_OUT_OF_MEMORY if it is NULL, which json_pack also
 * gives for a text that is not UTF-8. */
ROTARY_CHECKED rotary_status result_print_json(json_t *object, rotary_error *error);
/* Prints it in one line that does not end: one of the members of a list. */
ROTARY_CHECKED rotary_status result_print_json_member(json_t *object, rotary_error *error);

/* {"correct", "problems", "loss", "accuracy", "seconds"} as in metrics.jsonl, the "interval" of the share of
 * correct answers if there are problems (proportion_wilson), and "samples" if there are any. */
json_t *result_evaluation_json(const struct evaluation *evaluation);
/* One line: "92 of 128 correct (71.9%, 95% interval 63.5 to 78.9%), validation loss 0.3100, 93.0% of tokens
 * correct". split: "validation" or "test", of the loss and the labels; those of a run's test set say so themselves. */
void result_print_evaluation(const struct evaluation *evaluation, const char *split);
/* The encoding, and what its name does not say: "rope, rotate kv", "roper, keys as values". */
void result_print_encoding(const struct transformer_config *model);

/* A comparison with the path of its page: its verdicts and tables, or everything as JSON, with what a sweep
 * chose, and with its folder unless that is NULL. */
ROTARY_CHECKED rotary_status result_print_comparison(const struct comparison *comparison, const char *page,
                                                     rotary_error *error);
ROTARY_CHECKED rotary_status result_print_comparison_json(const struct collection *collection,
                                                          const char *folder, const char *page,
                                                          rotary_error *error);

/* The sizes of a tensor, as an array. */
json_t *result_shape(const struct tensor *tensor);

#endif
