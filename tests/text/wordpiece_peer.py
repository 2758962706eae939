# SPDX-License-Identifier: Apache-2.0
"""wordpiece_peer.py ROTARY: rotary tokenize beside `tokenizers`, and transformers' BertTokenizer where it is, with a
vocabulary that the library learns: on random text of all scripts, and on real text where it is."""
import importlib.util
import itertools
import json
import os
import subprocess
import sys

sys.path[:0] = [os.path.join(os.environ["ROTARY_SOURCE_DIR"], "tests", name) for name in ("oracle", "score", "golden")]
from bert_characters import is_alike  # noqa: E402
from oracle_support import check, report, rotary, source  # noqa: E402
from random_segments import Segments  # noqa: E402
from tokenizers import BertWordPieceTokenizer, decoders  # noqa: E402

MAX_LINES = 1500  # of a file


def real_lines():
    shared = os.path.join(os.environ.get("ROTARY_SHARED", os.path.join(source, "../shared")), "data")
    for name in ("english/botchan/botchan.txt", "english/wikitext-2/valid.txt", "multi30k/val.de", "chinese/cmrc2018/dev_contexts.txt"):
        path = os.path.join(shared, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", newline="\n") as file:
                yield from itertools.islice((line.rstrip("\n") for line in file), MAX_LINES)


def random_lines(count):
    """Lines of characters of which the library knows what Unicode says."""
    segments = Segments(1)
    kept = []
    while len(kept) < count:
        line = "".join(segments.segment() for _ in range(3)).translate({10: " ", 13: " ", 0: " "})
        if all(is_alike(ord(c)) for c in set(line)):
            kept.append(line)
    return kept


def tokenize(command, model, lines):
    """What the command makes of lines, in lines; an empty list, and a failure, if it fails."""
    done = subprocess.run([rotary, "tokenize", command, model], input="".join(line + "\n" for line in lines).encode(),
                          capture_output=True, timeout=120)
    if not check(f"tokenize {command} {model}", done.returncode == 0, done.stderr.decode()):
        return []
    return done.stdout.decode().split("\n")[:-1]


def compare(about, model, tokenizer, lines):
    wanted = [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
    got = [[int(word) for word in line.split()] for line in tokenize("encode", model, lines)]
    if not check(f"{about}: lines", len(got) == len(lines)):
        return
    for line, ours, theirs in zip(lines, got, wanted):
        check(f"{about}: tokens of {line[:200]!r}", ours == theirs, f"are {ours}, wanted {theirs}")
    texts = tokenize("decode", model, [" ".join(map(str, ids)) for ids in wanted])
    for ids, ours in zip(wanted, texts):
        check(f"{about}: decoded", ours == tokenizer.decode(ids, skip_special_tokens=False), ours)


def with_transformers(about, folder, lines):
    """The folder as transformers saves it, which has no vocab.txt."""
    import transformers
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained("saved")
    model = "saved/vocab.txt" if os.path.exists("saved/vocab.txt") else "saved/tokenizer.json"
    got = [[int(word) for word in line.split()] for line in tokenize("encode", model, lines)]
    check(f"{about}: lines", len(got) == len(lines))
    for line, ours in zip(lines, got):
        theirs = tokenizer(line, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        check(f"{about}: tokens of {line[:200]!r} in transformers", ours == theirs, f"are {ours}, wanted {theirs}")


real = list(real_lines())
lines = real + random_lines(600)
print(f"{len(real)} real lines, {len(lines) - len(real)} random ones")
for lower, strip, chinese in ((True, None, True), (False, None, True), (True, False, True), (False, True, False)):
    about = f"lower case {lower}, strip accents {strip}, Chinese {chinese}"
    learned = BertWordPieceTokenizer(lowercase=lower, strip_accents=strip, handle_chinese_chars=chinese)
    learned.train_from_iterator(lines[::3], vocab_size=3000, min_frequency=2, limit_alphabet=900, show_progress=False)
    folder = f"bert-{lower}-{strip}-{chinese}"
    os.makedirs(folder)
    learned.save_model(folder)
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"do_lower_case": lower, "strip_accents": strip, "tokenize_chinese_chars": chinese}, file)
    tokenizer = BertWordPieceTokenizer(f"{folder}/vocab.txt", lowercase=lower, strip_accents=strip, handle_chinese_chars=chinese)
    tokenizer._tokenizer.encode_special_tokens = True
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    compare(about, f"{folder}/vocab.txt", tokenizer, lines)
    tokenizer.save(f"{folder}/tokenizer.json")
    check(f"{about}: tokenizer.json", tokenize("encode", f"{folder}/tokenizer.json", lines[-50:]) ==
          [" ".join(map(str, tokenizer.encode(line, add_special_tokens=False).ids)) for line in lines[-50:]])
    if importlib.util.find_spec("transformers"):
        with_transformers(about, folder, lines[::7])
report()
