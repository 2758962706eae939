# SPDX-License-Identifier: Apache-2.0
"""lesson.py follows a good tutorial, and fails where a page says what is not so."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lesson import Wrong, follow, matches  # noqa: E402

GOOD = """# Lesson

Put this into
`words.txt`:

```
one
two
```

Count them:

```sh
wc -l <words.txt
seq 5
```

```
2
1
...
5
```

This is refused:

```sh
cat nothing.txt
```

```
cat: ...
```

It prints something like:

```
cat: whatever
```
"""
FAULTS = [  # what, text, what it becomes
    ("a broken command", "wc -l", "wc --no-such-option"),
    ("a failing command", "wc -l <words.txt", "false"),
    ("a file that the page does not make", "`words.txt`:", "`other.txt`:"),
    ("a file's text", "one\n", "one\none\n"),
    ("another number", "\n2\n", "\n3\n"),
    ("a line that is not printed", "\n...\n", "\n"),
    ("a line too many", "...\n5\n", "...\n4\n"),
    ("nothing refused", "cat nothing.txt", "echo cat: no"),
    ("nothing printed", "cat nothing.txt\n```\n\n```\ncat: ...\n```", "cat nothing.txt 2>/dev/null\n```"),
    ("no command", "```sh", "```text"),
    ("a folder that is not there", "Count them:", "Count them, `runs/first`:"),
]
LINES = [  # shown, printed, loosely, whether they match
    ("mean -0.1789, 6 of 6", "mean -0.2100, 6 of 6", True, True),
    ("mean -0.1789, 6 of 6", "mean -0.2100, 5 of 6", True, False),
    ("mean -0.1789, 6 of 6", "mean -0.2100, 6 of 6", False, False),
    ("mean -0.3789", "mean 0.3789", True, False),
    ("mean 1.19", "mean 2.19", True, False),
    ("better than rope", "worse than rope", True, False),
    ("about 1m34s, 13 MiB", "about 2s, 9 MiB", True, True),
    ("rope     6   1.0", "rope 6 1.0", False, True),
    ("a ...", "a b c", False, True),
    ("a b...", "a bcd", False, True),
    ("mean 1.2, ...", "mean 1.3, p", True, True),
    ("12 runs to train...", "12 runs to train: about", True, True),
    ("12 runs to train...", "13 runs to train: about", True, False),
    ("mean 1.2, of ...", "mean 1.3, p", True, False),
    ("b ...", "a b c", False, False),
]


def fault_of(text):
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "lesson.md")
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
        os.mkdir(os.path.join(folder, "empty"))
        try:
            follow(page, os.path.join(folder, "empty"), {**os.environ, "LC_ALL": "C"})
        except Wrong as wrong:
            return str(wrong)
        return None


failed = 0
if fault := fault_of(GOOD):
    print(f"a good lesson: {fault}")
    failed += 1
for what, old, new in FAULTS:
    if old not in GOOD or fault_of(GOOD.replace(old, new)) is None:
        print(f"{what} is not found")
        failed += 1
for shown, printed, loosely, wanted in LINES:
    if matches([shown], [printed], loosely) != wanted:
        print(f'"{shown}" and "{printed}" match: {not wanted}')
        failed += 1
sys.exit(1 if failed else 0)
