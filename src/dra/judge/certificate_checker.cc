#include "dra/judge/certificate_checker.h"

#include <algorithm>
#include <map>
#include <set>

#include "dra/judge/pools.h"
#include "dra/judge/rules.h"

namespace berth::dra::judge {
namespace {

Quantity devices(std::size_t count) {
  return Quantity::of(static_cast<std::int64_t>(count));
}

struct CertificateChecker {
  const JudgedWorld& world;
  std::span<const ClaimPtr> claims;
  const Certificate& certificate;

  std::string check() {
    if (allocate(world, claims).answer != Answer::No) return "the claims can be had";
    if (certificate.items.size() > kCertificateItemsMax) return "too many items";
    if (certificate.proof == Proof::Search) return {};
    if (certificate.need <= certificate.have) return "the numbers show nothing";
    if (certificate.kind == CertificateKind::Match || certificate.kind == CertificateKind::Distinct)
      return check_constraint();
    for (std::size_t c = 0; c < claims.size(); ++c)
      for (const api::DeviceRequest& request : claims[c]->requests)
        for (const api::DeviceSubRequest& sub : request.alternatives) {
          const std::string full = request.prioritized ? request.name + "/" + sub.name : request.name;
          if (claims[c]->meta.name == certificate.claim && certificate.request == full)
            return check_request(c, sub);
        }
    // Several requests together: only the kind can be checked here.
    return certificate.kind == CertificateKind::Count || certificate.kind == CertificateKind::Counter
               ? ""
               : "no request named";
  }

  std::string check_request(std::size_t c, const api::DeviceSubRequest& sub) const {
    std::map<CertificateKind, std::size_t> left;  // devices that no rule up to this one refuses
    const std::vector<Looked> seen = look(world, claims, c, sub);
    std::size_t wanted = sub.mode == api::AllocationMode::All ? 0 : static_cast<std::size_t>(sub.count);
    std::size_t fits = 0;
    for (const Looked& one : seen) {
      bool passes = one.selected;
      const auto rule = [&](CertificateKind kind, bool holds) {
        passes = passes && holds;
        left[kind] += passes ? 1 : 0;
      };
      rule(CertificateKind::Selector, true);
      rule(CertificateKind::Count, one.free);
      rule(CertificateKind::Taint, one.tolerated);
      rule(CertificateKind::Capacity, one.large_enough);
      rule(CertificateKind::Counter, one.fed);
      rule(CertificateKind::Group, one.groups_agree);
      fits += one.fits() ? 1 : 0;
      const bool shareable = world.gates.consumable_capacity && one.device->allow_multiple;
      if (sub.mode == api::AllocationMode::All && one.selected)
        wanted += fits_unused(*one.device, shareable, sub.capacity) == RuleResult::Yes ? 1 : 0;
    }
    const bool alone = fits < std::max<std::size_t>(wanted, 1);  // this request is blocked by itself
    switch (certificate.kind) {
      case CertificateKind::Selector:
      case CertificateKind::Taint:
      case CertificateKind::Group:
        if (!alone) return "the request alone has enough";
        if (certificate.need != devices(std::max<std::size_t>(wanted, 1))) return "another number is needed";
        return certificate.have == devices(left[certificate.kind]) ? "" : "another number is there";
      case CertificateKind::Count:
        if (!alone) return {};  // blocked together with others
        // The node has too few such devices; or a policy refuses the amount, which leaves too few as well.
        for (const CertificateKind kind :
             {CertificateKind::Selector, CertificateKind::Count, CertificateKind::Capacity})
          if (certificate.have == devices(left[kind])) return {};
        return "another number is free";
      case CertificateKind::Capacity:
        if (!alone) return "the request alone has enough";
        return sub.capacity.contains(certificate.subject) &&
                       sub.capacity.at(certificate.subject) == certificate.need
                   ? ""
                   : "the request asks for another amount";
      default:
        return check_counter();
    }
  }

  // The amount is what is left of a counter of that name in some pool.
  std::string check_counter() const {
    for (const Candidate& one : gather(world).candidates) {
      Quantity left;
      bool known = false;
      for (const api::ResourceSlice* slice : one.pool)
        for (const api::CounterSet& set : slice->shared_counters)
          for (const auto& [counter, amount] : set.counters)
            if (set.name + "/" + counter == certificate.subject) {
              left += amount;
              known = true;
            }
      for (const api::ResourceSlice* slice : one.pool)
        for (const api::Device& device : slice->devices)
          for (const auto& entry : device.consumes)
            for (const auto& [counter, amount] : entry.counters)
              if (entry.counter_set + "/" + counter == certificate.subject && is_held(*slice, device))
                left -= amount;
      if (known && left == certificate.have) return {};
    }
    return "another amount is left of the counter";
  }
  bool is_held(const api::ResourceSlice& slice, const api::Device& device) const {
    for (const api::Allocation* allocation : world.allocated)
      for (const api::DeviceResult& result : allocation->results)
        if (!result.admin_access && result.driver == slice.driver && result.pool == slice.pool &&
            result.device == device.name)
          return true;
    return false;
  }

  std::string check_constraint() const {
    const bool match = certificate.kind == CertificateKind::Match;
    for (std::size_t c = 0; c < claims.size(); ++c) {
      if (claims[c]->meta.name != certificate.claim) continue;
      for (const api::DeviceConstraint& constraint : claims[c]->constraints) {
        const std::string& name = match ? constraint.match_attribute : constraint.distinct_attribute;
        if (name == certificate.subject && numbers_agree(c, constraint, match)) return {};
      }
    }
    return "no constraint of the claim has these numbers";
  }
  bool numbers_agree(std::size_t c, const api::DeviceConstraint& constraint, bool match) const {
    std::map<std::string, std::set<const api::Device*>> holders;  // by value
    std::size_t covered = 0;
    for (const api::DeviceRequest& request : claims[c]->requests) {
      if (request.alternatives[0].admin_access) continue;  // reserves no device; the others agree without it
      std::size_t least = ~std::size_t{0}, covering = 0;
      for (const api::DeviceSubRequest& sub : request.alternatives) {
        least = std::min(least, static_cast<std::size_t>(sub.count));
        if (!constraint_covers(constraint, request.name, request.prioritized ? sub.name : "")) continue;
        ++covering;
        if (!sub.derived_attributes.empty()) return true;  // only the search considers them
      }
      if (covering != request.alternatives.size()) continue;
      covered += least;
      for (const api::DeviceSubRequest& sub : request.alternatives)
        for (const Looked& one : look(world, claims, c, sub)) {
          if (!one.fits()) continue;
          if (world.gates.consumable_capacity && one.device->allow_multiple)
            return true;  // counts as several
          const auto value =
              attribute_named(*one.device, one.slice->driver,
                              match ? constraint.match_attribute : constraint.distinct_attribute);
          if (value)
            for (const std::string& item : value_set(*value, world.gates.list_attributes))
              holders[item].insert(one.device);
        }
    }
    std::size_t best = 0;
    for (const auto& [value, having] : holders) best = std::max(best, having.size());
    if (match) return certificate.need <= devices(covered) && certificate.have == devices(best);
    return certificate.need <= devices(covered) && certificate.have <= devices(holders.size());
  }
};

}  // namespace

std::string complaint_about(const JudgedWorld& world, std::span<const ClaimPtr> claims,
                            const Certificate& certificate) {
  return CertificateChecker{world, claims, certificate}.check();
}

}  // namespace berth::dra::judge
