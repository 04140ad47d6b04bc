/** Requests of MCP and A2A that another proxy routes, recognized by content and form at any path. Pure. */

export { proxiedAnswerTexts } from "./answer.ts";
export { type ProxiedCall, type ProxiedReading, type ProxiedRequest, type ProxiedTexts, readProxied } from "./read.ts";
export { type ProxiedArrival, shapeByHeaders } from "./recognise.ts";
export { type GrpcStatus, grpcStatusOf, type ProxiedShape, proxiedRefusal, proxiedStatus } from "./refusal.ts";
