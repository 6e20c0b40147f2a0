#include "workloads/revisions.h"

#include <algorithm>

#include "workloads/rollout.h"

namespace berth::workloads {
namespace {

// As Go writes a map.
Json with_sorted_members(const Json& json) {
  if (json.is_array()) {
    JsonArray items;
    for (const Json& item : json.as_array()) items.push_back(with_sorted_members(item));
    return items;
  }
  if (!json.is_object()) return json;
  JsonObject::Members members(json.as_object().begin(), json.as_object().end());
  std::sort(members.begin(), members.end(),
            [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  for (JsonMember& member : members) member.value = with_sorted_members(member.value);
  return JsonObject(std::move(members));
}

// The form of kubectl rollout undo: a patch that replaces the template. kube-controller-manager compares the
// bytes with those of its own form, in which members are sorted: another one would restart every pod.
Json data_of(const Json& pod_template) {
  Json replaced = pod_template;
  replaced["$patch"] = "replace";
  Json data = Json::object();
  data["spec"]["template"] = with_sorted_members(replaced);
  return data;
}

Json revision_object(const Parsed& owner, const api::OwnerReference& reference, const std::string& name,
                     const std::string& hash, std::int64_t number) {
  Json metadata = Json::object({{"name", name}, {"namespace", owner.meta.ns}});
  Json labels = owner.spec().part("template").part("metadata").part("labels");
  if (labels.is_null()) labels = Json::object();
  labels[kRevisionHash] = hash;
  metadata["labels"] = std::move(labels);
  metadata["ownerReferences"] = Json::array({api::to_json(reference)});
  if (const Json* annotations = owner.document.part("metadata").find("annotations"))
    metadata["annotations"] = *annotations;
  return Json::object({{"apiVersion", "apps/v1"},
                       {"kind", "ControllerRevision"},
                       {"metadata", std::move(metadata)},
                       {"data", data_of(owner.spec().part("template"))},
                       {"revision", number}});
}

}  // namespace

const TemplateRevision* RevisionHistory::find(std::string_view name) const {
  for (const TemplateRevision& revision : revisions)
    if (revision.name() == name) return &revision;
  return nullptr;
}

RevisionHistory keep_revisions(const View& view, const Parsed& owner, const api::OwnerReference& reference,
                               std::int64_t& collisions, Effects& effects) {
  RevisionHistory history;
  for (const api::AnyObject* object :
       controlled_others(view, controller_revisions(), owner.meta.ns, owner.meta.uid))
    if (auto parsed =
            parse_other(key_in(controller_revisions(), owner.meta.ns, object->meta.name), *object)) {
      const std::int64_t number = parsed->document.int_at("revision");
      history.revisions.push_back({std::move(*parsed), number});
    }
  std::stable_sort(history.revisions.begin(), history.revisions.end(),
                   [](const auto& a, const auto& b) { return a.number < b.number; });
  const Json& pod_template = owner.spec().part("template");
  const Json wanted = data_of(pod_template);
  for (std::size_t i = 0; i < history.revisions.size(); ++i)
    if (history.revisions[i].object.document.part("data") == wanted) history.newest = i;
  const std::int64_t next = history.revisions.empty() ? 1 : history.revisions.back().number + 1;
  if (history.newest) {
    const TemplateRevision& found = history.revisions[*history.newest];
    if (*history.newest + 1 == history.revisions.size()) return history;
    effects.chains.push_back(
        {found.object.key,
         {client::merge_patch(found.object.key, Json::object({{"revision", next}}), found.object.meta.uid,
                              found.object.meta.resource_version)}});
    return history;
  }
  const std::string hash = template_hash(pod_template, collisions);
  const std::string name = owner.meta.name + "-" + hash;
  if (find_other(view, controller_revisions(), owner.meta.ns, name)) {
    ++collisions;
    return history;
  }
  effects.chains.push_back(
      {key_in(controller_revisions(), owner.meta.ns, name),
       {create_other(controller_revisions(), revision_object(owner, reference, name, hash, next))}});
  return history;
}

void drop_old_revisions(const RevisionHistory& history, const Parsed& owner,
                        const std::vector<std::string>& used, Effects& effects) {
  const auto limit = owner.spec().int_at("revisionHistoryLimit", 10);
  std::vector<const TemplateRevision*> idle;
  for (std::size_t i = 0; i < history.revisions.size(); ++i) {
    const TemplateRevision& revision = history.revisions[i];
    const bool live =
        history.newest == i || std::find(used.begin(), used.end(), revision.name()) != used.end();
    if (!live && !revision.object.meta.deleting()) idle.push_back(&revision);
  }
  for (std::size_t i = 0; static_cast<std::int64_t>(idle.size() - i) > limit; ++i)
    effects.chains.push_back(
        {idle[i]->object.key, {client::delete_object(idle[i]->object.key, idle[i]->object.meta.uid)}});
}

}  // namespace berth::workloads
