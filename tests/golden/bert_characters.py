# SPDX-License-Identifier: Apache-2.0
"""BERT's normaliser in the library `tokenizers`, and the characters of which it knows what Unicode says."""
import unicodedata

from tokenizers import normalizers, pre_tokenizers


def normalizer_of(lower, strip, chinese):
    return normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower)


def is_alike(point):
    """Whether the library has the category, case and decomposition that this version of Unicode gives the character. Its own
    tables have characters of Unicode 8."""
    character, category = chr(point), unicodedata.category(chr(point))
    if category in ("Cn", "Cs") or point == 0:
        return False
    removed = category in ("Cc", "Cf", "Co") and character not in "\t\n\r" or point == 0xfffd
    space = character.isspace() and not removed or character in "\t\n\r"
    stripped = "".join(c for c in unicodedata.normalize("NFD", character) if unicodedata.category(c) != "Mn")
    mark = category[0] == "P" or 32 < point < 127 and not character.isalnum()
    return (normalizer_of(False, False, False).normalize_str(character) == ("" if removed else " " if space else character)
            and normalizers.BertNormalizer(False, False, True, False).normalize_str(character) == stripped
            and normalizers.BertNormalizer(False, False, False, True).normalize_str(character) == character.lower()
            and (len(pre_tokenizers.BertPreTokenizer().pre_tokenize_str(f"a{character}b")) == 3) == mark)
