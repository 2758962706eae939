/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plain_search.h"

#include <math.h>
#include <stdlib.h>

static int by_score(const void *left, const void *right)
{
    const struct plain_output *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return a->rank < b->rank ? -1 : 1;
}

/* All continuations of `live` by their sums; equal ones in the order of what they continue, then of their
 * token's probability. Returns their number. */
static int64_t continue_all(const struct plain_problem *problem, const struct plain_output *live,
                            int64_t count, struct plain_output *out)
{
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        double log_p[PLAIN_VOCABULARY];
        problem->next(problem->context, live[i].tokens, live[i].length, log_p);
        for (int32_t token = 0; token < problem->vocabulary; token++) {
            int64_t before = 0;
            for (int32_t other = 0; other < problem->vocabulary; other++)
                before += log_p[other] > log_p[token] || (log_p[other] == log_p[token] && other < token);
            if (log_p[token] == -(double)INFINITY)
                continue;
            out[made] = live[i];
            out[made].tokens[out[made].length++] = token;
            out[made].score = out[made].sum += log_p[token];
            out[made].rank = i * problem->vocabulary + before;
            made++;
        }
    }
    qsort(out, (size_t)made, sizeof *out, by_score);
    return made;
}

/* Those that came first stay before equal ones. */
static void keep(const struct plain_problem *problem, struct plain_output *kept, int64_t *count,
                 struct plain_output made)
{
    made.score = made.sum / pow((double)made.length, problem->penalty);
    made.rank = *count;
    kept[(*count)++] = made;
    qsort(kept, (size_t)*count, sizeof *kept, by_score);
    for (int64_t i = 0; i < *count; i++)
        kept[i].rank = i;
    *count = *count > problem->size ? problem->size : *count;
}

int64_t plain_search(const struct plain_problem *problem, struct plain_output *outputs)
{
    static struct plain_output live[PLAIN_MAX], all[PLAIN_MAX * PLAIN_VOCABULARY];
    int64_t size = problem->size, live_count = 1, kept = 0;
    live[0] = (struct plain_output){0};
    for (int64_t length = 1; length <= problem->longest; length++) {
        int64_t count = continue_all(problem, live, live_count, all);
        live_count = 0;
        for (int64_t i = 0; i < count && i < 2 * size && live_count < size; i++) {
            if (all[i].tokens[length - 1] != problem->end)
                live[live_count++] = all[i];
            else if (i < size)
                keep(problem, outputs, &kept, all[i]);
        }
        for (int64_t i = 0; length == problem->longest && i < live_count; i++)
            keep(problem, outputs, &kept, live[i]);
        double attainable =
            live_count > 0 ? live[0].sum / pow((double)length, problem->penalty) : -(double)INFINITY;
        if (live_count == 0 || (kept == size && outputs[size - 1].score >= attainable))
            break;
    }
    return kept;
}
