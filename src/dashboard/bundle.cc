#include "dashboard/bundle.h"

#include "web_dist.inc"

namespace berth::dashboard {
namespace {

struct Row {
  std::string_view path;
  BundleFile file;
};
template <std::size_t size>
constexpr std::string_view text_of(const char (&bytes)[size]) {
  return {bytes, size - 1};
}
const Row kRows[] = {
    {"", {"text/html; charset=utf-8", text_of(kIndexHtml)}},
    {"app.js", {"text/javascript; charset=utf-8", text_of(kAppJs)}},
    {"app.css", {"text/css; charset=utf-8", text_of(kAppCss)}},
    {"icon.svg", {"image/svg+xml", text_of(kIconSvg)}},
};

}  // namespace

std::optional<BundleFile> bundle_file(std::string_view path) {
  for (const Row& row : kRows)
    if (row.path == path) return row.file;
  return std::nullopt;
}

}  // namespace berth::dashboard
