// Detects BindRequests that a scheduler wrote after another had replaced it.
//
// A watch shows BindRequests in the order in which they were stored. A request of an earlier term is late if
// it was stored after the first request of its Lease's present term. A late request is refused before any
// step; earlier ones are valid. Only the Lease says which term is the present one, and only schedulers may
// write it. A request of a term other than the known one waits for a read of its Lease that began after it
// appeared. What a request says of itself changes nothing: a term that its Lease does not have counts for
// nothing. Requests that name no Lease (of an earlier release, or made by hand) are not fenced.
//
// A process that decides and binds without a Lease names itself in its decisions. It refuses those of others
// that no binder has begun: an earlier process may have sent them long ago.
//
// A restarted binder knows the order only from versions and refuses fewer; the scheduler withdraws the rest.
// A manual change of an old request's metadata may make it look late: it fails, its node is not avoided, and
// the pod is decided again. Owner: the binder, one thread. Cost: O(log n) for each of at most kLeasesMax
// names; a read for each change of a term.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "api/types/bind_request.h"
#include "client/decider.h"

namespace berth::binding {

inline constexpr std::size_t kLeasesMax = 64;        // requests that name others beyond it are not fenced
inline constexpr std::size_t kClaimedTermsMax = 64;  // that are remembered until a Lease was read
inline constexpr Duration kLeaseReadInterval = Duration::millis(100);  // between two reads of one Lease
inline constexpr Duration kLeaseReadRetry = Duration::seconds(1);      // after one without an answer
inline constexpr Duration kRefusedLeaseRead = Duration::seconds(10);   // after one that was refused

// Why the term of a request is not the present one of its Lease. All but the first count for nothing.
enum class TermDoubt : std::uint8_t {
  Earlier,         // refused when it is late
  Beyond,          // its epoch is larger than the Lease's
  NoLease,         // the Lease does not exist
  Unreadable,      // the API server refuses to show the Lease
  OtherNamespace,  // the Lease is not in the namespace in which this binder reads Leases
};
inline constexpr std::array<std::string_view, 5> kTermDoubtNames = {"earlier", "beyond", "no-lease",
                                                                    "unreadable", "other-namespace"};

struct TermVerdict {
  enum class Kind : std::uint8_t { Valid, Late, Unknown };
  Kind kind = Kind::Valid;
  std::optional<TermDoubt> doubt = std::nullopt;
};

class TermFence {
 public:
  // `lease_namespace`: strangers may create Leases elsewhere, so others are not read. `process`: as named in
  // decisions of the scheduler of this process, if that holds no Lease; else empty.
  TermFence(std::string lease_namespace, std::string process)
      : lease_namespace_(std::move(lease_namespace)), process_(std::move(process)) {}

  // Call for every request that appears or changes, in the order of the watch.
  void note(const api::BindRequest& request);
  // The reads of the request's Lease that have begun. judge() takes the number from when it was first seen.
  std::uint64_t reads_begun(const api::BindRequest& request) const;
  // Valid for a request whose status names its decision: a started one continues.
  TermVerdict judge(const api::BindRequest& request, std::uint64_t reads_before, Time now) const;
  // The read that an unknown verdict waits for; none while another one is under way, or was just begun.
  std::optional<client::Write> read(const api::BindRequest& request, Time now);
  // The answer to it.
  void read_answered(const std::string& lease, const client::ApiReply& reply, Time now);

 private:
  struct Term {
    std::string uid;  // of the Lease; empty: there is none
    std::uint64_t epoch = 0;
    friend auto operator<=>(const Term&, const Term&) = default;
  };
  // A term that requests name and that is not known to be the present one.
  struct Claim {
    std::uint64_t first_version = 0;  // lowest resourceVersion seen of its requests
    std::uint64_t reads_begun = 0;    // when it was seen first
    bool started = true;              // no request of it waits for the binder
  };
  struct Lease {
    Term present;
    std::uint64_t first_version = 0;  // of present's requests; 0: none was seen
    std::optional<TermDoubt> doubt;   // about every request, by the latest answer
    std::map<Term, Claim> claims;
    bool overflowed = false;  // claims were left out
    std::uint64_t begun = 0, answered = 0;
    bool reading = false;
    Time next_read;
  };

  static Term term_of(const api::BindRequest& request) { return {request.lease.uid, request.epoch}; }
  bool names_readable_lease(const api::BindRequest& request) const;
  Lease* lease_of(const api::BindRequest& request);
  // Another term may have begun before this version.
  static bool unsettled_before(const Lease& lease, std::uint64_t version);
  static bool make_room(Lease& lease);
  static void take(Lease& lease, Term read);

  const std::string lease_namespace_;
  const std::string process_;
  std::map<std::string, Lease, std::less<>> leases_;
};

}  // namespace berth::binding
