# SPDX-License-Identifier: GPL-2.0-only OR MIT
# FUZZ_CXX: the newest clang++ here that has libFuzzer and std::expected; a name or path
# given by -DFUZZ_CXX is taken as it is.

# fuzz_compiler_works(COMPILER VARIABLE FLAGS...): whether it builds a fuzz target.
function(fuzz_compiler_works compiler variable)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/compiler.cc)
  file(WRITE ${source} "#include <cstddef>\n#include <cstdint>\n#include <expected>\n"
    "extern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t size) {\n"
    "  return std::expected<int, int>(size).value() < 0;\n}\n")
  execute_process(
    COMMAND ${compiler} ${ARGN} -Wno-error -fsanitize=fuzzer,address,undefined ${source}
      -o ${CMAKE_CURRENT_BINARY_DIR}/compiler-works
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(${variable} TRUE PARENT_SCOPE)
  else()
    set(${variable} FALSE PARENT_SCOPE)
  endif()
endfunction()

# find_fuzz_compiler(FLAGS...): set FUZZ_CXX, or end with what is to be done.
function(find_fuzz_compiler)
  if(FUZZ_CXX)
    return()
  endif()
  set(names)
  foreach(version RANGE 40 16 -1)
    list(APPEND names clang++-${version})
  endforeach()
  set(tried)
  foreach(name ${names} clang++)
    find_program(found ${name} NO_CACHE)
    if(found)
      fuzz_compiler_works(${found} works ${ARGN})
      if(works)
        message(STATUS "Fuzz targets are built by ${found}")
        set(FUZZ_CXX ${found} CACHE FILEPATH "clang++ that builds the fuzz targets")
        return()
      endif()
      list(APPEND tried ${found})
    endif()
    unset(found)
  endforeach()
  list(JOIN tried ", " tried)
  if(NOT tried)
    set(tried "there is none")
  endif()
  message(FATAL_ERROR "no clang++ from 16 on with libFuzzer, which builds the fuzz targets "
    "(tried: ${tried}): install clang and libclang-rt-dev of one version (scripts/bootstrap "
    "does), or do without the targets: -DOPENIPOIB_FUZZ=OFF")
endfunction()
