# cmake -DPRESETS=<folder> -DOUTPUT=<file.c> -P presets.cmake
# writes every <folder>/<task>/<name>.json into a C file as the table `presets` (src/cli/presets.h), so that the
# program is one file.
file(GLOB files RELATIVE ${PRESETS} ${PRESETS}/*/*.json)
list(SORT files)
set(arrays "")
set(rows "")
set(index 0)
foreach(file ${files})
    get_filename_component(task ${file} DIRECTORY)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${PRESETS}/${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const char text_${index}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${task}\", \"${name}\", text_${index}},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"cli/presets.h\"\n\n${arrays}\nconst struct preset presets[] = {\n${rows}    {0},\n};\n")
