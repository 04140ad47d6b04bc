export { answerResponses, countResponseTokens, type ResponseEvent, streamResponses } from "./answer-responses.ts";
