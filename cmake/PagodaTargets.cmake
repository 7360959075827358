# pagoda_library(name [SOURCES ...] [DEPS ...]): one static library per folder of src/.
# Every source includes from src/ ("engine/kv/page_table.h") and include/ ("pagoda/status.h").
add_library(pagoda_flags INTERFACE)
target_compile_options(pagoda_flags INTERFACE -Wall -Wextra -Wpedantic -Werror
                       $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
if(PAGODA_SANITIZE)
  target_compile_options(pagoda_flags INTERFACE -fsanitize=${PAGODA_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(pagoda_flags INTERFACE -fsanitize=${PAGODA_SANITIZE})
endif()

function(pagoda_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:pagoda_flags>)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# pagoda_test(name SOURCES ... DEPS ... [LABELS ...] [PER_ISA]): one GoogleTest program, one ctest entry per
# test case. PER_ISA adds one entry per instruction set that runs the whole program under PAGODA_ISA.
function(pagoda_test name)
  cmake_parse_arguments(ARG "PER_ISA" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} pagoda_flags GTest::gmock)
  if(ARG_PER_ISA)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/per_isa_main.cc)
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  if(PAGODA_SANITIZE)  # what is under test stays optimised; GoogleTest's templates take half the time to compile
    target_compile_options(${name} PRIVATE -O0)
  endif()
  gtest_discover_tests(${name} PROPERTIES LABELS "${ARG_LABELS}" DISCOVERY_MODE PRE_TEST)
  if(ARG_PER_ISA)
    foreach(isa scalar avx2 avx512 avx512bf16 amx)
      add_test(NAME ${name}.${isa} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}.${isa} PROPERTIES ENVIRONMENT PAGODA_ISA=${isa} SKIP_RETURN_CODE 77
                           LABELS "per_isa;${ARG_LABELS}")
    endforeach()
  endif()
endfunction()
