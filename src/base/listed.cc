#include "base/listed.h"

namespace pagoda {

std::string Listed(const std::vector<std::string>& items, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && i + 1 == items.size()) {
      text.append(" ").append(last).append(" ");
    } else if (i > 0) {
      text += ", ";
    }
    text += items[i];
  }
  return text;
}

std::string ListedUpTo(size_t most, std::vector<std::string> items) {
  if (items.size() > most + 1) {
    const size_t more = items.size() - most;
    items.resize(most);
    items.push_back(std::to_string(more).append(" more"));
  }
  return Listed(items);
}

}  // namespace pagoda
