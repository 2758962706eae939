/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a key in a text about other things (after Mohtashami and Jaggi, "Random-Access Infinite Context
 * Length for Transformers", 2023):
 *
 *     the sky is blue. the key is 48213. a cat sat on a mat. what is the key? 48213#
 *
 * The text has 1 to passkey_sentences sentences, each number equally likely and each sentence any of
 * SENTENCES. The key has passkey_digits random digits. Its sentence stands before, between or after the
 * others, at each place equally often. A key is held out with all its texts.
 */
#include "task/generated/generated.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MIN_DIGITS = 3, MAX_DIGITS = 16 }; /* of fewer digits there are too few keys to hold out */

struct passkey_options {
    int64_t digits, sentences; /* of the key; maximum of a text, that with the key not counted */
};

#define MEMBER(member) offsetof(struct passkey_options, member)
static const struct setting table[] = {
    {"passkey_sentences", SETTING_INTEGER, MEMBER(sentences), 1, 20, NULL,
     .help = "maximum sentences around the key of the passkey task"},
    {"passkey_digits", SETTING_INTEGER, MEMBER(digits), MIN_DIGITS, MAX_DIGITS, NULL,
     .help = "digits of the key of the passkey task"},
};
static const struct passkey_options defaults = {.digits = 5, .sentences = 10};

/* One full stop each, which passkey_prompt counts; the longest has LONGEST_SENTENCE characters. */
static const char *const sentences[] = {
    "the sky is blue. ", "a cat sat on a mat. ", "it rains in may. ",  "the grass is green. ",
    "we went home. ",    "he reads a book. ",    "no one was there. ", "snow fell at night. ",
};
enum { SENTENCES = sizeof sentences / sizeof *sentences, LONGEST_SENTENCE = 20 };

static const char question[] = "what is the key? ";

enum { KEY_SENTENCE_BYTES = 64 };

/* Writes the sentence with a key of so many digits and returns its length. */
static int64_t write_key(char sentence[KEY_SENTENCE_BYTES], const char *key, size_t digits)
{
    return snprintf(sentence, KEY_SENTENCE_BYTES, "the key is %.*s. ", (int)digits, key);
}

/* Inserts the sentence with the key before sentence `place` of a text of other sentences. */
static void insert_key(char text[TASK_TEXT_BYTES], const char *key, uint32_t place)
{
    char sentence[KEY_SENTENCE_BYTES], *at = text;
    for (; place > 0; place--)
        at = strchr(at, '.') + strlen(". ");
    const size_t length = (size_t)write_key(sentence, key, strlen(key));
    memmove(at + length, at, strlen(at) + 1);
    memcpy(at, sentence, length);
}

static void random_key(struct rotary_random *random, int64_t digits, char key[MAX_DIGITS + 1])
{
    for (int64_t i = 0; i < digits; i++)
        key[i] = (char)('0' + (int)rotary_random_below(random, 10));
    key[digits] = '\0';
}

static void random_example(const struct task_config *config, struct rotary_random *random,
                           struct example *example)
{
    const struct passkey_options *options = task_options(config, TASK_PASSKEY);
    char key[MAX_DIGITS + 1], *at = example->prompt;
    random_key(random, options->digits, key);
    const uint32_t count = 1 + rotary_random_below(random, (uint32_t)options->sentences);
    for (uint32_t i = 0; i < count; i++) {
        const char *sentence = sentences[rotary_random_below(random, SENTENCES)];
        memcpy(at, sentence, strlen(sentence) + 1);
        at += strlen(sentence);
    }
    insert_key(example->prompt, key, rotary_random_below(random, count + 1));
    strcat(example->prompt, question);
    snprintf(example->completion, TASK_TEXT_BYTES, "%s#", key);
    example->identity = rotary_hash(key, strlen(key));
}

/* So many sentences as fit. That of the key comes before one of them, or the end, that is at a random place
 * of the text. */
static void long_prompt(const struct task *task, const struct example *example, struct rotary_random *random,
                        int64_t room, struct token_list *prompt)
{
    char key[KEY_SENTENCE_BYTES];
    room -=
        write_key(key, example->completion, strcspn(example->completion, "#")) + (int64_t)strlen(question);
    const int64_t place = rotary_random_below(random, (uint32_t)room + 1);
    bool hidden = false;
    for (int64_t used = 0; used <= room;) {
        const char *sentence = sentences[rotary_random_below(random, SENTENCES)];
        used += (int64_t)strlen(sentence);
        if (used > place && !hidden)
            generated_append(task, key, prompt);
        hidden = used > place;
        if (used <= room)
            generated_append(task, sentence, prompt);
    }
    generated_append(task, question, prompt);
}

/* A sentence costs its choice where it begins. The end of the text costs how many there are, and where the
 * key stands among them. */
static void uncopied(const struct task_config *config, const struct example *example, double *nats)
{
    static const char key_sentence[] = "the key is ";
    const struct passkey_options *options = task_options(config, TASK_PASSKEY);
    const char *prompt = example->prompt, *at = prompt;
    int count = 0;
    for (; strcmp(at, question) != 0; at = strchr(at, '.') + strlen(". ")) {
        if (strncmp(at, key_sentence, strlen(key_sentence)) == 0) {
            for (int64_t i = 0; i < options->digits; i++)
                nats[at - prompt + (ptrdiff_t)strlen(key_sentence) + i] = log(10.0);
            continue;
        }
        nats[at - prompt] = log((double)SENTENCES);
        count++;
    }
    nats[at - prompt] = log((double)options->sentences) + log((double)(count + 1));
    for (int64_t i = 0; i < options->digits; i++)
        nats[(int64_t)strlen(prompt) + i] = log(10.0);
}

static struct problem_size size(const struct task_config *config)
{
    const struct passkey_options *options = task_options(config, TASK_PASSKEY);
    return (struct problem_size){
        .prompt = options->sentences * LONGEST_SENTENCE + options->digits +
                  (int64_t)(strlen("the key is . ") + strlen(question)),
        .completion = options->digits + 1,
    };
}

static void alphabet(const struct task_config *config, char alphabet[GENERATED_ALPHABET_BYTES])
{
    (void)config;
    snprintf(alphabet, GENERATED_ALPHABET_BYTES, "abcdefghijklmnopqrstuvwxyz0123456789 .?#");
}

static const struct generator generator = {
    .alphabet = alphabet,
    .random_example = random_example,
    .long_prompt = long_prompt,
    .size = size,
    .uncopied_example = uncopied,
};

const struct task_type task_type_passkey = {
    .settings = table,
    .setting_count = sizeof table / sizeof table[0],
    .options_bytes = sizeof defaults,
    .defaults = &defaults,
    .create = generated_create,
    .fill = generated_fill,
    .problem = generated_problem,
    .long_prompt = generated_long_prompt,
    .size = generated_size,
    .answer = generated_answer,
    .uncopied_loss = generated_uncopied_loss,
    .generator = &generator,
};
