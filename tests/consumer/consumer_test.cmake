# cmake -D BUILD=... -D DIR=... -D COMPILER=... -P consumer_test.cmake
# Installs BUILD below DIR, configures and builds this folder against what was installed, and runs it.
file(REMOVE_RECURSE ${DIR})
set(ENV{DESTDIR} "")
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${DIR}/prefix
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${DIR}/build -G Ninja
                        -D CMAKE_PREFIX_PATH=${DIR}/prefix -D CMAKE_CXX_COMPILER=${COMPILER}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${DIR}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${DIR}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
# The installed program finds the installed kernels.
execute_process(COMMAND ${DIR}/prefix/bin/pagoda list variants COMMAND_ERROR_IS_FATAL ANY)

foreach(file man/man1/pagoda.1 bash-completion/completions/pagoda zsh/site-functions/_pagoda
             fish/vendor_completions.d/pagoda.fish)
  if(NOT EXISTS ${DIR}/prefix/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()

# What is installed stands by itself: nothing in it may point back to the tree or the build folder.
file(GLOB_RECURSE package ${DIR}/prefix/*.cmake)
foreach(file ${package})
  file(READ ${file} text)
  string(FIND "${text}" "${BUILD}" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} names the build folder ${BUILD}")
  endif()
endforeach()
