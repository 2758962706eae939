/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary tokenize: text as tokens, and back. Its commands have files of their own.
 */
#include "cli/command.h"

static const struct command *const commands_below[] = {
    &command_tokenize_train,
    &command_tokenize_encode,
    &command_tokenize_decode,
    NULL,
};

const struct command command_tokenize = {
    .name = "tokenize",
    .operands = "COMMAND",
    .summary = "trains tokenizers, and makes tokens of text and text of tokens",
    .more =
        "A tokenizer is a file: a SentencePiece model (.model, of this program or any other), a JSON "
        "object that this program wrote, BERT's vocab.txt, or the tokenizer.json or vocab.json of a model: "
        "GPT-2, Llama 3, Qwen2, Mistral, Gemma and others.",
    .example = "rotary tokenize train --input text.txt --model text.model --vocab-size 4000\n"
               "learns 4,000 pieces of words from the lines of a file",
    .below = commands_below,
};
