// The names in the subject of a certificate, and of a request for one.
//
// Any thread. Source: crypto/x509/pkix of Go, which Kubernetes reads both with.
#pragma once

#include <string>
#include <vector>

struct X509_name_st;

namespace berth::server {

// CN is a user's name, every O one of the groups. Of several CNs the last one counts, in a request as in the
// certificate that it gets: who is judged there is who asks here.
struct SubjectNames {
  std::string common_name;
  std::vector<std::string> organizations;
};
SubjectNames subject_names(const X509_name_st* subject);

}  // namespace berth::server
