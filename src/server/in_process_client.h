// An ApiClient in the server's process: no sockets, the same requests, checks and responses.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "server/api_server.h"

namespace berth::server {

// The store's resource of these objects. One without a row in the type table is custom: it has objects while
// a definition serves it, in the version that the definition stores.
std::string stored_as(const api::ResourceRef& resource);

// `server` outlives the client. Requests run on the server's executor; watch events come from the store's
// committer. `user` appears in the audit log.
std::unique_ptr<client::ApiClient> make_in_process_client(ApiServer& server, std::string user);

}  // namespace berth::server
