// Calls to the plugins of a node: GetInfo, registration status, health streams, allocations, claims. It
// contains no gRPC type.
//
// Responses arrive on threads of the implementation, never within the call. The real implementation speaks
// gRPC over unix sockets; tests bring their own. Source: kubelet plugin registration
// v1, KEP-4680, device plugins v1beta1, DRA v1 and v1beta1.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "health/claim_info.h"
#include "health/health.h"

namespace berth::health {

inline constexpr Duration kIntroduceTimeout = Duration::seconds(11);  // 10 s to connect, 1 s for the response
inline constexpr Duration kNotifyTimeout = Duration::seconds(5);
inline constexpr Duration kAllocateTimeout = Duration::seconds(30);   // of each call of an allocation
inline constexpr Duration kClaimCallTimeout = Duration::seconds(45);  // as kubelet's
inline constexpr int kStreamMessageBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kSocketPathBytesMax = 107;  // sockaddr_un, without the closing zero

struct PluginInfo {
  std::string type;
  std::string name;
  std::string endpoint;  // empty: the registration socket itself
  std::vector<std::string> services;
};

// The services whose streams report the health of devices: the versions of the health service of DRA drivers,
// and ListAndWatch of a device plugin, whose devices have no pool.
enum class HealthService : std::uint8_t { V1, V1Alpha1, Kep, DevicePlugin };

// The versions of the service by which a DRA driver prepares claims.
enum class ClaimService : std::uint8_t { V1, V1Beta1 };
struct ClaimCall {
  ClaimService service = ClaimService::V1;
  ClaimOperation operation = ClaimOperation::Prepare;
  std::vector<ClaimId> claims;
};

// The choice of devices for one container, and what its device plugin wants to be asked.
struct AllocateCall {
  std::vector<std::string> must_include, available;
  std::int64_t amount = 0;
  std::vector<std::string> chosen;  // unless the plugin prefers others
  bool ask_preference = false;      // GetPreferredAllocation
  bool pre_start = false;           // PreStartContainer
};
struct AllocateAnswer {
  std::vector<std::string> ids;  // sorted
  std::string response;          // the bytes of a ContainerAllocateResponse
};

class PluginClient {
 public:
  // An open stream; after its destruction its functions are not called.
  class Stream {
   public:
    virtual ~Stream() = default;
    // Requests the next message; called once at the start and once after each message.
    virtual void next() = 0;
  };
  struct StreamHandlers {
    // At most one until next() is called.
    std::function<void(Reports)> message;
    // ErrorCode::Unsupported when the plugin does not serve it.
    std::function<void(Error)> end;
  };

  virtual ~PluginClient() = default;
  virtual void introduce(const std::string& socket, std::function<void(Result<PluginInfo>)> answer) = 0;
  virtual void notify(const std::string& socket, Registered registered, const std::string& error,
                      std::function<void(Status)> answer) = 0;
  // Up to three calls: GetPreferredAllocation, Allocate, PreStartContainer. A preference that is no valid
  // choice is ignored.
  virtual void allocate(const std::string& socket, AllocateCall call,
                        std::function<void(Result<AllocateAnswer>)> answer) = 0;
  // NodePrepareResources or NodeUnprepareResources. A claim's answer beyond kClaimAnswerBytesMax is an error
  // of that claim.
  virtual void call(const std::string& socket, const ClaimCall& call,
                    std::function<void(Result<ClaimResults>)> answer) = 0;
  virtual std::unique_ptr<Stream> watch(const std::string& socket, HealthService service,
                                        StreamHandlers handlers) = 0;
};

// Its destructor cancels every call and waits for their ends.
std::unique_ptr<PluginClient> make_grpc_plugin_client();

}  // namespace berth::health
