# embed_text(<variable> <name> <file>) sets the variable to C code that defines const char <name>[], the file's text.
function(embed_text variable name file)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    set(${variable} "const char ${name}[] = {${bytes}0};\n" PARENT_SCOPE)
endfunction()

# cmake -DINPUT=<file> -DNAME=<name> -DHEADER=<header> -DOUTPUT=<file.c> -P embed.cmake
# writes a C file that defines one text, which the header declares.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    embed_text(definition ${NAME} ${INPUT})
    file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\n${definition}")
endif()
