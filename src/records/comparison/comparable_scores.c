/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/comparable_scores.h"

#include "base/fail.h"
#include "file/print.h"
#include "run_folder/folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- vocabularies ---- */

static bool differ_in(const struct record *a, const struct record *b, const char *key, bool *known)
{
    const json_t *first = json_object_get(a->config, key), *second = json_object_get(b->config, key);
    *known = first && second;
    return *known && !json_equal(first, second);
}

/* Vocabularies of one content may have different numbers of rows, of which the further ones are padding. */
static bool other_vocabulary(const struct record *a, const struct record *b)
{
    bool known;
    const bool contents = differ_in(a, b, RUN_VOCABULARY_HASH, &known);
    if (known)
        return contents;
    return differ_in(a, b, "vocab_size", &known) || differ_in(a, b, "source_vocab_size", &known);
}

/* The first record whose vocabulary is not that of another; count if there is none. */
static int first_of_other_vocabulary(const struct record *records, int count, int *other)
{
    for (int i = 1; i < count; i++)
        for (*other = 0; *other < i; (*other)++)
            if (other_vocabulary(&records[*other], &records[i]))
                return i;
    return count;
}

static bool is_scored(const struct record *record)
{
    return record_finished(record) && !record->diverged;
}

static bool all_have_bytes(const struct comparable *comparable)
{
    bool all = true;
    for (int i = 0; i < comparable->record_count; i++) {
        const struct record_evaluation *last = record_last_evaluation(&comparable->records[i]);
        all = all && (!is_scored(&comparable->records[i]) || last->bits_per_byte > 0);
    }
    return all;
}

/* Returns whether the primary measure compares. The loss of a label is of one label, whatever the tokens are.
 */
static bool leave_out_losses(struct comparable *comparable)
{
    const bool per_token = measure_is_per_token(comparable->measures[0]);
    if (comparable->scoring == SCORING_CLASSES || comparable->scoring == SCORING_NUMBERS)
        return true;
    if (per_token && !all_have_bytes(comparable))
        return false;
    int count = 0;
    if (per_token)
        comparable->measures[count++] = MEASURE_BITS_PER_BYTE;
    for (int i = per_token; i < comparable->measure_count; i++)
        if (!measure_is_per_token(comparable->measures[i]))
            comparable->measures[count++] = comparable->measures[i];
    comparable->measure_count = count;
    comparable->vocabularies_differ = true;
    return true;
}

static void write_vocabularies(FILE *stream, const struct record *a, const struct record *b)
{
    fprintf(
        stream,
        "%s and %s have other vocabularies, so that their losses per token do not compare, and no bits per "
        "byte are known of them all",
        a->folder, b->folder);
}

/* ---- what was scored ---- */

/* What the scores of a run are of. */
struct scored {
    const char *what, *split;
    int64_t count;
    const char *signature; /* NULL: there is none */
};

static struct scored scored_of(const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    const struct label_scores *labels = record_labels(last);
    const bool test = labels ? labels == &last->test_labels : last->test_translated > 0;
    return (struct scored){.what = labels ? "examples" : "sentences",
                           .split = test ? "test" : "validation",
                           .count = labels ? labels->examples
                                    : test ? last->test_translated
                                           : last->translated,
                           .signature = labels ? NULL : record->signature};
}

static bool is_same(const struct scored *a, const struct scored *b)
{
    const bool signatures = a->signature && b->signature;
    return strcmp(a->split, b->split) == 0 && a->count == b->count &&
           (!signatures || strcmp(a->signature, b->signature) == 0);
}

static void write_scored(FILE *stream, const struct record *record, const struct scored *scored)
{
    fprintf(stream, "of %lld %s of the %s set in %s", (long long)scored->count, scored->what, scored->split,
            record->folder);
    if (scored->signature)
        fprintf(stream, " by %s", scored->signature);
}

/* The first scored run whose score is of something else than that of the first one; NULL: there is none. */
static const struct record *scored_otherwise(const struct comparable *comparable, const struct record **first)
{
    *first = NULL;
    for (int i = 0; i < comparable->record_count; i++) {
        const struct record *record = &comparable->records[i];
        if (!is_scored(record))
            continue;
        if (!*first)
            *first = record;
        const struct scored a = scored_of(*first), b = scored_of(record);
        if (!is_same(&a, &b))
            return record;
    }
    return NULL;
}

static void write_scores(FILE *stream, const struct record *a, const struct record *b)
{
    const struct scored of_a = scored_of(a), of_b = scored_of(b);
    fputs("the scores are ", stream);
    write_scored(stream, a, &of_a);
    fputs(", and ", stream);
    write_scored(stream, b, &of_b);
}

rotary_status comparable_scores_check(struct comparable *comparable, rotary_error *error)
{
    const struct record *records = comparable->records, *first;
    int other = 0;
    const int unlike = first_of_other_vocabulary(records, comparable->record_count, &other);
    const bool vocabularies = unlike == comparable->record_count || leave_out_losses(comparable);
    const bool answers = comparable->scoring != SCORING_LOSS && comparable->scoring != SCORING_EXACT_MATCH;
    const struct record *otherwise = answers ? scored_otherwise(comparable, &first) : NULL;
    if (vocabularies && !otherwise)
        return ROTARY_OK;
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    if (otherwise)
        write_scores(print.stream, first, otherwise);
    else
        write_vocabularies(print.stream, &records[other], &records[unlike]);
    status = print_end(&print, error);
    if (status == ROTARY_OK)
        comparable->fault = print.text;
    return status;
}
