# SPDX-License-Identifier: Apache-2.0
"""make_word_vector_goldens.py > tests/score/word_vector_goldens.h: similarities by averaged word embeddings, by NumPy, from
dense matrices."""
import collections
import random
import unicodedata

import numpy as np

TEXTS, HELD = 60, 12
choose = random.Random(27)
TOPICS = [["judge", "court", "Court", "loan", "interest", "\u6cd5", "\u9662", "\u501f", "bank"],
          ["cat", "dog", "tree", "River", "sleeps", "\u732b", "\u72d7", "walks", "\u00e9t\u00e9"]]
COMMON = ["the", "a", "of", "is", ".", ",", "not", "The"]


def quoted(text):
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def random_text():
    topic, words = choose.choice(TOPICS), []
    for _ in range(choose.randrange(3, 15)):
        words.append(choose.choice(choose.choice([topic, topic, COMMON, TOPICS[0] + TOPICS[1]])))
    return " ".join(words).replace(" .", ".").replace(" ,", ",")


def split(text):
    """What BERT's words are, of the characters that are here."""
    spaced = "".join(f" {c} " if "\u4e00" <= c <= "\u9fff" or c in ".," else c for c in text)
    plain = "".join(c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
    return plain.lower().split()


def word_hash(word):
    """FNV-1a; of equally frequent words the vocabulary has that with the smaller one."""
    value = 0xCBF29CE484222325
    for byte in word.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


class Vectors:
    def __init__(self, texts, max_words, window, dimension, a):
        lists = [split(text) for text in texts]
        counts = collections.Counter(word for words in lists for word in words)
        kept = sorted((word for word in counts if counts[word] >= 2), key=lambda word: (-counts[word], word_hash(word)))[:max_words]
        self.place = {word: i for i, word in enumerate(kept)}
        near = np.zeros((len(kept), len(kept)))
        for words in lists:
            for i, word in enumerate(words):
                for j in range(max(0, i - window), min(len(words), i + window + 1)):
                    if i != j and word in self.place and words[j] in self.place:
                        near[self.place[word], self.place[words[j]]] += 1
        sums = near.sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            information = np.nan_to_num(np.maximum(np.log(near * near.sum() / np.outer(sums, sums)), 0)).astype(np.float32)
        left, values, _ = np.linalg.svd(information.astype(float))
        self.gap = values[dimension - 1] - values[dimension] if dimension < len(values) else np.inf
        self.embeddings = (left * np.sqrt(values))[:, :dimension]
        share = np.array([counts[word] for word in kept]) / sum(counts.values())
        self.embeddings *= (a / (a + share))[:, None]
        self.common = np.linalg.svd(np.array([self.mean(text) for text in texts]))[2][0]

    def mean(self, text):
        rows = [self.embeddings[self.place[word]] for word in split(text) if word in self.place]
        return np.mean(rows, 0) if rows else np.zeros(self.embeddings.shape[1])

    def of(self, text):
        mean = self.mean(text)
        return mean - (mean @ self.common) * self.common

    def similarity(self, first, second):
        a, b = self.of(first), self.of(second)
        squares = (a @ a) * (b @ b)
        return a @ b / np.sqrt(squares) if squares > 0 else 0.0


texts = [random_text() for _ in range(TEXTS + HELD)]
print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_word_vector_goldens.py with NumPy {np.__version__}: do not edit. */
enum {{ GOLDEN_TEXTS = {TEXTS}, GOLDEN_HELD = {HELD} }};
static const char *const golden_texts[GOLDEN_TEXTS + GOLDEN_HELD] = {{
    {(","+chr(10)+"    ").join(map(quoted, texts))}}};

/* similarities: of each held-out text to the one before it, the first of all texts before the first. */
static const struct {{
    struct word_vectors_config config;
    int64_t words;
    double similarities[GOLDEN_HELD];
}} goldens[] = {{""")
for max_words, window, dimension, iterations, a in ((6000, 5, 200, 10, 1e-3), (6000, 2, 4, 400, 1e-2), (15, 3, 3, 400, 1e-3)):
    vectors = Vectors(texts[:TEXTS], max_words, window, dimension, a)
    assert vectors.gap > 0.01
    pairs = [(texts[TEXTS + i], texts[TEXTS + i - 1] if i else texts[0]) for i in range(HELD)]
    numbers = ", ".join(repr(float(vectors.similarity(*pair))) for pair in pairs)
    print(f"    {{{{{max_words}, {window}, {dimension}, {iterations}, {a!r}}}, {len(vectors.place)},\n     {{{numbers}}}}},")
print("};")
