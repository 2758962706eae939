# SPDX-License-Identifier: Apache-2.0
"""Random translations and references that tokenizers find hard: entities, punctuation, numbers, all of Unicode."""
import random
import unicodedata

WORDS = """the a cat Cat dog İstanbul ΣΑΣ ΟΔΥΣΣΕΥΣ σ Σ Straße 3.14 1,000 3-4 don't well-known e.g. U.S. &amp; &quot;x&quot; &lt;b&gt; <skipped>
<SKIPPED> &amp;lt; $5 50% (hi) [x] a/b ... , . - -- ½ ٣ ٣.٤ ２，３ «oui» “q” — … € ™ 日本 語。 é e\u0301 😀 👩\u200d👩 x\u00adx & ; ' " a.b 1.a a.1 1..2
.5 5. ,5 (a) a) (( ." x. !? "no" """.split() + ["\u200b", "\u00a0", "\u2028", "\x1c", "\x85", "\u3000", "\ufeffa", "a\x1fb"]
PLANES = [(0x20, 0x250), (0x250, 0x3000), (0x3000, 0x10000), (0x10000, 0x20000), (0x20000, 0x110000)]


class Segments:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def character(self):
        """Any that has been assigned; others mean different things to different versions of Unicode."""
        while True:
            character = chr(self.random.randrange(*self.random.choice(PLANES)))
            if unicodedata.category(character) not in ("Cn", "Cs", "Co"):
                return character

    def word(self):
        kind = self.random.random()
        if kind < 0.7:
            return self.random.choice(WORDS)
        if kind < 0.85:
            return "".join(self.random.choice("abcAB.,-'&;12<>") for _ in range(self.random.randint(1, 6)))
        return "".join(self.character() for _ in range(self.random.randint(1, 4)))

    def segment(self):
        count = self.random.choice([0, 1, 2, 3, 4, 5, 8, 12, 20])
        return "".join(self.word() + self.random.choice([" ", " ", " ", ""]) for _ in range(count))

    def varied(self, segment):
        """The segment with a few words changed."""
        words = segment.split(" ")
        for _ in range(self.random.randint(0, 4)):
            at, kind = self.random.randrange(len(words)), self.random.random()
            if kind < 0.3:
                words[at] = self.word()
            elif kind < 0.5 and len(words) > 1:
                del words[at]
            elif kind < 0.7:
                words.insert(at, self.word())
            else:
                words[at] = self.random.choice([words[at].upper(), words[at].lower(), words[at] + ".", words[at] * 2])
        return " ".join(words)

    def corpus(self, count, references):
        """Translations and lists of references."""
        segments = [self.segment() for _ in range(count)]
        return [self.varied(s) for s in segments], [[self.varied(s) for s in segments] for _ in range(references)]
