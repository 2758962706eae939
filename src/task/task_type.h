/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of a type of task, inside src/task. Each type has a file (copy and reverse one) and a line in
 * task/task_list.h. Types that make up their data at random share the functions of
 * task/generated/generated.h.
 */
#ifndef ROTARY_TASK_TASK_TYPE_H
#define ROTARY_TASK_TASK_TYPE_H

#include "task/task.h"

#include <string.h>

struct task {
    struct task_config config;
    const struct task_type *type;
    struct task_request request; /* while it is created */
    /* Set by type->create. */
    struct task_shape shape;               /* before: sequence_length tokens, nothing else */
    struct tokenizer *tokenizer;           /* destroyed with the task */
    struct tokenizer *source_tokenizer;    /* of the encoder's side, or NULL; may be `tokenizer` */
    bool borrows_tokenizers;               /* of config.tokenizers; before: false */
    struct task_vocabulary vocabulary;     /* where it is 0, that of the tokenizers */
    const char *target_file, *source_file; /* names for task_save, or NULL */
    bool lowercase;                        /* text is lower case; before: false */
    int32_t stop;                          /* before: -1 */
    int32_t begin;                         /* as task_begin; before: -1 */
    void *data;                            /* the type's own; before: NULL */
};

struct task_type {
    /* The type's own settings: a table over a struct of options_bytes, whose default values are `defaults`.
     * Keys start with the task's name. All 0 for a type without any. */
    const struct setting *settings;
    int setting_count;
    size_t options_bytes;
    const void *defaults;

    /* The type's setting that makes `key`, another one, do nothing, and what is wanted in its place; NULL:
     * the key is used. The function is NULL if all keys are. */
    const char *(*excluding_key)(const struct task_config *config, const char *key, const char **wanted);
    /* The settings that say how vocabularies are made, which nothing reads where a folder has them;
     * NULL-terminated. NULL: there are none. */
    const char *const *vocabulary_keys;

    /* Sets what is the type's in `task`, as far as task->request needs it, and checks that its settings
     * agree.
     */
    rotary_status (*create)(struct task *task, rotary_error *error);
    /* Frees task->data, also after create() failed; NULL if there is nothing to free. */
    void (*destroy)(struct task *task);
    /* Fills as task_fill; NULL: rows have what example() has. */
    void (*fill)(const struct task *task, const struct task_place *place, const struct task_row *row);

    /* Saves what a run's folder has of the type besides vocabularies; NULL: nothing. */
    rotary_status (*save)(const struct task *task, const char *folder, rotary_error *error);

    /* Answers as task_source_line; NULL for a type without an encoder's side. */
    rotary_status (*source_line)(const struct task *task, const char *text, int64_t bytes, char **line,
                                 int64_t *line_bytes, rotary_error *error);

    /* NULL for a type without a finite corpus, as are the next three. The last two may be NULL: nothing is
     * counted, the corpus is part of the program. */
    int64_t (*examples)(const struct task *task, enum task_split split);
    struct task_example (*example)(const struct task *task, enum task_split split, int64_t index);
    int (*choices)(const struct task_config *config); /* as task_choices; NULL: 0 */
    /* Answers as task_labels; NULL: it has none. */
    struct task_labels (*labels)(const struct task *task);
    struct task_counts (*counts)(const struct task *task, enum task_split split);
    rotary_status (*text_hash)(const struct task_config *config, enum task_split split, uint64_t *hash,
                               rotary_error *error);
    /* The settings that say where its text lies, NULL-terminated; NULL: none does. */
    const char *const *locations;

    /* NULL for a type without problems, as are the next three. */
    void (*problem)(const struct task *task, uint64_t seed, int64_t index, struct problem *problem);
    void (*long_prompt)(const struct task *task, uint64_t seed, int64_t index, struct token_list *prompt);
    struct problem_size (*size)(const struct task *task);
    /* The answer within `generated`; empty if generation stopped before its end. */
    void (*answer)(const char *generated, char answer[TASK_TEXT_BYTES]);

    /* Computes task_uncopied_loss; NULL: the loss without copying is not known. */
    double (*uncopied_loss)(const struct task *task, uint64_t seed, int64_t sequences);

    bool cuts;    /* its examples are cut from text, to sequences of any length */
    bool encoder; /* its model is an encoder alone: every token is seen from every other */

    const struct generator *generator; /* of a type that makes up its data; else NULL */
};

#define ROTARY_TASK_TYPE(NAME, name) extern const struct task_type task_type_##name;
ROTARY_TASKS(ROTARY_TASK_TYPE)
#undef ROTARY_TASK_TYPE

/* Whether a key is in a NULL-terminated list: for excluding_key. */
static inline bool is_one_of(const char *key, const char *const *keys)
{
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys != NULL;
}

/* The keys of the tokenizer that a task has alone: for vocabulary_keys. */
#define VOCABULARY_KEYS(task)                                                                                \
    task "_tokenizer", task "_vocabulary", task "_min_frequency", task "_model_type", task "_vocab_size"

/* Keys that only some tokenizers of a task use: for excluding_key. */
struct tokenizer_key {
    const char *key;
    unsigned tokenizers; /* bits: 1 << tokenizer */
    const char *wanted;
};
/* `setting`, the task's key of its tokenizer, if `tokenizer` makes `key` do nothing; *wanted is that of its
 * row. NULL: the key is used, or is in no row. */
static inline const char *tokenizer_excluding_key(const char *setting, const struct tokenizer_key *rows,
                                                  size_t count, int tokenizer, const char *key,
                                                  const char **wanted)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, key) == 0 && !(rows[i].tokenizers >> tokenizer & 1)) {
            *wanted = rows[i].wanted;
            return setting;
        }
    return NULL;
}

/* The type's own settings. */
static inline const void *task_options(const struct task_config *config, enum task_id id)
{
    return &config->options.bytes[config->options_at[id]];
}

#endif
