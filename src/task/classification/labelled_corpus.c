/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/labelled_corpus.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "config/comma_list.h"
#include "task/classification/document_split.h"
#include "task/classification/labelled_synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30, SHOWN_BYTES = 60, INTEGER_DIGITS = 9 };

/* The columns of a table, in the order in which they are read; without labels the texts are from 0 on. */
enum { COLUMN_LABEL, LABEL_COLUMNS };

/* ---- labels ---- */

static int compare_texts(const void *a, const void *b)
{
    const struct text_line *first = a, *second = b;
    const int order = memcmp(first->bytes, second->bytes, (size_t)min_i64(first->count, second->count));
    return order != 0 ? order : (first->count > second->count) - (first->count < second->count);
}

/* Orders whole numbers; those that are written in two ways are two labels. */
static int compare_integers(const void *a, const void *b)
{
    const long first = strtol(((const struct text_line *)a)->bytes, NULL, 10),
               second = strtol(((const struct text_line *)b)->bytes, NULL, 10);
    return first != second ? (first > second) - (first < second) : compare_texts(a, b);
}

static bool is_integer(const struct text_line *text)
{
    const int64_t sign = text->count > 0 && text->bytes[0] == '-';
    for (int64_t i = sign; i < text->count; i++)
        if (text->bytes[i] < '0' || text->bytes[i] > '9')
            return false;
    return text->count > sign && text->count - sign <= INTEGER_DIGITS;
}

typedef int compare_labels(const void *a, const void *b);

static compare_labels *order_of(const struct labelled_corpus *corpus)
{
    return corpus->integers ? compare_integers : compare_texts;
}

static rotary_status check_classes(const struct labelled_corpus *corpus, int64_t classes, rotary_error *error)
{
    const struct table *training = &corpus->tables[TASK_TRAINING];
    if (corpus->choices > 0 && classes != corpus->choices)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld labels, wanted %d, one for each choice",
                           training->path, (long long)classes, corpus->choices);
    if (classes >= 2 && classes <= LABELLED_MAX_CLASSES)
        return ROTARY_OK;
    const struct text_line label = table_at(training, 0, COLUMN_LABEL);
    if (classes < 2)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: all %lld labels are \"%.*s\", wanted two classes or more", training->path,
                           (long long)training->rows, (int)min_i64(label.count, SHOWN_BYTES), label.bytes);
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s has %lld labels, as \"%.*s\", wanted at most %d "
                       "classes, or a regression",
                       training->path, (long long)classes, (int)min_i64(label.count, SHOWN_BYTES),
                       label.bytes, (int)LABELLED_MAX_CLASSES);
}

/* The classes: the labels of the training file, sorted, each once. */
static rotary_status find_classes(struct labelled_corpus *corpus, rotary_error *error)
{
    const struct table *training = &corpus->tables[TASK_TRAINING];
    struct text_line *labels = malloc((size_t)training->rows * sizeof *labels);
    int64_t classes = 0;
    if (!labels)
        return rotary_fail_memory(error, "for labelled texts");
    corpus->names = labels;
    corpus->integers = true;
    for (int64_t row = 0; row < training->rows; row++) {
        labels[row] = table_at(training, row, COLUMN_LABEL);
        if (labels[row].count == 0) /* a label that was forgotten would be a class */
            return table_refuse(training, row, COLUMN_LABEL, error,
                                "the label is \"\", wanted the name of a class");
        corpus->integers = corpus->integers && is_integer(&labels[row]);
    }
    qsort(labels, (size_t)training->rows, sizeof *labels, order_of(corpus));
    for (int64_t row = 0; row < training->rows; row++)
        if (row == 0 || compare_texts(&labels[row], &labels[classes - 1]) != 0)
            labels[classes++] = labels[row];
    rotary_status status = check_classes(corpus, classes, error);
    corpus->classes = status == ROTARY_OK ? (int)classes : 0;
    return status;
}

/* "a", "b" or "c", as far as there is room. */
static void list_classes(const struct labelled_corpus *corpus, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < corpus->classes && used < bytes / 2; i++) {
        const struct text_line *name = &corpus->names[i];
        used += (size_t)snprintf(text + used, bytes - used, "%s\"%.*s\"",
                                 i == 0                    ? ""
                                 : i + 1 < corpus->classes ? ", "
                                                           : " or ",
                                 (int)min_i64(name->count, SHOWN_BYTES / 2), name->bytes);
    }
}

static rotary_status read_class(const struct labelled_corpus *corpus, const struct table *table, int64_t row,
                                struct labelled_example *example, rotary_error *error)
{
    const struct text_line label = table_at(table, row, COLUMN_LABEL);
    const struct text_line *found = NULL;
    if (!corpus->integers || is_integer(&label))
        found = bsearch(&label, corpus->names, (size_t)corpus->classes, sizeof label, order_of(corpus));
    if (found) {
        example->class = (int32_t)(found - corpus->names);
        return ROTARY_OK;
    }
    char names[4 * SHOWN_BYTES];
    list_classes(corpus, names, sizeof names);
    return table_refuse(table, row, COLUMN_LABEL, error, "the label is \"%.*s\", wanted %s",
                        (int)min_i64(label.count, SHOWN_BYTES), label.bytes, names);
}

static rotary_status read_value(const struct table *table, int64_t row, struct labelled_example *example,
                                rotary_error *error)
{
    const struct text_line label = table_at(table, row, COLUMN_LABEL);
    if (table_number(label, &example->value))
        return ROTARY_OK;
    return table_refuse(table, row, COLUMN_LABEL, error, "the label is \"%.*s\", wanted a number",
                        (int)min_i64(label.count, SHOWN_BYTES), label.bytes);
}

/* ---- files ---- */

static void add_columns(const struct labelled_corpus *corpus, const struct labelled_format *format,
                        struct table_request *table)
{
    const char *const columns[] = {format->label, format->first, format->second};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i])
            table->columns[table->column_count++] = columns[i];
    const char *choice = corpus->choice_columns;
    for (int i = 0; i < corpus->choices; i++, choice += strlen(choice) + 1)
        table->columns[table->column_count++] = choice;
}

/* Reads the file of a split; *found is false if there is none, which only a test set and, where the split is
 * fresh, a validation set may lack. */
static rotary_status read_file(struct labelled_corpus *corpus, const struct labelled_request *request,
                               enum task_split split, rotary_error *error)
{
    const struct labelled_format *format = request->format;
    const char *name = format->files[split];
    char *path = corpus->paths[split];
    bool found = false;
    if (!request->folder)
        return labelled_synthetic(&corpus->tables[split], split, request->synthetic[split], error);
    if (name && name[0]) {
        rotary_status status = file_path(path, request->folder, name, error);
        if (status == ROTARY_OK)
            status = file_find(path, &found, error);
        if (status != ROTARY_OK)
            return status;
    }
    if (!found && (split == TASK_TEST || (split == TASK_VALIDATION && request->fresh_share > 0)))
        return ROTARY_OK;
    if (!found)
        return rotary_fail(error, ROTARY_IO_ERROR, "%s has no %s text: wanted %s%s", request->folder,
                           task_split_names[split], name && name[0] ? name : "the name of a file",
                           split == TASK_VALIDATION ? ", or a fresh split" : "");
    struct table_request table = {.path = path,
                                  .format = format->format,
                                  .quoting = format->quoting,
                                  .header = format->header,
                                  .max_bytes = MAX_BYTES};
    add_columns(corpus, format, &table);
    return table_read(&corpus->tables[split], &table, error);
}

/* Puts the choices of an example, of which the first is right, into an order that the texts alone say. */
static void shuffle_choices(struct labelled_example *example, struct text_line *choices, int count)
{
    uint64_t keys[LABELLED_MAX_CHOICES];
    struct text_line given[LABELLED_MAX_CHOICES];
    for (int i = 0; i < count; i++) {
        const uint64_t both[] = {rotary_hash(example->first.bytes, (uint64_t)example->first.count),
                                 rotary_hash(choices[i].bytes, (uint64_t)choices[i].count)};
        keys[i] = rotary_hash(both, sizeof both);
        given[i] = choices[i];
    }
    for (int i = 0; i < count; i++) {
        int place = 0;
        for (int j = 0; j < count; j++) /* equal texts: in either order */
            place += keys[j] < keys[i] || (keys[j] == keys[i] && (keys[i] % 2 == 0 ? j < i : j > i));
        choices[place] = given[i];
        if (i == 0)
            example->class = place;
    }
}

static rotary_status read_example(const struct labelled_corpus *corpus, enum task_split split, int64_t row,
                                  struct labelled_example *example, rotary_error *error)
{
    const struct table *table = &corpus->tables[split];
    const int first = corpus->labels ? LABEL_COLUMNS : 0;
    struct text_line *choices = corpus->choice_texts[split] + row * corpus->choices;
    *example = (struct labelled_example){
        .first = table_at(table, row, first), .class = -1, .value = (double)NAN, .line = table->lines[row]};
    for (int i = 0; i < corpus->choices; i++)
        choices[i] = table_at(table, row, first + 1 + i);
    if (corpus->choices > 0)
        example->choices = choices;
    else if (table->columns > first + 1)
        example->second = table_at(table, row, first + 1);
    if (!corpus->labels) {
        shuffle_choices(example, choices, corpus->choices);
        return ROTARY_OK;
    }
    return corpus->classes > 0 ? read_class(corpus, table, row, example, error)
                               : read_value(table, row, example, error);
}

/* The examples of all files, split by split, as the files have them. */
static rotary_status read_examples(struct labelled_corpus *corpus, rotary_error *error)
{
    for (int split = 0; split < TASK_SPLITS; split++) {
        const struct table *table = &corpus->tables[split];
        corpus->examples[split] = malloc((size_t)(table->rows + 1) * sizeof *corpus->examples[split]);
        corpus->choice_texts[split] =
            malloc((size_t)(table->rows * corpus->choices + 1) * sizeof **corpus->choice_texts);
        if (!corpus->examples[split] || !corpus->choice_texts[split])
            return rotary_fail_memory(error, "for labelled texts");
        for (int64_t row = 0; row < table->rows; row++) {
            rotary_status status =
                read_example(corpus, (enum task_split)split, row, &corpus->examples[split][row], error);
            if (status != ROTARY_OK)
                return status;
        }
        corpus->counts[split] = table->rows;
    }
    return ROTARY_OK;
}

/* ---- a fresh split ---- */

/* All examples, and where they are to be. */
struct assignment {
    struct labelled_example *examples; /* [count] */
    struct text_line *first, *second;  /* [count] */
    struct text_line *texts;           /* [count, 1 + choices]; of choices alone */
    unsigned char *sides;              /* [count] */
    int64_t count;
};

static void free_assignment(struct assignment *all)
{
    free(all->examples);
    free(all->first);
    free(all->second);
    free(all->texts);
    free(all->sides);
}

static bool gather(struct assignment *all, const struct labelled_corpus *corpus)
{
    for (int split = 0; split < TASK_SPLITS; split++)
        all->count += corpus->counts[split];
    const size_t room = (size_t)all->count + 1;
    all->examples = malloc(room * sizeof *all->examples);
    all->first = malloc(room * sizeof *all->first);
    all->second = malloc(room * sizeof *all->second);
    all->texts = malloc(room * (size_t)(1 + corpus->choices) * sizeof *all->texts);
    all->sides = malloc(room);
    if (!all->examples || !all->first || !all->second || !all->texts || !all->sides)
        return false;
    for (int64_t i = 0, split = 0; split < TASK_SPLITS; split++)
        for (int64_t j = 0; j < corpus->counts[split]; j++, i++) {
            all->examples[i] = corpus->examples[split][j];
            all->first[i] = all->examples[i].first;
            all->second[i] = all->examples[i].second;
            if (corpus->choices > 0)
                labelled_texts(corpus, &all->examples[i], all->texts + i * (1 + corpus->choices));
        }
    return true;
}

static bool deal(struct labelled_corpus *corpus, const struct assignment *all)
{
    static const enum task_split splits[FRESH_LEFT_OUT] = {TASK_TRAINING, TASK_VALIDATION, TASK_TEST};
    int64_t counts[FRESH_SIDES] = {0};
    for (int64_t i = 0; i < all->count; i++)
        counts[all->sides[i]]++;
    corpus->left_out = counts[FRESH_LEFT_OUT];
    for (int side = 0; side < FRESH_LEFT_OUT; side++) {
        struct labelled_example *to = malloc((size_t)(counts[side] + 1) * sizeof *to);
        if (!to)
            return false;
        int64_t used = 0;
        for (int64_t i = 0; i < all->count; i++)
            if (all->sides[i] == side)
                to[used++] = all->examples[i];
        free(corpus->examples[splits[side]]);
        corpus->examples[splits[side]] = to;
        corpus->counts[splits[side]] = used;
    }
    return true;
}

static rotary_status draw_sides(const struct labelled_corpus *corpus, const struct assignment *all,
                                const struct labelled_request *request, rotary_error *error)
{
    const struct fresh_request fresh = {all->count, all->first, request->format->second ? all->second : NULL,
                                        request->fresh_share};
    const struct document_request documents = {all->count, 1 + corpus->choices, all->texts,
                                               request->fresh_share};
    return corpus->choices > 0 ? document_split(&documents, all->sides, error)
                               : fresh_split(&fresh, all->sides, error);
}

static rotary_status split_anew(struct labelled_corpus *corpus, const struct labelled_request *request,
                                rotary_error *error)
{
    struct assignment all = {0};
    rotary_status status = gather(&all, corpus) ? ROTARY_OK : rotary_fail_memory(error, "for labelled texts");
    if (status == ROTARY_OK)
        status = draw_sides(corpus, &all, request, error);
    if (status == ROTARY_OK && !deal(corpus, &all))
        status = rotary_fail_memory(error, "for labelled texts");
    free_assignment(&all);
    if (status == ROTARY_OK && (corpus->counts[TASK_TRAINING] == 0 || corpus->counts[TASK_VALIDATION] == 0))
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s and its other files have too few sentences to be "
                             "split: %lld examples for "
                             "training and %lld for validation",
                             corpus->paths[TASK_TRAINING], (long long)corpus->counts[TASK_TRAINING],
                             (long long)corpus->counts[TASK_VALIDATION]);
    return status;
}

/* ---- choices ---- */

int labelled_choice_count(const char *columns)
{
    return columns && columns[0] ? comma_list_count(columns) : 0;
}

static void set_choices(struct labelled_corpus *corpus, const struct labelled_format *format)
{
    corpus->choices = labelled_choice_count(format->choices);
    if (corpus->choices > 0)
        snprintf(corpus->choice_columns, sizeof corpus->choice_columns, "%s", format->choices);
    for (char *at = corpus->choice_columns; (at = strchr(at, ',')) != NULL; at++)
        *at = '\0';
}

/* Classes are the places of the choices. */
static rotary_status name_choices(struct labelled_corpus *corpus, rotary_error *error)
{
    static const char *const names[LABELLED_MAX_CHOICES] = {"1", "2", "3", "4", "5", "6"};
    corpus->names = malloc(LABELLED_MAX_CHOICES * sizeof *corpus->names);
    if (!corpus->names)
        return rotary_fail_memory(error, "for labelled texts");
    for (int i = 0; i < corpus->choices; i++)
        corpus->names[i] = (struct text_line){names[i], 1};
    corpus->classes = corpus->choices;
    return ROTARY_OK;
}

int labelled_texts(const struct labelled_corpus *corpus, const struct labelled_example *example,
                   struct text_line texts[LABELLED_MAX_TEXTS])
{
    int count = 0;
    texts[count++] = example->first;
    if (example->second.bytes)
        texts[count++] = example->second;
    for (int i = 0; i < corpus->choices; i++)
        texts[count++] = example->choices[i];
    return count;
}

/* ---- corpora ---- */

rotary_status labelled_corpus_read(struct labelled_corpus *corpus, const struct labelled_request *request,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    *corpus = (struct labelled_corpus){0};
    if (request->folder)
        set_choices(corpus, request->format);
    corpus->labels = !request->folder || request->format->label;
    for (int split = 0; split < TASK_SPLITS && status == ROTARY_OK; split++)
        status = read_file(corpus, request, (enum task_split)split, error);
    if (status == ROTARY_OK && !corpus->labels)
        status = name_choices(corpus, error);
    else if (status == ROTARY_OK && !request->format->regression)
        status = find_classes(corpus, error);
    if (status == ROTARY_OK)
        status = read_examples(corpus, error);
    if (status == ROTARY_OK && request->fresh_share > 0)
        status = split_anew(corpus, request, error);
    if (status != ROTARY_OK)
        labelled_corpus_free(corpus);
    return status;
}

uint64_t labelled_corpus_hash(const struct labelled_corpus *corpus, enum task_split split)
{
    uint64_t hash[4] = {0};
    for (int64_t i = 0; i < corpus->counts[split]; i++) {
        const struct labelled_example *example = &corpus->examples[split][i];
        const struct text_line label =
            example->class >= 0 ? corpus->names[example->class]
                                : (struct text_line){(const char *)&example->value, sizeof example->value};
        hash[1] = rotary_hash(example->first.bytes, (uint64_t)example->first.count);
        hash[2] =
            example->second.bytes ? rotary_hash(example->second.bytes, (uint64_t)example->second.count) : 0;
        for (int choice = 0; choice < corpus->choices; choice++)
            hash[2] = hash[2] * 31 +
                      rotary_hash(example->choices[choice].bytes, (uint64_t)example->choices[choice].count);
        hash[3] = rotary_hash(label.bytes, (uint64_t)label.count);
        hash[0] = rotary_hash(hash, sizeof hash);
    }
    return hash[0];
}

/* The texts of a split, example by example. */
static struct text_line *texts_of(const struct labelled_corpus *corpus, enum task_split split, int64_t *count)
{
    const int64_t examples = corpus->counts[split];
    struct text_line *texts = malloc((size_t)(examples + 1) * LABELLED_MAX_TEXTS * sizeof *texts);
    *count = 0;
    for (int64_t i = 0; texts && i < examples; i++)
        *count += labelled_texts(corpus, &corpus->examples[split][i], texts + *count);
    return texts;
}

rotary_status labelled_corpus_leaks(const struct labelled_corpus *corpus, enum task_split split,
                                    int64_t *leaks, rotary_error *error)
{
    int64_t count, training_count;
    struct text_line *texts = texts_of(corpus, split, &count),
                     *training = texts_of(corpus, TASK_TRAINING, &training_count);
    rotary_status status = texts && training
                               ? fresh_leaks(texts, count, training, training_count, leaks, error)
                               : rotary_fail_memory(error, "for labelled texts");
    free(texts);
    free(training);
    return status;
}

void labelled_corpus_free(struct labelled_corpus *corpus)
{
    for (int split = 0; split < TASK_SPLITS; split++) {
        table_free(&corpus->tables[split]);
        free(corpus->examples[split]);
        free(corpus->choice_texts[split]);
        corpus->examples[split] = NULL;
        corpus->choice_texts[split] = NULL;
        corpus->counts[split] = 0;
    }
    free(corpus->names);
    corpus->names = NULL;
    corpus->classes = 0;
}
