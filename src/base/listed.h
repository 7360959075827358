// Lists in a sentence.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda {

// "a", "a and b", "a, b and c"; `last` joins the last two.
std::string Listed(const std::vector<std::string>& items, std::string_view last = "and");

// The first `most` of them and how many more there are: "a, b and 7 more". All of them where one more would
// fit as well.
std::string ListedUpTo(size_t most, std::vector<std::string> items);

}  // namespace pagoda
