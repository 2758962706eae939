# One set of flags for every file. Results must not depend on what a compiler feels free to do with floating
# point: no fast-math, no contraction; a fused multiply-add is written where it is meant.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
# Dev is optimized as a release, so that the optimizer warns of what it sees there. Names of variables for a debugger would
# take a third more time to compile: -g1 has the lines.
set(CMAKE_C_FLAGS_DEV "-O3 -g1")
if(ROTARY_SANITIZE) # compiling sanitized kernels takes -O2 three times as long, and their tests a tenth less
    set(CMAKE_C_FLAGS_DEV "-O1 -g1")
endif()

add_compile_definitions(_GNU_SOURCE)
# nvcc knows none of them.
set(flags -ffp-contract=off -fno-math-errno -fno-trapping-math
    -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Wcast-align -Wcast-qual -Wundef -Wvla -Wpointer-arith -Wwrite-strings -Wformat=2
    -Wimplicit-fallthrough)
add_compile_options("$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${flags}>" $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(ROTARY_WERROR)
    add_compile_options($<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-Werror>)
endif()
if(ROTARY_SANITIZE)
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
endif()
if(ROTARY_LIBFUZZER)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/include)
