# SPDX-License-Identifier: Apache-2.0
"""Tables of documents in Markdown, and the numbers in their cells."""
import re

NUMBER = re.compile(r"(?<![\w.])([−+-]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?")
ARCHIVE = re.compile(r"results/[\w-]+\.tar\.gz(?:/[\w.-]+)*")


class Table:
    """A table, the paragraph before it and the lines of the section that it is in."""

    def __init__(self, document, line, section, caption, rows):
        self.document = document
        self.line = line
        self.section = section
        self.caption = caption
        self.header = rows[0]
        self.rows = rows[2:]

    def copy_with(self, row, column, cell):
        changed = Table.__new__(Table)
        changed.__dict__ = dict(self.__dict__)
        changed.rows = [list(cells) for cells in self.rows]
        changed.rows[row][column] = cell
        return changed

    def where(self, row=None):
        line = self.line if row is None else self.line + 2 + row
        return f"{self.document}:{line}"

    def has_numbers(self):
        return any(numbers(cell) for cells in self.rows for cell in cells[1:])


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(document, text):
    """Every table of a document."""
    found, section, caption, block, fenced, before = [], [], "", [], False, ""
    lines = [*text.split("\n"), ""]
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            section.append(line)
            continue
        if line.startswith("|"):
            block.append(line)
            continue
        if block:
            found.append(Table(document, number - len(block), section, caption, [cells_of(row) for row in block]))
            block = []
        if line.startswith("#"):
            section, caption = [line], ""
        elif line.strip():
            caption = caption + " " + line if before.strip() and not before.startswith(("|", "```")) else line
            section.append(line)
        before = line
    return found


def paragraphs_of(text):
    """The prose of each section, with what the section's tables and commands say of archives."""
    for section in re.split(r"(?m)^(?=#+ )", re.sub(r"(?ms)^```.*?^```$", "", text)):
        prose = "\n".join(line for line in section.split("\n") if not line.startswith("|"))
        yield section, prose


def numbers(cell):
    """The numbers of a cell as (value, decimals)."""
    found = []
    for sign, whole, fraction in NUMBER.findall(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)):
        value = float(whole.replace(",", "") + fraction)
        found.append((-value if sign in ("−", "-") else value, max(len(fraction) - 1, 0)))
    return found


def agrees(printed, expected):
    """Whether a printed number is the expected one, rounded to the digits that are printed."""
    value, decimals = printed
    return expected is not None and abs(value - expected) <= 0.5 * 10**-decimals * (1 + 1e-9) + 1e-9
