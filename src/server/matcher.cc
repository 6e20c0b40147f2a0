#include "server/matcher.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "api/selectors.h"
#include "crd/served_version.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kNodeName = "nodeName";

// Both selectors, and the name that they require, if any.
struct Selection {
  api::LabelSelector labels;
  api::FieldSelector fields;
  std::string name;
  std::vector<std::string> member_texts;  // every selected object's bytes contain them
};

// As draft_of writes it.
std::string member_text(const std::string& name, const std::string& value) {
  return to_string(Json(name)) + ":" + to_string(Json(value));
}

// Of a node's pods: a kubelet's watch.
store::MemberFilter filter_of(const api::ResourceInfo& resource, const Selection& selection) {
  if (!resource.group.empty() || resource.kind != "Pod") return {};
  for (const api::FieldRequirement& required : selection.fields.requirements())
    if (required.equal && required.label == "spec.nodeName" && !required.value.empty())
      return {to_string(Json(kNodeName)) + ":", to_string(Json(required.value))};
  return {};
}

std::vector<std::string> member_texts_of(const api::ResourceInfo& resource, const Selection& selection) {
  std::vector<std::string> texts;
  for (const api::LabelRequirement& required : selection.labels.requirements())
    if (required.op == api::LabelOperator::In && required.values.size() == 1)
      texts.push_back(member_text(required.key, required.values.front()));
  if (const store::MemberFilter filter = filter_of(resource, selection); !filter.member.empty())
    texts.push_back(filter.member + filter.value);
  return texts;
}

bool may_be_selected(const Selection& selection, const store::Object& object) {
  if (!selection.name.empty() && object.key.name != selection.name) return false;
  return std::ranges::all_of(selection.member_texts, [&](const std::string& text) {
    return memmem(object.bytes.data(), object.bytes.size(), text.data(), text.size()) != nullptr;
  });
}

bool selected(const Selection& selection, const store::Object& object) {
  if (!may_be_selected(selection, object)) return false;
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
  if (const crd::ServedVersion* custom = crd::served_version(resource)) {
    own.emplace_back("metadata.name");
    for (const crd::SelectableField& field : custom->selectable) own.push_back(field.name);
  }
  Result<api::FieldSelector> fields =
      api::FieldSelector::parse(resource.group, resource.kind, field_selector, own);
  if (!fields) return bad_request(fields.error().message());
  const auto selection =
      std::make_shared<Selection>(Selection{std::move(labels).value(), std::move(fields).value(), name, {}});
  const bool all = selection->labels.selects_everything() && selection->fields.selects_everything();
  if (all && name.empty()) return Matcher();
  selection->member_texts = member_texts_of(resource, *selection);
  return Matcher{[selection](const store::Object& object) { return selected(*selection, object); },
                 [selection](const store::Object& object) { return may_be_selected(*selection, object); },
                 filter_of(resource, *selection)};
}

}  // namespace berth::server
