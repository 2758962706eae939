# SPDX-License-Identifier: Apache-2.0
"""wheel_licences.py WHEEL FOLDER: writes the wheel into the folder, with the licences of what auditwheel bundled.

Each library's licence file is that of its Debian package.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from auditwheel.wheeltools import InWheelCtx

# By the library's name. A library that is not listed is refused, so that nobody passes on what they did not look at.
LICENCES = {
    "libOpenCL": "BSD-2-Clause",
    "libbz2": "bzip2-1.0.6",
    "libdnnl": "Apache-2.0 AND BSD-3-Clause",
    "libgomp": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libjansson": "MIT",
    "libpcre2-8": "BSD-3-Clause",
    "libsentencepiece": "Apache-2.0 AND BSD-3-Clause",
    "libsentencepiece_train": "Apache-2.0 AND BSD-3-Clause",
    "libunistring": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libz": "Zlib",
    "libzstd": "BSD-3-Clause",
}


def package_of(name: str) -> str:
    """The Debian package of a library of this processor, without its architecture."""
    found = subprocess.run(["dpkg-query", "-S", f"*/{name}"], capture_output=True, text=True, check=False).stdout
    for line in found.splitlines():
        packages, path = line.split(": ", 1)
        if pathlib.Path(path).parent.name in (sysconfig.get_config_var("MULTIARCH"), "lib"):
            return packages.split(",")[0].split(":")[0]
    sys.exit(f"wheel_licences.py: no Debian package has {name}, wanted one whose licence is known")


def add(root: pathlib.Path) -> None:
    information = next(root.glob("*.dist-info"))
    metadata = information / "METADATA"
    licences, files = {"Apache-2.0"}, []
    for library in sorted(next(root.glob("*.libs"), root / "none").glob("*.so*")):
        name = re.sub(r"-[0-9a-f]{8}(\.so)", r"\1", library.name)  # auditwheel's hash
        base = name.partition(".so")[0]
        if base not in LICENCES:
            sys.exit(f"wheel_licences.py: {name} is bundled, and its licence is not in scripts/wheel_licences.py")
        licence = LICENCES[base]
        licences.update([f"({licence})"] if " OR " in licence else licence.split(" AND "))
        files.append(f"bundled/{base}.txt")
        target = information / "licenses" / files[-1]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(f"/usr/share/doc/{package_of(name)}/copyright", target)
    head, end, body = metadata.read_text(encoding="utf-8").partition("\n\n")
    head = re.sub(r"(?m)^License-Expression: .*$", "License-Expression: " + " AND ".join(sorted(licences)), head)
    head += "".join(f"\nLicense-File: {file}" for file in files)
    metadata.write_text(head + end + body, encoding="utf-8")


def main() -> None:
    wheel, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / pathlib.Path(sys.argv[1]).name
    with InWheelCtx(wheel) as inside:
        add(inside.path)
        inside.out_wheel = output  # it is written at the end of the block, also after an exception
    print(f"{output}: {output.stat().st_size / 1e6:.1f} MB")


main()
