#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# modules.sh ROOT: a module of src/ includes only headers of modules below it, each foreign library is included by one file,
# and src/cli alone prints. The table is that of docs/explanation/architecture.md.
set -eu
cd "$1"
find src include -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.inc' | LC_ALL=C sort | xargs awk '
BEGIN {
    # module: what it may include besides its own headers. An entry is a module or a single header.
    below["base"] = ""
    below["kernel"] = "base"
    below["rope"] = "kernel " below["kernel"]
    below["attention"] = "rope " below["rope"]
    below["file"] = "base"
    below["ranks"] = "base"
    below["run_folder"] = "file base"
    below["config"] = "file base"
    below["rope_config"] = "config file base"
    below["backend"] = "kernel base"
    below["cuda"] = "backend attention rope base"
    below["layer"] = "backend config file base"
    below["model"] = "layer rope_config " below["layer"]
    below["huggingface"] = "model " below["model"]
    below["config_library"] = "huggingface rope_config config file base"
    below["text"] = "config file base"
    below["score"] = "text base"
    below["task"] = "score text run_folder config file base"
    below["train"] = "cuda ranks task score text run_folder huggingface model " below["model"]
    below["inference"] = "train " below["train"]
    below["benchmark"] = "train kernel " below["train"]
    below["statistics"] = "score base"
    below["records"] = "statistics task score text run_folder config file base"
    below["study"] = "ranks records statistics inference train " below["train"]
    # A page is made from records of runs: never through a header that can train.
    below["report"] = "records statistics config file base score/measure.h"
    below["oracle"] = "huggingface attention " below["attention"] " " below["huggingface"]
    below["cli"] = "ranks kernel oracle huggingface report study benchmark inference " below["study"]
    for (module in below) {
        allowed[module, module] = 1
        count = split(below[module], names, " ")
        for (i = 1; i <= count; i++)
            allowed[module, names[i]] = 1
    }
    # CUDA is a folder'"'"'s: headers of its own and of its libraries.
    cuda = "^(cuda|cublas|cudnn|cooperative_groups|mma|nv)|^emulated_"
    # How many files may include a library; and the modules that may not at all.
    split("cublasLt dnnl mpi omp sentencepiece unicase unictype uninorm unistr zlib zstd bzlib", once, " ")
    library = " base kernel rope attention include "
}
function complain(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failed = 1
}
FNR == 1 {
    split(FILENAME, path, "/")
    module = path[1] == "include" ? "include" : path[2]
    if (module != "include" && !(module in below))
        complain("src/" module " is no module")
    files++
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    header = $0
    sub(/^[^"]*"/, "", header)
    sub(/".*$/, "", header)
    split(header, part, "/")
    if (header !~ /\//)
        complain("includes \"" header "\" without its module")
    else if ((module == "layer" || module == "model") && header == "base/threads.h")
        complain(module " includes \"" header "\": work is split by operations of the backend")
    else if (!((module, part[1]) in allowed) && !((module, header) in allowed))
        complain(module " includes \"" header "\": only modules below may be called")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*$/, "", header)
    if (header ~ /^jansson/ && index(library, " " module " "))
        complain("includes <" header ">: librotary needs libm and POSIX threads only")
    if (module == "include" && header !~ /^(rotary\/|std(bool|def|int)\.h$)/)
        complain("a public header includes <" header ">")
    if (header ~ cuda && module != "cuda")
        complain("includes <" header ">: src/cuda alone knows CUDA")
    for (i in once) {
        if (index(header, once[i]) != 1)
            continue
        if (index(library, " " module " "))
            complain("includes <" header ">: librotary needs libm and POSIX threads only")
        if (includer[once[i]] && includer[once[i]] != FILENAME)
            complain("includes <" header ">, and so does " includer[once[i]] ": one file is enough")
        includer[once[i]] = FILENAME
    }
}
module != "cli" && /(^|[^a-z_])(std(out|err)([^a-z_]|$)|(v?printf|puts|putchar|perror)\()/ {
    complain("prints: a caller gets a text, or says where to write")
}
END {
    if (files == 0) {
        print "no source files found"
        failed = 1
    }
    exit failed
}'
