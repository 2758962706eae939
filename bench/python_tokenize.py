#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times SentencePiece (a .model) or tokenizers (a tokenizer.json) on what `rotary tokenize encode` reads.

    python3 bench/python_tokenize.py MODEL TEXT [--threads N] [--resident]

All lines of TEXT are in memory before; the numbers of their tokens stay there. Prints one JSON object, with --resident another
one for each line on standard input.
"""
import argparse
import json
import sys
import time


def make_encoder(path, threads):
    """What encodes a list of lines, and its name."""
    if path.endswith(".json"):
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(path)
        return (lambda lines: tokenizer.encode_batch_fast(lines, add_special_tokens=False)), "tokenizers " + tokenizers.__version__
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return (lambda lines: model.encode(lines, num_threads=threads)), "sentencepiece " + sentencepiece.__version__


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resident", action="store_true")
    options = parser.parse_args()
    encode, name = make_encoder(options.model, options.threads)
    with open(options.text, encoding="utf-8") as file:
        lines = file.read().split("\n")
    encode(lines[:100])
    while True:
        begin = time.perf_counter()
        encode(lines)
        print(json.dumps({"peer": name, "mode": "", "median_seconds": time.perf_counter() - begin}), flush=True)
        if not options.resident or not sys.stdin.readline():
            return


if __name__ == "__main__":
    main()
