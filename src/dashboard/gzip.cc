#include "dashboard/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/assert.h"

namespace berth::dashboard {
namespace {

constexpr int kFastest = 1;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for the format
constexpr int kMemoryLevel = 8;       // zlib's default
constexpr std::size_t kChunkBytes = 64u << 10;

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

Result<std::string> gunzipped(std::string_view bytes, std::size_t bytes_max) {
  z_stream stream{};
  BERTH_ASSERT(inflateInit2(&stream, kGzipWindow) == Z_OK, "the parameters are zlib's own");
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int state = Z_OK;
  while ((state == Z_OK || stream.avail_in > 0) && out.size() < bytes_max) {
    if (state == Z_STREAM_END) inflateReset(&stream);  // a file may have several members
    const std::size_t begin = out.size();
    out.resize(std::min(bytes_max, begin + kChunkBytes));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream.avail_out = static_cast<uInt>(out.size() - begin);
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (state != Z_OK && state != Z_STREAM_END) break;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END && out.size() < bytes_max)
    return Error(ErrorCode::Invalid, "the gzip data is damaged or cut");
  return out;
}

const std::string& Content::gzip() const {
  std::call_once(once_, [this] { gzip_ = gzipped(bytes_); });
  return gzip_;
}

}  // namespace berth::dashboard
