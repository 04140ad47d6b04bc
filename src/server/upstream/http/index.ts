export { type HttpClientOptions, openHttpClient } from "./client.ts";
export { type AnswerHandler, type HttpClient, HttpFault, type Sending } from "./types.ts";
