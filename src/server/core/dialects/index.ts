export { type AnswerEdits, editEvent, editJson } from "./answer.ts";
export { editObject, type ObjectEdits, replaceValue } from "./json-edit.ts";
export { type JsonScan, type Member, memberValue, scanObject } from "./json-scan.ts";
export { boundaryOf, type FormField, findField } from "./multipart.ts";
export { refusalBody, refusalEvent, refusalHeaders } from "./refusal.ts";
export { findRoute, type ModelPlace, ROUTE_NAMES, type Route, type RouteDialect } from "./routes.ts";
export { type SseEvent, SseSplitter } from "./sse.ts";
export { addUsage, NO_USAGE, type Usage } from "./usage.ts";
