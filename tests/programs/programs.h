// Command lines of the programs under test.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "judge/bench/facts.h"

namespace pagoda::app {

// `broken.py FAULT` of this folder.
inline std::string BrokenProgram(const std::string& fault) {
  return judge::CommandLine({PAGODA_TEST_PYTHON, PAGODA_TEST_SOURCES "/tests/programs/broken.py", fault});
}

inline std::string PythonExample() {
  return judge::CommandLine({PAGODA_TEST_PYTHON, PAGODA_TEST_SOURCES "/examples/external.py"});
}

// A suite of one small case, for programs that take milliseconds for what kernels do in microseconds.
inline std::string WriteSmallSuite(const std::string& path) {
  std::ofstream(path)
      << "name = \"s\"\n[[case]]\nheads = \"4/2\"\nhead_dim = 8\npage_size = 8\ncontexts = [20, 9]\n"
         "cache = \"warm\"\ndtype = \"f32\"\n";
  return path;
}

}  // namespace pagoda::app
