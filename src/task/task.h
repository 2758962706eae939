/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks: rows of training and validation data, evaluation problems, and how generated text is scored. A row
 * is a pure function of its place, a problem one of (seed, index). Nothing is stored, so resuming needs no
 * state. What is validated is held out from training. A task never runs a model.
 */
#ifndef ROTARY_TASK_TASK_H
#define ROTARY_TASK_TASK_H

#include "base/batch.h"
#include "base/random.h"
#include "config/settings.h"
#include "score/label_scores.h"
#include "score/measure.h"
#include "task/task_list.h"
#include "text/text_lines.h"
#include "text/tokenizer/tokenizer.h"

#include <stdatomic.h>
#include <stdbool.h>

struct task;

#define ROTARY_TASK_ENUMERATOR(NAME, name) TASK_##NAME,
enum task_id { ROTARY_TASKS(ROTARY_TASK_ENUMERATOR) TASK_COUNT };
#undef ROTARY_TASK_ENUMERATOR
extern const char *const task_names[]; /* NULL-terminated, in the order of task_id */

/* The settings that tasks have for themselves, one task's after the other's: each a struct of the type that
 * its file declares. */
enum { TASK_OPTIONS_BYTES = TASK_COUNT * 1024 };
union task_options {
    unsigned char bytes[TASK_OPTIONS_BYTES];
    double alignment;
};

/* Who watches while a task that is made tokenises a large text. */
struct token_documents_progress;
struct task_watch {
    void (*tokenised)(void *argument, const struct token_documents_progress *progress);
    void *argument;
    const atomic_bool *interrupted; /* once true, making the task ends with ROTARY_INTERRUPTED soon */
};

struct tokenizer_cache;
struct task_config {
    int task;                /* enum task_id; JSON key "task" */
    int64_t sequence_length; /* tokens per sequence that the model reads */
    int64_t problems;        /* problems per evaluation */
    union task_options options;
    uint16_t options_at[TASK_COUNT]; /* where those of each task begin in it; task_config_default sets them */
    struct tokenizer_cache *tokenizers; /* no setting: borrowed by the tasks that are made, where they find
                                         * vocabularies that were trained before (task/tokenizer_cache.h).
                                         * NULL: each trains its own */
    const struct task_watch *watch;     /* likewise no setting; NULL: nobody watches */
};
void task_config_default(struct task_config *config);
/* The key because of whose value the setting `key` does nothing, and what is wanted in its place: "task" for
 * another task's setting, and for `problems` if the task has none. NULL: the setting is used, or is no
 * task's.
 */
const char *task_excluding_key(const struct task_config *config, const char *key, const char **wanted);
/* Whether the setting `key` says how the task's vocabularies are made, so that it does nothing where they are
 * those of a folder (task_request.folder). */
bool task_makes_vocabulary(const struct task_config *config, const char *key);
/* The tables over `config`: what all tasks have, then each type's own. */
enum { TASK_SETTINGS = 1 + TASK_COUNT };
void task_settings(struct task_config *config, struct settings settings[TASK_SETTINGS]);

/* What a task is created for. Each has what the next one has. */
enum task_need {
    TASK_DATA,       /* all of it: rows, problems, examples */
    TASK_HELD_OUT,   /* examples of validation and test; training files are not read if there is a folder */
    TASK_TOKENIZERS, /* tokenizers, and sizes */
    TASK_SIZES,      /* shape, sizes of vocabularies, whether there are problems: no vocabulary is trained */
};
/* Where a task's vocabularies come from, for tasks that make them from a corpus. */
struct task_request {
    const char *folder; /* task_save saved them there; NULL: they are made from the corpus */
    bool own; /* the folder is one of a run of this configuration: the names of labels are read there too, and
               * for TASK_TOKENIZERS and TASK_SIZES no labelled text is */
    enum task_need need;
};
/* `request` NULL: all of the task, from its corpus. A file of a corpus that cannot be read, or is not what it
 * should be, is ROTARY_IO_ERROR or ROTARY_BAD_FILE; the message has the file and the line. */
ROTARY_CHECKED rotary_status task_create(struct task **task, const struct task_config *config,
                                         const struct task_request *request, rotary_error *error);
void task_destroy(struct task *task);
const struct task_config *task_configuration(const struct task *task);
/* How the text that the model generates becomes tokens, and that of the encoder's side, NULL if there is
 * none. Owned by the task. */
const struct tokenizer *task_tokenizer(const struct task *task);
const struct tokenizer *task_source_tokenizer(const struct task *task);
/* A source text as the source tokenizer reads it: in lower case where the task is configured so.
 * Zero-terminated; the caller frees it. */
ROTARY_CHECKED rotary_status task_source_line(const struct task *task, const char *text, int64_t bytes,
                                              char **line, int64_t *line_bytes, rotary_error *error);
/* Numbers of tokens of the two. */
struct task_vocabulary {
    int64_t target, source; /* source 0: there is no encoder's side */
    bool shared;            /* both are one */
};
struct task_vocabulary task_vocabulary(const struct task *task);
/* The names of the files in which task_save saves the vocabularies, of the target and of the source, which
 * may be one; NULL: they follow from the configuration alone, and nothing is saved. */
const char *task_target_file(const struct task *task);
const char *task_source_file(const struct task *task);
/* Saves the vocabularies, and the names of labels (task/classification/label_names.h). */
ROTARY_CHECKED rotary_status task_save(const struct task *task, const char *folder, rotary_error *error);
/* The token that ends a completion; -1: none does. */
int32_t task_stop(const struct task *task);
/* The token that stands before every text in training, and so before one that is to be continued; -1: texts
 * begin anywhere. */
int32_t task_begin(const struct task *task);

/* What the rows of a task have: those of a finite corpus are its examples, each as long as it is; those of a
 * task that makes up its data have no end, and all have one length. */
struct task_shape {
    int64_t time;        /* tokens of a row: that length, or at most */
    int64_t source_time; /* tokens of a row of the encoder's side at most; 0: there is none */
    int64_t scratch;     /* tokens that filling a row needs besides */
    bool segments;       /* tokens have types: which text of a pair they are of */
    bool labels;         /* a sequence has one target, not each of its tokens: a class, or ... */
    bool values;         /* ... a number */
    int choices;         /* sequences of an example, of which the label says one; 0: an example is one */
};
struct task_shape task_shape(const struct task *task);

enum task_split { TASK_TRAINING, TASK_VALIDATION, TASK_TEST, TASK_SPLITS };
extern const char *const task_split_names[]; /* NULL-terminated, in the order of task_split */
/* Where a row is read. */
struct task_place {
    enum task_split split; /* only finite corpora have a test set */
    uint64_t seed;
    int64_t index; /* of an example in the corpus's own order; without a corpus, of the row in its step of the
                    * training, or in its split */
    uint32_t step; /* of training without a corpus, counted from 1 */
    int64_t ordinal; /* of an example among those of all steps, counted from 0; of training alone */
};
/* The memory of a row. Every element is written. Classes are BATCH_IGNORED where nothing is to be learned. */
struct task_row {
    int32_t *tokens, *classes; /* [its tokens]: what is read, and what is to be predicted of it; with labels
                                * one class, which of a number is 0 */
    int32_t *segments;         /* [its tokens]; NULL: the shape has none, or they are not wanted */
    float *value;              /* [1]; NULL likewise */
    int32_t *scratch;          /* [scratch]; NULL: the shape has none */
};
/* Writes a row. A task may change an example each time it is read, as a pure function of its place; what is
 * validated and tested never changes. Different rows may be filled by different threads. */
void task_fill(const struct task *task, const struct task_place *place, const struct task_row *row);

/* The examples of a finite corpus, in its own order. */
struct task_example {
    const int32_t *source, *target;    /* source ends with its end token; target begins and ends so. target
                                        * NULL: task_fill alone has the tokens */
    int64_t source_count;              /* tokens that the source's encoder reads; 0: there is none */
    int64_t target_count;              /* tokens that the decoder, or the only stack, reads:
                                        * target[0 ... target_count - 1]; its classes are
                                        * target[1 ... target_count] */
    const int64_t *starts;             /* [choices + 1]: where its sequences begin in the target, all plus
                                        * starts[0]; NULL: it is one */
    struct token_text text, reference; /* of source and target, as the corpus has them */
};
/* Whether the task of `config` has a finite corpus. */
bool task_has_examples(const struct task_config *config);
/* Whether its examples are cut from text, so that another sequence_length gives others of the same text. */
bool task_cuts_text(const struct task_config *config);
/* The sequences of each example, as task_shape has them; 0: an example is one. */
int task_choices(const struct task_config *config);
/* A hash of the lines of a split, which it reads or makes up anew: FNV-1a of 64 bits. 0: the task has no such
 * text. */
ROTARY_CHECKED rotary_status task_text_hash(const struct task_config *config, enum task_split split,
                                            uint64_t *hash, rotary_error *error);
/* Whether a key of the configuration says no more than where a corpus lies: what its text is, hashes say. */
bool task_is_location(const char *key);
/* The number of examples of a split; 0: there is none, or it has no end. */
int64_t task_examples(const struct task *task, enum task_split split);
/* Example `index` of a split, which lives as long as the task. */
struct task_example task_example(const struct task *task, enum task_split split, int64_t index);
/* What the labels of a task's examples are. */
struct task_labels {
    int classes; /* 0: the task has none; else the classes of a target are 0 ... classes - 1 */
    const struct text_line *names; /* [classes]; they live as long as the task */
    bool regression;               /* an example has a number as its label, and a row a value */
    enum label_score score;        /* what predictions are scored by */
    bool pairs_unknown;            /* of a model whose texts are not known: they may be pairs or not */
};
struct task_labels task_labels(const struct task *task);
/* What became of the lines of a split. */
struct task_counts {
    int64_t pairs;    /* in the files */
    int64_t empty;    /* a side has no text: left out of training, kept elsewhere */
    int64_t too_long; /* a side has more tokens than a sequence: left out of training, cut elsewhere */
    int64_t source_tokens, target_tokens; /* of the examples: the sums of their counts */
    int64_t longest_source, longest_target;
    int64_t text_bytes; /* of the text whose tokens are all predicted once; 0: it is not known */
};
struct task_counts task_counts(const struct task *task, enum task_split split);

enum { TASK_TEXT_BYTES = 512 };
struct problem {
    char prompt[TASK_TEXT_BYTES]; /* given to the model */
    char answer[TASK_TEXT_BYTES]; /* the correct one, for exact match */
};
/* Maximum numbers of tokens. */
struct problem_size {
    int64_t prompt, completion;
};
/* How the task's answers are scored: a task with problems by exact match, one whose examples have a source
 * and a reference by BLEU, one with labels by these, others by the loss alone. */
enum scoring task_scoring(const struct task *task);
/* Whether the task's model is an encoder alone, in which every token is seen from every other. */
bool task_wants_encoder(const struct task *task);
/* Whether the task's text is lower case, and answers are scored without regard to case. */
bool task_lowercase(const struct task *task);
/* Whether the task has problems (prefix has none: its score is the validation loss). */
bool task_has_problems(const struct task *task);
/* The size of the longest problem. */
struct problem_size task_problem_size(const struct task *task);
void task_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem);
/* The prompt of the same problem, last in a sequence of sequence_length tokens: after other problems with
 * their answers, which are training's, or as a longer problem with the same answer where the task has those.
 * Appended to `prompt`, which has room for sequence_length tokens; the longest completion still fits after
 * it. */
void task_long_prompt(const struct task *task, uint64_t seed, int64_t index, struct token_list *prompt);
/* The validation loss, over the first so many validation sequences of a seed, of a model that knows all of
 * the task but copies nothing (task/generated/generated.h): one that is below it copies. NaN for a task whose
 * text is not generated. */
bool task_is_generated(const struct task_config *config);
double task_uncopied_loss(const struct task *task, uint64_t seed, int64_t sequences);
/* Copies the answer within the text generated for a prompt to `answer`; empty if there is none. Returns
 * whether it is that of the problem, by exact match. */
bool task_score(const struct task *task, const struct problem *problem, const char *generated,
                char answer[TASK_TEXT_BYTES]);

#endif
