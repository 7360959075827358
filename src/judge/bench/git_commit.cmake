# cmake -DSOURCE=dir -DOUT=file.h -P git_commit.cmake: what the sources are built from. Touches the file only when
# that changes.
set(commit "")
set(dirty false)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${git} -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes
                  ERROR_QUIET)
  if(changes)
    set(dirty true)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once
inline constexpr const char* kGitCommit = \"${commit}\";
inline constexpr bool kGitDirty = ${dirty};
")
