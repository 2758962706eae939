/* SPDX-License-Identifier: Apache-2.0 */
#include "text/sentencepiece_text.h"

#include <stdio.h>
#include <string.h>

void generate_text(struct generated_text *text, uint64_t seed)
{
    static const char *const syllables[] = {"ba",
                                            "lo",
                                            "mi",
                                            "\xc3\xbc"
                                            "t",
                                            "ne",
                                            "schr",
                                            "en",
                                            "ti",
                                            "ka",
                                            "\xc3\xb6l"};
    uint64_t state = seed;
    for (int i = 0; i < GENERATED_LINES; i++) {
        char *line = text->bytes[i];
        line[0] = '\0';
        for (int word = 0; word < 6; word++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint64_t drawn = state >> 33;
            for (int syllable = 0; syllable < 3; syllable++, drawn /= 10)
                strcat(line, syllables[drawn % (syllable == 0 ? 10 : 4)]);
            strcat(line, word < 5 ? " " : ".");
        }
        text->lines[i] = (struct text_line){line, (int64_t)strlen(line)};
    }
}
