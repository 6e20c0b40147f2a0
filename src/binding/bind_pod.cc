#include "binding/bind_pod.h"

namespace berth::binding {

client::Write bind_pod(const api::ObjectMeta& seen, const std::string& node) {
  client::Write write;
  write.request.verb = client::Verb::Create;
  write.request.resource = api::ref_of(api::Kind::Pod);
  write.request.ns = seen.ns;
  write.request.name = seen.name;
  write.request.subresource = "binding";
  write.request.body = to_string(
      Json::object({{"apiVersion", "v1"},
                    {"kind", "Binding"},
                    {"metadata", Json::object({{"name", seen.name},
                                               {"namespace", seen.ns},
                                               {"uid", seen.uid},
                                               {"resourceVersion", std::to_string(seen.resource_version)}})},
                    {"target", Json::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}})}}));
  return write;
}

}  // namespace berth::binding
