#include "binding/gpu_reservation.h"

#include <algorithm>

#include "api/types/gpu_share.h"
#include "binding/bind_pod.h"
#include "client/claim_writes.h"

namespace berth::binding {
namespace {

using api::FailureClass;
using client::Chain;
using client::Delta;
using client::Effects;
using client::View;
using Keys = std::vector<api::ObjectKey>;

constexpr std::size_t kPortionBytes = 4;  // "0.50"
// Of reservation pods: no scheduler has this name.
constexpr std::string_view kReservationScheduler = "berth-gpu-reservation";

api::ObjectKey reservation_key(std::string_view node, std::string_view group) {
  return {
      api::Kind::Pod, std::string(api::kGpuReservationNamespace), api::gpu_reservation_name(node, group), {}};
}

const api::Pod* find_reservation(const BindContext& context, const std::string& group) {
  const api::ObjectKey key = reservation_key(context.request.node, group);
  return context.view.pods.find(key.ns, key.name);
}

std::string entry_key(std::string_view uid) {
  return std::string(kGpuUserPrefix).append(uid);
}

std::string entry_value(const api::BindRequest& request) {
  return api::gpu_portion(request.gpu_share.hundredths) + " " + request.meta.ns + "/" + request.pod_name;
}

// One user of a reservation pod, as its entry says; an entry that cannot be read names no pod.
struct User {
  std::string key;  // of the annotation
  std::string uid;
  std::int32_t hundredths = 0;
  client::NamedKey pod;
};

std::vector<User> users_of(const api::Pod& reservation) {
  std::vector<User> users;
  for (const auto& [key, value] : reservation.meta.annotations) {
    if (!key.starts_with(kGpuUserPrefix)) continue;
    User user{key, key.substr(kGpuUserPrefix.size()), 0, {}};
    const std::size_t slash = value.find('/');
    if (slash != std::string::npos && slash > kPortionBytes) {
      user.hundredths = api::parse_gpu_portion(std::string_view(value).substr(0, kPortionBytes)).value_or(0);
      user.pod = {value.substr(kPortionBytes + 1, slash - kPortionBytes - 1), value.substr(slash + 1)};
    }
    users.push_back(std::move(user));
  }
  return users;
}

// Gone: the view has no such pod. Unbound: the view knows no binding and no request that would bind it here.
// Both may be lag. Idle: it has ended, or runs without the group.
enum class UserState : std::uint8_t { Uses, Idle, Unbound, Gone };

UserState state_of(const View& view, const User& user, std::string_view node, const std::string& group) {
  const api::Pod* pod = view.pods.find(user.pod.ns, user.pod.name);
  if (!pod || pod->meta.uid != user.uid) return UserState::Gone;
  if (pod->finished()) return UserState::Idle;
  const auto has_group = [&group](const api::GpuShare& share) {
    return std::find(share.groups.begin(), share.groups.end(), group) != share.groups.end();
  };
  if (pod->bound()) {
    const api::GpuSharePtr share = api::gpu_share_of(*pod);
    return pod->node_name == node && share && has_group(*share) ? UserState::Uses : UserState::Idle;
  }
  for (const api::BindRequest* request : view.bind_requests_of_pod(user.pod.ns, user.pod.name))
    if (request->pod_uid == user.uid && request->node == node && has_group(request->gpu_share) &&
        !api::failed_for_good(*request))
      return UserState::Uses;
  return UserState::Unbound;
}

Chain patch_annotations(const api::ObjectKey& key, const api::ObjectMeta& seen, Json annotations) {
  Json change = Json::object({{"metadata", Json::object({{"annotations", std::move(annotations)}})}});
  return {key, {client::merge_patch(key, std::move(change), seen.uid, seen.resource_version)}};
}

// Without a node: a create that lands late, when its user has been rolled back, takes no GPU. It survives
// what drains and taints do to other pods: its GPU is in use as long as its users run.
Json reservation_object(const BindContext& context, const std::string& group) {
  const api::BindRequest& request = context.request;
  const api::ObjectKey key = reservation_key(request.node, group);
  const Json one_gpu = Json::object({{std::string(api::kGpuResource), "1"}});
  const Json container =
      Json::object({{"name", "reservation"},
                    {"image", context.options.gpu_reservation_image},
                    {"resources", Json::object({{"limits", one_gpu}, {"requests", one_gpu}})}});
  Json metadata =
      Json::object({{"name", key.name},
                    {"namespace", key.ns},
                    {"labels", Json::object({{"app.kubernetes.io/name", "berth-gpu-reservation"}})},
                    {"annotations", Json::object({{std::string(api::kGpuGroupAnnotation), group},
                                                  {std::string(api::kGpuNodeAnnotation), request.node},
                                                  {entry_key(request.pod_uid), entry_value(request)}})}});
  Json spec = Json::object({{"schedulerName", kReservationScheduler},
                            {"containers", Json::array({container})},
                            {"priorityClassName", "system-node-critical"},
                            {"terminationGracePeriodSeconds", 1},
                            {"automountServiceAccountToken", false},
                            {"tolerations", Json::array({Json::object({{"operator", "Exists"}})})}});
  return Json::object(
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

// One that is there already is refused, and read into the view.
Chain create_reservation(const BindContext& context, const std::string& group) {
  const api::ObjectKey key = reservation_key(context.request.node, group);
  return {key, {client::create(api::Kind::Pod, key.ns, reservation_object(context, group))}};
}

// On the version on which its users are those that the view shows. It is read back, because the answer has no
// pod.
Chain bind_reservation(const BindContext& context, const api::Pod& reservation) {
  const api::ObjectKey key = client::key_of(api::Kind::Pod, reservation.meta);
  client::Write read;
  read.request = {client::Verb::Get, api::ref_of(key.kind), key.ns, key.name, "", ""};
  return {key, {bind_pod(reservation.meta, context.request.node), std::move(read)}};
}

std::string device_of(const api::Pod& reservation) {
  const std::string_view told = reservation.meta.annotation(kGpuDeviceAnnotation);
  return told.empty() ? reservation.only_gpu : std::string(told);
}

PreBindStep reservation_failed(std::string_view reason, std::string message) {
  return {{}, Failed{FailureClass::OtherPlacement, std::string(reason), std::move(message)}};
}

PreBindStep waiting(Time until, std::string why) {
  return {{}, Waiting{until, std::move(why), "GpuReservationPending", api::BindStep::WaitingForDevices}};
}

// A running pod of the group that has another device than this one; null: none. Somebody has deleted the
// reservation pod that they shared.
const api::Pod* user_elsewhere(const BindContext& context, const std::string& group,
                               std::string_view device) {
  for (const api::Pod* pod : context.view.pods_on_node(context.request.node)) {
    if (pod->finished() || api::is_gpu_reservation(*pod)) continue;
    const api::GpuSharePtr share = api::gpu_share_of(*pod);
    if (!share) continue;
    const auto at = std::find(share->groups.begin(), share->groups.end(), group);
    if (at == share->groups.end()) continue;
    std::string_view devices = pod->meta.annotation(kGpuDevicesAnnotation);
    for (auto skipped = share->groups.begin(); skipped != at; ++skipped)
      devices.remove_prefix(std::min(devices.size(), devices.find(',') + 1));
    if (devices.substr(0, devices.find(',')) != device) return pod;
  }
  return nullptr;
}

PreBindStep lost(const BindContext& context, const std::string& group, const api::Pod& user) {
  return reservation_failed("GpuReservationLost",
                            "the reservation pod of " + group + " on node " + context.request.node +
                                " was deleted while pod " + user.meta.ns + "/" + user.meta.name +
                                " uses its GPU: the group takes no pod until those end");
}

// Entries of pods that have ended count until the keeper has removed them.
PreBindStep enter(const BindContext& context, const std::string& group, const api::Pod& reservation) {
  std::int32_t taken = 0;
  bool ending = false;
  for (const User& user : users_of(reservation)) {
    taken += user.hundredths;
    ending = ending || state_of(context.view, user, context.request.node, group) != UserState::Uses;
  }
  if (taken + context.request.gpu_share.hundredths > api::kWholeGpu) {
    if (ending && context.now < context.first_seen + context.options.gpu_reservation_timeout)
      return waiting(context.now + kGpuReservationPoll, "waiting for the end of other pods on " + group);
    return reservation_failed(api::kGpuShareTaken, group + " on node " + context.request.node + " has " +
                                                       api::gpu_portion(api::kWholeGpu - taken) +
                                                       " of a GPU left");
  }
  const Json entry = Json::object({{entry_key(context.request.pod_uid), entry_value(context.request)}});
  return {{patch_annotations(client::key_of(api::Kind::Pod, reservation.meta), reservation.meta, entry)},
          Ready{}};
}

bool is_of(const api::Pod& reservation, const std::string& group) {
  return api::is_gpu_reservation(reservation) &&
         reservation.meta.annotation(api::kGpuGroupAnnotation) == group;
}

PreBindStep wait_for_device(const BindContext& context, const std::string& group) {
  const Time deadline = context.first_seen + context.options.gpu_reservation_timeout;
  if (context.now >= deadline)
    return reservation_failed("GpuReservationTimeout",
                              "the reservation pod of " + group + " on node " + context.request.node +
                                  " did not tell its device within " +
                                  std::to_string(context.options.gpu_reservation_timeout.whole_seconds()) +
                                  "s");
  return waiting(deadline, "waiting for the device of " + group + " on node " + context.request.node);
}

}  // namespace

PreBindStep reserve_gpu(const BindContext& context, const std::string& group) {
  const api::Pod* reservation = find_reservation(context, group);
  const Time deadline = context.first_seen + context.options.gpu_reservation_timeout;
  if (!reservation) {
    if (const api::Pod* user = user_elsewhere(context, group, "")) return lost(context, group, *user);
    return {{create_reservation(context, group)}, Ready{}};
  }
  if (!is_of(*reservation, group))
    return reservation_failed("GpuReservationNameTaken", "pod " + reservation->meta.ns + "/" +
                                                             reservation->meta.name +
                                                             " is not the reservation pod of " + group);
  if (reservation->finished())
    return reservation_failed("GpuReservationFailed", "the reservation pod " + reservation->meta.name +
                                                          " of " + group + " failed on node " +
                                                          context.request.node +
                                                          ": kubelet had no GPU for it, or it was stopped");
  if (reservation->meta.deleting()) {
    if (context.now >= deadline) return wait_for_device(context, group);
    return waiting(std::min(deadline, context.now + kGpuReservationPoll),
                   "waiting for the end of an earlier reservation of " + group);
  }
  const std::string key = entry_key(context.request.pod_uid);
  if (reservation->meta.annotation(key) != entry_value(context.request))
    return enter(context, group, *reservation);
  if (!reservation->bound()) return {{bind_reservation(context, *reservation)}, Ready{}};
  const std::string device = device_of(*reservation);
  if (device.empty()) return wait_for_device(context, group);
  if (const api::Pod* user = user_elsewhere(context, group, device)) return lost(context, group, *user);
  return {{}, Ready{}};
}

std::optional<Chain> release_gpu(const BindContext& context, const std::string& group) {
  const api::Pod* reservation = find_reservation(context, group);
  const std::string key = entry_key(context.request.pod_uid);
  if (!reservation || !is_of(*reservation, group) || !reservation->meta.annotations.contains(key))
    return std::nullopt;
  return patch_annotations(client::key_of(api::Kind::Pod, reservation->meta), reservation->meta,
                           Json::object({{key, nullptr}}));
}

std::string reserved_devices(const BindContext& context) {
  std::string devices;
  for (const std::string& group : context.request.gpu_share.groups) {
    const api::Pod* reservation = find_reservation(context, group);
    const std::string device = reservation ? device_of(*reservation) : "";
    if (device.empty()) return "";
    devices.append(devices.empty() ? "" : ",").append(device);
  }
  return devices;
}

// Users that have just left it too: a rollback goes on from there.
void requests_of_gpu_reservation(const View& view, const Delta& delta, Keys& keys) {
  if (delta.key.ns != api::kGpuReservationNamespace) return;
  for (const auto& side : {delta.before, delta.after}) {
    const auto* pod = client::object_of<api::Pod>(side);
    if (!pod || !api::is_gpu_reservation(*pod)) continue;
    for (const User& user : users_of(*pod))
      for (const api::BindRequest* request : view.bind_requests_of_pod(user.pod.ns, user.pod.name))
        if (request->phase == api::BindPhase::Pending)
          keys.push_back(client::key_of(api::Kind::BindRequest, request->meta));
  }
}

namespace {

void reservations_of(const std::string& node, const api::GpuShare& share, Keys& keys) {
  for (const std::string& group : share.groups) keys.push_back(reservation_key(node, group));
}

void reservations_of_pod(const View&, const Delta& delta, Keys& keys) {
  const auto& object = delta.after ? *delta.after : *delta.before;
  const api::Pod& pod = *std::get<std::shared_ptr<const api::Pod>>(object);
  if (api::is_gpu_reservation(pod)) return keys.push_back(delta.key);
  const bool ended = !delta.after || pod.finished();
  if (!ended || !pod.bound()) return;
  if (const api::GpuSharePtr share = api::gpu_share_of(pod)) reservations_of(pod.node_name, *share, keys);
}

void reservations_of_request(const View&, const Delta& delta, Keys& keys) {
  for (const auto& side : {delta.before, delta.after})
    if (const auto* request = client::object_of<api::BindRequest>(side))
      reservations_of(request->node, request->gpu_share, keys);
}

// On its version: an entry that was added since refuses it.
client::Write delete_unchanged(const api::ObjectKey& key, const api::ObjectMeta& seen) {
  client::Write write = client::delete_object(key, seen.uid);
  const Json preconditions =
      Json::object({{"uid", seen.uid}, {"resourceVersion", std::to_string(seen.resource_version)}});
  write.request.body = to_string(Json::object({{"preconditions", preconditions}}));
  return write;
}

// Refused, and its pod read into the view, if the user may use the GPU after all. A pod without a binding
// gets a new version, on which no binding that was sent before can land.
std::optional<client::Write> prove(const View& view, const User& user, UserState state,
                                   const api::ObjectMeta& reservation) {
  const api::ObjectKey key{api::Kind::Pod, user.pod.ns, user.pod.name, {}};
  if (state == UserState::Gone && !user.pod.name.empty()) return client::unless_exists(key, user.uid);
  if (state != UserState::Unbound) return std::nullopt;
  return client::seal_object(key, view.pods.find(key.ns, key.name)->meta, reservation.name);
}

class GpuReservationKeeper final : public client::Reconciler {
 public:
  std::string_view name() const override { return kGpuReservationKeeperName; }
  std::vector<client::Interest> interests() const override {
    return {{api::Kind::Pod, {}, reservations_of_pod}, {api::Kind::BindRequest, {}, reservations_of_request}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::Pod* reservation = view.pods.find(key.ns, key.name);
    if (!reservation || !api::is_gpu_reservation(*reservation) || reservation->meta.deleting())
      return Effects::nothing();
    const std::string group(reservation->meta.annotation(api::kGpuGroupAnnotation));
    Chain chain{key, {}};
    Json removed = Json::object();
    bool in_use = false;
    for (const User& user : users_of(*reservation)) {
      const UserState state = state_of(view, user, api::gpu_reservation_node(*reservation), group);
      in_use = in_use || state == UserState::Uses;
      if (state == UserState::Uses) continue;
      removed[user.key] = nullptr;
      if (auto proof = prove(view, user, state, reservation->meta)) chain.writes.push_back(*std::move(proof));
    }
    if (!in_use || reservation->finished()) {
      // Its device is free in any case, so users that are left do not keep one that failed.
      chain.writes.push_back(delete_unchanged(key, reservation->meta));
    } else if (!removed.as_object().empty()) {
      for (client::Write& write : patch_annotations(key, reservation->meta, std::move(removed)).writes)
        chain.writes.push_back(std::move(write));
    } else {
      return Effects::nothing();
    }
    Effects effects;
    effects.chains.push_back(std::move(chain));
    return effects;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_gpu_reservation_keeper() {
  return std::make_unique<GpuReservationKeeper>();
}

}  // namespace berth::binding
