# SPDX-License-Identifier: Apache-2.0
"""make_sampler_goldens.py > tests/model/sampler_goldens.h: what transformers' logits processors make of scores."""
import sys

import numpy
import torch
import transformers
from transformers import (LogitsProcessorList, MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper,
                          TopKLogitsWarper, TopPLogitsWarper)

COUNT, TEXT = 37, 9
# temperature, top_k, top_p, min_p, repetition_penalty; 0: not applied
SETTINGS = [(1.0, 0, 0, 0, 0), (0.3, 0, 0, 0, 0), (2.5, 0, 0, 0, 0), (0, 0, 0, 0, 1.3), (0, 0, 0, 0, 0.7), (1.0, 1, 0, 0, 0),
            (1.0, 5, 0, 0, 0), (1.7, 30, 0, 0, 0), (1.0, 100, 0, 0, 0), (1.0, 0, 0.9, 0, 0), (1.0, 0, 0.05, 0, 0),
            (0.5, 0, 0.5, 0, 0), (4.0, 0, 0.999, 0, 0), (1.0, 0, 0, 0.1, 0), (0.7, 0, 0, 0.5, 0), (1.0, 0, 0, 1.0, 0),
            (3.0, 0, 0, 0.02, 0), (1.0, 8, 0.8, 0, 0), (0.8, 12, 0.95, 0.05, 1.1), (1.4, 20, 0.6, 0.2, 1.5),
            (2.0, 0, 0.9, 0.1, 0.8), (1.0, 3, 0.99, 0, 1.2)]


def process(settings, text, logits):
    """The processors in the order of GenerationMixin._get_logits_processor."""
    temperature, top_k, top_p, min_p, penalty = settings
    made = LogitsProcessorList()
    if penalty:
        made.append(RepetitionPenaltyLogitsProcessor(penalty))
    if temperature:
        made.append(TemperatureLogitsWarper(temperature))
    if top_k:
        made.append(TopKLogitsWarper(top_k))
    if top_p:
        made.append(TopPLogitsWarper(top_p))
    if min_p:
        made.append(MinPLogitsWarper(min_p))
    return made(text, logits)


def number(value):
    return f"{numpy.float32(value)!s}f" if value != float("-inf") else "-INFINITY"


def main():
    torch.manual_seed(7)
    print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_sampler_goldens.py with transformers {transformers.__version__}: do not edit. */
#ifndef TESTS_MODEL_SAMPLER_GOLDENS_H
#define TESTS_MODEL_SAMPLER_GOLDENS_H

#include "model/generation/sampler.h"

#include <math.h>

/* clang-format off */
enum {{ GOLDEN_COUNT = {COUNT}, GOLDEN_TEXT = {TEXT} }};

static const struct {{
    struct sampler_config config;
    int32_t text[GOLDEN_TEXT];
    float logits[GOLDEN_COUNT], scores[GOLDEN_COUNT];
}} golden_scores[] = {{""")
    for i, settings in enumerate(SETTINGS * 3):
        logits = torch.randn(1, COUNT) * (1.0, 3.0, 8.0)[i // len(SETTINGS)]
        if i % 2 and not settings[2]:  # top_p cuts ties in the order of an unstable sort
            logits = (logits * 4).round() / 4
        text = torch.randint(0, COUNT, (1, TEXT))
        text[0, -1] = text[0, 0]  # a token that is there twice is penalised once
        if i % 3 == 0:
            text[0, 1] = logits.argmax()
        scores = process(settings, text, logits.clone())
        temperature, top_k, top_p, min_p, penalty = settings
        print(f"    {{{{.temperature = {temperature}, .top_k = {top_k}, .top_p = {top_p}, .min_p = {min_p}, "
              f".repetition_penalty = {penalty}}},")
        print(f"     {{{', '.join(str(int(t)) for t in text[0])}}},")
        print(f"     {{{', '.join(number(float(v)) for v in logits[0])}}},")
        print(f"     {{{', '.join(number(float(v)) for v in scores[0])}}}}},")
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    sys.exit(main())
