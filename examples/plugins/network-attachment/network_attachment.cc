#include "network_attachment.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace example {
namespace {

using berth::Duration;
using berth::Json;
using berth::Time;
using berth::api::FieldErrors;
using berth::api::FieldPath;
using berth::binding::BindContext;
using berth::binding::BinderOptions;
using berth::binding::Failed;
using berth::binding::PreBindStep;
using berth::binding::Ready;
using berth::binding::Waiting;
using berth::client::Chain;
using berth::client::Write;
namespace api = berth::api;
namespace client = berth::client;

constexpr std::string_view kNetwork = "example.com/network";          // the network's name
constexpr std::string_view kTimeout = "example.com/network-timeout";  // seconds; mutate() sets it
constexpr std::string_view kAddress = "example.com/network-address";  // post_bind() sets it
constexpr std::string_view kSuffix = "-network";
constexpr std::string_view kTimeoutDefault = "60";
constexpr std::int64_t kTimeoutMaxS = 3600;
constexpr std::size_t kNetworkBytesMax = 63;

const api::ResourceRef kConfigMaps{"", "v1", "configmaps"};

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || seconds < 1 || seconds > kTimeoutMaxS) return std::nullopt;
  return seconds;
}

bool is_network_name(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kNetworkBytesMax && std::all_of(name.begin(), name.end(), allowed);
}

api::ObjectKey attachment_key(const BindContext& context) {
  return {api::Kind::Other, context.request.meta.ns, context.request.pod_name + std::string(kSuffix),
          kConfigMaps};
}

const api::AnyObject* find_attachment(const BindContext& context) {
  const auto maps = context.view.others.find(kConfigMaps);
  const api::ObjectKey key = attachment_key(context);
  return maps == context.view.others.end() ? nullptr : maps->second.find(key.ns, key.name);
}

bool belongs_to_pod(const BindContext& context, const api::AnyObject& attachment) {
  return std::any_of(
      attachment.meta.owners.begin(), attachment.meta.owners.end(),
      [&context](const api::OwnerReference& owner) { return owner.uid == context.request.pod_uid; });
}

// The ConfigMap's data.
Json data_of(const api::AnyObject& attachment) {
  return berth::api::parse_object(*attachment.raw).value_or(Json::object()).part("data");
}

// Its name follows from the pod, so a repeated create finds the first one; its owner removes it with the pod.
Chain create_attachment(const BindContext& context, std::string_view network) {
  const api::ObjectKey key = attachment_key(context);
  const api::OwnerReference owner{"v1",  "Pod", context.request.pod_name, context.request.pod_uid,
                                  false, false};
  Write write;
  write.request.verb = client::Verb::Create;
  write.request.resource = kConfigMaps;
  write.request.ns = key.ns;
  write.request.name = key.name;
  write.request.body = to_string(Json::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata",
        Json::object(
            {{"name", key.name}, {"namespace", key.ns}, {"ownerReferences", Json::array({to_json(owner)})}})},
       {"data", Json::object({{"network", network}, {"node", context.request.node}})}}));
  return {key, {std::move(write)}};
}

Chain delete_attachment(const BindContext& context, const api::AnyObject& attachment) {
  const api::ObjectKey key = attachment_key(context);
  return {key, {client::delete_object(key, attachment.meta.uid)}};
}

class NetworkAttachment final : public berth::binding::Plugin {
 public:
  std::string_view name() const override { return kNetworkAttachmentName; }

  FieldErrors validate(const api::Pod& pod, const BinderOptions&) const override {
    FieldErrors errors;
    const FieldPath annotations("metadata.annotations");
    if (const auto network = pod.meta.annotations.find(kNetwork);
        network != pod.meta.annotations.end() && !is_network_name(network->second))
      errors.push_back(api::invalid(annotations.key(kNetwork), network->second,
                                    "must be 1 to 63 lower-case letters, digits and '-'"));
    if (const auto timeout = pod.meta.annotations.find(kTimeout);
        timeout != pod.meta.annotations.end() && !seconds_of(timeout->second))
      errors.push_back(
          api::invalid(annotations.key(kTimeout), timeout->second,
                       "must be a number of seconds between 1 and " + std::to_string(kTimeoutMaxS)));
    return errors;
  }

  Json mutate(Json pod, const BinderOptions&) const override {
    const Json& annotations = std::as_const(pod).part("metadata").part("annotations");
    if (annotations.find(kNetwork) && !annotations.find(kTimeout))
      pod["metadata"]["annotations"][kTimeout] = kTimeoutDefault;
    return pod;
  }

  // A change of an attachment wakes the BindRequests of its pod.
  std::vector<client::Interest> interests() const override {
    const auto keys = [](const client::View& view, const client::Delta& delta,
                         std::vector<api::ObjectKey>& wake) {
      const std::string& name = delta.key.name;
      if (!name.ends_with(kSuffix)) return;
      const std::string pod = name.substr(0, name.size() - kSuffix.size());
      for (const api::BindRequest* request : view.bind_requests_of_pod(delta.key.ns, pod))
        wake.push_back(client::key_of(api::Kind::BindRequest, request->meta));
    };
    return {{api::Kind::Other, kConfigMaps, keys}};
  }

  PreBindStep pre_bind(const BindContext& context) const override {
    const std::string_view network = context.pod->meta.annotation(kNetwork);
    if (network.empty()) return {{}, Ready{}};
    const api::AnyObject* attachment = find_attachment(context);
    if (!attachment) return {{create_attachment(context, network)}, Ready{}};
    if (!belongs_to_pod(context, *attachment))
      return {{},
              Failed{api::FailureClass::Permanent, "AttachmentNameTaken",
                     "ConfigMap " + attachment->meta.name + " belongs to another object: delete it"}};
    const Json data = data_of(*attachment);
    // Of an earlier decision for another node.
    if (data.string_at("node") != context.request.node)
      return {{delete_attachment(context, *attachment)}, Ready{}};
    return {{}, verdict(context, data)};
  }

  std::vector<Write> post_bind(const BindContext& context) const override {
    const api::AnyObject* attachment = find_attachment(context);
    if (!attachment || !belongs_to_pod(context, *attachment)) return {};
    const Json data = data_of(*attachment);
    const std::string_view address = data.string_at("address");
    if (address.empty() || context.pod->meta.annotation(kAddress) == address) return {};
    const Json annotations = Json::object({{std::string(kAddress), address}});
    return {client::merge_patch(client::key_of(api::Kind::Pod, context.pod->meta),
                                Json::object({{"metadata", Json::object({{"annotations", annotations}})}}),
                                context.pod->meta.uid, 0)};
  }

  std::vector<Chain> rollback(const BindContext& context) const override {
    const api::AnyObject* attachment = find_attachment(context);
    if (!attachment || !belongs_to_pod(context, *attachment) || attachment->meta.deleting()) return {};
    return {delete_attachment(context, *attachment)};
  }

 private:
  static berth::binding::PreBindResult verdict(const BindContext& context, const Json& data) {
    const std::string_view state = data.string_at("state");
    if (state == "attached") return Ready{};
    if (state == "failed")
      return Failed{api::FailureClass::OtherPlacement, "NetworkNotAttached",
                    "the network controller reports: " + std::string(data.string_at("message"))};
    const std::int64_t timeout_s = seconds_of(context.pod->meta.annotation(kTimeout)).value_or(kTimeoutMaxS);
    const Time limit = context.first_seen + Duration::seconds(timeout_s);
    const std::string why = "waiting for the attachment to network " + std::string(data.string_at("network"));
    if (context.now < limit) return Waiting{limit, why, "NetworkAttachmentPending"};
    return Failed{api::FailureClass::OtherPlacement, "NetworkTimeout",
                  "not attached within " + std::to_string(timeout_s) + " s"};
  }
};

}  // namespace

std::unique_ptr<const berth::binding::Plugin> make_network_attachment() {
  return std::make_unique<NetworkAttachment>();
}

}  // namespace example
