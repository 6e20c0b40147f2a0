#include "dashboard/gzip.h"

#include <zlib.h>

#include "base/assert.h"

namespace berth::dashboard {
namespace {

constexpr int kFastest = 1;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for the format
constexpr int kMemoryLevel = 8;       // zlib's default

}  // namespace

std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  BERTH_ASSERT(
      deflateInit2(&stream, kFastest, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK,
      "the parameters are zlib's own");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  // zlib does not write to its input.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  BERTH_ASSERT(ended == Z_STREAM_END, "the output has room");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace berth::dashboard
