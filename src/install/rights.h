// What each part of Berth may do on a cluster, as one table: its rows become roles, what `berth doctor` asks
// the API server for, and the table of docs/install.md.
//
// Constant data, any thread. A row that no part uses, or a use that no row grants, is a mistake: reads are
// compared with what the loops watch (cli/install_test.cc), all of them with an audit log of a real API
// server (tests/cluster/install).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::install {

// Who has rights: a service account, and the workload of the same name that uses it.
enum class Account : std::uint8_t { Scheduler, NodeAgent };
inline constexpr Account kAccounts[] = {Account::Scheduler, Account::NodeAgent};
// "berth-scheduler": of the account, its roles and its workload.
std::string_view name_of(Account account);

enum class Scope : std::uint8_t { Cluster, OwnNamespace };

struct Right {
  Account account;
  Scope scope;
  std::string_view group;     // empty for core
  std::string_view resource;  // "pods/binding" for a subresource
  std::string_view name;      // of the one object; empty: all
  std::string_view verbs;     // comma separated
  std::string_view reason;
};

std::span<const Right> rights();

// "resourceclaims.resource.k8s.io/status": for people.
std::string title_of(const Right& right);

// The rules of a Role or ClusterRole, a row each, in the table's order.
Json policy_rules(Account account, Scope scope);
// The table in Markdown, as it stands in docs/install.md.
std::string rights_reference();

}  // namespace berth::install
