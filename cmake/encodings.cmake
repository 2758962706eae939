# cmake -DENCODINGS=<folder> -DOUTPUT=<file.c> -P encodings.cmake
# writes every <folder>/<name>.json into a C file as the tables of src/model/encoding/shipped_encodings.h, so that the program is one
# file.
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
file(GLOB files RELATIVE ${ENCODINGS} ${ENCODINGS}/*.json)
list(SORT files)
set(arrays "")
set(names "")
set(texts "")
set(index 0)
foreach(file ${files})
    get_filename_component(name ${file} NAME_WLE)
    embed_text(definition text_${index} ${ENCODINGS}/${file})
    string(APPEND arrays "static ${definition}")
    string(APPEND names "    \"${name}\",\n")
    string(APPEND texts "    text_${index},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"model/encoding/shipped_encodings.h\"\n\n${arrays}\nconst char *const shipped_encoding_names[] = {\n${names}    0,\n};\nconst char *const shipped_encoding_texts[] = {\n${texts}    0,\n};\n")
