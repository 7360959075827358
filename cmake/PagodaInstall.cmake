# cmake --install: the program with its manual page and completions, the three links of the kernel library, the public
# headers and the CMake package.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pagoda)

if(TARGET pagoda)
  install(TARGETS pagoda)
  set(printed ${CMAKE_BINARY_DIR}/printed)
  install(FILES ${printed}/pagoda.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${printed}/pagoda.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pagoda)
  install(FILES ${printed}/_pagoda DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${printed}/pagoda.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(TARGETS pagoda_kernels EXPORT pagodaTargets)
install(TARGETS pagoda_kernels_relink pagoda_kernels_relink2)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/pagoda TYPE INCLUDE)

install(EXPORT pagodaTargets NAMESPACE pagoda:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/pagodaConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/package/pagodaConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may break callers.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/pagodaConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/pagodaConfig.cmake ${CMAKE_BINARY_DIR}/package/pagodaConfigVersion.cmake
        DESTINATION ${package_dir})
