/* SPDX-License-Identifier: Apache-2.0 */
#include "study/length_scores.h"

rotary_status length_scores_run(struct length_scores *scores, const struct length_call *call,
                                rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < scores->count; i++) {
        struct length_score *score = &scores->items[i];
        struct length_call one = *call;
        one.trained = scores->trained;
        one.length = score->wanted.length;
        one.scaling = score->wanted.scaling;
        score->factor = length_factor(&one);
        score->possible = length_is_possible(&one);
        if (score->possible)
            status = length_evaluate(&one, &score->evaluation, error);
    }
    return status;
}

rotary_status length_scores_record(const struct length_scores *scores, struct record_lengths *records,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    *records = (struct record_lengths){0};
    for (int i = 0; status == ROTARY_OK && i < scores->count; i++) {
        const struct length_score *score = &scores->items[i];
        const struct record_length record =
            length_record(&score->wanted, score->possible ? &score->evaluation : NULL);
        status = record_lengths_add(records, &record, error);
    }
    return status;
}
