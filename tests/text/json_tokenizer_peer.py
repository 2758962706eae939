# SPDX-License-Identifier: Apache-2.0
"""json_tokenizer_peer.py ROTARY: rotary tokenize beside `tokenizers`, with tokenizers of every kind that the library learns: on
characters of Unicode, on random text, and on real text where it is."""
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.environ["ROTARY_SOURCE_DIR"], "tests", name) for name in ("oracle", "score", "golden")]
from json_tokenizers import KINDS, TEXTS, is_alike, random_texts, unigram, unknown_of  # noqa: E402
from oracle_support import check, report, rotary, source  # noqa: E402
from random_segments import Segments  # noqa: E402

MAX_LINES = 800  # of a file
LINE_ENDS = "\n", "\r"  # a line of the command has neither


def real_lines():
    shared = os.path.join(os.environ.get("ROTARY_SHARED", os.path.join(source, "../shared")), "data")
    for name in ("sentencepiece/edge_cases.txt", "english/botchan/botchan.txt", "english/tinyshakespeare/input.txt", "english/wikitext-2/valid.txt",
                 "multi30k/val.de", "chinese/cmrc2018/dev_contexts.txt"):
        path = os.path.join(shared, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", newline="\n") as file:
                yield from itertools.islice((line.rstrip("\r\n") for line in file), MAX_LINES)


def random_lines(count):
    segments = Segments(2)
    return ["".join(segments.segment() for _ in range(3)) for _ in range(count)]


def is_one_of_many(point):
    """Ideographs, syllables and private characters, which are alike but for a few."""
    return 0x3400 <= point < 0xa000 or 0xac00 <= point < 0xf900 or 0x17000 <= point < 0x1b000 or point >= 0x20000


def character_lines():
    """Every character that is known, but of large blocks some, beside letters, digits, spaces and itself."""
    known = [chr(point) for point in range(0x110000) if not (is_one_of_many(point) and point % 101) and alike(point)]
    for i in range(0, len(known), 32):
        yield "".join(f"a{c}b {c} {c}1{c}{c}'s." for c in known[i:i + 32])


alike_of = {}


def alike(point):
    if point not in alike_of:
        alike_of[point] = is_alike(point)
    return alike_of[point]


def tokenize(command, model, lines):
    """What the command makes of lines, in lines; an empty list, and a failure, if it fails."""
    done = subprocess.run([rotary, "tokenize", command, model], input="".join(line + "\n" for line in lines).encode(),
                          capture_output=True, timeout=300)
    if not check(f"tokenize {command} {model}", done.returncode == 0, done.stderr.decode()[:300]):
        return []
    return done.stdout.split(b"\n")[:-1]


def compare(kind, tokenizer, lines):
    model = f"{kind}.json"
    tokenizer.save(model)
    begin = time.monotonic()
    wanted = [encoding.ids for encoding in tokenizer.encode_batch(lines, add_special_tokens=False)]
    middle = time.monotonic()
    got = [[int(word) for word in line.split()] for line in tokenize("encode", model, lines)]
    print(f"{kind}: {sum(map(len, wanted))} tokens; tokenizers took {middle - begin:.2f} s, the program {time.monotonic() - middle:.2f} s")
    if not check(f"{kind}: lines", len(got) == len(lines)):
        return
    for line, ours, theirs in zip(lines, got, wanted):
        check(f"{kind}: tokens of {line[:200]!r}", ours == theirs, f"are {ours[:60]}, wanted {theirs[:60]}")
    decode(kind, tokenizer, model, wanted)


def decode(kind, tokenizer, model, wanted):
    """Without special tokens, but the unknown one; a text with a line feed is none of the command's."""
    unknown = unknown_of(tokenizer)
    left_out = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special and token.content != unknown}
    texts = [tokenizer.decode([i for i in ids if i not in left_out], skip_special_tokens=False) for ids in wanted]
    kept = [(ids, text) for ids, text in zip(wanted, texts) if not any(end in text for end in LINE_ENDS)]
    got = tokenize("decode", model, [" ".join(map(str, ids)) for ids, _ in kept])
    check(f"{kind}: decoded lines", len(got) == len(kept))
    for (_, text), ours in zip(kept, got):
        check(f"{kind}: decoded {text[:200]!r}", ours.decode(errors="replace") == text, ours[:200])


def known(lines):
    return [line for line in lines if not any(end in line for end in LINE_ENDS) and all(alike(ord(c)) for c in set(line))]


real = known(real_lines())
hard = known(TEXTS + random_texts(1500, 7) + random_lines(600))
characters = known(character_lines())
print(f"{len(real)} real lines, {len(hard)} hard ones, {len(characters)} of {sum(alike_of.values())} characters")
if importlib.util.find_spec("sentencepiece"):
    KINDS["unigram_nfkc"] = lambda texts, size: unigram(texts, size, None)
else:
    KINDS = {kind: make for kind, make in KINDS.items() if "unigram" not in kind}
for kind, make in KINDS.items():
    compare(kind, make((real + hard)[::3], 1200), real + hard + characters)
report()
