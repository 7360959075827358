// One bench at a time on a machine.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace pagoda::sys {

// An exclusive lock (flock) on a file that all processes of the machine share. Held until the object goes or
// the process ends, however that happens; child programs don't inherit it.
class MachineLock {
 public:
  // "pagoda-machine.lock" in the folder for temporary files, or what PAGODA_LOCK names.
  static std::filesystem::path DefaultPath();

  // Opens the file, creating it; takes nothing. Throws Error (kIo, the path as its field).
  explicit MachineLock(std::filesystem::path path = DefaultPath());
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;
  ~MachineLock();

  // Whether this object now holds the lock. `purpose` is what others are told ("bench smoke").
  bool TryLock(std::string_view purpose);
  // Tries until it has the lock, until `wait_s` have passed, or until `cancelled` says so.
  bool LockWithin(double wait_s, std::string_view purpose, const std::function<bool()>& cancelled = {});
  // "pid 1234 (bench smoke)": who holds it, or held it last; "another process" when that isn't written.
  std::string Holder() const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace pagoda::sys
