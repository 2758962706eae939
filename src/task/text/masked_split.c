/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequences of the task masked: documents as tokens, cut to the length of a sequence.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "task/text/masked.h"
#include "task/text/masking.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SEQUENCES = 1 << 10 };

struct text_corpus masked_corpus(const struct task_config *config)
{
    const struct masked_options *options = task_options(config, TASK_MASKED);
    return (struct text_corpus){task_names[TASK_MASKED], &options->corpus};
}

static bool add_sequence(struct masked_split *split, struct token_span sequence)
{
    if (split->count == split->capacity) {
        const int64_t capacity = max_i64(2 * split->capacity, FIRST_SEQUENCES);
        struct token_span *sequences = realloc(split->sequences, (size_t)capacity * sizeof *sequences);
        if (!sequences)
            return false;
        split->sequences = sequences;
        split->capacity = capacity;
    }
    split->sequences[split->count++] = sequence;
    split->counts.target_tokens += sequence.count + 2;
    split->counts.longest_target = max_i64(split->counts.longest_target, sequence.count + 2);
    return true;
}

/* The tokens of the rest of a document that become a sequence: `room` of them, or fewer, so that it ends
 * where a word does. A word that fills the room is cut. */
static int64_t length_of(struct token_span rest, int64_t room, const struct masking *masking)
{
    if (rest.count <= room)
        return rest.count;
    int64_t length = room;
    while (length > 0 && !masking_begins_word(masking, rest.tokens[length]))
        length--;
    return length > 0 ? length : room;
}

static bool add_document(struct masked_split *split, struct token_span document, int64_t room,
                         const struct masking *masking)
{
    split->counts.pairs++;
    split->counts.too_long += document.count > room;
    while (document.count > 0) {
        const int64_t length = length_of(document, room, masking);
        if (!add_sequence(split, (struct token_span){document.tokens, length}))
            return false;
        document = (struct token_span){document.tokens + length, document.count - length};
    }
    return true;
}

rotary_status masked_split_create(struct masked_split *split, const struct task *task,
                                  const struct masking *masking, enum task_split which, rotary_error *error)
{
    const struct text_corpus corpus = masked_corpus(&task->config);
    *split = (struct masked_split){0};
    rotary_status status = document_set_open(&split->set, task, corpus, which, error);
    for (int64_t i = 0; i < split->set.count && status == ROTARY_OK; i++)
        if (document_set_has(&split->set, i, which) &&
            !add_document(split, document_set_at(&split->set, i), task->config.sequence_length - 2, masking))
            status = rotary_fail_memory(error, "for a corpus");
    if (status == ROTARY_OK)
        status = document_set_check(corpus, which, split->count, error);
    if (status != ROTARY_OK)
        masked_split_free(split);
    return status;
}

void masked_split_free(struct masked_split *split)
{
    document_set_close(&split->set);
    free(split->sequences);
    *split = (struct masked_split){0};
}
