# SPDX-License-Identifier: Apache-2.0
"""check_results.py ROTARY ROOT: every number in the tables of results of README.md and docs is what `rotary report`
says of the archive that the table names, rounded; then that the checker finds each of these numbers if it is changed.

A table is of results if the paragraph before it says "from `results/NAME.tar.gz`" (or a folder in it), or if its rows
name archives, each its own, in a column "archive" without results/ and .tar.gz; result_attention.py reads the one file
that is no archive. Where the first column is headed "dataset" or "run", a row is of the folder of that name in the
paragraph's archive. The first measure that the paragraph names ("validation loss") is the table's, or else the
comparison's primary one. result_columns.py has what the columns mean. In README.md, results.md and extrapolation.md a
table with numbers names an archive, or says "Published", or is in a section that names the command of a benchmark, as
those of docs/explanation/performance.md are. Speeds elsewhere link to that page, and have its numbers.
"""
import json
import pathlib
import re
import sys

import result_archives as archives
import result_attention as attention
import result_columns as columns
import result_tables as tables

RESULTS = ("README.md", "docs/explanation/results.md", "docs/explanation/extrapolation.md")
SPEEDS = "docs/explanation/performance.md"
SPEED = re.compile(r"rotary bench|scripts/(bench-peers|compare-speed|scaling)|tests/study/test_estimate")
FOLDER_ROWS = ("dataset", "run")
SOURCE = re.compile(rf"[Ff]rom\s+`({tables.ARCHIVE.pattern})`")


class Checker:
    def __init__(self, rotary, root):
        self.rotary, self.root = rotary, root
        self.archives = {}
        self.on_texts = json.loads((pathlib.Path(root) / "results/on-texts.json").read_text(encoding="utf-8"))

    def archive(self, path):
        if path not in self.archives:
            if not (pathlib.Path(self.root) / re.sub(r"(\.tar\.gz).*", r"\1", path)).is_file():
                raise columns.Unknown(f"there is no {path}")
            self.archives[path] = archives.Archive(self.rotary, self.root, path, self.on_texts)
        return self.archives[path]

    def rows_of(self, table):
        """For each row of a table of results its archive, and whether the row is of one of its arms."""
        caption = SOURCE.findall(table.caption)
        if attention.FILE in table.caption:
            return [(attention.FILE, True) for row in table.rows]
        if "archive" in table.header:
            cells = [row[table.header.index("archive")].partition("/") for row in table.rows]
            return [(f"results/{name}.tar.gz{slash}{folder}" if name != "–" else None, False)
                    for name, slash, folder in cells]
        if caption and table.header[0] in FOLDER_ROWS:
            return [(f"{caption[-1]}/{row[0].strip('`')}", False) for row in table.rows]
        if caption:
            return [(caption[-1], True) for row in table.rows]
        named = [tables.ARCHIVE.search(" ".join(row)) for row in table.rows]
        return [(found and found[0], False) for found in named] if any(named) else None

    def expected(self, table, path, of_arm, row, column):
        """What a cell should have: numbers, words, or None where nothing is compared."""
        header = table.header[column]
        label = row[0].strip("*`")
        if path == attention.FILE:
            return attention.expected(self.root, label, header)
        archive = self.archive(path)
        if not of_arm:
            return columns.archive_column(archive, header, dict(zip(table.header, row)))
        if label.lower() in columns.BASELINES:
            return self.baseline_row(archive, label, column)
        arm = archive.arm(label.partition(", ")[0]) or archive.arm(label)
        if not arm:
            raise columns.Unknown(f'{path} has no arm "{label}": it has {", ".join(archive.arms)}')
        return columns.arm_column(archive, arm, label, header, table.header[0].lower(), table.caption)

    @staticmethod
    def baseline_row(archive, label, column):
        return [archive.scores[columns.BASELINES[label.lower()]]] if column == 1 else []

    def check_cell(self, table, path, of_arm, number, column):
        """What is wrong with a cell, or nothing."""
        row = table.rows[number]
        cell = row[column]
        if cell in ("", "–") or not is_checked(table, column) or tables.ARCHIVE.search(cell):
            return None
        try:
            wanted = self.expected(table, path, of_arm, row, column)
        except (columns.Unknown, LookupError, TypeError) as fault:
            return f"{table.header[column]}: {cell}: {fault}"
        if wanted is None:
            return None
        if isinstance(wanted, str):
            return None if wanted in cell.replace("*", "") else f'{table.header[column]}: "{cell}": wanted "{wanted}"'
        return self.compare(table.header[column], cell, wanted)

    @staticmethod
    def compare(header, cell, wanted):
        printed = tables.numbers(cell)
        if not printed:
            return f'{header}: "{cell}" has no number'
        if len(printed) == 2 and len(wanted) >= 3 and cell.startswith("["):
            wanted = wanted[1:]
        if len(printed) > len(wanted):
            return f'{header}: "{cell}" has more numbers than there are: {wanted}'
        for number, value in zip(printed, wanted):
            if not tables.agrees(number, value):
                return f'{header}: "{cell}": wanted {"none" if value is None else format(value, ".6g")}'
        return None

    def check_table(self, table):
        """What is wrong with a table, each with its place."""
        sources = self.rows_of(table)
        if sources is None:
            section = " ".join(table.section)
            exempt = table.caption.startswith("Published") or SPEED.search(section)
            wanted = table.document in RESULTS or pathlib.Path(table.document).name.startswith("performance")
            if SPEEDS in section and not exempt:
                yield from self.check_speeds(table)
            elif wanted and table.has_numbers() and not exempt:
                yield f"{table.where()}: wanted \"from `results/NAME.tar.gz`\" before the table, or a command"
            return
        for number, (path, of_arm) in enumerate(sources):
            row = table.rows[number]
            if len(row) != len(table.header):
                yield f"{table.where(number)}: {len(row)} cells: wanted {len(table.header)}"
                continue
            for column in range(1, len(row)):
                if path is None:
                    fault = self.without_source(table, row, column)
                else:
                    fault = self.check_cell(table, path, of_arm, number, column)
                if fault:
                    yield f"{table.where(number)}: {fault}"

    def check_speeds(self, table):
        """Each number of a table that links to the page of speeds is in it as it is printed."""
        speeds = set(re.findall(r"\d[\d,.]*\d|\d", (pathlib.Path(self.root) / SPEEDS).read_text(encoding="utf-8")))
        for number, row in enumerate(table.rows):
            for cell in row[1:]:
                for printed in re.findall(r"\d[\d,.]*\d|\d", cell):
                    if printed not in speeds:
                        yield f"{table.where(number)}: {printed} is not in {SPEEDS}"

    @staticmethod
    def without_source(table, row, column):
        """A row without an archive, among rows with one, has no numbers but what others published."""
        if not is_checked(table, column) or not tables.numbers(row[column]):
            return None
        return f'{table.header[column]}: "{row[column]}" has no source'

    def check_prose(self, document, text):
        """Every interval in the prose of a section is one of the archives that the section names."""
        everything = {found[0] for found in tables.ARCHIVE.finditer(text)}
        for section, prose in tables.paragraphs_of(text):
            for printed in re.finditer(r"\[([−+-]?\d[^\]\[]*)\](?!\()", prose):
                interval = tables.numbers(printed[1])
                here = {found[0] for found in tables.ARCHIVE.finditer(section)} or everything
                if len(interval) == 2 and not self.has_interval(here, interval):
                    yield f"{document}: {' '.join(printed[0].split())} is no interval of {', '.join(sorted(here))}"

    def has_interval(self, paths, interval):
        for path in paths:
            try:
                found = self.archive(path).intervals()
            except LookupError:  # an archive of several comparisons: its folders are named beside it
                continue
            if any(tables.agrees(interval[0], low) and tables.agrees(interval[1], high) for low, high in found):
                return True
        return False


def is_checked(table, column):
    return table.header[column].lower() not in columns.UNCHECKED


def documents(root):
    for path in [pathlib.Path(root) / "README.md", *sorted(pathlib.Path(root).glob("docs/*/*.md"))]:
        yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def planted(cell):
    """The cell with each of its numbers' last digits changed, one at a time."""
    for found in tables.NUMBER.finditer(cell):
        last = found.end() - 1
        yield cell[:last] + str((int(cell[last]) + 5) % 10) + cell[last + 1:]


def plant(checker, checked):
    """Changes every number of every table, one at a time: each must be found."""
    changed = 0
    for table in checked:
        for number, (path, of_arm) in enumerate(checker.rows_of(table)):
            for column in range(1, len(table.header)):
                cell = table.rows[number][column]
                if path is None or not is_checked(table, column) or cell in ("", "–"):
                    continue
                if isinstance(checker.expected(table, path, of_arm, table.rows[number], column), str):
                    continue
                for wrong in planted(cell):
                    changed += 1
                    if not checker.check_cell(table.copy_with(number, column, wrong), path, of_arm, number, column):
                        yield f"{table.where(number)}: {wrong} for {cell} was not found"
    if changed < 100:
        yield f"only {changed} numbers were changed"
    print(f"{changed} numbers changed, one at a time")


def plant_source(checker, checked):
    """A table whose source is taken away must be found."""
    table = next(table for table in checked if table.document in RESULTS and table.caption.startswith("From `"))
    rows = [table.header, [], *table.rows]
    orphan = tables.Table(table.document, table.line, ["# A section"], "After 400 steps:", rows)
    if not list(checker.check_table(orphan)):
        yield "a table without a source was not found"
    fast = tables.Table("README.md", 1, ["# How fast", SPEEDS], "", [["", "s"], [], ["a step", "0.0679 s"]])
    if not list(checker.check_table(fast)):
        yield "a speed that nobody measured was not found"
    if not list(checker.check_prose("planted", "From `results/prefix-quick.tar.gz`: [−0.4588, −0.2734]\n")):
        yield "a wrong interval was not found"


def main(rotary, root):
    checker = Checker(rotary, root)
    faults, checked = [], []
    for document, text in documents(root):
        for table in tables.tables_of(document, text):
            faults += checker.check_table(table)
            if checker.rows_of(table):
                checked.append(table)
        if tables.ARCHIVE.search(text) and document in RESULTS:
            faults += checker.check_prose(document, text)
    print(f"{len(checked)} tables of results")
    if not faults:
        faults += plant(checker, checked)
        faults += plant_source(checker, checked)
    print("\n".join(faults))
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
