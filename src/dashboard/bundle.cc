#include "dashboard/bundle.h"

#include "web_dist.inc"

namespace berth::dashboard {
namespace {

struct Row {
  std::string_view path;
  BundleFile file;
};
template <std::size_t size>
Content content_of(const char (&bytes)[size]) {
  return Content(std::string(bytes, size - 1));
}

}  // namespace

const BundleFile* bundle_file(std::string_view path) {
  static const Row rows[] = {
      {"", {"text/html; charset=utf-8", content_of(kIndexHtml)}},
      {"app.js", {"text/javascript; charset=utf-8", content_of(kAppJs)}},
      {"app.css", {"text/css; charset=utf-8", content_of(kAppCss)}},
      {"icon.svg", {"image/svg+xml", content_of(kIconSvg)}},
  };
  for (const Row& row : rows)
    if (row.path == path) return &row.file;
  return nullptr;
}

}  // namespace berth::dashboard
