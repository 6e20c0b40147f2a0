#include "cli/document_pages.h"

#include "base/hex.h"
#include "client/api_path.h"

namespace berth::cli {
namespace {

constexpr std::string_view kNameSelector = "fieldSelector=metadata.name%3D";

std::string page_of(api::Kind kind, std::string_view ns, std::string_view name) {
  return client::path_of({.verb = client::Verb::Get,
                          .resource = api::ref_of(kind),
                          .ns = percent_encoded(ns, kPlainInSegment),
                          .name = percent_encoded(name, kPlainInSegment)});
}

}  // namespace

DocumentPages::DocumentPages(const std::vector<planning::Document>& documents) {
  for (const planning::Document& document : documents) {
    if (document.kind == api::Kind::Other) continue;
    const Json& metadata = document.object.part("metadata");
    const std::string_view ns = metadata.string_at("namespace"), name = metadata.string_at("name");
    objects_[page_of(document.kind, ns, name)] = document.object;
    lists_[page_of(document.kind, "", "")].push_back(document.object);
    if (!ns.empty()) lists_[page_of(document.kind, ns, "")].push_back(document.object);
  }
}

Json DocumentPages::at(const std::string& path) const {
  const std::size_t question = path.find('?');
  const std::string plain = path.substr(0, question);
  if (const auto object = objects_.find(plain); object != objects_.end()) return object->second;
  const auto list = lists_.find(plain);
  if (list == lists_.end()) return Json();
  Json page = Json::object({});
  JsonArray& items = (page["items"] = Json::array()).as_array();
  const std::string_view query =
      question == std::string::npos ? std::string_view() : std::string_view(path).substr(question + 1);
  for (const Json& object : list->second)
    if (!query.starts_with(kNameSelector) ||
        percent_encoded(object.part("metadata").string_at("name"), kPlainInSegment) ==
            query.substr(kNameSelector.size()))
      items.push_back(object);
  return page;
}

}  // namespace berth::cli
