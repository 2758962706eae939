#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of corpus/sentencepiece: small ones with a normaliser of a few rules, so that damage meets every part
of them. Needs the package sentencepiece."""
import io
import os
import tempfile

import sentencepiece

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "sentencepiece")
syllables = ["ba", "lo", "mi", "üt", "ne", "schr", "en", "ti"]
lines = [
    " ".join(syllables[(i * j + i) % 8] + syllables[(i + j * j) % 5] for j in range(5)) + "." for i in range(1, 60)
]
# From code points to code points, in hexadecimal: a ligature, letters that fall together, a space, and nothing.
rules = "FB01\t66 69\n41 308\tC2\n41 308 301\t1EA4\n3000\t20\n200B\t\nFDFA\t73 6C 6D\n"


def write(name, **options):
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as table:
        table.write(rules)
        table.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, num_threads=1, minloglevel=2,
            hard_vocab_limit=False, normalization_rule_tsv=table.name if options.pop("rules", True) else "", **options)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(model.getvalue())


write("unigram.model", model_type="unigram", vocab_size=45, pad_id=3)
write("bpe.model", model_type="bpe", vocab_size=40, user_defined_symbols=["<a>", "<a>b", "b"])
write("bytes.model", model_type="bpe", vocab_size=290, byte_fallback=True)
write("word.model", model_type="word", vocab_size=30, self_test_sample_size=3)
