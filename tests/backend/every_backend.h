/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a test on every backend: the cpu backend on each instruction set of this machine, in f32 and, where it
 * can, in bf16; and the reference backend in both.
 */
#ifndef EVERY_BACKEND_H
#define EVERY_BACKEND_H

#include "backend/backend.h"

typedef void backend_test(const struct backend *backend);
void on_every_backend(backend_test *test);

/* Whether a test with many cases tries all of them there: in f32 with the best kernels of this machine, and
 * on the reference backend. */
bool backend_is_tried_fully(const struct backend *backend);

/* bf16 where this machine has instructions for it, else f32. (Precision `auto` may be f32 even there.) */
enum precision backend_native_precision(void);

/* "avx2 f32", "reference bf16": for check_about. Valid until the next call. */
const char *backend_about(const struct backend *backend);

#endif
