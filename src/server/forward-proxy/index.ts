/** Forward proxies: rules for which addresses use one, and connections through them. */

export { inAbsoluteForm, openProxyAgent, proxyConnector, proxyOf } from "./connector.ts";
export { ForwardProxyFault, refusedByProxy } from "./fault.ts";
export { createProxyConnection, openHttpsProxyAgent } from "./node-connection.ts";
export { isPrivateAddress } from "./private-addresses.ts";
export {
  type ForwardProxies,
  type ForwardProxy,
  hostOf,
  NO_FORWARD_PROXIES,
  portOf,
  readForwardProxies,
} from "./proxy-rules.ts";
