/* SPDX-License-Identifier: Apache-2.0
 *
 * Completing a substring that occurred before (the second substring task of the RoPER article):
 *
 *     [random]>[substring][random]>[substring]...
 *
 * over a small alphabet and the separator >. A round is prefix_random random letters, the separator, and
 * prefix_substring letters copied from the letters so far: a window of them, without separators, uniform over
 * all windows. While there are fewer letters than prefix_substring (the first rounds), all are copied.
 *
 * The article gives no lengths. With an alphabet of 4, and 4 random and 32 copied letters per round, the
 * entropy of a sequence of 513 is about 0.30 nats per token: a full round of 37 tokens has 4 ln 4 = 5.5 nats
 * for the random letters and about as much, ln(number of different windows), for the choice of the window.
 * That is just below the losses the article reports (0.306 for the best run). With 32 random letters at the
 * start it would be 0.35, above what the article reports, so the article cannot have trained on that.
 *
 * A sequence's identity is the hash of its opening, which has so many random letters that no model can learn
 * which openings are held out.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "task/generated/generated.h"

#include <math.h>

struct prefix_options {
    int64_t letters;           /* size of the alphabet */
    int64_t random, substring; /* random and copied letters per round */
};

#define MEMBER(member) offsetof(struct prefix_options, member)
static const struct setting table[] = {
    {"prefix_letters", SETTING_INTEGER, MEMBER(letters), 2, 26, NULL,
     .help = "size of the alphabet of the prefix task"},
    {"prefix_random", SETTING_INTEGER, MEMBER(random), 1, 1024, NULL,
     .help = "random letters per round of the prefix task"},
    {"prefix_substring", SETTING_INTEGER, MEMBER(substring), 1, 1 << 16, NULL,
     .help = "copied letters per round of the prefix task"},
};
static const struct prefix_options defaults = {.letters = 4, .random = 4, .substring = 32};

/* The position of letter number `letter`, separators not counted. */
static int64_t position_of_letter(const int32_t *tokens, int32_t separator, int64_t letter)
{
    int64_t position = 0;
    for (;; position++) {
        if (tokens[position] != separator && letter-- == 0)
            return position;
    }
}

static uint64_t opening_identity(const int32_t *tokens, int64_t count)
{
    unsigned char opening[GENERATED_OPENING_TOKENS];
    int64_t length = min_i64(count, GENERATED_OPENING_TOKENS);
    for (int64_t i = 0; i < length; i++)
        opening[i] = (unsigned char)tokens[i];
    return rotary_hash(opening, (uint64_t)length);
}

static uint64_t random_sequence(const struct task_config *config, struct rotary_random *random, int64_t count,
                                int32_t *tokens)
{
    const struct prefix_options *options = task_options(config, TASK_PREFIX);
    const int32_t separator = (int32_t)options->letters; /* the letters are tokens 0 ... prefix_letters - 1 */
    int64_t length = 0, letters = 0;
    while (length < count) {
        int64_t random_letters = min_i64(options->random, count - length);
        for (int64_t i = 0; i < random_letters; i++)
            tokens[length++] = (int32_t)rotary_random_below(random, (uint32_t)options->letters);
        letters += random_letters;
        if (length == count)
            break;
        tokens[length++] = separator;

        int64_t copied = min_i64(options->substring, letters);
        int64_t window = rotary_random_below(random, (uint32_t)(letters - copied + 1));
        copied = min_i64(copied, count - length);
        letters += copied;
        for (int64_t from = position_of_letter(tokens, separator, window); copied > 0; from++) {
            if (tokens[from] == separator)
                continue;
            tokens[length++] = tokens[from];
            copied--;
        }
    }
    return opening_identity(tokens, count);
}

/* Separators are where they have to be. */
static double uncopied(const struct task_config *config, int32_t token)
{
    const struct prefix_options *options = task_options(config, TASK_PREFIX);
    return token < options->letters ? log((double)options->letters) : 0;
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    const struct prefix_options *options = task_options(config, TASK_PREFIX);
    for (int64_t letter = 0; letter < options->letters; letter++)
        alphabet[letter] = (char)('a' + letter);
    alphabet[options->letters] = '>';
    alphabet[options->letters + 1] = '\0';
}

static rotary_status create(struct task *task, rotary_error *error)
{
    const struct prefix_options *options = task_options(&task->config, TASK_PREFIX);
    if (options->random < task->config.sequence_length)
        return generated_create(task, error);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "prefix_random is %lld, and sequence_length %lld ends before a letter is copied: "
                       "wanted fewer random letters than tokens",
                       (long long)options->random, (long long)task->config.sequence_length);
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_sequence = random_sequence,
    .uncopied_token = uncopied,
};

const struct task_type task_type_prefix = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = create,
    .fill = generated_fill,
    .uncopied_loss = generated_uncopied_loss,
    .generator = &generator,
};
