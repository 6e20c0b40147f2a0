#include "binding/bind_pod.h"

#include "api/types/group_domain.h"

namespace berth::binding {

client::Write bind_pod(const api::ObjectMeta& seen, const std::string& node, const std::string& domain) {
  Json metadata = Json::object({{"name", seen.name},
                                {"namespace", seen.ns},
                                {"uid", seen.uid},
                                {"resourceVersion", std::to_string(seen.resource_version)}});
  if (!domain.empty())
    metadata["annotations"] = Json::object({{std::string(api::kGroupDomainAnnotation), domain}});
  client::Write write;
  write.request.verb = client::Verb::Create;
  write.request.resource = api::ref_of(api::Kind::Pod);
  write.request.ns = seen.ns;
  write.request.name = seen.name;
  write.request.subresource = "binding";
  write.request.body = to_string(
      Json::object({{"apiVersion", "v1"},
                    {"kind", "Binding"},
                    {"metadata", std::move(metadata)},
                    {"target", Json::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}})}}));
  return write;
}

}  // namespace berth::binding
