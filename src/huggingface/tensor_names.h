/* SPDX-License-Identifier: Apache-2.0
 *
 * How other people's models name the tensors of their attention. Lists are NULL-terminated patterns of
 * fnmatch.
 */
#ifndef ROTARY_HUGGINGFACE_TENSOR_NAMES_H
#define ROTARY_HUGGINGFACE_TENSOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

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

/* The parts of a parameter's name: "layers.7.attention.output.weight" is of the module
 * "layers.{}.attention.output" in layer "7", and "weight". A module out of layers has the layer "". */
enum { TENSOR_NAME_BYTES = 192, TENSOR_LAYER_BYTES = 9 };
struct tensor_name {
    char module[TENSOR_NAME_BYTES], layer[TENSOR_LAYER_BYTES];
    const char *kind; /* in the name */
};
/* False for a name without a module. */
bool tensor_name_split(const char *name, struct tensor_name *split);
/* Writes "model.layers.7.mlp.up_proj.weight" for the pattern "model.layers.{}.mlp.up_proj". */
void tensor_name_fill(char name[TENSOR_NAME_BYTES], const char *pattern, const struct tensor_name *split);

#endif
