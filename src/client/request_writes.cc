#include "client/request_writes.h"

namespace berth::client {
namespace {

Write memory_write(Verb verb, const api::ObjectMeta& meta, MemoryWrite in_memory) {
  Write write;
  write.request.verb = verb;
  write.request.resource = api::ref_of(api::Kind::BindRequest);
  write.request.ns = meta.ns;
  write.request.name = meta.name;
  write.request.in_memory = std::move(in_memory);
  return write;
}

}  // namespace

Write keep_request(api::BindRequest request) {
  const auto wanted = std::make_shared<const api::BindRequest>(std::move(request));
  return memory_write(Verb::Create, wanted->meta, {wanted});
}

Write change_kept_request(const api::BindRequest& seen, api::BindRequest wanted, std::string subresource) {
  auto value = std::make_shared<const api::BindRequest>(std::move(wanted));
  Write write =
      memory_write(Verb::Update, seen.meta, {std::move(value), seen.meta.uid, seen.meta.resource_version});
  write.request.subresource = std::move(subresource);
  return write;
}

Write delete_request(const api::BindRequest& request) {
  if (!request.in_memory)
    return delete_object(key_of(api::Kind::BindRequest, request.meta), request.meta.uid);
  Write write = memory_write(Verb::Delete, request.meta, {nullptr, request.meta.uid});
  write.fine_reasons = {"NotFound"};
  return write;
}

}  // namespace berth::client
