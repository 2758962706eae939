# Finds PCRE2. Where it is missing, ROTARY_PCRE2 is false, and the program says so when it is given a tokenizer.json with
# a regular expression.
set(ROTARY_PCRE2 OFF)
if(ROTARY_REGEX)
    find_library(ROTARY_PCRE2_LIBRARY pcre2-8)
    find_path(ROTARY_PCRE2_HEADERS pcre2.h)
    if(ROTARY_PCRE2_LIBRARY AND ROTARY_PCRE2_HEADERS)
        set(ROTARY_PCRE2 ON)
    endif()
endif()
message(STATUS "Library for pcre2.h: ${ROTARY_PCRE2}")
