// The whole API as one document of OpenAPI v2 (Swagger 2.0), made from the v3 schemas and operations.
//
// Read by Argo CD, Terraform, code generators and kubectl up to 1.26. Pure, any thread. Cost: one walk of all
// schemas that are served. Source: kube-openapi's builder and handler, and the v2 schemas of custom resources
// of apiextensions-apiserver 1.37.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "server/served.h"

namespace berth::server {

// Of the schemas of custom resources together, as JSON; those beyond it are left out.
inline constexpr std::size_t kCustomSchemasBytesMax = 64u << 20;

Json openapi_v2(const ServedSet& served);
// The same as gnostic's message openapi.v2.Document, which client-go asks for.
std::string openapi_v2_protobuf(const Json& document);

}  // namespace berth::server
