# SPDX-License-Identifier: Apache-2.0
"""Exported tokenizers: tokenizer.json read by the package tokenizers, and GGUF by llama.cpp where that is installed, must give
the tokens that the program gives, and its text from them.

    export_tokenizers.py ROTARY        make_tokenizer is named by the environment variable MAKE_TOKENIZER
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import llama_logits

ROTARY, MAKE = sys.argv[1], os.environ["MAKE_TOKENIZER"]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# White space at the ends and in a row, characters that no training text has, full width, ligatures, marks inside of words.
LINES = ["the model reads text.", "every token of the translation is a piece of a word", "positions are rotated, values too",
         "RoPE and RoPER encode distances", "(see the encodings)", "The  model   reads", " a leading space", "a trailing one ", "3.5 of 10:30, don't; well-known (x)",
         "naïve café déjà", "日本語 と 中文", "ｆｕｌｌ ｗｉｄｔｈ ﬁne", "a\tb", "🙂 unknown 🙂🙂 twice", "x" * 200, "…—“quoted”", "é", "co-operate--and", "1,000.5",
         "'quoted' ’s", "a", "The the THE", "#!/bin/sh -e", "e\u0301 combined", "\u00a0no-break\u3000wide"]


# llama.cpp has no words, normalises no text for BPE, and has no bytes for unigram models.
WITHOUT_LLAMA = "words", "marks", "bpe.model", "bytes.model", "fallback.model"


def rotary(*arguments, text=""):
    done = subprocess.run([ROTARY, *arguments], input=text, stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout.splitlines()


def wanted_tokens(model, lines):
    return [[int(n) for n in line.split()] for line in rotary("tokenize", "encode", model, text="\n".join(lines) + "\n")]


def compare_json(folder, lines, tokens, texts, about):
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    for line, ids, text in zip(lines, tokens, texts):
        got = tokenizer.encode(line).ids
        assert got == ids, (about, line, got, ids)
        if text is not None:
            back = tokenizer.decode(ids, skip_special_tokens=False)
            assert back == text, (about, line, back, text)


def compare_gguf(llama, folder, lines, tokens, about):
    library = llama.library
    model = llama.load(folder + "/model.gguf")
    vocabulary = library.llama_model_get_vocab(model)
    library.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
    for line, ids in zip(lines, tokens):
        data, room = line.encode(), (ctypes.c_int32 * 1000)()
        count = library.llama_tokenize(vocabulary, data, len(data), room, 1000, False, False)
        assert list(room[:count]) == ids, (about, line, list(room[:count]), ids)
    library.llama_model_free(model)


def trained(folder, name, *arguments):
    path = os.path.join(folder, name)
    sources = []
    for document in ("README.md", "docs/reference/encodings.md", "docs/how-to/translate.md", "CHANGELOG.md"):
        sources += ["--input", os.path.join(ROOT, document)]
    rotary("tokenize", "train", *sources, "--model", path, *arguments)
    return path


def made_of(folder, name, bytes_of):
    """A tokenizer of characters or bytes, as the program keeps it."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": 1, "tokenizer": name} | ({"bytes": bytes_of} if bytes_of else {}), file)
    return path


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_level(folder, name, pattern):
    """A tokenizer.json of BPE on ByteLevel, of which text is cut by the pattern, or as GPT-2 does."""
    tokenizer = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    split = pattern and pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level]) if pattern else level
    tokenizer.decoder = decoders.ByteLevel()
    sources = [os.path.join(ROOT, document) for document in ("README.md", "docs/reference/encodings.md", "docs/how-to/translate.md")]
    tokenizer.train(sources, trainers.BpeTrainer(
        vocab_size=800, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.save(os.path.join(folder, name))
    return os.path.join(folder, name)


def main():
    try:
        llama = llama_logits.Llama(llama_logits.find_library())
    except SystemExit:
        llama = None
    ascii_lines = [line for line in LINES if line.isascii() and "\t" not in line]
    with tempfile.TemporaryDirectory() as folder:
        cases = [(made_of(folder, "characters", list(range(32, 127))), ascii_lines, True),
                 (made_of(folder, "bytes", None), LINES, True),
                 (trained(folder, "words", "--type", "words"), LINES, False),
                 (byte_level(folder, "gpt2", None), LINES, True),
                 (byte_level(folder, "llama3", LLAMA3), LINES, True),
                 (byte_level(folder, "qwen2", LLAMA3.replace("{1,3}", "")), LINES, True),
                 (trained(folder, "marks", "--type", "words", "--punctuation"), LINES, False)]
        if "not in this program" not in "".join(line for line in rotary("info") if "SentencePiece" in line):
            cases += [(trained(folder, "bpe.model", "--type", "bpe", "--vocab-size", "1200"), LINES, False),
                      (trained(folder, "bytes.model", "--type", "bpe", "--vocab-size", "1500", "--byte-fallback"), LINES, False),
                      (trained(folder, "unigram.model", "--vocab-size", "1000"), LINES, False),
                      (trained(folder, "fallback.model", "--vocab-size", "1300", "--byte-fallback"), LINES, False)]
        for path, lines, exact in cases:
            name = os.path.basename(path)
            target = path + ".exported"
            os.mkdir(target)
            made = subprocess.run([MAKE, path, target], stdout=subprocess.PIPE, check=True, text=True).stdout
            tokens = wanted_tokens(path, lines)
            compare_json(target, lines, tokens, lines if exact else [None] * len(lines), name)
            print(f"{name}: {sum(map(len, tokens))} tokens of {len(lines)} lines are those of tokenizers")
            assert made.startswith("no_vocab: ") == (name in WITHOUT_LLAMA), (name, made)
            if llama and name not in WITHOUT_LLAMA:
                compare_gguf(llama, target, lines, tokens, name)
                print(f"{name}: and those of llama.cpp")


if __name__ == "__main__":
    main()
