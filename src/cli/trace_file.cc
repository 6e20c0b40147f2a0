#include "cli/trace_file.h"

#include "base/text_file.h"
#include "dashboard/gzip.h"

namespace berth::cli {
namespace {

constexpr std::string_view kGzipStart = "\x1f\x8b";

}  // namespace

Result<std::string> read_trace_file(const std::string& file) {
  std::string text = TRY(read_text_file(file, kTraceBytesMax));
  if (!text.starts_with(kGzipStart)) return text;
  Result<std::string> unpacked = dashboard::gunzipped(text, kTraceBytesMax + 1);
  if (!unpacked) return Error(ErrorCode::Invalid, file, "is no whole gzip file: unpack it, or copy it again");
  if (unpacked->size() > kTraceBytesMax)
    return Error(ErrorCode::TooLarge, file,
                 "unpacks to more than " + std::to_string(kTraceBytesMax) + " bytes");
  return unpacked;
}

}  // namespace berth::cli
