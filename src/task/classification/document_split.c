/* SPDX-License-Identifier: Apache-2.0 */
#include "task/classification/document_split.h"

#include "base/fail.h"
#include "base/integer.h"
#include "task/classification/word_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Texts of the examples; documents are the first of equal texts, by their index. */
struct drawing {
    int64_t count, documents;
    int per_example;
    const int64_t *same;   /* [count * per_example]: the document of a text */
    int64_t *starts;       /* [documents + 1] in `examples` */
    int64_t *examples;     /* of each document, every time it is in one */
    int64_t *order;        /* [documents]: by their hashes */
    unsigned char *drawn;  /* [documents], an enum fresh_side: FRESH_TRAINING those that are not drawn */
    unsigned char *sides;  /* [count]: FRESH_LEFT_OUT of examples that are torn apart, or not yet complete */
    unsigned char *wanted; /* [count]: documents that the side does not have yet */
};

static const int64_t *documents_of(const struct drawing *drawing, int64_t example)
{
    return drawing->same + example * drawing->per_example;
}

/* Whether the text at `place` of an example is the first of it that is this document. */
static bool is_first(const int64_t *documents, int place)
{
    for (int i = 0; i < place; i++)
        if (documents[i] == documents[place])
            return false;
    return true;
}

/* How good it is to draw a document: for the examples that become complete, and those that nearly do, and
 * against those that are torn apart. The weights were found by trial, on CAIL2019-SCM. */
static int64_t rate(const struct drawing *drawing, int64_t document)
{
    int64_t rate = 0;
    for (int64_t i = drawing->starts[document]; i < drawing->starts[document + 1]; i++) {
        const int64_t example = drawing->examples[i];
        const bool torn = drawing->sides[example] == FRESH_LEFT_OUT;
        rate += drawing->wanted[example] == 1 ? 10 : 0;
        rate += torn && drawing->wanted[example] == 2 ? 3 : 0;
        rate -= torn ? 0 : 3;
    }
    return rate;
}

/* Marks what shares an example with a drawn document. */
static void mark_neighbours(const struct drawing *drawing, int64_t document, bool *near)
{
    for (int64_t i = drawing->starts[document]; i < drawing->starts[document + 1]; i++)
        for (int j = 0; j < drawing->per_example; j++)
            near[documents_of(drawing, drawing->examples[i])[j]] = true;
}

/* The next document to draw; -1: all are drawn. */
static int64_t choose(const struct drawing *drawing, const bool *near)
{
    int64_t best = -1, best_rate = 0, other = -1;
    for (int64_t i = 0; i < drawing->documents; i++) {
        const int64_t document = drawing->order[i];
        if (drawing->drawn[document] != FRESH_TRAINING)
            continue;
        if (!near[document]) {
            other = other < 0 ? document : other;
            continue;
        }
        const int64_t rated = rate(drawing, document);
        if (best < 0 || rated > best_rate) {
            best = document;
            best_rate = rated;
        }
    }
    return best >= 0 ? best : other;
}

/* Draws a document for a side. Returns how many examples it makes complete. */
static int64_t draw(struct drawing *drawing, int64_t document, enum fresh_side side)
{
    int64_t complete = 0;
    drawing->drawn[document] = (unsigned char)side;
    for (int64_t i = drawing->starts[document]; i < drawing->starts[document + 1]; i++) {
        const int64_t example = drawing->examples[i];
        drawing->sides[example] = FRESH_LEFT_OUT;
        if (--drawing->wanted[example] == 0) {
            drawing->sides[example] = (unsigned char)side;
            complete++;
        }
    }
    return complete;
}

/* Examples that have a document of an earlier side can no more become complete: they never count. */
static void draw_side(struct drawing *drawing, enum fresh_side side, int64_t wanted, bool *near)
{
    memset(near, 0, (size_t)(drawing->count * drawing->per_example));
    for (int64_t i = 0; i < drawing->count; i++)
        if (drawing->sides[i] == FRESH_LEFT_OUT)
            drawing->wanted[i] = UINT8_MAX;
    for (int64_t complete = 0; complete < wanted;) {
        const int64_t document = choose(drawing, near);
        if (document < 0)
            return;
        complete += draw(drawing, document, side);
        mark_neighbours(drawing, document, near);
    }
}

/* Gives back to training what has no document of an example of validation or of test. */
static void return_examples(struct drawing *drawing)
{
    const int64_t texts = drawing->count * drawing->per_example;
    memset(drawing->drawn, FRESH_TRAINING, (size_t)texts);
    for (int64_t i = 0; i < texts; i++) {
        const unsigned char side = drawing->sides[i / drawing->per_example];
        if (side == FRESH_VALIDATION || side == FRESH_TEST)
            drawing->drawn[drawing->same[i]] = side;
    }
    for (int64_t i = 0; i < drawing->count; i++) {
        bool held = drawing->sides[i] != FRESH_LEFT_OUT;
        for (int j = 0; j < drawing->per_example; j++)
            held |= drawing->drawn[documents_of(drawing, i)[j]] != FRESH_TRAINING;
        if (!held)
            drawing->sides[i] = FRESH_TRAINING;
    }
}

/* ---- what is in what ---- */

struct hashed {
    uint64_t hash;
    int64_t document;
};

static int compare(const void *a, const void *b)
{
    const struct hashed *first = a, *second = b;
    return first->hash != second->hash ? (first->hash > second->hash ? 1 : -1) : 0;
}

/* Lists the documents by their hashes, and gives the order their numbers. */
static bool order_documents(struct drawing *drawing, const struct word_runs *runs)
{
    struct hashed *all = malloc((size_t)(runs->count + 1) * sizeof *all);
    if (!all)
        return false;
    for (int64_t i = 0; i < runs->count; i++)
        if (runs->same[i] == i)
            all[drawing->documents++] = (struct hashed){word_runs_hash(runs, i), i};
    qsort(all, (size_t)drawing->documents, sizeof *all, compare);
    for (int64_t i = 0; i < drawing->documents; i++)
        drawing->order[i] = all[i].document;
    free(all);
    return true;
}

/* Lists the examples of each document, and counts the documents of each example. */
static void list_examples(struct drawing *drawing)
{
    const int64_t texts = drawing->count * drawing->per_example;
    int64_t used = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < texts; i++)
            if (is_first(documents_of(drawing, i / drawing->per_example), (int)(i % drawing->per_example))) {
                int64_t *end = &drawing->starts[drawing->same[i] + 1];
                if (pass == 1) {
                    drawing->examples[*end] = i / drawing->per_example;
                    drawing->wanted[i / drawing->per_example]++;
                }
                ++*end;
            }
        /* After the first pass: where each begins, kept one place on, which the second pass makes its end. */
        for (int64_t i = 0; pass == 0 && i < texts; i++) {
            const int64_t count = drawing->starts[i + 1];
            drawing->starts[i + 1] = used;
            used += count;
        }
    }
}

static bool allocate(struct drawing *drawing)
{
    const size_t texts = (size_t)(drawing->count * drawing->per_example) + 1;
    drawing->starts = calloc(texts + 1, sizeof *drawing->starts);
    drawing->examples = calloc(texts, sizeof *drawing->examples);
    drawing->order = calloc(texts, sizeof *drawing->order);
    drawing->drawn = calloc(texts, 1);
    drawing->wanted = calloc((size_t)drawing->count + 1, 1);
    return drawing->starts && drawing->examples && drawing->order && drawing->drawn && drawing->wanted;
}

static bool split(struct drawing *drawing, const struct word_runs *runs, double share)
{
    const int64_t wanted = (int64_t)ceil(share * (double)drawing->count);
    bool *near = malloc((size_t)runs->count + 1);
    const bool done = near && allocate(drawing) && order_documents(drawing, runs);
    if (done) {
        list_examples(drawing);
        draw_side(drawing, FRESH_VALIDATION, wanted, near);
        draw_side(drawing, FRESH_TEST, wanted, near);
        return_examples(drawing);
    }
    free(near);
    free(drawing->starts);
    free(drawing->examples);
    free(drawing->order);
    free(drawing->drawn);
    free(drawing->wanted);
    return done;
}

rotary_status document_split(const struct document_request *request, unsigned char *sides,
                             rotary_error *error)
{
    struct word_runs runs;
    rotary_status status =
        word_runs_create(&runs, request->texts, request->count * request->per_example, error);
    if (status != ROTARY_OK)
        return status;
    struct drawing drawing = {
        .count = request->count, .per_example = request->per_example, .same = runs.same, .sides = sides};
    memset(sides, FRESH_TRAINING, (size_t)request->count);
    if (!split(&drawing, &runs, request->share))
        status = rotary_fail_memory(error, "to split %lld examples", (long long)request->count);
    word_runs_free(&runs);
    return status;
}
