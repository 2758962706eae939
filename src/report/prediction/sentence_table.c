/* SPDX-License-Identifier: Apache-2.0
 *
 * The paired bootstrap over sentences as text and as JSON.
 */
#include "report/prediction/sentences.h"
#include "report/resampled_output.h"

const struct sentence_scores *sentences_scores(const struct comparison *comparison)
{
    const struct sentence_scores *scores = comparison->sentences;
    return scores && !scores->fault && scores->count ? scores : NULL;
}

const char *sentences_signature(const struct comparison *comparison)
{
    for (int i = 0; i < comparison->record_count; i++)
        if (comparison->records[i].signature)
            return comparison->records[i].signature;
    return NULL;
}

static void write_contrast(FILE *stream, const struct comparison *comparison, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    const struct resampled_contrast *found = &comparison->sentences->contrasts[index];
    if (contrast_undiverged(contrast) == 0)
        return;
    resampled_contrast_text(stream, comparison, contrast, &found->mean);
    for (int i = 0; i < contrast->pair_count; i++) {
        fprintf(stream, "  seed %lld: ", (long long)contrast->pairs[i].seed);
        if (contrast->pairs[i].diverged)
            fputs("a run diverged\n", stream);
        else
            resampled_text(stream, &found->pairs[i]);
    }
}

void sentences_text(FILE *stream, const struct comparison *comparison)
{
    const struct sentence_scores *scores = sentences_scores(comparison);
    const char *signature = sentences_signature(comparison);
    if (signature)
        fprintf(stream, "BLEU|%s\n", signature);
    if (comparison->sentences && comparison->sentences->fault)
        fprintf(stream, "no paired bootstrap over sentences: %s\n", comparison->sentences->fault);
    if (!scores || comparison->contrast_count == 0)
        return;
    fprintf(
        stream,
        "paired bootstrap over the %lld sentences of the %s set, 95%% of %d samples: what other sentences "
        "would give\nwith these models. What other seeds would give is the interval above.\n",
        (long long)scores->count, scores->split, (int)SENTENCE_SAMPLES);
    for (int i = 0; i < comparison->contrast_count; i++)
        write_contrast(stream, comparison, i);
}

json_t *sentences_json(const struct comparison *comparison)
{
    const struct sentence_scores *scores = comparison->sentences;
    if (!scores)
        return json_null();
    return json_pack("{s:s?, s:I, s:i, s:i, s:s?, s:s?}", "split", scores->split, "sentences",
                     (json_int_t)scores->count, "samples", (int)SENTENCE_SAMPLES, "seed", (int)SENTENCE_SEED,
                     "signature", scores->count ? scores->signature : NULL, "fault", scores->fault);
}

json_t *sentences_contrast_json(const struct comparison *comparison, int index)
{
    const struct sentence_scores *scores = sentences_scores(comparison);
    if (!scores || !comparison->contrasts[index].pair_count)
        return json_null();
    return resampled_contrast_json(&scores->contrasts[index], comparison->contrasts[index].pair_count);
}
