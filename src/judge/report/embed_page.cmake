# cmake -DOUT=file.cc -DSTYLE=report.css -DSCRIPT=report.js -P embed_page.cmake: both files as string literals.
set(text "// Made from report.css and report.js by the build.\n#include \"judge/report/page_files.h\"\n\n")
string(APPEND text "namespace pagoda::judge {\n\n")
file(READ ${STYLE} content)
string(APPEND text "const std::string_view kReportStyle = R\"pagoda_page(${content})pagoda_page\";\n\n")
file(READ ${SCRIPT} content)
string(APPEND text "const std::string_view kReportScript = R\"pagoda_page(${content})pagoda_page\";\n\n")
string(APPEND text "}  // namespace pagoda::judge\n")
file(WRITE ${OUT} "${text}")
