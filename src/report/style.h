/* SPDX-License-Identifier: Apache-2.0
 *
 * The style sheet of pages, and of pictures that stand alone.
 */
#ifndef ROTARY_REPORT_STYLE_H
#define ROTARY_REPORT_STYLE_H

extern const char page_style[];

#endif
