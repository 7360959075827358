// Numbers as a reader of a report wants them: three significant digits, units that fit, ratios with their
// interval.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pagoda::judge {

// Three significant digits: 0.0123, 1.23, 12.3, 123, 1,230, 1,230,000; with an exponent below 0.001. Zero is
// "0", what isn't finite is "n/a".
std::string Significant(double value);

// A duration in the unit that keeps the number between 1 and 1,000: "850 ns", "12.3 µs", "1.23 ms", "4.56 s".
std::string Micros(double us);

// How long something took: "4.50 s", "3 m 41 s", "1 h 2 m".
std::string Elapsed(double seconds);

// "1.07×", "0.954×", "12.3×".
std::string Ratio(double value);

// "1.07× [1.06, 1.08]". All three have the decimals that the value has at three significant digits, and up to
// two more where the interval would else look like a point.
std::string RatioWithInterval(double value, double low, double high);

// Three decimals below 10, for ratios near one: "1.070x", "1.070x [1.066, 1.074]".
std::string FineRatio(double value, std::string_view sign);
std::string FineRatioWithInterval(double value, double low, double high, std::string_view sign);

// A measured share of one, to a tenth of a percent: 0.873 gives "87.3%", 1.204 gives "120.4%", 0.0001 gives
// "<0.1%".
std::string Percent(double share);

// A share of one as it was set: 0.01 gives "1%", 0.0025 gives "0.25%".
std::string SetPercent(double share);

// "3.1e-05"; zero is "0". For errors, whose magnitude is what counts.
std::string Scientific(double value);

// By powers of 1,024: "512 B", "1.50 KiB", "32.0 MiB".
std::string Bytes(double bytes);

// Whole numbers with thousands separated: "1,234,567".
std::string Count(int64_t count);

// "1 case", "3 cases".
std::string Counted(int64_t count, std::string_view singular, std::string_view plural);

}  // namespace pagoda::judge
