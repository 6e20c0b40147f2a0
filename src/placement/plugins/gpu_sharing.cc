// GpuSharing: shares of GPUs that pods ask for by annotations. Filter, score and reserve agree on one choice
// of GPU groups for each node: GPUs that are shared already, the fullest first, then whole ones. A group
// takes one nvidia.com/gpu of its node, which the ledger charges. Source: docs/gpu-sharing.md.
#include <optional>

#include "api/types/gpu_share.h"
#include "placement/free_resources.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

// In PodQuery::slots.
struct PodGpuShare {
  std::optional<api::GpuShareRequest> request;
  void clear() { request.reset(); }
};

bool wants_gpu_share(const api::Pod& pod) {
  return api::asks_for_gpu_share(pod.meta);
}

const std::optional<api::GpuShareRequest>& request_of(const PodQuery& query) {
  return query.slots.read<PodGpuShare>().request;
}

std::optional<std::int32_t> hundredths_on(const PodQuery& query, NodeId node) {
  return api::gpu_hundredths(*request_of(query), query.context->cluster.node(node).live->meta.labels);
}

std::optional<model::GpuGroupChoice> choice_on(const PodQuery& query, NodeId node) {
  const model::Cluster& cluster = query.context->cluster;
  const std::optional<std::int32_t> hundredths = hundredths_on(query, node);
  if (!hundredths) return std::nullopt;
  const model::NodeUse& use = cluster.ledger().node(node);
  return model::choose_gpu_groups(use.gpu_groups, free_of(cluster.node(node), use, model::kGpu), *hundredths,
                                  request_of(query)->devices);
}

// "GPU with 0.50", "2 GPUs with 4096 MiB".
std::string text_of(const api::GpuShareRequest& request) {
  return (request.devices == 1 ? "GPU" : std::to_string(request.devices) + " GPUs") + " with " +
         (request.hundredths > 0 ? api::gpu_portion(request.hundredths)
                                 : std::to_string(request.memory_mib) + " MiB");
}

// " (rounded up to 0.13 of each, 2397 MiB)": a share is whole hundredths, so less may be left than it seems.
std::string rounding_text(const PodQuery& query, NodeId node) {
  const std::optional<std::int32_t> hundredths = hundredths_on(query, node);
  if (request_of(query)->memory_mib == 0 || !hundredths) return "";
  const api::StringMap& labels = query.context->cluster.node(node).live->meta.labels;
  const std::uint64_t whole = api::parse_whole_number(labels.find(api::kGpuMemoryLabel)->second).value_or(0);
  const std::uint64_t taken =
      (whole * static_cast<std::uint64_t>(*hundredths) + api::kWholeGpu - 1) / api::kWholeGpu;
  if (taken == request_of(query)->memory_mib) return "";
  return " (rounded up to " + api::gpu_portion(*hundredths) + " of each, " + std::to_string(taken) + " MiB)";
}

const Reason& reason_on(const PodQuery& query, NodeId node) {
  const std::int64_t gpus = model::amount_in(query.context->cluster.node(node).allocatable, model::kGpu);
  const bool ever = hundredths_on(query, node) && gpus >= std::int64_t{request_of(query)->devices};
  return ever ? reason_row("NoGpuShareLeft") : reason_row("NoGpuShareEver");
}

class GpuShareRequests final : public PreFilter {
 public:
  std::string_view name() const override { return kGpuSharing; }
  void prepare(PodQuery& query, Diagnosis& diagnosis) const override {
    if (!wants_gpu_share(*query.pod)) return;
    const std::optional<api::GpuShareRequest> request = api::gpu_share_request(query.pod->meta);
    if (!request)
      return diagnosis.refuse_everywhere(reason_row("InvalidGpuShare"), api::kGpuFraction, api::kGpuMemory);
    query.slots.write<PodGpuShare>().request = request;
  }
};

void sign_share(const PodQuery& query, PodSignature& signature) {
  const std::optional<api::GpuShareRequest>& request = request_of(query);
  if (!request || !signature.begin("GpuShare")) return;
  signature.put(static_cast<std::uint64_t>(request->hundredths));
  signature.put(request->memory_mib);
  signature.put(request->devices);
}

class GpuSharing final : public Filter {
 public:
  std::string_view name() const override { return kGpuSharing; }
  QueueingHint events_to_register() const override {
    return {kEventNodeAdded | kEventNodeChanged | kEventPodGone | kEventPodResized, wants_gpu_share};
  }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_share(query, signature);
    return Signing::Signed;
  }
  void filter(const PodQuery& query, NodeVerdicts& verdicts) const override {
    if (!request_of(query)) return;
    const std::string share = text_of(*request_of(query));
    verdicts.keep_if([&](NodeId node) {
      if (choice_on(query, node)) return true;
      verdicts.diagnosis.refuse(
          node, verdicts.diagnosis.reason(reason_on(query, node), share + rounding_text(query, node)));
      return false;
    });
  }
};

// Fuller GPUs score higher, and every GPU that is shared already above every whole one.
class GpuSharePacking final : public Score {
 public:
  std::string_view name() const override { return kGpuSharing; }
  Signing sign(const PodQuery& query, PodSignature& signature) const override {
    sign_share(query, signature);
    return Signing::Signed;
  }
  void score(const PodQuery& query, std::span<const NodeId> nodes, std::int64_t weight,
             std::span<std::int64_t> scores) const override {
    if (!request_of(query)) return;
    const std::int64_t devices = request_of(query)->devices;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (const auto choice = choice_on(query, nodes[i])) {
        constexpr std::int64_t kShared = 50;
        const std::int64_t sum = (devices - choice->opened) * kShared + choice->hundredths_used / 2;
        scores[i] += weight * (sum / devices);
      }
  }
};

class GpuShareReservation final : public Reserve {
 public:
  std::string_view name() const override { return kGpuSharing; }
  Status reserve(const PodQuery& query, const NodeChoice&, NodeId node, model::Ledger::Transaction&,
                 Reservation& reservation) const override {
    if (!request_of(query)) return {};
    const std::optional<model::GpuGroupChoice> choice = choice_on(query, node);
    // Another Reserve plugin may have charged the transaction since the filter ran.
    if (!choice) return Error(ErrorCode::Conflict, "", "the node has no GPU left for the share");
    reservation.gpu_share =
        std::make_shared<const api::GpuShare>(api::GpuShare{choice->groups, *hundredths_on(query, node)});
    return {};
  }
  void unreserve(const PodQuery&, NodeId) const override {}
};

}  // namespace

std::unique_ptr<PreFilter> gpu_share_requests() {
  return std::make_unique<GpuShareRequests>();
}
std::unique_ptr<Filter> gpu_sharing() {
  return std::make_unique<GpuSharing>();
}
std::unique_ptr<Score> gpu_share_packing() {
  return std::make_unique<GpuSharePacking>();
}
std::unique_ptr<Reserve> gpu_share_reservation() {
  return std::make_unique<GpuShareReservation>();
}

}  // namespace berth::placement::plugins
