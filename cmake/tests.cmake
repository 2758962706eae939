# A test is one line in the CMakeLists.txt of its folder, and says there how long it takes and who else runs it:
#
#   rotary_test(settings test_settings.c quick sanitize)
#
# quick      at most two seconds of processor time, which is checked: what to run while you work
# fast       some seconds
# slow       the long suite
# sanitize   handles memory, files or other input from outside: ./check asan runs it too
# valgrind   runs under valgrind too, as rules_valgrind_<name>; it needs no sanitizer then
#
# It exits with 0 when it passed, 77 when it was skipped, anything else when it failed. The target test_<name> builds
# what it needs, and nothing else.

# Two seconds are for the build in which tests are timed; sanitizers take it five times as long. Other builds are those
# of users, whose machines may be of any speed.
set(ROTARY_QUICK_SECONDS 0)
if(CMAKE_BUILD_TYPE STREQUAL Dev AND NOT CMAKE_CROSSCOMPILING)
    set(ROTARY_QUICK_SECONDS 2)
    if(ROTARY_SANITIZE)
        set(ROTARY_QUICK_SECONDS 10)
    endif()
    if(ROTARY_CUDA STREQUAL "ON") # each start of the program loads cuBLASLt, which takes 0.1 s
        set(ROTARY_QUICK_SECONDS 20)
    endif()
endif()

# rotary_test_program([SOURCES <files that several tests use>] LIBRARIES <targets>)
# The program tests_<folder>, which holds all tests of a folder. Each is written as a program of its own, whose main the
# compiler calls test_<source>_main; tests/support/driver.c has the main that calls the one named by the first argument.
function(rotary_test_program)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "SOURCES;LIBRARIES")
    rotary_test_folder(program)
    add_executable(${program} ${PROJECT_SOURCE_DIR}/tests/support/driver.c ${ARG_SOURCES})
    rotary_compile_test(${program} ${ARG_LIBRARIES})
    set(list ${CMAKE_CURRENT_BINARY_DIR}/list)
    file(GENERATE OUTPUT ${list}/test_list.h CONTENT "TEST($<JOIN:$<TARGET_PROPERTY:${program},ROTARY_ENTRIES>,)\nTEST(>)\n")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/driver.c PROPERTIES OBJECT_DEPENDS ${list}/test_list.h)
    target_include_directories(${program} PRIVATE ${list})
endfunction()

# The library is what results are compared with: it takes longer than what is tested, and has no code of that.
function(rotary_test_reference library)
    target_compile_options(${library} PRIVATE -O2)
    if(ROTARY_SANITIZE)
        target_compile_options(${library} PRIVATE -fno-sanitize=all)
    endif()
endfunction()

function(rotary_test_folder variable)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
    string(REPLACE "/" "_" folder ${folder})
    set(${variable} tests_${folder} PARENT_SCOPE)
endfunction()

# Assertions stay alive in tests whatever the build. A sanitized build makes what has a test for it.
function(rotary_compile_test program)
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${program} PRIVATE ${ARGN} m)
    target_compile_options(${program} PRIVATE -UNDEBUG)
    set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ${ROTARY_SANITIZE})
endfunction()

# rotary_test(<name> <source> <labels> [ARGUMENTS <...>] [ALONE LIBRARIES <targets> [WRAP <functions>]])
# Several tests may run one source with other arguments. ALONE: its program is its own. WRAP: what calls one of the
# functions calls the test's __wrap_<function>.
function(rotary_test name source)
    cmake_parse_arguments(PARSE_ARGV 2 ARG "ALONE" "" "ARGUMENTS;LIBRARIES;WRAP")
    get_filename_component(entry ${source} NAME_WE)
    if(ARG_ALONE)
        set(program ${entry})
        set(command $<TARGET_FILE:${program}>)
        if(NOT TARGET ${program})
            add_executable(${program} ${source})
            rotary_compile_test(${program} ${ARG_LIBRARIES})
            list(TRANSFORM ARG_WRAP PREPEND LINKER:--wrap=)
            target_link_options(${program} PRIVATE ${ARG_WRAP})
        endif()
    else()
        rotary_test_folder(program)
        set(command $<TARGET_FILE:${program}> ${entry})
        get_target_property(entries ${program} ROTARY_ENTRIES)
        if(NOT entry IN_LIST entries)
            target_sources(${program} PRIVATE ${source})
            set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS main=${entry}_main
                COMPILE_OPTIONS -Wno-missing-prototypes)
            set_property(TARGET ${program} APPEND PROPERTY ROTARY_ENTRIES ${entry})
        endif()
    endif()
    if("sanitize" IN_LIST ARG_UNPARSED_ARGUMENTS)
        set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL FALSE)
    endif()
    rotary_command_test(${name} ${ARG_UNPARSED_ARGUMENTS}
        COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${command} ${ARG_ARGUMENTS}
        ENVIRONMENT ASAN_OPTIONS=allocator_may_return_null=1)
endfunction()

# rotary_command_test(<name> <labels> COMMAND <...> [ENVIRONMENT <...>] [DEPENDS <targets>] [TIMEOUT <seconds>])
# A test that is a command. Targets whose $<TARGET_FILE:...> it names need not be repeated in DEPENDS.
function(rotary_command_test name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "quick;fast;slow;sanitize;valgrind" "TIMEOUT" "COMMAND;ENVIRONMENT;DEPENDS")
    set(labels)
    foreach(label quick fast slow sanitize valgrind)
        if(ARG_${label})
            list(APPEND labels ${label})
        endif()
    endforeach()
    if(ARG_UNPARSED_ARGUMENTS OR NOT labels MATCHES "^(quick|fast|slow)(;sanitize|;valgrind)*$")
        message(FATAL_ERROR "The test ${name} wants one of quick, fast and slow, then sanitize or valgrind or neither: "
            "it has \"${labels}\" and \"${ARG_UNPARSED_ARGUMENTS}\"")
    endif()
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 600)
    endif()
    if(CMAKE_CROSSCOMPILING) # into an emulator
        math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
    endif()
    string(REGEX MATCHALL "<TARGET_FILE:[a-z0-9_]+>" targets "${ARG_COMMAND};${ARG_ENVIRONMENT}")
    list(TRANSFORM targets REPLACE "<TARGET_FILE:(.*)>" "\\1")
    list(APPEND ARG_DEPENDS ${targets})
    set(command ${ARG_COMMAND})
    if(ARG_quick AND ROTARY_QUICK_SECONDS)
        list(PREPEND ARG_COMMAND $<TARGET_FILE:time_limit> ${ROTARY_QUICK_SECONDS})
        list(APPEND ARG_DEPENDS time_limit)
    endif()
    if(NOT TARGET test_${name}) # the program of a test that is alone may have this name
        add_custom_target(test_${name} DEPENDS ${ARG_DEPENDS})
    endif()
    set(cost_quick 0)
    set(cost_fast 10)
    set(cost_slow 100)
    list(GET labels 0 duration)
    add_test(NAME ${name} COMMAND ${ARG_COMMAND})
    # The longest begin, so that the last one to end is short.
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}"
        COST ${cost_${duration}} ENVIRONMENT
        "ROTARY_SOURCE_DIR=${PROJECT_SOURCE_DIR};PYTHONDONTWRITEBYTECODE=1;${ARG_ENVIRONMENT}")
    if(ARG_valgrind AND NOT ROTARY_SANITIZE AND NOT CMAKE_CROSSCOMPILING) # no such program runs under valgrind
        add_test(NAME rules_valgrind_${name} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/rules/valgrind.sh ${command})
        set_tests_properties(rules_valgrind_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} LABELS fast
            COST 20)
    endif()
endfunction()

# rotary_script_test(<name> <labels> SCRIPT <file> [PROGRAM <program>] [NEEDS <modules>] [ENVIRONMENT <...>] ...)
# A script in Python that is given a program; it is skipped where no Python has the modules (default: numpy).
function(rotary_script_test name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SCRIPT;PROGRAM;NEEDS" "")
    if(NOT ARG_PROGRAM)
        set(ARG_PROGRAM none)
    endif()
    rotary_command_test(${name} ${ARG_UNPARSED_ARGUMENTS} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/oracle/oracle.sh
        ${ARG_SCRIPT} ${ARG_PROGRAM} ${ARG_NEEDS})
endfunction()
