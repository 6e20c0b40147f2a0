// rooms: server binding
// Any bytes as an AdmissionReview: refused with a 4xx and a text, or answered by a review of the same uid.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "binding/pod_admission.h"
#include "server/admission_review.h"

namespace {

berth::server::HttpRequest request_of(const char* path, std::string body) {
  berth::server::HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto pods = berth::binding::PodAdmission::make({}, {"berth", ""}).value();
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const char* path : {"/mutate", "/validate"}) {
    const berth::server::HttpResponse answer = berth::server::review_admission(request_of(path, text), *pods);
    const bool refused = answer.status == 400 && !answer.body.empty();
    if (refused) continue;
    const auto given = berth::parse_json(text);
    const auto said = berth::parse_json(answer.body);
    if (answer.status != 200 || !given || !said) std::abort();
    if (said->part("response").string_at("uid") != given->part("request").string_at("uid")) std::abort();
  }
  return 0;
}
