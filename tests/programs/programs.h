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

// Of both operators.
inline std::string HstuExample() {
  return judge::CommandLine({PAGODA_TEST_PYTHON, PAGODA_TEST_SOURCES "/examples/external_hstu.py"});
}

// A suite of one small case, for programs that take milliseconds for what kernels do in microseconds.
inline std::string WriteSmallSuite(const std::string& path) {
  std::ofstream(path)
      << "name = \"s\"\n[[case]]\nheads = \"4/2\"\nhead_dim = 8\npage_size = 8\ncontexts = [20, 9]\n"
         "cache = \"warm\"\ndtype = \"f32\"\n";
  return path;
}

// The same with cases of HSTU, in which each of its fields changes what a row gets.
inline std::string WriteSmallHstuSuite(const std::string& path) {
  std::ofstream(path)
      << "name = \"h\"\n[defaults]\nop = \"hstu_paged_attention\"\nheads = \"4/2\"\nhead_dim = 8\n"
         "page_size = 8\ncache = \"warm\"\ndtype = \"f32\"\n"
         "[[case]]\ncontexts = [20, 17]\nphase = \"q9\"\ntargets = 4\ntarget_group = 2\n"
         "contextual = 10\nrab = true\n"
         "[[case]]\ncontext = 24\nphase = \"q8\"\ntargets = 2\ncontextual = 3\n"
         "max_attn_len = 5\nmin_full_attn_seq_len = 2\n";
  return path;
}

// One case of each operator. The shortest epochs: the fastest variant says of how many calls they are.
inline std::string WriteMixedSuite(const std::string& path) {
  std::ofstream(path)
      << "name = \"m\"\nepoch_ms = 0.1\n[defaults]\nheads = \"4/2\"\nhead_dim = 8\npage_size = 8\n"
         "contexts = [20, 9]\ncache = \"warm\"\ndtype = \"f32\"\n"
         "[[case]]\n[[case]]\nop = \"hstu_paged_attention\"\nphase = \"q3\"\ntargets = 2\n";
  return path;
}

}  // namespace pagoda::app
