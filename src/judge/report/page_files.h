// The style sheet and the script of report.html, embedded from report.css and report.js by the build.
#pragma once

#include <string_view>

namespace pagoda::judge {

extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;

}  // namespace pagoda::judge
