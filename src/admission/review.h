// AdmissionReview: what a webhook is asked, and the judgement of its answer.
//
// Pure, any thread. Cost: linear in the texts. Source: admission.k8s.io v1 and v1beta1; webhook/request and
// webhook/errors of k8s.io/apiserver 1.37, whose texts clients match.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/attributes.h"
#include "admission/webhook.h"
#include "base/json.h"
#include "base/result.h"

namespace berth::admission {

// Of one answer; further ones are dropped, a longer value is cut.
inline constexpr std::size_t kAuditAnnotationsMax = 20;
inline constexpr std::size_t kAuditValueBytesMax = 10 * 1024;
inline constexpr std::size_t kWarningsMax = 64;

// AdmissionReview.request without uid, object and oldObject: what matchConditions read as `request`.
Json request_of(const Attributes& attributes, const SeenAs& seen);

// The body of the call. `object` and `old` are in the version of the request's `resource`; null for none.
std::string review_body(std::string_view review_version, std::string_view uid, const Json& request,
                        const Json& object, const Json& old);

using AuditAnnotations = std::vector<std::pair<std::string, std::string>>;

struct ReviewAnswer {
  bool allowed = false;
  Json patch;   // a JSON patch, which is a list; null for none
  Json result;  // of a refusal: the Status that it gave, or null
  std::vector<std::string> warnings;
  AuditAnnotations annotations;
};

// Refuses what is no answer to the review `uid`; the message continues after "failed calling webhook … : ".
Result<ReviewAnswer> read_answer(const Webhook& webhook, std::string_view uid, std::string_view body);

// A refusal in the words of the reference.
struct Denial {
  int code = 400;
  std::string reason, message;
};
Denial denial_of(const Webhook& webhook, const Json& result);

}  // namespace berth::admission
