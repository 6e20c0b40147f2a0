// How a request of the ApiClient seam looks in HTTP, and what an answer means: one place for every client.
//
// Pure. Source: Kubernetes API conventions (URLs of resources and subresources, patch content types, Status).
#pragma once

#include <string>
#include <string_view>

#include "client/api_client.h"

namespace berth::client {

struct VerbForm {
  std::string_view method;
  std::string_view content_type;  // of the body; empty for none
};

VerbForm form_of(Verb verb);

// The Accept header of requests about a resource: protobuf first where its kind is built in.
std::string_view accepted_types(const api::ResourceRef& resource);

// A request's body as it is sent: protobuf for creates and updates of built-in kinds that can be written so
// (protobuf_encode.h), otherwise the JSON that it is.
struct SentBody {
  std::string_view content_type;
  std::string bytes;
};
SentBody sent_body(const ApiRequest& request);

// "/apis/apps/v1/namespaces/default/deployments/web/status", not percent-encoded.
std::string path_of(const ApiRequest& request);
// Of all objects of a resource, in all namespaces.
std::string path_of(const api::ResourceRef& resource);

// An answer with this code and body. A body that is no Status is the object; a refusal without a Status
// (a proxy's) gives the start of its text as the message.
ApiReply answered_reply(int code, std::string body);

// A refusal that was answered with a Status.
ApiReply refused_reply(int code, std::string reason, std::string message);

}  // namespace berth::client
