// Admission webhooks: an AdmissionReview in, an AdmissionReview out.
//
// POST /mutate answers a patch for a pod that is created, POST /validate whether a pod may be created or
// updated as it is. Everything that an Admission does not look at is allowed unchanged: other resources, the
// subresources of pods, other operations. A body that is no such review gets 400 and a line of text that
// names the field. Pure, any thread. Source: admission.k8s.io/v1.
#pragma once

#include "api/admission.h"
#include "server/http.h"

namespace berth::server {

HttpResponse review_admission(const HttpRequest& request, const api::Admission& pods);

}  // namespace berth::server
