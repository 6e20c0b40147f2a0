// The authorizer of expressions: a user's rights, or those of a service account, by the stored roles.
//
// Owner: one admission of a write. Cost of a question: a check of Access.
#pragma once

#include "cel/authorization.h"
#include "server/access.h"

namespace berth::server {

class UserAuthorizer final : public cel::Authorizer {
 public:
  // Both outlive it.
  UserAuthorizer(Access& access, const User& user) : access_(access), user_(user) {}

  cel::AccessAnswer answer(const cel::AccessQuestion& question) const override;

 private:
  Access& access_;
  const User& user_;
};

}  // namespace berth::server
