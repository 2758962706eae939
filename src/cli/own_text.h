/* SPDX-License-Identifier: Apache-2.0
 *
 * --text FILE: a text of one's own for the task language, without a word about folders and splits. It stands for
 * settings of the task: the file is read as one stream, whose last tenth is held out (task/text/language.h).
 */
#ifndef ROTARY_CLI_OWN_TEXT_H
#define ROTARY_CLI_OWN_TEXT_H

#include "cli/arguments.h"
#include "file/file.h"

enum { OWN_TEXT_SETTINGS = 5 };
struct own_text {
    char settings[OWN_TEXT_SETTINGS][FILE_PATH_BYTES];
    struct option_list assignments; /* these, then those of --set, which may change them */
    bool is_split;                  /* the file is what is read, and its last tenth is held out */
    char name[64];                  /* of the file, without what follows its dot: names the default folder */
};
/* The row of the option, over a const char *. */
extern const struct setting own_text_option[1];

/* Adds what `file` stands for to the assignments `given`, which are borrowed; file NULL: nothing. For another
 * task than language, for a folder, and for a name with a comma ROTARY_INVALID_ARGUMENT says what to type. */
ROTARY_CHECKED rotary_status own_text_read(struct own_text *text, const char *task, const char *file,
                                           const struct option_list *given, rotary_error *error);
/* Says on stderr what of the text is trained on. */
void own_text_say(const struct own_text *text, const char *file);

#endif
