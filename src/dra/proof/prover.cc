#include "dra/proof/prover.h"

#include <algorithm>
#include <map>

#include "dra/pools/attribute_names.h"
#include "dra/pools/capacity.h"

namespace berth::dra {
namespace {

constexpr std::size_t kEligibilities = static_cast<std::size_t>(Eligibility::Error) + 1;

std::size_t index_of(Eligibility eligibility) {
  return static_cast<std::size_t>(eligibility);
}

Quantity count_of(std::size_t count) {
  return Quantity::of(static_cast<std::int64_t>(count));
}

CertificateKind kind_of(Eligibility eligibility) {
  switch (eligibility) {
    case Eligibility::Selector:
      return CertificateKind::Selector;
    case Eligibility::Taint:
      return CertificateKind::Taint;
    case Eligibility::Capacity:
      return CertificateKind::Capacity;
    case Eligibility::Counter:
      return CertificateKind::Counter;
    case Eligibility::Group:
      return CertificateKind::Group;
    default:
      return CertificateKind::Count;
  }
}

std::string text_of_scalar(const api::AttributeValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* version = std::get_if<api::AttributeVersion>(&value)) return version->text;
  return {};
}

// The first counter of the pool with too little left for the device, as its refusal names it; kNoCounter:
// none.
constexpr std::uint32_t kNoCounter = ~std::uint32_t{0};
std::uint32_t short_counter(const NodePool& pool, const CounterDraws& draws) {
  for (const CounterDraw& draw : draws)
    for (const auto& [counter, amount] : draw.counters)
      if (amount > pool.available[counter]) return counter;
  return kNoCounter;
}

}  // namespace

std::string Prover::name_of(DeviceRef place) const {
  const Slice& slice = problem_.eligibility_check().devices.slice_at(place);
  const std::string& name = slice.live->devices[place.device].name;
  const auto& order = problem_.eligibility_check().devices.order;
  const bool one_pool = std::all_of(order.begin(), order.end(),
                                    [&](const DeviceRun& other) { return other.pool == order[0].pool; });
  return one_pool ? name : slice.live->driver + "/" + slice.live->pool + "/" + name;
}

void Prover::add_item(Certificate& out, std::string item) const {
  if (out.items.size() < kCertificateItemsMax) out.items.push_back(std::move(item));
}

std::optional<Certificate> Prover::by_numbers() {
  for (const CompiledClaim& claim : compiled_.claims)
    for (const CompiledRequest& request : claim.requests)
      if (std::optional<Certificate> found = of_request(claim, request)) return found;
  if (problem_.may_err) return std::nullopt;
  Relaxation relaxation(compiled_, problem_, values_);
  const std::optional<Refutation> no = relaxation.refute();
  return no ? std::optional(of(*no)) : std::nullopt;
}

// Only when every alternative is blocked by itself; then the first one's reason.
std::optional<Certificate> Prover::of_request(const CompiledClaim& claim,
                                              const CompiledRequest& request) const {
  std::optional<Certificate> first;
  for (const CompiledSubRequest& sub : request.alternatives) {
    std::optional<Certificate> blocked = of_sub(claim, sub);
    if (!blocked) return std::nullopt;
    if (!first) first = std::move(blocked);
  }
  return first;
}

std::optional<Certificate> Prover::of_sub(const CompiledClaim& claim, const CompiledSubRequest& sub) const {
  const bool all = sub.spec->mode == api::AllocationMode::All;
  const std::size_t need = all ? collected_.at(&sub).size() : static_cast<std::size_t>(sub.spec->count);
  const std::size_t fitting = problem_.accepted(sub).count();
  if (fitting >= need && need > 0) return std::nullopt;
  Counts refused(kEligibilities);
  std::size_t left = 0;
  const NodeDevices& devices = problem_.eligibility_check().devices;
  for (std::uint32_t s = 0; s < devices.order.size(); ++s) {
    const Mask& here = devices.order[s].here;
    for (std::size_t i = here.next(0); i < kSliceDevicesMax; i = here.next(i + 1)) {
      refused[index_of(problem_.eligibility_check().of(sub, {s, i}))].push_back({s, i});
      ++left;
    }
  }
  // An All request without any device is blocked by its selectors; sizes belong to its selection.
  const std::size_t wanted = std::max<std::size_t>(need, 1);
  for (std::size_t eligibility = 0; eligibility < index_of(Eligibility::Fits); ++eligibility) {
    left -= refused[eligibility].size();
    // A device without its feature counts as in use: the rest is usable and free.
    if (left >= wanted || static_cast<Eligibility>(eligibility) == Eligibility::Feature) continue;
    Certificate out = of_eligibility(sub, static_cast<Eligibility>(eligibility), refused, wanted, left);
    out.claim = claim.claim->meta.name;
    out.request = sub.name;
    return out;
  }
  return std::nullopt;
}

Certificate Prover::of_eligibility(const CompiledSubRequest& sub, Eligibility eligibility,
                                   const Counts& refused, std::size_t need, std::size_t have) const {
  Certificate out;
  out.kind = kind_of(eligibility);
  out.need = count_of(need);
  out.have = count_of(have);
  const std::vector<DeviceRef>& here = refused[index_of(eligibility)];
  // The node has too few devices, whatever the selectors.
  if (eligibility == Eligibility::Selector && here.empty()) out.kind = CertificateKind::Count;
  if (eligibility == Eligibility::Capacity && !capacity_numbers(sub, refused, need, have, out))
    out.kind = CertificateKind::Count;
  if (eligibility == Eligibility::Counter) counter_numbers(refused, out);
  if (eligibility == Eligibility::Group) group_members(refused, out);
  if (out.kind == CertificateKind::Selector) out.subject = sub.spec->device_class;
  if (eligibility == Eligibility::Taint)
    for (const DeviceRef& place : here) {
      const api::Taint* taint =
          untolerated(problem_.eligibility_check().devices.device_at(place), sub.spec->tolerations);
      add_item(out, name_of(place) + " " + taint->key + (taint->value.empty() ? "" : "=" + taint->value) +
                        ":" + taint->effect);
    }
  if (out.kind == CertificateKind::Selector)
    for (const DeviceRef& place : of_class(sub, here)) add_item(out, name_of(place));
  if (out.kind != CertificateKind::Count) return out;
  std::vector<DeviceRef> rest;  // those that pass this rule
  for (std::size_t later = index_of(eligibility) + 1; later < kEligibilities; ++later)
    rest.insert(rest.end(), refused[later].begin(), refused[later].end());
  std::sort(rest.begin(), rest.end(), [](const DeviceRef& a, const DeviceRef& b) {
    return std::pair(a.device_run, a.device) < std::pair(b.device_run, b.device);
  });
  for (const DeviceRef& place : rest) add_item(out, name_of(place));
  return out;
}

// Those of the request's class, which come nearer than devices of other classes; all, when none is of it.
std::vector<DeviceRef> Prover::of_class(const CompiledSubRequest& sub,
                                        const std::vector<DeviceRef>& places) const {
  const EligibilityCheck& check = problem_.eligibility_check();
  SelectorCache& cache = check.inventory.selector_cache();
  const SelectorSetId id = cache.intern(sub.device_class->selectors, {});
  const SelectorSetRef held = cache.reference(id);
  std::vector<DeviceRef> nearer;
  for (const DeviceRef& place : places)
    if (check.inventory.selected(check.devices.slice_at(place), id).match.test(place.device))
      nearer.push_back(place);
  return nearer.empty() ? places : nearer;
}

// The first requested capacity that too few devices have enough of: the requested amount, and the largest
// amount of a further device. False when no amount shows it (a policy refuses).
bool Prover::capacity_numbers(const CompiledSubRequest& sub, const Counts& refused, std::size_t need,
                              std::size_t have, Certificate& out) const {
  const EligibilityCheck& eligibility_check = problem_.eligibility_check();
  for (const auto& [name, requested] : sub.spec->capacity) {
    std::vector<std::pair<Quantity, DeviceRef>> short_of;
    for (const DeviceRef& place : refused[index_of(Eligibility::Capacity)]) {
      const api::Device& device = eligibility_check.devices.device_at(place);
      const auto capacity = device.capacity.find(name);
      if (capacity == device.capacity.end()) {
        short_of.emplace_back(Quantity(), place);
        continue;
      }
      const model::DeviceId id = eligibility_check.devices.slice_at(place).devices[place.device];
      const bool shared = eligibility_check.devices.slice_at(place).shareable.test(place.device);
      const Quantity left =
          shared ? capacity->second.value - consumed_of(eligibility_check.cluster.ledger().device(id),
                                                        eligibility_check.cluster.capacities().find(name))
                 : capacity->second.value;
      if (left < requested) short_of.emplace_back(left, place);
    }
    // All devices that this rule refuses lack the capacity, so one more of them is needed.
    if (short_of.size() != refused[index_of(Eligibility::Capacity)].size() || have >= need) continue;
    out.subject = name;
    out.need = requested;
    out.have = Quantity();
    for (const auto& [left, place] : short_of) {
      out.have = std::max(out.have, left);
      add_item(out, name_of(place));
    }
    return true;
  }
  return false;
}

// The counter that the first of these devices is short of, the least that one of them draws from it, and
// those that it is too little for. The text of a refused device names the same counter.
void Prover::counter_numbers(const Counts& refused, Certificate& out) const {
  const NodeDevices& devices = problem_.eligibility_check().devices;
  const std::vector<DeviceRef>& here = refused[index_of(Eligibility::Counter)];
  const DeviceRef* first = nullptr;
  for (const DeviceRef& place : here) {
    if (short_counter(devices.pools[devices.order[place.device_run].pool], devices.draws_at(place)) ==
        kNoCounter)
      continue;
    first = &place;
    break;
  }
  if (!first) return overdrawn_numbers(here, out);
  const std::uint32_t pool_index = devices.order[first->device_run].pool;
  const NodePool& pool = devices.pools[pool_index];
  const std::uint32_t chosen = short_counter(pool, devices.draws_at(*first));
  out.subject = pool.counter_names[chosen];
  out.have = pool.available[chosen];
  bool any = false;
  for (const DeviceRef& place : here) {
    if (devices.order[place.device_run].pool != pool_index) continue;
    for (const CounterDraw& draw : devices.draws_at(place))
      for (const auto& [counter, amount] : draw.counters) {
        if (counter != chosen || amount <= out.have) continue;
        out.need = any ? std::min(out.need, amount) : amount;
        any = true;
        add_item(out, name_of(place));
      }
  }
}

// A negative counter blocks every device that draws from the pool.
void Prover::overdrawn_numbers(const std::vector<DeviceRef>& here, Certificate& out) const {
  const NodeDevices& devices = problem_.eligibility_check().devices;
  for (const DeviceRef& place : here) {
    const NodePool& pool = devices.pools[devices.order[place.device_run].pool];
    if (!pool.overdrawn) continue;
    add_item(out, name_of(place));
    for (std::size_t counter = 0; counter < pool.available.size() && out.subject.empty(); ++counter) {
      if (!pool.available[counter].is_negative()) continue;
      out.subject = pool.counter_names[counter];
      out.need = Quantity();
      out.have = pool.available[counter];
    }
  }
}

void Prover::group_members(const Counts& refused, Certificate& out) const {
  const EligibilityCheck& eligibility_check = problem_.eligibility_check();
  for (const DeviceRef& place : refused[index_of(Eligibility::Group)]) {
    const DeviceRun& device_run = eligibility_check.devices.order[place.device_run];
    const NodePool& pool = eligibility_check.devices.pools[device_run.pool];
    for (const CounterDraw& draw : pool.draws[device_run.slice][place.device]) {
      if (pool.groups[draw.set].admits(draw.groups)) continue;
      out.subject = pool.set_names[draw.set];
      for (std::size_t s = 0; s < pool.slices.size(); ++s)
        for (std::size_t i = 0; i < pool.draws[s].size(); ++i)
          if (eligibility_check.cluster.ledger().busy(pool.slices[s]->devices[i]))
            for (const CounterDraw& other : pool.draws[s][i])
              if (other.set == draw.set) add_item(out, pool.slices[s]->live->devices[i].name);
      return;
    }
  }
}

// The blocking requests: a request name when it is one request, a claim name when it is one claim.
void Prover::name_slots(const Refutation& no, Certificate& out) const {
  const CompiledClaim* claim = nullptr;
  const CompiledRequest* request = nullptr;
  bool one_claim = true, one_request = true;
  for (const SlotGroup& group : problem_.groups) {
    const auto inside = std::lower_bound(no.slots.begin(), no.slots.end(), group.first);
    if (inside == no.slots.end() || *inside >= group.first + group.count) continue;
    const CompiledClaim& mine = compiled_.claims[group.claim];
    one_claim = one_claim && (!claim || claim == &mine);
    one_request = one_request && !request;
    claim = &mine;
    request = &mine.requests[group.request];
  }
  if (claim && one_claim) out.claim = claim->claim->meta.name;
  if (request && one_request) out.request = request->spec->name;
}

std::string Prover::value_text(const Refutation& no, std::uint32_t value) const {
  const ValueTable& table = *values_[no.claim][no.constraint];
  const std::string& attribute =
      compiled_.claims[no.claim].compiled_spec->constraints[no.constraint].attribute;
  for (std::size_t p = no.places.next(0); p < no.places.end(); p = no.places.next(p + 1)) {
    const DeviceRef place = problem_.places[p];
    const auto ids = table.ids(0, problem_.flat_of(static_cast<std::uint32_t>(p)));
    if (!std::binary_search(ids.begin(), ids.end(), value)) continue;
    const api::AttributeValue* own =
        attribute_of(problem_.eligibility_check().devices.device_at(place),
                     problem_.eligibility_check().devices.slice_at(place).live->driver, attribute);
    const std::string text = own ? text_of_scalar(*own) : "";
    return text.empty() ? name_of(place) : text;
  }
  return {};
}

// What the devices have instead of the attribute.
std::string Prover::attributes_of(const std::vector<std::uint32_t>& places,
                                  const std::string& attribute) const {
  const NodeDevices& devices = problem_.eligibility_check().devices;
  std::set<std::string> names;
  for (const std::uint32_t place : places)
    add_attribute_names(names, devices.slice_at(problem_.places[place]).live->driver,
                        devices.device_at(problem_.places[place]));
  return nearest_attributes_text(attribute, names);
}

Certificate Prover::of(const Refutation& no) const {
  Certificate out;
  out.kind = no.kind;
  out.need = count_of(no.need);
  out.have = count_of(no.have);
  out.proof = no.by_numbers ? Proof::Numbers : Proof::Search;
  name_slots(no, out);
  std::vector<std::uint32_t> places;
  for (std::size_t p = no.places.next(0); p < no.places.end(); p = no.places.next(p + 1))
    places.push_back(static_cast<std::uint32_t>(p));
  const NodeDevices& devices = problem_.eligibility_check().devices;
  if (no.kind == CertificateKind::Counter) {
    const NodePool& pool = devices.pools[no.pool];
    out.subject = pool.counter_names[no.counter];
    if (no.by_numbers) {
      out.need = no.need_amount;
      out.have = no.have_amount;
    }
  }
  if (no.kind == CertificateKind::Match || no.kind == CertificateKind::Distinct) {
    out.claim = compiled_.claims[no.claim].claim->meta.name;
    out.subject = compiled_.claims[no.claim].compiled_spec->constraints[no.constraint].attribute;
    const ValueTable& table = *values_[no.claim][no.constraint];
    if (no.kind == CertificateKind::Match && no.by_numbers && no.have == 0)
      out.hint = attributes_of(places, out.subject);
    std::vector<std::uint32_t> seen;
    for (const std::uint32_t place : places)
      for (const std::uint32_t id : table.ids(0, problem_.flat_of(place))) {
        if (no.kind == CertificateKind::Match) {
          if (id == no.value) add_item(out, name_of(problem_.places[place]));
        } else if (std::find(seen.begin(), seen.end(), id) == seen.end()) {
          seen.push_back(id);
          if (seen.size() <= kCertificateItemsMax) add_item(out, value_text(no, id));
        }
      }
    return out;
  }
  for (const std::uint32_t place : places) add_item(out, name_of(problem_.places[place]));
  return out;
}

}  // namespace berth::dra
