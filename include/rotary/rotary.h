/* SPDX-License-Identifier: Apache-2.0
 *
 * All of librotary.
 */
#ifndef ROTARY_ROTARY_H
#define ROTARY_ROTARY_H

#include <rotary/attention.h>
#include <rotary/rope.h>
#include <rotary/status.h>
#include <rotary/types.h>
#include <rotary/version.h>

#endif
