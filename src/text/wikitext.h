/* SPDX-License-Identifier: Apache-2.0
 *
 * The mark-up of MediaWiki, in which Wikipedia's articles are written, as plain text.
 */
#ifndef ROTARY_TEXT_WIKITEXT_H
#define ROTARY_TEXT_WIKITEXT_H

#include <stdint.h>

/* Writes the text of an article without its mark-up to `plain`, which has room for `count` bytes, and returns
 * its bytes, at most `count`. It takes time proportional to `count`, and never fails: mark-up that is not
 * closed stays as text.
 *
 *     left out           templates {{...}}, tables {|...|}, comments, what stands in <ref>, <math>, <gallery>
 *                        and other elements that are no prose, files, images and categories [[File:...]],
 *                        links to other languages [[de:...]], addresses [http://...], words such as __TOC__,
 *                        parentheses that are empty then
 *     kept without mark  [[target|label]] as label, [[target]] as target, [http://... label] as label,
 *                        '''bold''' and ''italic'', == heading ==, * # : ; before list items, other <tags>
 *     replaced           &nbsp; and the like, and &#123; by characters
 *
 * Spaces at the ends of lines, and blank lines but one, are left out. */
int64_t wikitext_plain(const char *text, int64_t count, char *plain);

#endif
