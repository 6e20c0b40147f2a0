#include "cli/trace_file.h"

#include <zlib.h>

#include <array>

#include "base/text_file.h"

namespace berth::cli {
namespace {

constexpr std::string_view kGzipStart = "\x1f\x8b";

struct Inflating {
  z_stream stream{};
  ~Inflating() { inflateEnd(&stream); }
};

Result<std::string> unpacked(const std::string& packed, const std::string& file) {
  constexpr int kGzip = 16 + MAX_WBITS;
  Inflating inflating;
  z_stream& stream = inflating.stream;
  if (inflateInit2(&stream, kGzip) != Z_OK) return Error(ErrorCode::Internal, file, "zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 65536> part;
  for (int state = Z_OK; state != Z_STREAM_END || stream.avail_in > 0;) {
    if (state == Z_STREAM_END) inflateReset(&stream);  // a file may have several members
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    state = inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END)
      return Error(ErrorCode::Invalid, file, "is no whole gzip file: unpack it, or copy it again");
    text.append(part.data(), part.size() - stream.avail_out);
    if (text.size() > kTraceBytesMax)
      return Error(ErrorCode::TooLarge, file,
                   "unpacks to more than " + std::to_string(kTraceBytesMax) + " bytes");
  }
  return text;
}

}  // namespace

Result<std::string> read_trace_file(const std::string& file) {
  std::string text = TRY(read_text_file(file, kTraceBytesMax));
  if (text.starts_with(kGzipStart)) return unpacked(text, file);
  return text;
}

}  // namespace berth::cli
