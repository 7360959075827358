#include "judge/report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace pagoda::judge {
namespace {

constexpr std::string_view kNotANumber = "n/a";

// The power of ten of the first digit once the value is rounded to three significant digits: 9.996 gives 1.
int ExponentAfterRounding(double value) {
  const std::string text = fmt::format("{:.2e}", value);
  return std::atoi(text.c_str() + text.find('e') + 1);
}

std::string WithThousands(std::string digits) {
  const int first = digits.starts_with('-') ? 1 : 0;
  for (int at = static_cast<int>(std::min(digits.find('.'), digits.size())) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return digits;
}

int DecimalsAtThreeDigits(double value) {
  return value == 0 || !std::isfinite(value) ? 2 : std::max(0, 2 - ExponentAfterRounding(value));
}

std::string Interval(double value, double low, double high, int decimals, std::string_view sign) {
  if (!std::isfinite(value)) return std::string(kNotANumber);
  // Of fewer launches than any interval takes.
  if (low == 0 && std::isinf(high)) return fmt::format("{:.{}f}{} [no interval]", value, decimals, sign);
  const auto bound = [decimals](double v) {
    if (std::isinf(v)) return std::string(v > 0 ? "∞" : "-∞");
    return std::isfinite(v) ? fmt::format("{:.{}f}", v, decimals) : std::string(kNotANumber);
  };
  return fmt::format("{:.{}f}{} [{}, {}]", value, decimals, sign, bound(low), bound(high));
}

}  // namespace

std::string Significant(double value) {
  if (!std::isfinite(value)) return std::string(kNotANumber);
  if (value == 0) return "0";
  const int exponent = ExponentAfterRounding(value);
  if (exponent < -3) return fmt::format("{:.2e}", value);
  if (exponent <= 2) return fmt::format("{:.{}f}", value, 2 - exponent);
  const double unit = std::pow(10.0, exponent - 2);
  return WithThousands(fmt::format("{:.0f}", std::round(value / unit) * unit));
}

std::string Micros(double us) {
  if (!std::isfinite(us)) return std::string(kNotANumber);
  if (us == 0) return "0 µs";
  const int exponent = ExponentAfterRounding(us);
  if (exponent < 0) return Significant(us * 1e3) + " ns";
  if (exponent < 3) return Significant(us) + " µs";
  if (exponent < 6) return Significant(us * 1e-3) + " ms";
  return Significant(us * 1e-6) + " s";
}

std::string Elapsed(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kNotANumber);
  if (seconds < 60) return Significant(seconds) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} m {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} m", whole / 3600, whole % 3600 / 60);
}

std::string Ratio(double value) {
  return std::isfinite(value) ? Significant(value) + "×" : std::string(kNotANumber);
}

std::string RatioWithInterval(double value, double low, double high) {
  if (!std::isfinite(value)) return std::string(kNotANumber);
  int decimals = DecimalsAtThreeDigits(value);
  const auto looks_like_a_point = [&] {
    return fmt::format("{:.{}f}", low, decimals) == fmt::format("{:.{}f}", high, decimals);
  };
  for (int extra = 0; extra < 2 && low < high && looks_like_a_point(); ++extra) ++decimals;
  return Interval(value, low, high, decimals, "×");
}

std::string FineRatio(double value, std::string_view sign) {
  if (!std::isfinite(value)) return std::string(kNotANumber);
  return fmt::format("{:.{}f}{}", value, value < 10 ? 3 : DecimalsAtThreeDigits(value), sign);
}

std::string FineRatioWithInterval(double value, double low, double high, std::string_view sign) {
  return Interval(value, low, high, value < 10 ? 3 : DecimalsAtThreeDigits(value), sign);
}

std::string Percent(double share) {
  if (!std::isfinite(share)) return std::string(kNotANumber);
  if (share > 0 && share < 0.0005) return "<0.1%";
  return fmt::format("{:.1f}%", 100 * share);
}

std::string SetPercent(double share) { return fmt::format("{:.6g}%", 100 * share); }

std::string Scientific(double value) {
  if (!std::isfinite(value)) return std::string(kNotANumber);
  return value == 0 ? "0" : fmt::format("{:.1e}", value);
}

std::string Bytes(double bytes) {
  if (!std::isfinite(bytes)) return std::string(kNotANumber);
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{} {}", Significant(bytes), kUnits[unit]);
}

std::string Count(int64_t count) { return WithThousands(std::to_string(count)); }

std::string Counted(int64_t count, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", Count(count), count == 1 ? singular : plural);
}

}  // namespace pagoda::judge
