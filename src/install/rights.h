// The rights of each component of Berth on a cluster, as one table: its rows become roles, the access reviews
// of `berth doctor`, and the table of docs/install.md.
//
// Constant data, any thread. A row that no component uses, or a use that no row grants, is a mistake. One
// test compares reads with the watches of the loops (cli/install_test.cc). Another compares all rights with
// an audit log of a real API server (tests/cluster/install).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::install {

// The owner of rights: a service account, and the workload of the same name that uses it.
enum class Account : std::uint8_t { Scheduler, NodeAgent };
inline constexpr Account kAccounts[] = {Account::Scheduler, Account::NodeAgent};
// "berth-scheduler": of the account, its roles and its workload.
std::string_view name_of(Account account);

enum class Scope : std::uint8_t { Cluster, OwnNamespace };

struct Right {
  Account account;
  Scope scope;
  std::string_view group;     // empty for the core group
  std::string_view resource;  // "pods/binding" for a subresource
  std::string_view name;      // of the one object; empty: all
  std::string_view verbs;     // comma separated
  std::string_view reason;
};

std::span<const Right> rights();

// "resourceclaims.resource.k8s.io/status": for people.
std::string title_of(const Right& right);

// The rules of a Role or ClusterRole, one per row, in the table's order.
Json policy_rules(Account account, Scope scope);
// The table in Markdown, as in docs/install.md.
std::string rights_reference();

}  // namespace berth::install
