/* SPDX-License-Identifier: Apache-2.0
 *
 * How other people's models name the tensors of their attention. Lists are NULL-terminated patterns of
 * fnmatch.
 */
#ifndef ROTARY_HUGGINGFACE_TENSOR_NAMES_H
#define ROTARY_HUGGINGFACE_TENSOR_NAMES_H

#include <stdbool.h>

/* Query and key projections, by Hugging Face's names and Meta's, and the norms between projection and
 * rotation. */
extern const char *const tensor_names_separate[];
/* Projections to queries, keys and values in one matrix, and those norms. */
extern const char *const tensor_names_fused[];
/* Quantized weights of such projections, in which one number holds several rows or inputs. */
extern const char *const tensor_names_packed_weights[];
/* Tensors beside the weight of a module with a number, or a few, for each of its rows; without the module's
 * name. */
extern const char *const tensor_names_per_row[];

bool tensor_names_match(const char *const *patterns, const char *name);
/* Whether the tensor is the gain or the bias of a norm. */
bool tensor_names_is_norm(const char *name);

#endif
