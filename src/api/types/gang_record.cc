#include "api/types/gang_record.h"

#include <set>

#include "api/kinds.h"
#include "base/fnv.h"
#include "base/hex.h"

namespace berth::api {

Json gang_record_object(const std::string& ns, std::vector<Json> specs) {
  const Json first = specs.front();
  Json spec = Json::object();
  for (const std::string_view field : {"schedulerName", "epoch", "lease"})
    if (const Json* value = first.find(field)) spec[field] = *value;
  const ResourceRef kind = ref_of(Kind::PodGroup);
  std::set<std::string_view> groups;
  JsonArray owners;
  for (const Json& member : specs) {
    const Json& group = member.part("group");
    if (groups.insert(group.string_at("uid")).second)
      owners.push_back(to_json(OwnerReference{kind.group + "/" + kind.version, "PodGroup",
                                              std::string(group.string_at("name")),
                                              std::string(group.string_at("uid")), false, false}));
  }
  spec["members"] = std::move(specs);
  constexpr std::size_t kGroupPart = 200;
  std::string name(first.part("group").string_at("name").substr(0, kGroupPart));
  name.append("-").append(hex_of(fnv1a(to_string(spec))));
  return Json::object(
      {{"apiVersion", kBindRequestApiVersion},
       {"kind", "BindRequest"},
       {"metadata",
        Json::object({{"name", name}, {"namespace", ns}, {"ownerReferences", std::move(owners)}})},
       {"spec", std::move(spec)}});
}

bool is_gang_record(const Json& object) {
  return !object.part("spec").items_at("members").empty();
}

std::vector<Json> specs_of_gang_record(const Json& record) {
  std::vector<Json> specs = record.part("spec").items_at("members");
  std::erase_if(specs, [](const Json& spec) { return spec.string_at("podName").empty(); });
  return specs;
}

std::string request_name_of_spec(const Json& spec) {
  return bind_request_name(spec.string_at("podName"), spec.string_at("podUID"));
}

BindRequest request_of_spec(const std::string& ns, const Json& spec) {
  BindRequest request;
  request.meta.ns = ns;
  request.meta.name = request_name_of_spec(spec);
  decode_bind_request_spec(spec, request);
  return request;
}

}  // namespace berth::api
