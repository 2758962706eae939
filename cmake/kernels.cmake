# The instruction sets that kernels are compiled for, best last. This is the one list of them: a line here makes a
# variant of every kernel group and an entry in every group's table (src/kernel/variants.h.in). A new instruction set
# also needs its value in include/rotary/types.h, its name and its detection in src/base/cpu.c.
#
# rotary_instruction_set(<name> KERNELS <variant> [BF16_KERNELS <variant>] [FLAGS <compiler flags>])
# A variant is the kernels' sources compiled with the flags of the instruction set of that name. <name> runs the KERNELS
# variant and, of sources under BF16 (rotary_kernel_group), the BF16_KERNELS variant.
macro(rotary_instruction_set name)
    cmake_parse_arguments(ISA "" "KERNELS;BF16_KERNELS" "FLAGS" ${ARGN})
    string(TOUPPER ${name} isa)
    set(ROTARY_FLAGS_${name} ${ISA_FLAGS})
    list(APPEND ROTARY_VARIANTS ${ISA_KERNELS})
    string(APPEND ROTARY_VARIANT_LIST " EACH(${isa}, ${ISA_KERNELS})")
    if(ISA_BF16_KERNELS)
        list(APPEND ROTARY_BF16_VARIANTS ${ISA_BF16_KERNELS})
        string(APPEND ROTARY_BF16_VARIANT_LIST " EACH(${isa}, ${ISA_BF16_KERNELS}, ${ISA_KERNELS})")
    endif()
endmacro()

set(ROTARY_BF16_VARIANTS)
rotary_instruction_set(scalar KERNELS scalar)
if(ROTARY_PLAIN_C)
    # What other processors have.
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_definitions(ROTARY_HAVE_X86=1)
    set(amx -DROTARY_TILES=1)
    if(ROTARY_EMULATE_AMX)
        add_compile_definitions(ROTARY_EMULATE_AMX=1)
    else()
        list(APPEND amx -mamx-tile -mamx-bf16)
    endif()
    rotary_instruction_set(avx2 KERNELS avx2 FLAGS -mavx2 -mfma -mf16c)
    rotary_instruction_set(avx512 KERNELS avx512
        FLAGS ${ROTARY_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
    rotary_instruction_set(avx512bf16 KERNELS avx512bf16 BF16_KERNELS avx512bf16
        FLAGS ${ROTARY_FLAGS_avx512} -mavx512bf16)
    rotary_instruction_set(amx KERNELS avx512bf16 BF16_KERNELS amx FLAGS ${ROTARY_FLAGS_avx512bf16} ${amx})
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    # Every such processor has NEON: no flag enables it.
    rotary_instruction_set(neon KERNELS neon FLAGS -DROTARY_NEON=1)
endif()
list(REMOVE_DUPLICATES ROTARY_VARIANTS)
configure_file(${PROJECT_SOURCE_DIR}/src/kernel/variants.h.in ${PROJECT_BINARY_DIR}/include/kernel/variants.h @ONLY)

# rotary_kernel_group(<group> COMMON <files compiled once> EACH <files compiled for every KERNELS variant>
#                     [BF16 <files compiled for every BF16_KERNELS variant>] [AMX <files for amx alone>])
# compiles the kernels and leaves their objects in the variable KERNEL_OBJECTS_<group>, for the library that holds
# them. A file compiled for a variant has its flags, and ROTARY_VARIANT set to its name, which the macro ROTARY_KERNEL
# (src/kernel/simd.h) appends to names.
function(rotary_kernel_group group)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "COMMON;EACH;BF16;AMX")
    add_library(kernel_${group} OBJECT ${ARG_COMMON})
    set(objects $<TARGET_OBJECTS:kernel_${group}>)
    set(variants ${ROTARY_VARIANTS} ${ROTARY_BF16_VARIANTS})
    list(REMOVE_DUPLICATES variants)
    foreach(variant ${variants})
        set(files)
        if(variant IN_LIST ROTARY_VARIANTS)
            list(APPEND files ${ARG_EACH})
        endif()
        if(variant IN_LIST ROTARY_BF16_VARIANTS)
            list(APPEND files ${ARG_BF16})
        endif()
        if(variant STREQUAL "amx")
            list(APPEND files ${ARG_AMX})
        endif()
        if(files)
            add_library(kernel_${group}_${variant} OBJECT ${files})
            target_compile_options(kernel_${group}_${variant} PRIVATE ${ROTARY_FLAGS_${variant}})
            target_compile_definitions(kernel_${group}_${variant} PRIVATE ROTARY_VARIANT=${variant})
            list(APPEND objects $<TARGET_OBJECTS:kernel_${group}_${variant}>)
        endif()
    endforeach()
    set(KERNEL_OBJECTS_${group} ${objects} CACHE INTERNAL "Objects of the ${group} kernels, every instruction set")
endfunction()
