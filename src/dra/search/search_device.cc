// Trying one device: in use, feature gates, capacity, groups, counters, taints, constraints; then charging
// it.
#include <algorithm>

#include "base/known_defects.h"
#include "dra/search/search.h"

namespace berth::dra {
namespace {

std::string overdrawn_text(const NodePool& pool, const std::string& node) {
  std::size_t slot = 0;
  while (slot + 1 < pool.available.size() && !pool.available[slot].is_negative()) ++slot;
  return "counter " + pool.counter_names[slot] + " on " + node + " has " + pool.available[slot].text() +
         " of " + pool.declared[slot].text() + " left: until that is given back no device of its pool fits " +
         "that draws from counters";
}

}  // namespace

bool Search::in_use(Position at, DeviceRef place) const {
  const DeviceRun& device_run = devices_->order[place.device_run];
  const bool shareable = slice_of(place.device_run).shareable.test(place.device);
  if (!sub(at).spec->admin_access)
    return device_run.blocked.test(place.device) ||
           (!shareable && used_[place.device_run].test(place.device));
  if (shareable) return false;
  return std::any_of(picks_.begin(), picks_.end(), [&](const Pick& pick) {
    return pick.claim == at.claim && pick.device_run == place.device_run && pick.device == place.device;
  });
}

Search::TakeResult Search::check_capacity(Position at, DeviceRef place, Pick& pick) {
  const CompiledSubRequest& compiled = sub(at);
  const Slice& slice = slice_of(place.device_run);
  const api::Device& device = device_at(place);
  const auto fatal = [&](const Error& error) {
    fail(text_of(*compiled_->claims[at.claim].claim) + ", request " + compiled.spec->name +
         ": checking capacity for device " + slice.live->driver + "/" + slice.live->pool + "/" + device.name +
         ": " + error.message());
    return TakeResult::Fatal;
  };
  const auto refuse = [&](std::string why) {
    note(at, place, std::move(why));
    return TakeResult::Refused;
  };
  if (!slice.shareable.test(place.device)) {
    if (compiled.spec->capacity.empty()) return TakeResult::Taken;
    const Result<bool> enough = large_enough(device, compiled.spec->capacity);
    if (!enough) return fatal(enough.error());
    return *enough ? TakeResult::Taken : refuse("its capacity is smaller than asked for");
  }
  Result<std::optional<CapacityMap>> amounts = share_amounts(device, compiled.spec->capacity);
  if (!amounts) return fatal(amounts.error());
  if (!*amounts) return refuse("it has no share of the asked capacity");
  const model::DeviceUse& use = cluster_.ledger().device(id_at(place));
  for (const auto& [name, amount] : **amounts) {
    Quantity total = amount + consumed_of(use, cluster_.capacities().find(name));
    for (const Pick& other : picks_) {
      if (other.device_run != place.device_run || other.device != place.device) continue;
      const auto taken = other.consumed.find(name);
      if (taken != other.consumed.end()) total += taken->second;
    }
    const Quantity& whole = device.capacity.at(name).value;
    if (total > whole && !leaves_out(CertificateKind::Capacity))
      return refuse("capacity " + name + " has " + (whole - (total - amount)).text() + " of " + whole.text() +
                    " left, " + amount.text() + " is needed");
  }
  pick.share = true;
  pick.consumed = std::move(**amounts);
  return TakeResult::Taken;
}

bool Search::carries_share(DeviceRef place) const {
  if (!slice_of(place.device_run).shareable.test(place.device)) return false;
  if (cluster_.ledger().device(id_at(place)).shares > 0) return true;
  return std::any_of(picks_.begin(), picks_.end(), [&](const Pick& pick) {
    return pick.device_run == place.device_run && pick.device == place.device;
  });
}

Search::RunPool& Search::run_pool(std::uint32_t index) {
  RunPool& pool = pools_[index];
  if (!pool.copied) {
    pool.available = devices_->pools[index].available;
    pool.groups = devices_->pools[index].groups;
    pool.copied = true;
  }
  return pool;
}

// Groups and counters of the pool, of which a further share of the same device draws nothing.
bool Search::admitted(DeviceRef place, std::string& why) {
  const DeviceRun& device_run = devices_->order[place.device_run];
  const NodePool& pool = devices_->pools[device_run.pool];
  if (pool.draws.empty() || carries_share(place)) return true;
  const std::vector<CounterDraw>& draws = pool.draws[device_run.slice][place.device];
  if (draws.empty()) return true;
  const RunPool& run = run_pool(device_run.pool);
  const std::string& node = cluster_.node(node_).name;
  const auto groups_text = [&](const std::vector<std::uint32_t>& groups) {
    std::vector<std::string> names;
    for (const std::uint32_t group : groups)
      names.push_back(pool.group_names.text(DenseId<struct GroupTag>(group)));
    std::sort(names.begin(), names.end());
    std::string text = names.size() == 1 ? "group " : "groups ";
    for (std::size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i];
    return names.empty() ? std::string("no group") : text;
  };
  for (const CounterDraw& draw : draws) {
    if (leaves_out(CertificateKind::Group)) break;
    if (run.groups[draw.set].admits(draw.groups)) continue;
    if (explains_) {
      const GroupState& held = run.groups[draw.set];
      std::string offers = groups_text(draw.groups);
      if (draw.groups.size() == 1) offers = offers.substr(6);
      why = "counter set " + pool.set_names[draw.set] + " on " + node + " holds " + groups_text(held.groups) +
            "; the device offers " + offers;
    }
    return false;
  }
  if (leaves_out(CertificateKind::Counter)) return true;
  for (const CounterDraw& draw : draws)
    for (const auto& [slot, amount] : draw.counters) {
      if (!pool.overdrawn && amount <= run.available[slot]) continue;
      if (explains_)
        why = amount <= run.available[slot]
                  ? overdrawn_text(pool, node)
                  : "counter " + pool.counter_names[slot] + " on " + node + " has " +
                        run.available[slot].text() + " of " + pool.declared[slot].text() + " left, " +
                        amount.text() + " is needed";
      return false;
    }
  return true;
}

// A failed derivation, looked at only now as in Kubernetes, is told by an error in error_.
bool Search::check_constraints(Position at, DeviceRef place, std::string& why) {
  const std::vector<Covering>& coverings = sub(at).constraints;
  std::vector<ConstraintState>& states = constraints_[at.claim];
  const std::size_t flat = devices_->order[place.device_run].base + place.device;
  for (std::size_t k = 0; k < coverings.size(); ++k) {
    const auto [index, variant] = coverings[k];
    if (leaves_out(states[index])) continue;
    const ValueTable& values = *values_[at.claim][index];
    const std::string* error = variant == 0 ? nullptr : values.error(variant, flat);
    if (!error && states[index].add(values.ids(variant, flat))) continue;
    const std::string& name = compiled_->claims[at.claim].compiled_spec->constraints[index].attribute;
    if (error) {
      const Slice& slice = slice_of(place.device_run);
      fail("evaluate derived attribute " + name + " on device " + slice.live->driver + "/" +
           slice.live->pool + "/" + slice.live->devices[place.device].name + " failed: " + *error);
    } else if (explains_) {
      why = std::string(states[index].is_match() ? "it differs in " : "it is not distinct in ") + name +
            " from the devices chosen before";
    }
    undo_constraints(at, k);
    return false;
  }
  return true;
}

void Search::undo_constraints(Position at, std::size_t checked) {
  const std::vector<Covering>& coverings = sub(at).constraints;
  while (checked > 0)
    if (ConstraintState& state = constraints_[at.claim][coverings[--checked].constraint]; !leaves_out(state))
      state.undo();
}

void Search::charge(DeviceRef place, Pick& pick) {
  pick.counter_mark = counter_journal_.size();
  pick.group_mark = group_journal_.size();
  const DeviceRun& device_run = devices_->order[place.device_run];
  const NodePool& pool = devices_->pools[device_run.pool];
  if (!slice_of(place.device_run).shareable.test(place.device)) used_[place.device_run].set(place.device);
  if (pool.draws.empty() || carries_share(place)) return;
  for (const CounterDraw& draw : pool.draws[device_run.slice][place.device]) {
    RunPool& run = run_pool(device_run.pool);
    for (const auto& [slot, amount] : draw.counters) {
      counter_journal_.push_back({device_run.pool, slot, run.available[slot]});
      run.available[slot] -= amount;
    }
    group_journal_.push_back({device_run.pool, draw.set, run.groups[draw.set]});
    run.groups[draw.set].admit(draw.groups);
  }
}

Search::TakeResult Search::take(Position at, DeviceRef place) {
  const CompiledSubRequest& compiled = sub(at);
  const Slice& slice = slice_of(place.device_run);
  const api::Device& device = slice.live->devices[place.device];
  Pick pick{at.claim, at.request, at.alternative, place.device_run, static_cast<std::uint32_t>(place.device)};
  if (in_use(at, place)) {
    note(at, place, "taken");
    return TakeResult::Refused;
  }
  // Kubernetes looks at what is left of a device that must be had only after the constraints, whose refusal
  // ends the attempt.
  const bool must = compiled.spec->mode == api::AllocationMode::All;
  if (!must)
    if (const TakeResult attempt = check_capacity(at, place, pick); attempt != TakeResult::Taken)
      return attempt;
  std::string why;
  if (const std::string_view refusal = refusal_of(slice, device, gates_, cluster_.node(node_));
      !refusal.empty()) {
    note(at, place, std::string(refusal));
    return TakeResult::Refused;
  }
  if (!admitted(place, why)) {
    note(at, place, std::move(why));
    return TakeResult::Refused;
  }
  const bool taints = gates_.device_taints && !leaves_out(CertificateKind::Taint);
  const api::Taint* taint = taints ? untolerated(device, compiled.spec->tolerations) : nullptr;
  if (taint) {
    if (has(KnownDefect::RefusedCandidateKeepsCounters)) charge(place, pick);
    if (explains_)
      note(at, place,
           "its taint " + taint->key + (taint->value.empty() ? "" : "=" + taint->value) + ":" +
               taint->effect + " is not tolerated");
    return TakeResult::Refused;
  }
  if (!check_constraints(at, place, why)) {
    if (!error_.empty()) return TakeResult::Fatal;
    note(at, place, std::move(why));
    if (!must) return TakeResult::Refused;
    fail(text_of(*compiled_->claims[at.claim].claim) + ", request " + compiled.spec->name +
         ": cannot add device " + slice.live->driver + "/" + slice.live->pool + "/" + device.name +
         " because a claim constraint would not be satisfied");
    return TakeResult::Fatal;
  }
  if (must)
    if (const TakeResult attempt = check_capacity(at, place, pick); attempt != TakeResult::Taken) {
      undo_constraints(at, compiled.constraints.size());
      return attempt;
    }
  charge(place, pick);
  picks_.push_back(std::move(pick));
  most_ = std::max(most_, picks_.size());
  return TakeResult::Taken;
}

void Search::undo_last() {
  const Pick& pick = picks_.back();
  while (counter_journal_.size() > pick.counter_mark) {
    const CounterUndo& undo = counter_journal_.back();
    pools_[undo.pool].available[undo.slot] = undo.old;
    counter_journal_.pop_back();
  }
  while (group_journal_.size() > pick.group_mark) {
    GroupUndo& undo = group_journal_.back();
    pools_[undo.pool].groups[undo.set] = std::move(undo.old);
    group_journal_.pop_back();
  }
  const Position at{pick.claim, pick.request, pick.alternative};
  undo_constraints(at, sub(at).constraints.size());
  const auto same_device = [&](const Pick& other) {
    return &other != &pick && other.device_run == pick.device_run && other.device == pick.device;
  };
  if (std::none_of(picks_.begin(), picks_.end(), same_device)) used_[pick.device_run].reset(pick.device);
  picks_.pop_back();
}

}  // namespace berth::dra
