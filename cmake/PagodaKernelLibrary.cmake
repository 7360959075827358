# pagoda_kernel_library(parts...): three links of the objects of the given static libraries.
#   pagoda_kernels          libpagoda_kernels.so, what is installed and what a bench loads
#   pagoda_kernels_relink   libpagoda_kernels_relink.so, the null arm: the same objects in another order with
#                           filler between them, so that code lies elsewhere as it does between two builds
#   pagoda_kernels_relink2  libpagoda_kernels_relink2.so, in a third order: for a self-test, a build that did
#                           nothing, whose placement the null arm doesn't share
# Parts without sources (interface libraries) have no objects and are left out.
set(PAGODA_RELINK_SEED 1 CACHE STRING "Seed of the order of objects in libpagoda_kernels_relink.so; the next one's is that of relink2")

function(pagoda_kernel_library)
  set(parts)
  foreach(part ${ARGN})
    get_target_property(type ${part} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND parts ${part})
    endif()
  endforeach()
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)

  add_library(pagoda_kernels SHARED ${objects})

  set(seed ${PAGODA_RELINK_SEED})
  foreach(library pagoda_kernels_relink pagoda_kernels_relink2)
    set(dir ${CMAKE_CURRENT_BINARY_DIR}/${library})
    file(GENERATE OUTPUT ${dir}/objects.txt CONTENT "$<JOIN:${objects},\n>\n")
    add_custom_command(
      OUTPUT ${dir}/order.rsp
      COMMAND ${CMAKE_COMMAND} -D OBJECTS=${dir}/objects.txt -D ROOT=${CMAKE_BINARY_DIR} -D DIR=${dir} -D SEED=${seed}
              -D COMPILER=${CMAKE_CXX_COMPILER} -P ${CMAKE_SOURCE_DIR}/cmake/relink.cmake
      DEPENDS ${dir}/objects.txt ${CMAKE_SOURCE_DIR}/cmake/relink.cmake
      COMMENT "Shuffling objects for ${library}" VERBATIM)
    add_library(${library} SHARED ${dir}/order.rsp)
    target_link_options(${library} PRIVATE @${dir}/order.rsp)
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "${dir}/order.rsp;${archives}")
    math(EXPR seed "${seed} + 1")
  endforeach()

  foreach(library pagoda_kernels pagoda_kernels_relink pagoda_kernels_relink2)
    # The archives add no object (all are there already), only what they link to themselves.
    target_link_libraries(${library} PRIVATE ${parts} $<BUILD_INTERFACE:pagoda_flags>)
    # A program that links the kernels statically may load both: each link must call its own functions.
    target_link_options(${library} PRIVATE -Wl,-Bsymbolic)
    if(NOT PAGODA_SANITIZE)  # clang leaves the sanitizers' symbols of a shared object to the program
      target_link_options(${library} PRIVATE -Wl,-z,defs)
    endif()
    set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  endforeach()
  set_target_properties(pagoda_kernels PROPERTIES EXPORT_NAME pagoda)
  target_compile_features(pagoda_kernels INTERFACE cxx_std_20)
  target_include_directories(pagoda_kernels INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
