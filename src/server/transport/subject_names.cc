#include "server/transport/subject_names.h"

#include <openssl/x509.h>

namespace berth::server {
namespace {

std::vector<std::string> entries_of(const X509_NAME* name, int nid) {
  std::vector<std::string> texts;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(name, nid, at)) >= 0;) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size >= 0) texts.emplace_back(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
  }
  return texts;
}

}  // namespace

SubjectNames subject_names(const X509_name_st* subject) {
  std::vector<std::string> names = entries_of(subject, NID_commonName);
  return {names.empty() ? "" : std::move(names.back()), entries_of(subject, NID_organizationName)};
}

}  // namespace berth::server
