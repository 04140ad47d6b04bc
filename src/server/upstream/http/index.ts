export { openHttpClient } from "./client.ts";
export { type AnswerHandler, type HttpClient, HttpFault, type RequestInProgress } from "./types.ts";
