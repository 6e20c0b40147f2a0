#include "binding/gpu_sharing.h"

#include <algorithm>
#include <array>

#include "api/types/gpu_share.h"
#include "binding/gpu_reservation.h"

namespace berth::binding {
namespace {

using client::Chain;

struct Variable {
  std::string_view name;
  std::string_view annotation;  // that it reads
};

// NVIDIA_VISIBLE_DEVICES is NVIDIA's container runtime's; the others are KAI Scheduler's.
constexpr std::array<Variable, 3> kVariables = {{
    {"NVIDIA_VISIBLE_DEVICES", kGpuDevicesAnnotation},
    {"GPU_PORTION", api::kGpuPortionAnnotation},
    {"RUNAI_NUM_OF_GPUS", api::kGpuPortionAnnotation},
}};

bool is_variable(std::string_view name) {
  return std::any_of(kVariables.begin(), kVariables.end(),
                     [name](const Variable& variable) { return variable.name == name; });
}

// The container that has the share: the named one, init containers first, or the first container. Null: none.
Json* sharing_container(Json& pod, std::string_view wanted) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    Json* containers = pod["spec"].find(list);
    if (!containers || !containers->is_array()) continue;
    for (Json& container : containers->as_array())
      if (container.is_object() &&
          (wanted.empty() ? list == "containers" : container.string_at("name") == wanted))
        return &container;
  }
  return nullptr;
}

Json from_annotation(const Variable& variable) {
  const std::string path = "metadata.annotations['" + std::string(variable.annotation) + "']";
  const Json field = Json::object({{"apiVersion", "v1"}, {"fieldPath", path}});
  return Json::object({{"name", variable.name}, {"valueFrom", Json::object({{"fieldRef", field}})}});
}

// Values that the user wrote for these names are replaced: a container must not choose its devices.
void set_environment(Json& container) {
  JsonArray variables;
  for (const Json& variable : std::as_const(container).items_at("env"))
    if (!is_variable(variable.string_at("name"))) variables.push_back(variable);
  for (const Variable& variable : kVariables) variables.push_back(from_annotation(variable));
  container["env"] = std::move(variables);
}

bool has_share(const BindContext& context) {
  return context.request.received_resource_type == api::kFractionReceived;
}

bool reserves(const BindContext& context) {
  return context.options.gpu_reservations == GpuReservations::Pods;
}

// What other pods of the node have of the group, where nothing else keeps account of it.
std::int32_t taken_by_others(const BindContext& context, const std::string& group) {
  std::int32_t taken = 0;
  for (const api::Pod* pod : context.view.pods_on_node(context.request.node)) {
    if (pod->finished() || pod->meta.uid == context.request.pod_uid) continue;
    const api::GpuSharePtr share = api::gpu_share_of(*pod);
    if (share && std::find(share->groups.begin(), share->groups.end(), group) != share->groups.end())
      taken += share->hundredths;
  }
  return taken;
}

PreBindStep check_room(const BindContext& context) {
  for (const std::string& group : context.request.gpu_share.groups) {
    const std::int32_t left = api::kWholeGpu - taken_by_others(context, group);
    if (context.request.gpu_share.hundredths > left)
      return {{},
              Failed{api::FailureClass::OtherPlacement, std::string(api::kGpuShareTaken),
                     group + " on node " + context.request.node + " has " +
                         api::gpu_portion(std::max(left, 0)) + " of a GPU left"}};
  }
  return {{}, Ready{}};
}

Json annotations_of(const BindContext& context) {
  Json annotations = api::to_json(api::gpu_share_annotations(context.request.gpu_share));
  // Without a device there is none: what the user wrote there is not the container's environment.
  annotations[std::string(kGpuDevicesAnnotation)] =
      reserves(context) ? Json(reserved_devices(context)) : Json(nullptr);
  return annotations;
}

// None if the pod has them.
std::optional<client::Write> write_annotations(const api::Pod& pod, Json annotations) {
  const auto stands = [&pod](const auto& member) {
    const auto found = pod.meta.annotations.find(member.key);
    if (member.value.is_null()) return found == pod.meta.annotations.end();
    return found != pod.meta.annotations.end() && found->second == member.value.as_string();
  };
  const JsonObject& wanted = annotations.as_object();
  if (std::all_of(wanted.begin(), wanted.end(), stands)) return std::nullopt;
  Json change = Json::object({{"metadata", Json::object({{"annotations", std::move(annotations)}})}});
  return client::merge_patch(client::key_of(api::Kind::Pod, pod.meta), std::move(change), pod.meta.uid,
                             pod.meta.resource_version);
}

class GpuSharing final : public Plugin {
 public:
  std::string_view name() const override { return kGpuSharingName; }

  Json mutate(Json pod, const BinderOptions& options) const override {
    const Json& annotations = std::as_const(pod).part("metadata").part("annotations");
    const bool shares = annotations.find(api::kGpuFraction) || annotations.find(api::kGpuMemory);
    if (!options.gpu_sharing || !shares) return pod;
    const std::string wanted(annotations.string_at(api::kGpuFractionContainer));
    if (Json* container = sharing_container(pod, wanted)) set_environment(*container);
    return pod;
  }

  std::vector<client::Interest> interests() const override {
    return {{api::Kind::Pod, {}, requests_of_gpu_reservation}};
  }

  // The groups one after the other: each wait is for one device.
  PreBindStep pre_bind(const BindContext& context) const override {
    if (!has_share(context)) return {{}, Ready{}};
    if (!reserves(context)) return check_room(context);
    for (const std::string& group : context.request.gpu_share.groups) {
      PreBindStep step = reserve_gpu(context, group);
      if (!step.chains.empty() || !std::holds_alternative<Ready>(step.verdict)) return step;
    }
    return {{}, Ready{}};
  }

  std::vector<client::Write> before_binding(const BindContext& context) const override {
    std::vector<client::Write> writes;
    if (!has_share(context)) return writes;
    if (auto write = write_annotations(*context.pod, annotations_of(context)))
      writes.push_back(*std::move(write));
    return writes;
  }

  std::vector<Chain> rollback(const BindContext& context) const override {
    std::vector<Chain> chains;
    if (!has_share(context)) return chains;
    for (const std::string& group : context.request.gpu_share.groups)
      if (auto chain = release_gpu(context, group)) chains.push_back(*std::move(chain));
    if (!context.pod || context.pod->bound()) return chains;
    const Json none = Json::object({{std::string(api::kGpuGroupsAnnotation), nullptr},
                                    {std::string(api::kGpuPortionAnnotation), nullptr},
                                    {std::string(kGpuDevicesAnnotation), nullptr}});
    if (auto write = write_annotations(*context.pod, none))
      chains.push_back({client::key_of(api::Kind::Pod, context.pod->meta), {*std::move(write)}});
    return chains;
  }
};

}  // namespace

std::unique_ptr<const Plugin> make_gpu_sharing() {
  return std::make_unique<GpuSharing>();
}

}  // namespace berth::binding
