#include "binding/gpu_requests.h"

#include <algorithm>
#include <optional>

namespace berth::binding {
namespace {

using api::Container;
using api::FieldErrors;
using api::FieldPath;
using api::kGpuFraction;
using api::kGpuFractionContainer;
using api::kGpuFractionDevices;
using api::kGpuMemory;
using api::kGpuMps;
using api::kGpuResource;

FieldPath annotation_path(std::string_view key) {
  return FieldPath("metadata.annotations").key(key);
}

bool names_resource(const api::ResourceMap& amounts, std::string_view resource) {
  return amounts.find(resource) != amounts.end();
}

// The annotations of one pod, and what they must agree with.
class GpuCheck {
 public:
  GpuCheck(const api::Pod& pod, const BinderOptions& options) : pod_(pod), options_(options) {}

  FieldErrors errors() {
    check_whole_gpus("initContainers", pod_.init_containers);
    check_whole_gpus("containers", pod_.containers);
    check_combination();
    if (const std::string* text = annotation(kGpuFraction)) check_fraction(*text);
    if (const std::string* text = annotation(kGpuMemory)) check_memory(*text);
    if (const std::string* text = annotation(kGpuFractionDevices)) check_device_count(*text);
    if (asks_for_share()) check_share();
    return std::move(errors_);
  }

 private:
  const std::string* annotation(std::string_view key) const {
    const auto found = pod_.meta.annotations.find(key);
    return found == pod_.meta.annotations.end() ? nullptr : &found->second;
  }
  bool asks_for_share() const { return api::asks_for_gpu_share(pod_.meta); }
  void refuse(api::FieldError error) { errors_.push_back(std::move(error)); }

  void check_whole_gpus(std::string_view list, const std::vector<Container>& containers) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (!names_resource(containers[i].limits, kGpuResource) &&
          !names_resource(containers[i].requests, kGpuResource))
        continue;
      const FieldPath resources = FieldPath("spec").child(list).index(i).child("resources");
      check_amounts(resources, containers[i]);
      if (asks_for_share())
        refuse(api::forbidden(resources.child("limits").key(kGpuResource),
                              "may not be set with the annotations gpu-fraction and gpu-memory: a pod has "
                              "whole GPUs or a share; remove one of them"));
    }
  }

  void check_amounts(const FieldPath& resources, const Container& container) {
    const auto limit = container.limits.find(kGpuResource);
    const auto request = container.requests.find(kGpuResource);
    if (request == container.requests.end()) return;
    const FieldPath path = resources.child("requests").key(kGpuResource);
    if (limit == container.limits.end())
      refuse(api::required(
          resources.child("limits").key(kGpuResource),
          "GPUs are not overcommitted: set the limit to the request, " + request->second.text()));
    else if (!(limit->second == request->second))
      refuse(api::invalid(path, request->second.text(),
                          "must be equal to the limit, " + limit->second.text() + ", or absent"));
  }

  void check_combination() {
    if (annotation(kGpuFraction) && annotation(kGpuMemory))
      refuse(api::forbidden(annotation_path(kGpuMemory),
                            "may not be set with gpu-fraction: both give the size of the share; remove one"));
    const std::string_view needs_share =
        "needs the annotation gpu-fraction or gpu-memory, which gives the size of the share; remove it to "
        "use "
        "whole GPUs";
    if (asks_for_share()) return;
    if (const std::string* mps = annotation(kGpuMps); mps && *mps == "true")
      refuse(api::forbidden(annotation_path(kGpuMps), needs_share));
    if (annotation(kGpuFractionDevices))
      refuse(api::forbidden(annotation_path(kGpuFractionDevices), needs_share));
  }

  void check_fraction(const std::string& text) {
    const FieldPath path = annotation_path(kGpuFraction);
    const std::optional<std::int32_t> hundredths = api::parse_gpu_fraction(text);
    if (!hundredths) {
      refuse(
          api::invalid(path, text,
                       "must be a decimal number greater than 0 and less than 1, as in \"0.5\"; whole GPUs "
                       "are requested as the limit nvidia.com/gpu"));
      return;
    }
    if (hundredths == 0)
      refuse(api::invalid(path, text, "is rounded to 0.00: shares have two decimals, the smallest is 0.01"));
    if (hundredths == api::kWholeGpu)
      refuse(api::invalid(path, text,
                          "is rounded to 1.00: shares have two decimals, the largest is 0.99; a whole GPU is "
                          "requested as the limit nvidia.com/gpu"));
  }

  void check_memory(const std::string& text) {
    if (api::parse_whole_number(text).value_or(0) > 0) return;
    refuse(api::invalid(annotation_path(kGpuMemory), text,
                        "must be a positive whole number of MiB without a unit, as in \"4096\""));
  }

  void check_device_count(const std::string& text) {
    const std::uint64_t count = api::parse_whole_number(text).value_or(0);
    if (count > 0 && count <= api::kGpuFractionDevicesMax) return;
    refuse(
        api::invalid(annotation_path(kGpuFractionDevices), text,
                     "must be a whole number between 1 and " + std::to_string(api::kGpuFractionDevicesMax)));
  }

  void check_share() {
    if (!options_.gpu_sharing)
      refuse(api::forbidden(annotation_path(annotation(kGpuFraction) ? kGpuFraction : kGpuMemory),
                            "GPU sharing is switched off: request whole GPUs as the limit nvidia.com/gpu or "
                            "with a resource claim"));
    if (!pod_.claims.empty())
      refuse(api::forbidden("spec.resourceClaims",
                            "may not be set with the annotations gpu-fraction and gpu-memory: a claim gives "
                            "devices of its own; remove the claims or the annotations"));
    check_container();
  }

  void check_container() {
    if (pod_.containers.empty()) refuse(api::required("spec.containers", "a share is for a container"));
    const std::string* wanted = annotation(kGpuFractionContainer);
    const auto is_wanted = [wanted](const Container& container) { return container.name == *wanted; };
    if (!wanted || std::any_of(pod_.init_containers.begin(), pod_.init_containers.end(), is_wanted) ||
        std::any_of(pod_.containers.begin(), pod_.containers.end(), is_wanted))
      return;
    refuse(api::not_found(annotation_path(kGpuFractionContainer), *wanted,
                          "the pod has no container and no init container of this name"));
  }

  const api::Pod& pod_;
  const BinderOptions& options_;
  FieldErrors errors_;
};

class GpuRequests final : public Plugin {
 public:
  std::string_view name() const override { return kGpuRequestsName; }
  FieldErrors validate(const api::Pod& pod, const BinderOptions& options) const override {
    return GpuCheck(pod, options).errors();
  }
};

}  // namespace

std::unique_ptr<const Plugin> make_gpu_requests() {
  return std::make_unique<GpuRequests>();
}

}  // namespace berth::binding
