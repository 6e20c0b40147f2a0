#include "api/type_table.h"
#include "install/examination.h"
#include "install/rights.h"

namespace berth::install {
namespace {

constexpr std::string_view kReviews = "/apis/authorization.k8s.io/v1/";

// Reviews access: for service accounts where that is allowed, else for the caller.
class Reviewer {
 public:
  Reviewer(const Examination& exam, Account account, bool account_exists)
      : exam_(exam), account_(account), own_(!account_exists) {}

  // Whether one verb of a right is allowed; an error when the review itself is refused.
  Result<bool> allows(const Right& right, std::string_view verb) {
    Result<Json> answer = ask(right, verb);
    if (!answer && !own_ && answer.error().code() == ErrorCode::Forbidden) {
      own_ = true;
      answer = ask(right, verb);
    }
    if (!answer) return answer.error();
    return answer->part("status").bool_at("allowed");
  }

  std::string whose() const {
    if (own_) return "these credentials";
    return "ServiceAccount " + exam_.options.ns + "/" + std::string(name_of(account_));
  }

 private:
  Json attributes(const Right& right, std::string_view verb) const {
    const std::size_t slash = right.resource.find('/');
    Json asked =
        Json::object({{"group", right.group}, {"resource", right.resource.substr(0, slash)}, {"verb", verb}});
    if (slash != std::string_view::npos) asked["subresource"] = right.resource.substr(slash + 1);
    if (!right.name.empty()) asked["name"] = right.name;
    if (right.scope == Scope::OwnNamespace) asked["namespace"] = exam_.options.ns;
    return asked;
  }

  Result<Json> ask(const Right& right, std::string_view verb) const {
    Json spec = Json::object({{"resourceAttributes", attributes(right, verb)}});
    if (!own_) {
      const std::string group = "system:serviceaccounts";
      spec["user"] = "system:serviceaccount:" + exam_.options.ns + ":" + std::string(name_of(account_));
      spec["groups"] = Json::array({group, group + ":" + exam_.options.ns, "system:authenticated"});
    }
    const std::string_view kind = own_ ? "SelfSubjectAccessReview" : "SubjectAccessReview";
    const std::string target =
        std::string(kReviews) + (own_ ? "selfsubjectaccessreviews" : "subjectaccessreviews");
    const Json review =
        Json::object({{"apiVersion", "authorization.k8s.io/v1"}, {"kind", kind}, {"spec", std::move(spec)}});
    return answered_json(send_json(exam_.call, "POST", target, review), target);
  }

  const Examination& exam_;
  const Account account_;
  bool own_;
};

// The verbs of the right that are not allowed, as people write them.
Result<std::string> missing_verbs(Reviewer& reviewer, const Right& right) {
  std::vector<std::string_view> verbs;
  api::for_each_listed(right.verbs, [&](std::string_view verb) { verbs.push_back(verb); });
  std::string missing;
  for (const std::string_view verb : verbs)
    if (!TRY(reviewer.allows(right, verb))) missing.append(missing.empty() ? "" : ", ").append(verb);
  return missing;
}

void check_account(Examination& exam, Account account, bool account_exists) {
  Reviewer reviewer(exam, account, account_exists);
  for (const Right& right : rights()) {
    if (right.account != account) continue;
    const Result<std::string> missing = missing_verbs(reviewer, right);
    if (!missing)
      return exam.warns(reviewer.whose(), "rights were not examined: " + missing.error().message(),
                        "ask with credentials that may make access reviews");
    if (missing->empty()) continue;
    const std::string what =
        "may not " + *missing + " " + title_of(right) + " (" + std::string(right.reason) + ")";
    const std::string advice = std::string(kInstallAgain) + ", which grants it";
    if (account == Account::Scheduler)
      exam.blocks(reviewer.whose(), what, advice);
    else
      exam.warns(reviewer.whose(), what, advice);
  }
}

}  // namespace

void check_rights(Examination& exam) {
  for (const Account account : kAccounts) {
    const std::string path =
        "/api/v1/namespaces/" + exam.options.ns + "/serviceaccounts/" + std::string(name_of(account));
    const Result<Json> found = get_json(exam.call, path);
    const bool exists = found && !found->is_null();
    // A scheduler may run elsewhere with these credentials; a node agent that is not installed needs no
    // rights.
    if (exists || account == Account::Scheduler) check_account(exam, account, exists);
  }
}

}  // namespace berth::install
