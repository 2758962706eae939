# cmake -DPRESETS=<folder> -DOUTPUT=<file.c> -P presets.cmake
# writes every <folder>/<task>/<name>.json into a C file as the table `presets` (src/cli/presets.h), so that the
# program is one file.
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
file(GLOB files RELATIVE ${PRESETS} ${PRESETS}/*/*.json)
list(FILTER files EXCLUDE REGEX "^encodings/") # encodings.cmake
list(SORT files)
set(arrays "")
set(rows "")
set(index 0)
foreach(file ${files})
    get_filename_component(task ${file} DIRECTORY)
    get_filename_component(name ${file} NAME_WE)
    embed_text(definition text_${index} ${PRESETS}/${file})
    string(APPEND arrays "static ${definition}")
    string(APPEND rows "    {\"${task}\", \"${name}\", text_${index}},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"cli/presets.h\"\n\n${arrays}\nconst struct preset presets[] = {\n${rows}    {0},\n};\n")
