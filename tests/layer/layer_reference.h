/* SPDX-License-Identifier: Apache-2.0
 *
 * The specification of the layer kernels: double precision, one element after another.
 */
#ifndef TESTS_LAYER_LAYER_REFERENCE_H
#define TESTS_LAYER_LAYER_REFERENCE_H

#include "kernel/layer/layer_kernels.h"

extern const struct layer_kernels layer_kernels_reference;

#endif
