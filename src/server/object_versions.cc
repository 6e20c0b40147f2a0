#include "server/object_versions.h"

#include <algorithm>

#include "api/conversions.h"
#include "crd/object_rules.h"
#include "crd/shaping.h"
#include "server/conversion_webhooks.h"
#include "server/metadata.h"
#include "server/serialization.h"
#include "server/served.h"

namespace berth::server {
namespace {

ConversionWebhooks* webhooks_of(const ObjectTarget& target) {
  const crd::ServedVersion* custom = crd::served_version(*target.resource);
  const bool by_webhook = custom && custom->definition->webhook;
  return by_webhook && target.served ? target.served->webhooks() : nullptr;
}

const crd::Definition& definition_of(const ObjectTarget& target) {
  return *crd::served_version(*target.resource)->definition;
}

// What a webhook returned, without members that the version's schema lacks and with its defaults.
ApiResult<Json> in_shape(const api::ResourceInfo& resource, Json document) {
  Result<crd::ShapedObject> shaped = crd::shaped(*crd::served_version(resource), std::move(document));
  if (!shaped) return plain_error(shaped.error().message());
  return std::move(shaped->document);
}

ApiStatus too_much_growth() {
  return plain_error("the defaults of the definition make these objects more than " +
                     std::to_string(kShapedGrowthBytesMax) + " bytes larger: ask for fewer, with limit");
}

store::ObjectPtr with_document(const store::Object& object, Json document) {
  const store::Draft draft = draft_of(in_stored_order(std::move(document)));
  auto made = std::make_shared<store::Object>();
  made->key = object.key;
  made->uid = object.uid;
  made->created = object.created;
  made->revision = object.revision;
  made->bytes = draft.head + std::to_string(object.revision) + draft.tail;
  return made;
}

}  // namespace

bool has_webhook(const ObjectTarget& target) {
  return webhooks_of(target) != nullptr;
}

bool is_shaped_by_reads(const ObjectTarget& target) {
  return target.resource->custom && (definition_of(target).has_other_shapes || has_webhook(target));
}

void post_for(const ObjectTarget& target, Executor& executor, std::function<void()> work) {
  if (ConversionWebhooks* webhooks = webhooks_of(target))
    webhooks->lanes().post(definition_of(target).name, std::move(work));
  else
    executor.post(std::move(work));
}

ApiResult<std::vector<store::ObjectPtr>> in_request_version(const ObjectTarget& target,
                                                            std::vector<store::ObjectPtr> objects) {
  if (!is_shaped_by_reads(target)) return objects;
  ConversionWebhooks* webhooks = webhooks_of(target);
  const api::ResourceInfo& wanted = *target.resource;
  const std::string prefix = type_prefix(wanted.group, wanted.version, wanted.kind);
  std::vector<std::size_t> places;
  std::vector<Json> documents;
  std::size_t growth = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!objects[i]) continue;
    Result<Json> stored = parse_json(objects[i]->bytes);
    if (!stored) return internal_error("stored object does not parse");
    Json document = *stored;
    crd::shape_stored(definition_of(target), document);
    const bool converts = !objects[i]->bytes.starts_with(prefix);
    if (converts && webhooks) {
      places.push_back(i);
      documents.push_back(std::move(document));
      continue;
    }
    if (converts) crd::prune(document, crd::served_version(wanted)->schema, true);
    if (document == *stored) continue;
    store::ObjectPtr made = with_document(*objects[i], std::move(document));
    growth += made->bytes.size() - std::min(made->bytes.size(), objects[i]->bytes.size());
    if (growth > kShapedGrowthBytesMax) return too_much_growth();
    objects[i] = std::move(made);
  }
  if (places.empty()) return objects;
  documents = TRY(webhooks->convert(definition_of(target), std::move(documents), api_version_of(wanted)));
  for (std::size_t i = 0; i < places.size(); ++i) {
    store::ObjectPtr& object = objects[places[i]];
    object = with_document(*object, TRY(in_shape(wanted, std::move(documents[i]))));
  }
  return objects;
}

ApiResult<store::ObjectPtr> in_request_version(const ObjectTarget& target, store::ObjectPtr object) {
  return TRY(in_request_version(target, std::vector<store::ObjectPtr>{std::move(object)})).front();
}

ApiResult<Answer> in_request_version(const ObjectTarget& target, Answer answer) {
  answer.object = TRY(in_request_version(target, std::move(answer.object)));
  return answer;
}

ApiResult<Json> in_stored_version(const ObjectTarget& target, Json document) {
  ConversionWebhooks* webhooks = webhooks_of(target);
  const api::ResourceInfo& stored = storage_of(*target.resource);
  if (!target.resource->custom || &stored == target.resource) return document;
  if (!webhooks) {
    crd::prune(document, crd::served_version(stored)->schema, true);
    return document;
  }
  document["apiVersion"] = api_version_of(*target.resource);
  std::vector<Json> converted =
      TRY(webhooks->convert(definition_of(target), {std::move(document)}, api_version_of(stored)));
  return in_shape(stored, std::move(converted.front()));
}

std::optional<Json> in_other_version(const ObjectTarget& target, const Json& document,
                                     std::string_view api_version) {
  ConversionWebhooks* webhooks = webhooks_of(target);
  if (!webhooks) return std::nullopt;
  ApiResult<std::vector<Json>> converted = webhooks->convert(definition_of(target), {document}, api_version);
  if (!converted) return std::nullopt;
  return std::move(converted->front());
}

bool is_stored_as_now(const ObjectTarget& target, const store::Object& object) {
  if (!is_shaped_by_reads(target)) return true;
  const api::ResourceInfo& stored = storage_of(*target.resource);
  if (!object.bytes.starts_with(type_prefix(stored.group, stored.version, stored.kind))) return false;
  const Result<Json> document = parse_json(object.bytes);
  if (!document) return false;
  Json shape = *document;
  crd::shape_stored(definition_of(target), shape);
  if (!has_webhook(target)) crd::prune(shape, crd::served_version(*target.resource)->schema, true);
  return shape == *document;
}

}  // namespace berth::server
