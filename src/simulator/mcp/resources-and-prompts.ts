/** Resources and prompts of the simulated MCP server, and its completion of arguments. */

import { RpcError } from "../agents/json-rpc-answers.ts";
import { EMPTY_OBJECT, type JsonObject, objectOf, stringOf } from "../json-fields.ts";
import { invalid } from "./parse-mcp-message.ts";

export const PIXEL_PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const DOCUMENTS = 10;

export const RESOURCES: readonly JsonObject[] = [
  { uri: "sim://notes/today", name: "today", title: "Notes of today", mimeType: "text/plain" },
  { uri: "sim://logo", name: "logo", title: "Logo", mimeType: "image/png" },
];

export const TEMPLATES: readonly JsonObject[] = [
  { uriTemplate: "sim://library/{number}", name: "library", title: "Documents of the library", mimeType: "text/plain" },
];

export const PROMPTS: readonly JsonObject[] = [
  {
    name: "review",
    title: "Review code",
    description: "Asks for a review of code.",
    arguments: [
      { name: "code", description: "The code.", required: true },
      { name: "language", description: "Its language." },
    ],
  },
  { name: "greet", title: "Greet", description: "Says hello." },
];

const LANGUAGES = ["go", "java", "javascript", "python", "rust", "typescript"];

/** Returns a resource. `say` applies the fault of the call to a text. */
export function readResource(params: JsonObject, say: (text: string) => string): JsonObject {
  const uri = stringOf(params["uri"]) ?? "";
  if (uri === "sim://notes/today")
    return contents({ uri, mimeType: "text/plain", text: say("Nothing was noted today.") });
  if (uri === "sim://logo") return contents({ uri, mimeType: "image/png", blob: PIXEL_PNG });
  const number = Number(/^sim:\/\/library\/(\d{1,2})$/.exec(uri)?.[1]);
  if (number >= 1 && number <= DOCUMENTS) {
    return contents({ uri, mimeType: "text/plain", text: say(`Document ${number} of a library that was made up.`) });
  }
  throw new RpcError(-32_602, "Resource not found", { data: { uri: uri.slice(0, 256) } });
}

export function getPrompt(params: JsonObject, say: (text: string) => string): JsonObject {
  const name = stringOf(params["name"]);
  const args = objectOf(params["arguments"]) ?? EMPTY_OBJECT;
  if (name === "greet") return prompted("A greeting.", say("Hello!"));
  if (name !== "review") throw invalid("there is no such prompt");
  const code = stringOf(args["code"]);
  if (code === undefined) throw invalid("the prompt needs `code`");
  return prompted("A review.", say(`Review this ${stringOf(args["language"]) ?? "code"}:\n\n${code}`));
}

export function complete(params: JsonObject): JsonObject {
  const [ref, argument] = [objectOf(params["ref"]), objectOf(params["argument"])];
  const [name, value] = [stringOf(argument?.["name"]), stringOf(argument?.["value"])];
  if (ref === undefined || name === undefined || value === undefined) throw invalid("ref and argument are needed");
  const isLibrary = ref["type"] === "ref/resource" && ref["uri"] === "sim://library/{number}" && name === "number";
  const isReview = ref["type"] === "ref/prompt" && ref["name"] === "review" && name === "language";
  const numbers = Array.from({ length: DOCUMENTS }, (_, index) => String(index + 1));
  const values = (isLibrary ? numbers : isReview ? LANGUAGES : []).filter((known) => known.startsWith(value));
  return { completion: { values, total: values.length, hasMore: false } };
}

const contents = (content: JsonObject): JsonObject => ({ contents: [content] });

const prompted = (description: string, text: string): JsonObject => ({
  description,
  messages: [{ role: "user", content: { type: "text", text } }],
});
