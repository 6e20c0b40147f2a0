// Requests about the objects of manifests, and their answers.
#pragma once

#include <string>

#include "cli/manifests.h"
#include "client/api_client.h"
#include "store/store.h"

namespace berth::cli {

store::Key key_of(const Manifest& manifest);
// Without a body; a Create has its name in the body.
client::ApiRequest request_about(const Manifest& manifest, client::Verb verb);
// Blocks until the client has answered.
client::ApiReply answer_to(client::ApiClient& client, client::ApiRequest request);
// The UID of an object; empty when there is none. Blocks.
std::string uid_of(client::ApiClient& client, const api::ResourceRef& resource, const std::string& ns,
                   std::string_view name);

}  // namespace berth::cli
