/** Requests of MCP and A2A that another proxy routes, recognized by content and form at any path. Pure. */

export { proxiedAnswerTexts } from "./proxied-answer-texts.ts";
export { type GrpcStatus, grpcStatusOf, type ProxiedShape, proxiedRefusal, proxiedStatus } from "./proxied-refusal.ts";
export {
  type ProxiedCall,
  type ProxiedReading,
  type ProxiedRequest,
  type ProxiedTexts,
  readProxied,
} from "./read-proxied.ts";
export { type ProxiedRequestHead, shapeByHeaders } from "./recognize-protocol.ts";
