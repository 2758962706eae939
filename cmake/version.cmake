# ROTARY_VERSION, as include/rotary/version.h has it.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/include/rotary/version.h lines REGEX "define ROTARY_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" ROTARY_VERSION "${lines}")
string(REPLACE ";" "." ROTARY_VERSION "${ROTARY_VERSION}")
