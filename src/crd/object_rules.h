// The API server's rules for custom objects, and the reading of their documents.
//
// Pure, any thread: RuleContext::resource has the served version. Source: strategy, validation and the
// decoder of custom resources of apiextensions-apiserver 1.37.
#pragma once

#include <string>
#include <vector>

#include "api/kind_rules.h"
#include "base/result.h"
#include "crd/served_version.h"

namespace berth::crd {

// For every custom resource.
const api::KindRules& object_rules();

struct ShapedObject {
  Json document;
  std::vector<std::string> strict_errors;  // `unknown field "spec.junk"`
};

// An object as a client sent it or a patch made it, in the form in which it is stored: metadata canonical,
// unknown members removed, defaults filled in. Refuses metadata of a wrong type, and defaults without
// measure. kind and apiVersion are left as they are.
Result<ShapedObject> shaped(const ServedVersion& version, Json document);

// A stored document as a read shows it: without members that the schema of its version lacks by now, and with
// that schema's defaults, as far as kFallbackBytesMax. The version is the one that it says, which may be
// another than the stored one of today.
void shape_stored(const Definition& definition, Json& document);

}  // namespace berth::crd
