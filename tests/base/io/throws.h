// Catches the one error type and compares what it says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pagoda/status.h"

namespace pagoda {

// The text of the Error that `f` throws; a failure and an empty text when it throws none.
template <typename F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

}  // namespace pagoda
