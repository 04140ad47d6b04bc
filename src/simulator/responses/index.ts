export { answerResponses, countResponseTokens, type ResponseEvent, streamResponses } from "./responses.ts";
