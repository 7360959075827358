// Holds a refusal to its field and its words.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "pagoda/status.h"

namespace pagoda::testing {

// `f` throws Error(code, field) whose whole text is `text`.
template <typename F>
void ExpectError(F&& f, std::string_view field, std::string_view text,
                 ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    std::forward<F>(f)();
  } catch (const Error& e) {
    EXPECT_EQ(e.field(), field);
    EXPECT_EQ(std::string_view(e.what()), text);
    EXPECT_EQ(e.code(), code);
    return;
  }
  ADD_FAILURE() << "nothing was thrown, expected: " << text;
}

}  // namespace pagoda::testing
