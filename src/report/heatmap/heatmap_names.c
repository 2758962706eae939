/* SPDX-License-Identifier: Apache-2.0 */
#include "report/heatmap/heatmap_names.h"

#include <stdio.h>

const char *heatmap_deeper_half(char text[HEATMAP_LAYERS_BYTES], int64_t layers)
{
    if (layers / 2 + 1 == layers)
        snprintf(text, HEATMAP_LAYERS_BYTES, "deeper half (%lld)", (long long)layers);
    else
        snprintf(text, HEATMAP_LAYERS_BYTES, "deeper half (%lld to %lld)", (long long)(layers / 2 + 1),
                 (long long)layers);
    return text;
}

const char *heatmap_kind_title(enum attention_kind kind, bool has_encoder)
{
    return kind == ATTENTION_ENCODER ? "encoder self-attention"
           : kind == ATTENTION_CROSS ? "cross-attention"
           : has_encoder             ? "decoder self-attention"
                                     : "self-attention";
}

bool heatmap_has_encoder(const struct heatmaps *maps)
{
    return maps->sides[0].runs[0].kinds[ATTENTION_ENCODER].layers > 0;
}
