# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of the library `tokenizers` as the models' own are made, learned from given texts, and texts that are hard for
them. The golden files and the live test share them."""
import json
import os
import random
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXTS = [
    "", " ", "  ", "Hello, World!", " leading", "trailing ", "trailing   ", "two  spaces   three    four", "the quick brown fox jumped over the lazy dog",
    "I'm you're we've he'll she'd it's don't I'M YOU'RE WE'VE 'S 's 'ſ", "'tis 'twas o'clock rock'n'roll", "123 4567 89012 1,234.56 3.14e-10 007",
    "٣٤٥ ²³¹ ½ Ⅷ ⑧ 一二三 𝟘𝟙𝟚", "a1b22c333d4444e55555", "tab\tnewline\nreturn\rboth\r\nend", "\n", "\n\n", "\n\n\n  indented\n\tmore\n", "   \n   \n  x",
    "def f(x):\n    return x ** 2  # comment\n\n\nclass A:\n\tpass\n", "spaces at end   \n", "          ten spaces", " " * 40 + "x" + " " * 17, "\t" * 9,
    "nbsp\u00a0here\u202fnarrow\u3000wide\u2003em\u1680ogham", "line\u2028sep\u2029para\x85nel\x0bvt\x0cff", "\x1c\x1d\x1e\x1fsep", "zero\u200bwidth\u200djoin\u2060er\ufeffbom\u180emvs",
    "soft\u00adhyphen", "\x01\x02\x7fcontrol", "naïve café résumé Ångström", "nai\u0308ve cafe\u0301", "e\u0301\u0302\u0303 a\u0327\u0301 a\u0301\u0327 q\u0307\u0323", "\u0301leading \u0301", "Å \u212b A\u030a ﬁ ﬂ ﬃ ² ½ ㎏ ＡＢ ｶﾞ",
    "ẛ̣ ≠ \u0344 \u1e9b\u0323 각 ᄀ\u1161\u11a8", "İstanbul ISPARTA ılık", "Straße STRASSE ẞ", "ΟΔΥΣΣΕΥΣ ΣΑΣ ς", "Привет, МИР ёлка Ё", "日本語のテキスト。", "中文字符，和标点！？", "한국어 텍스트", "ガギグ パピプ",
    "mixed中文and英文words123数字", "ไทย สวัสดี", "हिन्दी नमस्ते क्षत्रिय", "தமிழ் தமிழ்", "עברית שָׁלוֹם", "العَرَبِيَّة مَرْحَبًا", "བོད་སྐད", "ខ្មែរ", "Ắ ệ ở Việt Nam",
    "😀 😃😄 👨\u200d👩\u200d👧\u200d👦 🇩🇪 👍🏽 ❤️ 🏴\U000e0067\U000e0062\U000e007f", "x😀y", "Z̷̧͑a̴͝l̵̛g̶̀o̸͠", "\U0001f600" * 12, "𐍈 𒀀 𝔘𝔫𝔦 \U00020000 \U000e0100",
    "private\ue000use\U000f0000plane \uffff\ufdd0", "\ufffd \ufffd\ufffd", "…—–‒―‘’“”„«»‹›", "!!! ??? ... --- ___ *** +++ === ~~~ ^^^ ||| \\\\\\", "a-b_c/d\\e@f#g$h%i^j&k*l(m)n[o]p{q}r<s>t",
    "http://example.com/path?query=1&other=two#fragment user@mail.org", "C++ C# .NET x86_64 #include <stdio.h>", "{\"key\": [1, 2, {\"nested\": null}]}", "$5 €99 £5 ¥6 10% ±3° ×4 ÷5", "a" * 70, "ab" * 40, "the" * 20, "é" * 33, "日" * 30, "=" * 50,
    "\u2581already \u2581\u2581 marked\u2581", "▁", " ▁ ", "Ġspace Ċ Âł", "<0x41> <0xE2><0x96><0x81> <0xZZ>", "<s> </s> <unk> <pad>", "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ", "<|endoftext|><|endoftext|>", "<|endoftext|", "<|im_start|>user\nhi<|im_end|>\n",
    "<s>x</s>", " <s> x </s> y", "text <mask> text", "text<mask>text", "  <mask>  ", "\n<mask>\n", "wordy word sword word. word", "xwordx word word", "<tool>  call  </tool>", " <TOOL> <tool>", "café<tool>É", "\ue000word\u0301 word\u200d wordé",
    "The theme there then. The End", "UPPER lower Title cAmEl HTTPServer XMLHttpRequest iPhone", "it'S IT's It'Ll", "l'été d'œuvre aujourd'hui", "1st 2nd 3rd 10th", "00000000000000000000", "1 2 3 4 5", "x=1;y=22;z=333", "\u0660\u0661\u0662\u0663\u0664 \u0966\u0967", "a\u0300b\u0301c\u0302", "\u200d\u200d \ufe0f", "ⅰⅱⅲ ⅷ ⓐⓑ ㊀", "ª º ǅ ǈ ʰ ˈ ー 々 ゝ", "_ __ ‿ ⁀ ＿",
]


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def random_texts(count, seed=5):
    source = random.Random(seed)
    parts = [c for text in TEXTS for c in text] + [w for text in TEXTS for w in text.split()] + [" "] * 300 + ["  ", "\n", "\n\n", " \n", "\t"] * 12
    return ["".join(source.choice(parts) for _ in range(source.randint(1, 14))) for _ in range(count)]


# ---- making them ----


def unknown_of(tokenizer):
    """The unknown token; None: there is none."""
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"][model["unk_id"]][0] if model["type"] == "Unigram" else model["unk_token"]



def special(content, **settings):
    return AddedToken(content, **{"special": True, "normalized": False, **settings})


def learned(tokenizer, texts, size, alphabet=(), special_tokens=(), limit=None):
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, initial_alphabet=sorted(alphabet), special_tokens=list(special_tokens),
                                  show_progress=False, **({"limit_alphabet": limit} if limit else {}))
    tokenizer.train_from_iterator([text for text in texts if text], trainer)
    return tokenizer


def byte_level(texts, size, split=None, normalizer=None, prefix=False, ignore_merges=False, before=(), added=(), tokens=("<|endoftext|>",), unknown=None):
    """Split by GPT-2's expression, or by another one, or by several pre-tokenizers."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges, unk_token=unknown))
    if normalizer:
        tokenizer.normalizer = normalizer
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=split is None and not before)
    parts = [pre_tokenizers.Split(Regex(split), "isolated", invert=False)] if split else list(before)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts + [level]) if parts else level
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    learned(tokenizer, texts, size, pre_tokenizers.ByteLevel.alphabet(), [special(token) for token in tokens])
    tokenizer.add_tokens(list(added))
    return tokenizer


def with_fallback(tokenizer, fuse=True, drop=()):
    """The same with tokens for the bytes of characters that are no pieces, as SentencePiece's models are converted."""
    made = json.loads(tokenizer.to_str())
    model = made["model"]
    pieces = list(model["vocab"])
    tokens = pieces[:3] + [f"<0x{byte:02X}>" for byte in range(256) if byte not in drop] + pieces[3:]
    model.update(vocab={piece: i for i, piece in enumerate(tokens)}, byte_fallback=True, unk_token="<unk>", fuse_unk=fuse)
    for token in made["added_tokens"]:
        token["id"] = model["vocab"].get(token["content"], token["id"] + 256 - len(drop))
    return Tokenizer.from_str(json.dumps(made))


def marked(texts, size, normalizer, pre_tokenizer, decoder, added=(), fallback=True, **settings):
    """Characters whose spaces are marks."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    names = [special("<unk>"), special("<s>"), special("</s>")]
    lines = [line for text in texts for line in ([text] if pre_tokenizer else text.split(" "))]
    learned(tokenizer, lines, size, ["▁"], names, limit=90)
    if fallback:
        tokenizer = with_fallback(tokenizer, **settings)
    tokenizer.add_tokens(list(added))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def llama_decoder(strip=True):
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(parts + [decoders.Strip(" ", 1, 0)] if strip else parts)


def llama3(texts, size):
    tokenizer = byte_level(texts, size, CL100K, ignore_merges=True, tokens=["<|begin_of_text|>", "<|endoftext|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|> $B", special_tokens=[("<|begin_of_text|>", begin)])])
    # A piece that no merges make: it is found nevertheless.
    made = json.loads(tokenizer.to_str())
    made["model"]["vocab"]["Ġlazy"] = max(made["model"]["vocab"].values()) + 1
    return Tokenizer.from_str(json.dumps(made))


def roberta(texts, size):
    tokenizer = byte_level(texts, size, prefix=True, tokens=["<s>", "<pad>", "</s>", "<unk>"], added=[special("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def incomplete(texts, size):
    """Bytes that are no pieces, which become the unknown token."""
    tokenizer = byte_level(texts, size, tokens=["<|endoftext|>", "<unk>"], unknown="<unk>")
    made = json.loads(tokenizer.to_str())
    gone = {"Ġ", "Ċ", "Ã", "q"}
    model = made["model"]
    model["merges"] = [pair for pair in model["merges"] if not gone & set("".join(pair))]
    model["vocab"] = {piece: i for i, piece in enumerate(piece for piece in model["vocab"] if not gone & set(piece) or piece[0] == "<")}
    for token in made["added_tokens"]:
        token["id"] = model["vocab"][token["content"]]
    return Tokenizer.from_str(json.dumps(made))


def plain(texts, size):
    """Whitespace and punctuation, accents stripped, unknown characters one by one, no decoder."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False)])
    learned(tokenizer, texts, size, special_tokens=["[UNK]"], limit=70)
    tokenizer.add_tokens([AddedToken("<tool>", normalized=True), AddedToken("Word", single_word=True, normalized=True)])
    return tokenizer


def split_marks(texts, size):
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\p{Sc}|\d{2,3}"), "¤"), normalizers.Replace("--", "–")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Split("e", "merged_with_next"),
        pre_tokenizers.Split(Regex(r"[A-Z]+"), "merged_with_previous"), pre_tokenizers.Split(Regex(r"\w+"), "removed", invert=True)])
    learned(tokenizer, texts, size, special_tokens=["[UNK]"], limit=80)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return tokenizer


# ---- Unigram, with the tables of characters of SentencePiece, and whole words ----

RULES = [("ﬁ", "fi"), ("ﬂ", "fl"), ("\u00a0", " "), ("\t", " "), ("\u3000", " "), ("\u212b", "\u00c5"), ("A\u030a", "Å"), ("é", "e"), ("e\u0301", "é"), ("½", "1⁄2"),
         ("！", "!"), ("，", ","), ("\u200b", ""), ("\u00ad", ""), ("한", "HAN"), ("😀", ":-)"), ("👍🏽", "+1"), ("…", "...")]


def character_map(rules=None):
    """SentencePiece's table of these characters, or of its own normalization nmt_nfkc."""
    import io

    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    settings = {"normalization_rule_name": "nmt_nfkc"}
    if rules:
        with open("rules.tsv", "w") as file:
            file.writelines(f"{' '.join(f'{ord(c):X}' for c in old)}\t{' '.join(f'{ord(c):X}' for c in new)}\n" for old, new in sorted(rules))
        settings = {"normalization_rule_tsv": "rules.tsv"}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXTS[20:90]), model_writer=model, vocab_size=400, hard_vocab_limit=False,
                                             character_coverage=0.98, minloglevel=2, **settings)
    if rules:
        os.remove("rules.tsv")
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


def unigram(texts, size, rules=RULES, fallback=False):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(character_map(rules)), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = llama_decoder() if fallback else decoders.Metaspace()
    kept = set("abcdefghijklmnopqrstuvwxyzABCDEHITW0123456789 .,'!日本語テキストПриветßüç中文국😃")
    texts = ["".join(c for c in text if c in kept) for text in texts]
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=[special("<pad>"), special("</s>"), special("<unk>")], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator([text for text in texts if text.strip()], trainer)
    made = json.loads(tokenizer.to_str())
    model = made["model"]
    model["vocab"] = [[piece, round(score, 6)] for piece, score in model["vocab"] if not (fallback and piece in "日本Пр")]
    if fallback:
        model["vocab"] += [[f"<0x{byte:02X}>", 0.0] for byte in range(256) if byte != 0x9f]
        model["byte_fallback"] = True
    tokenizer = Tokenizer.from_str(json.dumps(made))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def words(texts, size):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator([text for text in texts if text], trainers.WordLevelTrainer(vocab_size=size, special_tokens=["[UNK]"], show_progress=False))
    return tokenizer


def prefixed():
    return normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


TOOLS = [AddedToken("<tool>", normalized=True), AddedToken("</tool>", normalized=True, rstrip=True), AddedToken("word", single_word=True, normalized=False),
         AddedToken("<pad>", lstrip=True, rstrip=True, normalized=False, special=True)]
RUNS = [AddedToken(" " * count, normalized=True) for count in range(10, 1, -1)]
SPLITS = [pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"), pre_tokenizers.Split(Regex(r"[一-龥぀-ゟ゠-ヿ]+"), "isolated"),
          pre_tokenizers.Split(Regex(DEEPSEEK), "isolated")]

KINDS = {
    "gpt2": lambda t, n: byte_level(t, n),
    "roberta": roberta,
    "llama3": llama3,
    "qwen2": lambda t, n: byte_level(t, n, QWEN2, normalizers.NFC(), added=[special("<|im_start|>"), special("<|im_end|>"), AddedToken("<tool>", normalized=False)]),
    "neox": lambda t, n: byte_level(t, n, normalizer=normalizers.NFC(), added=RUNS),
    "o200k": lambda t, n: byte_level(t, n, O200K, added=TOOLS),
    "deepseek": lambda t, n: byte_level(t, n, before=SPLITS),
    "starcoder": lambda t, n: byte_level(t, n, before=[pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)][:1]),
    "incomplete": incomplete,
    "llama2": lambda t, n: marked(t, n, prefixed(), None, llama_decoder(), added=TOOLS),
    "mistral": lambda t, n: marked(t, n, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), decoders.Metaspace(prepend_scheme="first"), added=TOOLS),
    "gemma": lambda t, n: marked(t, n, normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), llama_decoder(False), drop=range(0x80, 0x90), fuse=False),
    "metaspace": lambda t, n: marked(t, n, normalizers.NFKC(), pre_tokenizers.Metaspace(), decoders.Metaspace(), fallback=False, added=TOOLS),
    "unigram": unigram,
    "unigram_bytes": lambda t, n: unigram(t, n, fallback=True),
    "words": words,
    "plain": plain,
    "marks": split_marks,
}


# ---- characters of which the library knows what Unicode says ----


def is_alike(point):
    """Whether the library has the category, case and decomposition of this version of Unicode. Its tables are of several ages."""
    character, category = chr(point), unicodedata.category(chr(point))
    if category in ("Cn", "Cs") or point == 0:
        return False
    forms = ("NFC", normalizers.NFC()), ("NFD", normalizers.NFD()), ("NFKC", normalizers.NFKC()), ("NFKD", normalizers.NFKD())
    stripped = normalizers.StripAccents().normalize_str(character) == ""
    return (all(form.normalize_str(character) == unicodedata.normalize(name, character) for name, form in forms)
            and stripped == (category[0] == "M") and normalizers.Lowercase().normalize_str(character) == character.lower())
