# SPDX-License-Identifier: Apache-2.0
"""make_json_tokenizer_goldens.py FOLDER: small tokenizers of every kind as FOLDER/KIND.json, and FOLDER/goldens.json with what the
library `tokenizers` makes of difficult texts: tests/text/tokenizers."""
import json
import os
import sys

import tokenizers
from json_tokenizers import KINDS, TEXTS, is_alike, random_texts, unknown_of

SIZES = {"gpt2": 330, "roberta": 330, "llama3": 330, "qwen2": 330, "neox": 320, "o200k": 320, "deepseek": 320, "starcoder": 300, "incomplete": 330}


def write(name, value):
    with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


texts = [text for text in TEXTS if all(is_alike(ord(c)) for c in set(text))]
print("left out:", [text for text in TEXTS if text not in texts], file=sys.stderr)
texts += [text for text in random_texts(60) if all(is_alike(ord(c)) for c in set(text))]


def frame_of(tokenizer):
    """The tokens that the post-processor puts before and behind a text."""
    framed, plain = (tokenizer.encode("x", add_special_tokens=framed).ids for framed in (True, False))
    at = next(i for i in range(len(framed)) if framed[i:i + len(plain)] == plain)
    return [framed[:at], framed[at + len(plain):]]


def golden_of(tokenizer):
    """The tokens of each text and, if that is another one, what they are decoded to without special ones but the unknown one."""
    unknown = unknown_of(tokenizer)
    left_out = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special and token.content != unknown}
    rows = []
    for text in texts:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        decoded = tokenizer.decode([token for token in tokens if token not in left_out], skip_special_tokens=False)
        rows.append([tokens] if decoded == text else [tokens, decoded])
    return {"size": tokenizer.get_vocab_size(), "frame": frame_of(tokenizer), "rows": rows}


goldens = {}
for kind, make in KINDS.items():
    tokenizer = make(texts, SIZES.get(kind, 200))
    write(f"{kind}.json", json.loads(tokenizer.to_str()))
    goldens[kind] = golden_of(tokenizer)
write("goldens.json", {"tokenizers": tokenizers.__version__, "texts": texts, "kinds": goldens})
