#include "server/user_authorizer.h"

namespace berth::server {
namespace {

User account_user(const cel::AccessQuestion& question) {
  User user{rbac::service_account_user(question.account_ns, question.account),
            rbac::service_account_groups(question.account_ns)};
  user.groups.emplace_back(rbac::kAuthenticated);
  return user;
}

}  // namespace

cel::AccessAnswer UserAuthorizer::answer(const cel::AccessQuestion& question) const {
  std::string resource = question.resource;
  if (!question.subresource.empty()) resource += "/" + question.subresource;
  const rbac::Attributes asked{.verb = question.verb,
                               .group = question.group,
                               .resource = std::move(resource),
                               .ns = question.ns,
                               .name = question.name,
                               .path = question.path};
  const rbac::Decision decision =
      access_.decide(question.account.empty() ? user_ : account_user(question), asked);
  return {decision.allowed, decision.reason};
}

}  // namespace berth::server
