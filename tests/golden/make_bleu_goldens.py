# SPDX-License-Identifier: Apache-2.0
"""make_bleu_goldens.py > tests/score/bleu_goldens.h: tokens, scores, intervals and p values of sacreBLEU."""
import itertools
import logging
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../score"))
import sacrebleu  # noqa: E402
from random_segments import Segments  # noqa: E402
from sacrebleu.metrics import BLEU, CHRF  # noqa: E402
from sacrebleu.significance import _compute_p_value, estimate_ci  # noqa: E402

logging.disable(logging.CRITICAL)
SEGMENTS, REFERENCES, TEXTS = 20, 3, 40
SAMPLES, RESAMPLED = 80, 12
tokenizers = ["13a", "intl", "char", "none"]
smoothings = ["exp", "floor", "add-k", "none"]
special = ["a-\nb", "a\nb-\n", "<skip<skipped>ped>", "&amp;quot;&quot;", "1,2,3.a.,5", "..", "a-1-b1-", "&lt&lt;", "x\n", "\n", "-\n", " ", "",
           "a\u2028b c\x85d", "$ 5", "1-2-3", ".,.,1"]


def quoted(text):
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def numbers(values):
    return ", ".join(repr(float(v)) for v in values)


def print_tokens():
    source = Segments(11)
    print("static const struct { enum bleu_tokenizer tokenizer; const char *text, *tokens; } golden_tokens[] = {")
    for text in special + [source.segment() for _ in range(TEXTS)]:
        for i, name in enumerate(tokenizers[:2] if text not in special else tokenizers):
            tokens = BLEU(tokenize=name).tokenizer(text.rstrip()).split()
            print(f"    {{(enum bleu_tokenizer){i}, {quoted(text)}, {quoted(' '.join(tokens))}}},")
    print("};\n")


def print_corpus(hypotheses, references):
    print("static const char *const golden_hypotheses[GOLDEN_SEGMENTS] = {")
    print(",\n".join("    " + quoted(x) for x in hypotheses) + "};\n")
    print("static const char *const golden_references[GOLDEN_REFERENCES][GOLDEN_SEGMENTS] = {")
    print(",\n".join("    {" + ",\n     ".join(quoted(x) for x in side) + "}" for side in references) + "};\n")


def scores_of(metric, hypotheses, references):
    single = [metric.sentence_score(h, list(r)).score for h, *r in zip(hypotheses, *references)]
    return single + [metric.corpus_score(hypotheses, references).score]


def print_bleu(hypotheses, references):
    print("""/* The scores of the segments, then that of the corpus. */
static const struct { struct bleu_config config; int references; double scores[GOLDEN_SEGMENTS + 1]; } golden_bleu[] = {""")
    for i, (tokenizer, smoothing, lower) in enumerate(itertools.product(range(4), range(4), (False, True))):
        value = [None, 0.25, 2.0, None][smoothing] if i % 3 == 0 else BLEU.SMOOTH_DEFAULTS[smoothings[smoothing]]
        count, effective = 1 + i % REFERENCES, i % 5 < 2
        metric = BLEU(lowercase=lower, tokenize=tokenizers[tokenizer], smooth_method=smoothings[smoothing],
                      smooth_value=value, effective_order=effective)
        print(f"    {{{{(enum bleu_tokenizer){tokenizer}, (enum bleu_smoothing){smoothing}, {float(value or 0)}, {str(lower).lower()}, "
              f"{str(effective).lower()}}}, {count}, {{{numbers(scores_of(metric, hypotheses, references[:count]))}}}}},")
    print("};\n")


def print_chrf(hypotheses, references):
    print("static const struct { struct chrf_config config; int references; double scores[GOLDEN_SEGMENTS + 1]; } golden_chrf[] = {")
    configs = [(6, 0, 2), (6, 2, 2), (4, 1, 1), (1, 0, 3), (0, 2, 2), (12, 8, 0)]
    for i, (orders, lower, space, eps) in enumerate(itertools.product(configs, (False, True), (False, True), (False, True))):
        count = 1 + i % REFERENCES
        metric = CHRF(*orders, lowercase=lower, whitespace=space, eps_smoothing=eps)
        print(f"    {{{{{orders[0]}, {orders[1]}, {orders[2]}, {str(lower).lower()}, {str(space).lower()}, {str(eps).lower()}}}, {count}, "
              f"{{{numbers(scores_of(metric, hypotheses, references[:count]))}}}}},")
    print("};\n")


def print_resampling(hypotheses, references):
    """Which segments a sample has is a formula that the test has too; sums are of whole numbers."""
    metric = BLEU()
    rows = [np.array(metric._extract_corpus_statistics(h, references[:1])) for h in hypotheses]

    def score(sums):
        return metric._compute_score_from_stats([int(x) for x in sums]).score

    mixed = [[s * 73 + i * 151 + s * i * 179 + 7 for i in range(RESAMPLED)] for s in range(SAMPLES)]
    chosen = [[x ** 3 // 1000 % RESAMPLED for x in sample] for sample in mixed]
    swapped = [[x ** 2 // 100 % 2 == 1 for x in sample] for sample in mixed]
    whole = [score(r.sum(0)) for r in rows]
    samples = np.array([[score(r[c].sum(0)) for c in chosen] for r in rows])
    intervals = [estimate_ci(s) for s in samples]
    distances = np.abs(samples[1] - samples[0])
    difference = abs(whole[0] - whole[1])
    first = [score(np.where(np.array(w)[:, None], rows[1], rows[0]).sum(0)) for w in swapped]
    second = [score(np.where(np.array(w)[:, None], rows[0], rows[1]).sum(0)) for w in swapped]
    swaps = np.array(first) - np.array(second)
    print("static const int64_t golden_rows[2][GOLDEN_RESAMPLED][BLEU_STATISTICS] = {")
    print(",\n".join("    {" + ",\n     ".join("{" + ", ".join(map(str, r)) + "}" for r in system.tolist()) + "}" for system in rows) + "};")
    print(f"static const double golden_whole[2] = {{{numbers(whole)}}};")
    print(f"static const double golden_samples[2][GOLDEN_SAMPLES] = {{{{{numbers(samples[0])}}}, {{{numbers(samples[1])}}}}};")
    print(f"static const double golden_means[2] = {{{numbers(m for m, _ in intervals)}}};")
    print(f"static const double golden_intervals[2] = {{{numbers(c for _, c in intervals)}}};")
    print(f"static const double golden_bootstrap_p = {_compute_p_value(distances - distances.mean(), difference)!r};")
    print(f"static const double golden_swaps[GOLDEN_SAMPLES] = {{{numbers(swaps)}}};")
    print(f"static const double golden_trials_p = {_compute_p_value(np.abs(swaps), difference)!r};")


print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_bleu_goldens.py with sacreBLEU {sacrebleu.__version__}: do not edit. */
#ifndef TESTS_SCORE_BLEU_GOLDENS_H
#define TESTS_SCORE_BLEU_GOLDENS_H

#include "score/translation/bleu.h"
#include "score/translation/chrf.h"

/* clang-format off */
enum {{ GOLDEN_SEGMENTS = {SEGMENTS}, GOLDEN_REFERENCES = {REFERENCES}, GOLDEN_RESAMPLED = {RESAMPLED}, GOLDEN_SAMPLES = {SAMPLES} }};
""")
print_tokens()
corpus = Segments(12).corpus(SEGMENTS, REFERENCES)
print_corpus(*corpus)
print_bleu(*corpus)
print_chrf(*corpus)
first, (references, second) = Segments(14).corpus(RESAMPLED, 2)
print_resampling([first, second], [references])
print("""/* clang-format on */

#endif""")
