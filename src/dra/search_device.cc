// Trying one device: in use, feature gates, capacity, groups, counters, taints, constraints; then charging
// it.
#include <algorithm>

#include "base/known_defects.h"
#include "dra/search.h"

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

bool Search::in_use(Position at, Place place) const {
  const Segment& segment = devices_->order[place.segment];
  const bool shareable = slice_of(place.segment).shareable.test(place.device);
  if (!sub(at).spec->admin_access)
    return segment.blocked.test(place.device) || (!shareable && used_[place.segment].test(place.device));
  if (shareable) return false;
  return std::any_of(picks_.begin(), picks_.end(), [&](const Pick& pick) {
    return pick.claim == at.claim && pick.segment == place.segment && pick.device == place.device;
  });
}

Search::Attempt Search::check_capacity(Position at, Place place, Pick& pick) {
  const SubAsk& ask = sub(at);
  const Slice& slice = slice_of(place.segment);
  const api::Device& device = device_at(place);
  const auto fatal = [&](const Error& error) {
    fail(text_of(*ask_->claims[at.claim].claim) + ", request " + ask.spec->name +
         ": checking capacity for device " + slice.live->driver + "/" + slice.live->pool + "/" + device.name +
         ": " + error.message());
    return Attempt::Fatal;
  };
  const auto refuse = [&](std::string why) {
    note(at, place, std::move(why));
    return Attempt::Refused;
  };
  if (!slice.shareable.test(place.device)) {
    if (ask.spec->capacity.empty()) return Attempt::Taken;
    const Result<bool> enough = large_enough(device, ask.spec->capacity);
    if (!enough) return fatal(enough.error());
    return *enough ? Attempt::Taken : refuse("its capacity is smaller than asked for");
  }
  Result<std::optional<CapacityMap>> amounts = share_amounts(device, ask.spec->capacity);
  if (!amounts) return fatal(amounts.error());
  if (!*amounts) return refuse("it has no share of the asked capacity");
  const model::DeviceUse& use = cluster_.ledger().device(id_at(place));
  for (const auto& [name, amount] : **amounts) {
    Quantity total = amount + consumed_of(use, cluster_.capacities().find(name));
    for (const Pick& other : picks_) {
      if (other.segment != place.segment || other.device != place.device) continue;
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
  return Attempt::Taken;
}

bool Search::carries_share(Place place) const {
  if (!slice_of(place.segment).shareable.test(place.device)) return false;
  if (cluster_.ledger().device(id_at(place)).shares > 0) return true;
  return std::any_of(picks_.begin(), picks_.end(), [&](const Pick& pick) {
    return pick.segment == place.segment && pick.device == place.device;
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
bool Search::admitted(Place place, std::string& why) {
  const Segment& segment = devices_->order[place.segment];
  const NodePool& pool = devices_->pools[segment.pool];
  if (pool.draws.empty() || carries_share(place)) return true;
  const std::vector<Draw>& draws = pool.draws[segment.slice][place.device];
  if (draws.empty()) return true;
  const RunPool& run = run_pool(segment.pool);
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
  for (const Draw& draw : draws) {
    if (leaves_out(CertificateKind::Group)) break;
    if (run.groups[draw.set].admits(draw.groups)) continue;
    if (words_) {
      const GroupState& held = run.groups[draw.set];
      std::string offers = groups_text(draw.groups);
      if (draw.groups.size() == 1) offers = offers.substr(6);
      why = "counter set " + pool.set_names[draw.set] + " on " + node + " holds " + groups_text(held.groups) +
            "; the device offers " + offers;
    }
    return false;
  }
  if (leaves_out(CertificateKind::Counter)) return true;
  for (const Draw& draw : draws)
    for (const auto& [slot, amount] : draw.counters) {
      if (!pool.overdrawn && amount <= run.available[slot]) continue;
      if (words_)
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
bool Search::check_constraints(Position at, Place place, std::string& why) {
  const std::vector<Covering>& coverings = sub(at).constraints;
  std::vector<ConstraintState>& states = constraints_[at.claim];
  const std::size_t flat = devices_->order[place.segment].base + place.device;
  for (std::size_t k = 0; k < coverings.size(); ++k) {
    const auto [index, variant] = coverings[k];
    if (leaves_out(states[index])) continue;
    const ValueTable& values = *values_[at.claim][index];
    const std::string* error = variant == 0 ? nullptr : values.error(variant, flat);
    if (!error && states[index].add(values.ids(variant, flat))) continue;
    const std::string& name = ask_->claims[at.claim].shape->constraints[index].attribute;
    if (error) {
      const Slice& slice = slice_of(place.segment);
      fail("evaluate derived attribute " + name + " on device " + slice.live->driver + "/" +
           slice.live->pool + "/" + slice.live->devices[place.device].name + " failed: " + *error);
    } else if (words_) {
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

void Search::charge(Place place, Pick& pick) {
  pick.counter_mark = counter_journal_.size();
  pick.group_mark = group_journal_.size();
  const Segment& segment = devices_->order[place.segment];
  const NodePool& pool = devices_->pools[segment.pool];
  if (!slice_of(place.segment).shareable.test(place.device)) used_[place.segment].set(place.device);
  if (pool.draws.empty() || carries_share(place)) return;
  for (const Draw& draw : pool.draws[segment.slice][place.device]) {
    RunPool& run = run_pool(segment.pool);
    for (const auto& [slot, amount] : draw.counters) {
      counter_journal_.push_back({segment.pool, slot, run.available[slot]});
      run.available[slot] -= amount;
    }
    group_journal_.push_back({segment.pool, draw.set, run.groups[draw.set]});
    run.groups[draw.set].admit(draw.groups);
  }
}

Search::Attempt Search::take(Position at, Place place) {
  const SubAsk& ask = sub(at);
  const Slice& slice = slice_of(place.segment);
  const api::Device& device = slice.live->devices[place.device];
  Pick pick{at.claim, at.request, at.alternative, place.segment, static_cast<std::uint32_t>(place.device)};
  if (in_use(at, place)) {
    note(at, place, "taken");
    return Attempt::Refused;
  }
  // Kubernetes looks at what is left of a device that must be had only after the constraints, whose refusal
  // ends the attempt.
  const bool must = ask.spec->mode == api::AllocationMode::All;
  if (!must)
    if (const Attempt attempt = check_capacity(at, place, pick); attempt != Attempt::Taken) return attempt;
  std::string why;
  if (const std::string_view refusal = refusal_of(slice, device, gates_, cluster_.node(node_));
      !refusal.empty()) {
    note(at, place, std::string(refusal));
    return Attempt::Refused;
  }
  if (!admitted(place, why)) {
    note(at, place, std::move(why));
    return Attempt::Refused;
  }
  const bool taints = gates_.device_taints && !leaves_out(CertificateKind::Taint);
  const api::Taint* taint = taints ? untolerated(device, ask.spec->tolerations) : nullptr;
  if (taint) {
    if (has(KnownDefect::RefusedCandidateKeepsCounters)) charge(place, pick);
    if (words_)
      note(at, place,
           "its taint " + taint->key + (taint->value.empty() ? "" : "=" + taint->value) + ":" +
               taint->effect + " is not tolerated");
    return Attempt::Refused;
  }
  if (!check_constraints(at, place, why)) {
    if (!error_.empty()) return Attempt::Fatal;
    note(at, place, std::move(why));
    if (!must) return Attempt::Refused;
    fail(text_of(*ask_->claims[at.claim].claim) + ", request " + ask.spec->name + ": cannot add device " +
         slice.live->driver + "/" + slice.live->pool + "/" + device.name +
         " because a claim constraint would not be satisfied");
    return Attempt::Fatal;
  }
  if (must)
    if (const Attempt attempt = check_capacity(at, place, pick); attempt != Attempt::Taken) {
      undo_constraints(at, ask.constraints.size());
      return attempt;
    }
  charge(place, pick);
  picks_.push_back(std::move(pick));
  most_ = std::max(most_, picks_.size());
  return Attempt::Taken;
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
    return &other != &pick && other.segment == pick.segment && other.device == pick.device;
  };
  if (std::none_of(picks_.begin(), picks_.end(), same_device)) used_[pick.segment].reset(pick.device);
  picks_.pop_back();
}

}  // namespace berth::dra
