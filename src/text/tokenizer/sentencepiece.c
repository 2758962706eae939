/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizer of SentencePiece: the file's bytes, the library's processor made from them, and the encoder,
 * which is faster than the library.
 */
#include "text/tokenizer/sentencepiece.h"

#include "base/fail.h"
#include "file/file.h"
#include "text/tokenizer/bert_words.h"
#include "text/tokenizer/sentencepiece_encoder.h"
#include "text/tokenizer/sentencepiece_file.h"
#include "text/tokenizer/sentencepiece_library.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The library's indices of characters have 32 bits, and normalising makes of three bytes eighteen characters
 * at most. */
enum { MAX_TRAINING_BYTES = 1 << 28 };
/* Longer texts, which normalising could make longer than a model takes, are the library's. */
enum { MAX_ENCODER_BYTES = 1 << 24 };

struct sentencepiece {
    struct tokenizer tokenizer;
    struct sentencepiece_processor *processor;
    struct sentencepiece_encoder *encoder; /* NULL: the processor encodes */
    char *bytes;                           /* of the file */
    int64_t count;
};

static const struct sentencepiece *of(const struct tokenizer *tokenizer)
{
    return (const struct sentencepiece *)tokenizer;
}

static void destroy(struct tokenizer *tokenizer)
{
    struct sentencepiece *sentencepiece = (struct sentencepiece *)tokenizer;
    sentencepiece_encoder_destroy(sentencepiece->encoder);
    sentencepiece_processor_destroy(sentencepiece->processor);
    free(sentencepiece->bytes);
    free(sentencepiece);
}

/* Takes the bytes of a file, and frees them if it fails. */
static rotary_status create(struct tokenizer **tokenizer, char *bytes, int64_t count, rotary_error *error)
{
    struct sentencepiece *made = calloc(1, sizeof *made);
    rotary_status status = made ? sentencepiece_processor_create(&made->processor, bytes, count, error)
                                : rotary_fail_memory(error, "for a tokenizer (%zu bytes)", sizeof *made);
    if (status == ROTARY_OK)
        status = sentencepiece_encoder_create(&made->encoder, bytes, count, error);
    if (status != ROTARY_OK) {
        sentencepiece_processor_destroy(made ? made->processor : NULL);
        free(made);
        free(bytes);
        return status;
    }
    made->tokenizer = (struct tokenizer){
        .type = &tokenizer_sentencepiece,
        .size = sentencepiece_processor_size(made->processor),
        .special = sentencepiece_processor_special(made->processor),
    };
    made->bytes = bytes;
    made->count = count;
    *tokenizer = &made->tokenizer;
    return ROTARY_OK;
}

static rotary_status encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error)
{
    const struct sentencepiece *sentencepiece = of(tokenizer);
    if (sentencepiece->encoder && bytes <= MAX_ENCODER_BYTES && utf8_valid_bytes(text, bytes) == bytes)
        return sentencepiece_encoder_encode(sentencepiece->encoder, text, bytes, list, error);
    return sentencepiece_processor_encode(sentencepiece->processor, text, bytes, list, error);
}

static int64_t decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity)
{
    return sentencepiece_processor_decode(of(tokenizer)->processor, tokens, count, text, capacity);
}

static struct token_text text_of(const struct tokenizer *tokenizer, int32_t token)
{
    return sentencepiece_processor_text(of(tokenizer)->processor, token);
}

/* The library writes a space as U+2581. Chinese has none: a piece of it is a word. */
static bool continues_word(const struct tokenizer *tokenizer, int32_t token)
{
    const struct token_text text = text_of(tokenizer, token);
    const int64_t length = utf8_character_bytes(text.bytes, text.count);
    const uint32_t first = length > 0 ? utf8_code_point(text.bytes, length) : 0;
    return first != 0x2581 && !bert_is_chinese(first);
}

/* ---- files ---- */

static struct token_text file_bytes(const struct tokenizer *tokenizer)
{
    return (struct token_text){of(tokenizer)->bytes, of(tokenizer)->count};
}

/* Reads a file of JSON that says it is one. */
static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    (void)tokenizer;
    (void)object;
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s is a JSON object, and a SentencePiece tokenizer is a .model file", path);
}

static rotary_status load_bytes(struct tokenizer **tokenizer, const char *bytes, int64_t count,
                                const char *path, rotary_error *error)
{
    rotary_status status = sentencepiece_check_file(path, bytes, count, error);
    if (status != ROTARY_OK)
        return status;
    char *copy = malloc((size_t)count);
    if (!copy)
        return rotary_fail_memory(error, "to read %s", path);
    memcpy(copy, bytes, (size_t)count);
    rotary_error reason;
    status = create(tokenizer, copy, count, &reason);
    return status == ROTARY_OK ? status : rotary_fail(error, status, "%s: %s", path, reason.message);
}

rotary_status sentencepiece_load(struct tokenizer **tokenizer, const char *path, rotary_error *error)
{
    char *bytes;
    size_t count;
    rotary_status status = file_read(path, SENTENCEPIECE_FILE_BYTES, &bytes, &count, error);
    if (status != ROTARY_OK)
        return status;
    status = load_bytes(tokenizer, bytes, (int64_t)count, path, error);
    free(bytes);
    return status;
}

const struct tokenizer_type tokenizer_sentencepiece = {.encode = encode,
                                                       .decode = decode,
                                                       .text = text_of,
                                                       .continues_word = continues_word,
                                                       .destroy = destroy,
                                                       .file_bytes = file_bytes};
const struct tokenizer_format tokenizer_format_sentencepiece = {
    .load = load, .is_file = sentencepiece_is_file, .load_bytes = load_bytes};

/* ---- training ---- */

void sentencepiece_defaults(struct sentencepiece_config *config)
{
    *config = (struct sentencepiece_config){
        .model = SENTENCEPIECE_UNIGRAM,
        .vocabulary_size = 8000,
        .character_coverage = 0.9995,
        .special = {.padding = 0, .unknown = 1, .begin = 2, .end = 3, .mask = -1},
        .max_line_bytes = 4192};
}

/* Each special token is -1 or one of the first ids of its own, and `unknown` is there. */
static bool are_special_valid(const struct special_tokens *special, int64_t size)
{
    const int32_t ids[] = {special->unknown, special->padding, special->begin, special->end};
    for (int i = 0; i < 4; i++) {
        if (ids[i] < (i == 0 ? 0 : -1) || ids[i] >= size)
            return false;
        for (int j = 0; j < i; j++)
            if (ids[i] >= 0 && ids[i] == ids[j])
                return false;
    }
    return true;
}

static rotary_status check_config(const struct sentencepiece_config *config, rotary_error *error)
{
    if (config->vocabulary_size < 2 || config->vocabulary_size > SENTENCEPIECE_MAX_PIECES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the vocabulary has %lld pieces, wanted 2 to %d",
                           (long long)config->vocabulary_size, (int)SENTENCEPIECE_MAX_PIECES);
    if (!(config->character_coverage >= 0.98 && config->character_coverage <= 1))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the character coverage is %g, wanted 0.98 to 1",
                           config->character_coverage);
    if (config->max_line_bytes < 10 || config->max_line_bytes > TEXT_LINE_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the longest line has %lld bytes, wanted 10 to %d",
                           (long long)config->max_line_bytes, (int)TEXT_LINE_BYTES);
    if (!are_special_valid(&config->special, config->vocabulary_size))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "special tokens are %d (padding), %d (unknown), %d (begin) and %d (end): wanted different "
            "ids of the vocabulary, or -1, but for unknown",
            (int)config->special.padding, (int)config->special.unknown, (int)config->special.begin,
            (int)config->special.end);
    return ROTARY_OK;
}

/* White space, what the library's normaliser takes for it or leaves out, and U+2581, which stands for it. */
static bool is_blank(uint32_t point)
{
    return point <= 0x20 || (point >= 0x7f && point <= 0xa0) || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200f) || (point >= 0x2028 && point <= 0x202f) ||
           (point >= 0x205f && point <= 0x206f) || point == 0x2581 || point == 0x3000 || point == 0xfeff ||
           point == 0xfffd;
}

/* Lines that are nothing once normalised would make the library end the program. */
static bool is_blank_line(const struct text_line *line)
{
    int64_t step = 1;
    for (int64_t i = 0; i < line->count; i += step) {
        step = utf8_character_bytes(line->bytes + i, line->count - i);
        if (step == 0)
            step = 1;
        else if (!is_blank(utf8_code_point(line->bytes + i, step)))
            return false;
    }
    return true;
}

/* Keeps the lines that the library trains on in `kept`; returns their bytes. */
static int64_t select_lines(const struct sentencepiece_config *config, const struct text_line *lines,
                            int64_t count, struct text_line *kept, struct sentencepiece_counts *counts)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        if (lines[i].count > config->max_line_bytes) {
            if (counts->too_long++ == 0)
                counts->first_too_long = i;
        } else if (is_blank_line(&lines[i])) {
            counts->empty++;
        } else if (memmem(lines[i].bytes, (size_t)lines[i].count, "\xe2\x96\x85", 3)) {
            counts->reserved++;
        } else {
            bytes += lines[i].count;
            kept[counts->used++] = lines[i];
        }
    }
    return bytes;
}

static rotary_status train_on(struct tokenizer **tokenizer, const struct sentencepiece_config *config,
                              const struct text_line *lines, int64_t count, rotary_error *error)
{
    char *bytes = NULL;
    int64_t size = 0;
    rotary_status status = sentencepiece_library_train(config, lines, count, &bytes, &size, error);
    return status == ROTARY_OK ? create(tokenizer, bytes, size, error) : status;
}

rotary_status sentencepiece_train(struct tokenizer **tokenizer, const struct sentencepiece_config *config,
                                  const struct text_line *lines, int64_t count,
                                  struct sentencepiece_counts *counts, rotary_error *error)
{
    struct sentencepiece_counts own;
    counts = counts ? counts : &own;
    *counts = (struct sentencepiece_counts){.first_too_long = -1};
    rotary_status status = check_config(config, error);
    if (status != ROTARY_OK)
        return status;
    struct text_line *kept = malloc(((size_t)count + 1) * sizeof *kept);
    if (!kept)
        return rotary_fail_memory(error, "for a list of %lld lines", (long long)count);
    int64_t bytes = select_lines(config, lines, count, kept, counts);
    if (counts->used == 0)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no line to train SentencePiece on");
    else if (bytes > MAX_TRAINING_BYTES)
        status = rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "there are %lld bytes to train SentencePiece on, wanted at most %d: take some of the lines",
            (long long)bytes, (int)MAX_TRAINING_BYTES);
    else
        status = train_on(tokenizer, config, kept, counts->used, error);
    free(kept);
    return status;
}

const char *sentencepiece_version(void)
{
    return sentencepiece_library_version();
}
