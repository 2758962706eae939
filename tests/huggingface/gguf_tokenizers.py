# SPDX-License-Identifier: Apache-2.0
"""Tokenizers in GGUF: of random texts llama.cpp gives the tokens that the package tokenizers gives, or the file says no_vocab.

    gguf_tokenizers.py MAKE_TOKENIZER

Every variant is a tokenizer.json (or a model of SentencePiece) that differs in one part from one that llama.cpp has. Which of
them are no_vocab is in the table of variants: a rule that refuses all, or none, fails.
"""
import copy
import ctypes
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import llama_logits

MAKE = sys.argv[1]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
TEXTS = 300
PARTS = ["the ", "model", " reads", "Hello", "World", "WORLD", "'s", "'LL", "don't", "3", "12345", "½", "ﬁne", "é", "e\u0301", "ｆｕｌｌ", "日本語", "🙂", " ", "  ",
         "   ", "\n", "\r\n", "\n\n", "\t", ".", ",", "...", "--", "#!", "(", ")", "_", "\u2581", "\u00a0", "\u3000", "ß", "Ω", "и", "ab", "abc", "bc", "cd", "q@", "@z", "w",
         "<s>", "</s>", "<|end|>", "<sep>", "<", ">", "|", "x", "[UNUSED803]", "\u200b", "Straße", "naïve café"]


def random_texts(seed, count=TEXTS):
    chosen = random.Random(seed)
    return ["".join(chosen.choices(PARTS, k=chosen.randint(1, 12))) for _ in range(count)]


def byte_level(pattern=None, behavior="isolated"):
    """BPE on ByteLevel, of which text is cut by the pattern, or as GPT-2 does: the object of its tokenizer.json."""
    tokenizer = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    split = pattern and pre_tokenizers.Split(Regex(pattern), behavior, invert=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level]) if pattern else level
    tokenizer.decoder = decoders.ByteLevel()
    sources = [os.path.join(ROOT, document) for document in ("README.md", "docs/reference/encodings.md", "docs/how-to/translate.md")]
    tokenizer.train(sources, trainers.BpeTrainer(vocab_size=800, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made = json.loads(tokenizer.to_str())
    made["added_tokens"] = [token(800, "<s>"), token(801, "</s>"), token(802, "<|end|>")]
    return made


def token(number, content, **flags):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} | flags


def frame(*names):
    """A post-processor that puts tokens around a text, which is None among the names."""
    ids = {"<s>": 800, "</s>": 801, "<|end|>": 802}
    part = [{"Sequence": {"id": "A", "type_id": 0}} if name is None else {"SpecialToken": {"id": name, "type_id": 0}} for name in names]
    special = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names if name}
    return {"type": "TemplateProcessing", "single": part, "pair": part + [{"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": special}


def changed(base, **keys):
    """A copy with other values: model_KEY of the model, the rest of the file itself; `more` are further added tokens, of which
    pieces keep their ids."""
    made = copy.deepcopy(base)
    made["added_tokens"] += [dict(entry, id=made["model"]["vocab"].get(entry["content"], entry["id"])) for entry in keys.pop("more", [])]
    for key, value in keys.items():
        (made["model"] if key.startswith("model_") else made)[key.removeprefix("model_")] = value
    return made


def unreached(base, piece="HelloWorld"):
    """With a piece that no merges make, which a word is as a whole."""
    made = copy.deepcopy(base)
    made["added_tokens"] = [dict(entry, id=entry["id"] + 1) for entry in made["added_tokens"]]
    made["model"]["vocab"][piece] = 800
    return made


def without(base, *pieces):
    made = copy.deepcopy(base)
    for piece in pieces:
        del made["model"]["vocab"][piece]
    made["model"]["merges"] = [merge for merge in made["model"]["merges"]
                               if all(part in made["model"]["vocab"] for part in (*merge, "".join(merge)))]
    return made


def split_of(base, **keys):
    made = copy.deepcopy(base)
    made["pre_tokenizer"]["pretokenizers"][0].update(keys)
    return made


def variants():
    """Names, objects, and whether llama.cpp has them."""
    gpt2, llama3, qwen2 = byte_level(), byte_level(LLAMA3), byte_level(QWEN2)
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    lower = {"type": "Lowercase"}
    user = {"special": False, "normalized": True}
    yield from (("gpt-2", gpt2, True), ("llama 3", llama3, True), ("qwen 2", qwen2, True), ("gpt-2, unreached", unreached(gpt2), True),
                ("llama 3, unreached", unreached(llama3), True), ("qwen 2, unreached", unreached(qwen2), True),
                ("llama 3, ignore_merges", changed(unreached(llama3), model_ignore_merges=True), True),
                ("gpt-2, ignore_merges", changed(unreached(gpt2), model_ignore_merges=True), False),
                ("qwen 2, ignore_merges", changed(unreached(qwen2), model_ignore_merges=True), False),
                ("unknown token", changed(gpt2, model_unk_token="</s>", model_vocab=gpt2["model"]["vocab"] | {"<s>": 800, "</s>": 801}), True),
                ("ids with a hole", changed(gpt2, more=[token(805, "<sep>")]), False),
                ("no merges", changed(gpt2, model_merges=[]), True), ("a byte without a piece", without(gpt2, "b"), False))
    for name, normalizer in (("Lowercase", lower), ("Strip", strip), ("Prepend", {"type": "Prepend", "prepend": "_"}), ("NFC", {"type": "NFC"}),
                             ("NFKC", {"type": "NFKC"}), ("Replace", {"type": "Replace", "pattern": {"String": "e"}, "content": "i"}),
                             ("StripAccents", {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})):
        yield name, changed(gpt2, normalizer=normalizer), False
    yield "no normalizers", changed(gpt2, normalizer={"type": "Sequence", "normalizers": []}), True
    for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield behavior, split_of(llama3, behavior=behavior), False
    yield from (("invert", split_of(llama3, invert=True), False), ("other pattern", split_of(llama3, pattern={"Regex": "[a-z]+"}), False),
                ("prefix space", changed(gpt2, pre_tokenizer=dict(gpt2["pre_tokenizer"], add_prefix_space=True)), False),
                ("no cut", changed(gpt2, pre_tokenizer=dict(gpt2["pre_tokenizer"], use_regex=False)), False),
                ("no decoder", changed(gpt2, decoder=None), False),
                ("truncation", changed(gpt2, truncation={"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}), False))
    for flag in ("lstrip", "rstrip", "single_word"):
        yield flag, changed(gpt2, more=[token(803, "<sep>", **{flag: True})]), False
    yield from (("user-defined", changed(gpt2, more=[token(803, "abc", **user)]), True),
                ("runs of spaces", changed(gpt2, more=[token(803, "  ", **user), token(804, "   ", **user)]), True),
                ("one in another", changed(gpt2, more=[token(803, "abc"), token(804, "b"), token(805, "ab")]), True),
                ("across", changed(gpt2, more=[token(803, "q@"), token(804, "@zw")]), False),
                ("across, of one length", changed(gpt2, more=[token(803, "q@"), token(804, "@z")]), False),
                ("across, the first is longer", changed(gpt2, more=[token(803, "q@z"), token(804, "zw")]), True),
                ("special in a normalized one", changed(gpt2, more=[token(803, "abc", **user), token(804, "b")]), False),
                ("special at the begin of a normalized one", changed(gpt2, more=[token(803, "abc", **user), token(804, "ab")]), False),
                ("reserved piece", unreached(gpt2, "<|im_end|>"), False),
                ("begin", changed(gpt2, post_processor=frame("<s>", None)), True),
                ("begin and end", changed(gpt2, post_processor=frame("<s>", None, "<|end|>")), True),
                ("another end", changed(gpt2, post_processor=frame("<s>", None, "</s>")), False))


def sentencepiece_variants(folder):
    """Models that the package sentencepiece makes."""
    import sentencepiece
    source = os.path.join(ROOT, "docs", "reference", "encodings.md")
    plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    for name, wanted, options in (
            ("spm bpe", True, {"model_type": "bpe", "byte_fallback": True, **plain}),
            ("spm bpe without prefix", True, {"model_type": "bpe", "byte_fallback": True, "add_dummy_prefix": False, **plain}),
            ("spm bpe nfkc", False, {"model_type": "bpe", "byte_fallback": True}),
            ("spm bpe white space", False, {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity"}),
            ("spm bpe without bytes", False, {"model_type": "bpe", **plain}),
            ("spm bpe defined", False, {"model_type": "bpe", "byte_fallback": True, "user_defined_symbols": ["<sep>"], **plain}),
            ("spm unigram", True, {"model_type": "unigram"}),
            ("spm unigram identity", True, {"model_type": "unigram", "normalization_rule_name": "identity"}),
            ("spm unigram bytes", False, {"model_type": "unigram", "byte_fallback": True}),
            ("spm unigram white space", False, {"model_type": "unigram", **plain}),
            ("spm unigram without prefix", False, {"model_type": "unigram", "add_dummy_prefix": False}),
            ("spm unigram defined", False, {"model_type": "unigram", "user_defined_symbols": ["<sep>"]})):
        prefix = os.path.join(folder, name.replace(" ", "-"))
        sentencepiece.SentencePieceTrainer.train(input=source, model_prefix=prefix, vocab_size=700, hard_vocab_limit=False, minloglevel=2, **options)
        yield name, prefix + ".model", wanted


def tokenize(library, vocabulary, text, special):
    data, room = text.encode(), (ctypes.c_int32 * 4000)()
    count = library.llama_tokenize(vocabulary, data, len(data), room, 4000, special, True)
    assert count >= 0, (text, count)
    return list(room[:count])


def compare(llama, folder, name):
    """How many texts differ, of llama.cpp and tokenizers; 0 where the file has the tokenizer."""
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    model = llama.load(folder + "/model.gguf")
    vocabulary = llama.library.llama_model_get_vocab(model)
    differences = []
    for text in random_texts(name):
        for special in (False, True):
            wanted, got = tokenizer.encode(text, add_special_tokens=special).ids, tokenize(llama.library, vocabulary, text, special)
            if wanted != got:
                differences.append((text, wanted, got))
    llama.library.llama_model_free(model)
    return differences


def check(llama, path, name, wanted, wrong):
    target = path + ".exported"
    os.mkdir(target)
    done = subprocess.run([MAKE, path, target], capture_output=True, text=True)
    refused = done.returncode != 0 and "user-defined" in done.stderr  # a tokenizer.json of it would be another one
    if done.returncode != 0 and not refused:
        raise RuntimeError(f"{name}: {done.stderr}")
    said = refused or done.stdout.startswith("no_vocab: ")
    print(f"{name}: {(done.stderr if refused else done.stdout).strip() or 'has a tokenizer'}")
    if said == wanted:
        wrong.append(f"{name}: wanted {'a tokenizer' if wanted else 'no_vocab'}")
    elif not said:
        differences = compare(llama, target, name)
        wrong += [f"{name}: {difference}" for difference in differences[:3]]


def main():
    llama = llama_logits.Llama(llama_logits.find_library())
    llama.library.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, made, wanted) in enumerate(variants()):
            path = os.path.join(folder, f"variant{i}")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(made, file)
            check(llama, path, name, wanted, wrong)
        for kind in ("bytes", "characters"):
            path = os.path.join(folder, kind)
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": 1, "tokenizer": kind} | ({"bytes": list(range(32, 127))} if kind == "characters" else {}), file)
            check(llama, path, kind, True, wrong)
        if importlib.util.find_spec("sentencepiece"):
            for name, path, wanted in sentencepiece_variants(folder):
                check(llama, path, name, wanted, wrong)
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
