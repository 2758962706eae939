# SPDX-License-Identifier: Apache-2.0
"""make_wordpiece_goldens.py > tests/text/wordpiece_goldens.h: what the library `tokenizers` makes of difficult text.

A hash of the words that each block of 256 characters becomes, with every combination of the settings; a vocabulary made
from a list of texts; the tokens of these texts and of random ones, and what they are decoded to."""
import itertools
import random
import sys
import unicodedata

import tokenizers
from bert_characters import is_alike, normalizer_of
from tokenizers import BertWordPieceTokenizer, decoders, pre_tokenizers

SETTINGS = list(itertools.product([False, True], repeat=3))  # lower case, strip accents, split Chinese
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def words_of(settings, text):
    return [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalizer_of(*settings).normalize_str(text))]


# ---- every character ----


def runs_of(alike):
    """How many characters are alike, then how many are not, and so on."""
    runs, wanted = [], True
    for value, group in itertools.groupby(alike):
        runs += [0] if value != wanted else []
        runs.append(len(list(group)))
        wanted = not value
    return runs


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def block_hash(block, alike):
    """Of the words of "a" + character + "b", separated by line feeds, for all that are alike and all settings."""
    lines = [f"a{chr(point)}b" for point in range(block * 256, block * 256 + 256) if alike[point]]
    return fnv("".join("\n".join(words_of(settings, line)) + "\n\n" for settings in SETTINGS for line in lines).encode())


# ---- texts ----

texts = [
    "", " ", "Hello, World!", "the quick brown fox jumped", "unaffable undoing un##able ##able", "naïve café résumé Ångström",
    "nai\u0308ve cafe\u0301", "ÀÉÎÕÜ Žluťoučký kůň", "Ắ ệ ở Việt Nam", "İstanbul ISPARTA ılık", "Straße STRASSE ẞ ß",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ", "Привет, МИР ёлка Ё", "日本語のテキスト", "中文字符，和标点。", "mixed中文and英文words", "한국어 텍스트 각", "ガギグ パピプ",
    "ｆｕｌｌｗｉｄｔｈ！", "ﬁ ﬂ ﬀ", "ªº²³¼", "don't can't o'clock", "it’s “quoted” — dash…", "a-b_c/d\\e@f#g$h%i^j&k*l",
    "1,234.56 €99 £5 ¥6 $7", "tab\tnewline\nreturn\rend", "nul-free\x01\x02\x1f\x7fcontrol\x85next", "zero\u200bwidth\u200djoin\u2060er\ufeffbom",
    "soft\u00adhyphen", "nbsp\u00a0here\u202fnarrow\u3000wide\u2003em", "line\u2028sep\u2029para", "bad\ufffdreplacement\ufffdhere",
    "private\ue000use\U000f0000plane", "\u202eright to left\u202c", "עברית שָׁלוֹם", "العَرَبِيَّة مَرْحَبًا", "हिन्दी नमस्ते", "ไทย สวัสดี", "ខ្មែរ", "བོད་སྐད", "தமிழ்",
    "😀 😃😄 👨‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️", "x😀y", "Z̷̧͑a̴͝l̵̛g̶̀o̸͠", "e\u0301\u0302\u0303\u0304", "\u0301leading", "\u0301", "a\u0327\u0301 a\u0301\u0327",
    "a" * 99, "a" * 100, "a" * 101, "ab" * 50 + " " + "ab" * 51, "é" * 100, "é" * 101, "e\u0301" * 100, "한" * 33, "한" * 34, "각" * 33, "각" * 34, "😀" * 100,
    "😀" * 101, "中" * 120, "." * 120, "a." * 60, "x" + "\u0301" * 300 + "y", "q\u302e\u302f\u1b44z", "\u0f71\u0f72\u0f74 \u0f73", "≠ ≮ ≯ \u037e \u1fef \u0387 \u212a \u212b \u2126",
    "㐀 䶿 一 鿿 豈 \U0002a6df \U0002b820 \U0002b920 \U0002ceaf \U0002f800 \U0002fa1f \U00030000", "〇〡〢々ゝー・", "①②Ⅷⅷ", "𝐀𝐁𝐂 𝟘𝟙", "ǅ ǈ ﬃ ŉ", "#hashtag @user http://x.y/z?a=b&c=d",
    "[CLS] [SEP] [MASK] [UNK] [PAD]", "[MASK]ed [ MASK ]", "##ing # # ##", "'' \"\" `` ~~ ^^ || <> {} []", "।॥ ؟ ، ؛ ۔ ¿¡ «» „“ ‽ ⁂ ※ 〽 ｡｢｣",
    "\u0600arabic number sign", "\ud7ff\ue001", "\uffff\ufdd0", "unknownwordzzz qqq", "jumpedjumped foxesing", "   lead and trail   ",
]
pieces_of_words = ["the", "quick", "brown", "fox", "jump", "##ed", "##s", "##ing", "##es", "un", "##aff", "##able", "##do", "hello", "world", "Hello", "World",
                   "naive", "cafe", "café", "resume", "viet", "nam", "##nam", "abab", "##abab", "aaaaaaaa", "##aaaa", "##aaaaaaaa", "mask", "cl", "##s", "中文", "##文",
                   "привет", "мир", "##ир", "한", "##국", "각", "straße", "strasse", "istanbul", "i̇", "oδυσσευς", "οδυσσευσ", "οδυσσευς", "", "##", "###"]


def random_texts(count):
    source = random.Random(3)
    alphabet = [c for text in texts for c in text] + [w for text in texts for w in text.split()[:3]] + [" "] * 400
    return ["".join(source.choice(alphabet) for _ in range(source.randint(1, 14))) for _ in range(count)]


def vocabulary():
    """Special tokens, some pieces, and most characters of the texts as they are and in lower case, also continuing a word."""
    pieces = dict.fromkeys(SPECIAL + pieces_of_words)
    for text in texts:
        for settings in SETTINGS:
            for word in words_of(settings, text):
                for i, character in enumerate(word):
                    if fnv(character.encode()) % 11:
                        pieces["##" * (i > 0) + character] = None
    return list(pieces)


def quoted(data):
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in data) + '"'


def tokenizer_of(pieces, lower, strip, chinese):
    tokenizer = BertWordPieceTokenizer({piece: i for i, piece in enumerate(pieces)}, clean_text=True, lowercase=lower,
                                       strip_accents=strip, handle_chinese_chars=chinese)
    tokenizer._tokenizer.encode_special_tokens = True  # [MASK] in a text is text
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return tokenizer


def wrapped(items, width=112):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            print(line)
            line = "   "
        line += f" {item},"
    print(line)


print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_wordpiece_goldens.py with tokenizers {tokenizers.__version__} and Python's Unicode {unicodedata.unidata_version}: do not edit. */
#ifndef TESTS_TEXT_WORDPIECE_GOLDENS_H
#define TESTS_TEXT_WORDPIECE_GOLDENS_H

#include <stdint.h>

/* clang-format off */
/* How many characters have, from U+0000 on, the properties in tokenizers that Unicode gives them, then how many have not
 * or are none, and so on. */
static const int32_t golden_alike[] = {{""")
alike = [not 0xd800 <= point < 0xe000 and is_alike(point) for point in range(0x110000)]
wrapped(map(str, runs_of(alike)), 512)
print("""};

/* Blocks of 256 characters that have such ones, and a hash of their words with each combination of the settings: 1 is
 * split_chinese, 2 strip_accents, 4 lower_case. */
static const struct { int32_t block; uint64_t hash; } golden_blocks[] = {""")
wrapped(f"{{0x{block:x}, 0x{block_hash(block, alike):016x}}}" for block in range(0x1100) if any(alike[block * 256:][:256]))
print("};\n\nstatic const char *const golden_pieces[] = {")
pieces = vocabulary()
wrapped(quoted(piece.encode()) for piece in pieces)
print("""};

/* A text with the settings, its tokens (-1 behind the last), and what they are decoded to. */
static const struct { int settings; const char *text; int32_t tokens[164]; const char *decoded; } golden_texts[] = {""")
all_texts = texts + random_texts(160)
rows = []
for number, settings in enumerate(SETTINGS):
    tokenizer = tokenizer_of(pieces, *settings)
    for i, text in enumerate(all_texts):
        if i % len(SETTINGS) != number if i >= len(texts) else number != 7 and (number != 1 or i % 3):
            continue
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        rows.append(f"{{{number}, {quoted(text.encode())}, {{{', '.join(map(str, ids + [-1]))}}}, {quoted(decoded.encode())}}}")
wrapped(rows, 512)
print("""};
/* clang-format on */

#endif""")
missing = sum(not a and unicodedata.category(chr(i)) not in ("Cn", "Cs") for i, a in enumerate(alike))
print(f"{len(pieces)} pieces; {missing} characters with other properties than in Unicode {unicodedata.unidata_version}", file=sys.stderr)
