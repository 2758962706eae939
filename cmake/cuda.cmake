# The CUDA backend (src/cuda). ROTARY_CUDA=ON: nvcc and cuBLASLt build it into the program. EMULATED: a compiler of C++
# does, for a device that tests/support/cuda_emulated emulates, very slowly. Tests have the emulated one but with ON, where
# the same tests are for the device that there is.
set(ROTARY_CUDA OFF CACHE STRING "Build the program with the CUDA backend: ON, OFF, or EMULATED on the host, for tests")
set(ROTARY_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "What nvcc builds for: the last one also for later devices")
set_property(CACHE ROTARY_CUDA PROPERTY STRINGS OFF ON EMULATED)
if(NOT ROTARY_CUDA MATCHES "^(ON|OFF|EMULATED)$")
    message(FATAL_ERROR "ROTARY_CUDA is ON, OFF or EMULATED, not ${ROTARY_CUDA}")
endif()

include(CheckLanguage)
check_language(CXX)
set(ROTARY_CUDA_EMULATION OFF)
if(CMAKE_CXX_COMPILER AND (ROTARY_CUDA STREQUAL "EMULATED" OR (ROTARY_TESTS AND NOT ROTARY_CUDA STREQUAL "ON")))
    enable_language(CXX)
    set(ROTARY_CUDA_EMULATION ON)
elseif(ROTARY_CUDA STREQUAL "EMULATED")
    message(FATAL_ERROR "ROTARY_CUDA=EMULATED needs a compiler of C++")
endif()

if(ROTARY_CUDA STREQUAL "ON")
    enable_language(CUDA)
    set(CMAKE_CUDA_FLAGS_DEV "-O3")
    find_package(CUDAToolkit REQUIRED)
endif()

# The flags of every file are gcc's: nvcc is given those that it knows. -fmad=false: as on the processor, a fused
# multiply-add is written where it is meant. Kernels are compressed, to a fifth, and unpacked when the program begins.
function(rotary_build_cuda target)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${ROTARY_CUDA_ARCHITECTURES}" CUDA_STANDARD 17
        CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false> $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>
        $<$<AND:$<BOOL:${ROTARY_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static CUDA::cublasLt)
endfunction()

# The sources of src/cuda, which its CMakeLists.txt lists, for the emulated device.
function(rotary_emulate_cuda target)
    set(emulated ${PROJECT_SOURCE_DIR}/tests/support/cuda_emulated)
    set(sources ${ARGN})
    set(kernels ${sources})
    list(FILTER kernels INCLUDE REGEX "[.]cu$")
    set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
    add_library(${target} STATIC ${sources} ${emulated}/emulated_block.cc ${emulated}/emulated_fiber.cc
        ${emulated}/emulated_memory.cc ${emulated}/emulated_products.cc ${emulated}/emulated_ptx.cc ${emulated}/emulated_races.cc
        ${emulated}/emulated_streams.cc)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ${ROTARY_SANITIZE}) # no sanitized test has it
    target_include_directories(${target} BEFORE PUBLIC ${emulated})
    set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    # C has names of functions that are names of structs too.
    target_compile_options(${target} PRIVATE -O2 $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers> $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-sign-conversion> $<$<COMPILE_LANGUAGE:CXX>:-Wno-unknown-pragmas>)
    target_link_libraries(${target} PUBLIC rotary_backend stdc++)
endfunction()
