# rotary_test(<name> SOURCES <files> LIBRARIES <targets> [LABELS <labels>] [TIMEOUT <seconds>] [ARGUMENTS <...>])
# A test exits 0 when it passed, 77 when it was skipped, anything else when it failed.
function(rotary_test name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ARGUMENTS")
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    if(CMAKE_CROSSCOMPILING) # into an emulator
        math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
    elseif(ROTARY_EMULATE_AMX)
        math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
    endif()
    if(NOT ARG_LABELS)
        set(ARG_LABELS fast)
    endif()
    add_executable(test_${name} ${ARG_SOURCES})
    target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(test_${name} PRIVATE ${ARG_LIBRARIES} m)
    # Assertions stay alive in tests whatever the build.
    target_compile_options(test_${name} PRIVATE -UNDEBUG)
    add_test(NAME ${name} COMMAND test_${name} ${ARG_ARGUMENTS})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
        ENVIRONMENT "ROTARY_SOURCE_DIR=${PROJECT_SOURCE_DIR};ASAN_OPTIONS=allocator_may_return_null=1")
endfunction()
