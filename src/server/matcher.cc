#include "server/matcher.h"

#include "api/selectors.h"
#include "crd/served_version.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

// Both selectors, and the name that they require, if any.
struct Selection {
  api::LabelSelector labels;
  api::FieldSelector fields;
  std::string name;
};

bool selected(const Selection& selection, const store::Object& object) {
  if (!selection.name.empty() && object.key.name != selection.name) return false;
  if (selection.labels.selects_everything() && selection.fields.selects_everything()) return true;
  const Result<Json> document = parse_json(object.bytes);
  if (!document) return false;
  return selection.labels.matches(metadata_of(*document).find("labels")) &&
         selection.fields.matches(*document);
}

}  // namespace

ApiResult<Matcher> make_matcher(const api::ResourceInfo& resource, const std::string& label_selector,
                                const std::string& field_selector, const std::string& name) {
  Result<api::LabelSelector> labels = api::LabelSelector::parse(label_selector);
  if (!labels) return bad_request(labels.error().message());
  std::vector<std::string> own;
  if (resource.custom) {
    own.emplace_back("metadata.name");
    for (const crd::SelectableField& field : resource.custom->selectable) own.push_back(field.name);
  }
  Result<api::FieldSelector> fields =
      api::FieldSelector::parse(resource.group, resource.kind, field_selector, own);
  if (!fields) return bad_request(fields.error().message());
  Selection selection{std::move(labels).value(), std::move(fields).value(), name};
  const bool all = selection.labels.selects_everything() && selection.fields.selects_everything();
  if (all && name.empty()) return Matcher();
  return Matcher([selection = std::move(selection)](const store::Object& object) {
    return selected(selection, object);
  });
}

}  // namespace berth::server
