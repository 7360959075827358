// What something that was run has done wrong.
#pragma once

#include <stdexcept>

namespace pagoda::app {

// The text is what a record says of it.
class Fault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace pagoda::app
