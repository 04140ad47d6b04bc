/**
 * Which strings of an answer are texts. Every one is, but for those whose names say that they are part of its form: what
 * a provider adds tomorrow is read and not passed over. Source: design decisions, section 11, Segments of a model request.
 */
import { indexIn, memberOf, type Placed, stringIn } from "./placed.ts";

export type Media = "image" | "audio" | "file";

export type FoundString =
  /** `path`: names, and places in arrays (their `index` where they name one), with dots between. */
  | { readonly is: "text" | "arguments"; readonly path: string; readonly node: Placed; readonly text: string }
  /** Proof of a text of its neighbourhood, which is worthless once that is rewritten. */
  | { readonly is: "seal"; readonly path: string; readonly node: Placed }
  /** The tokens of a text. */
  | { readonly is: "tokens"; readonly path: string; readonly node: Placed }
  | { readonly is: "media"; readonly what: Media };

/** `every`: of a body whose members are not known. */
export type Reading = "known" | "every";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const FORM = words(
  "id object type role model status finish_reason native_finish_reason stop_reason stop_sequence system_fingerprint " +
    "service_tier provider obfuscation call_id item_id event_id previous_item_id tool_use_id tool_call_id response_id previous_response_id " +
    "container_id file_id file_uuid name namespace phase format media_type server_label server_name encrypted_index " +
    "thought_signature error_code request_id background truncation",
);
const SEALS = words("signature encrypted_content");
const TOKENS = words("logprobs token_ids");
/** What a response repeats of its request. */
const ECHO = words(
  "instructions tools tool_choice metadata input prompt text reasoning user safety_identifier prompt_cache_key " +
    "conversation client_metadata billing",
);
const ENCODED: ReadonlyMap<string, Media> = new Map([
  ["b64_json", "image"],
  ["partial_image_b64", "image"],
  ["embedding", "file"],
]);
/** `data` and `result` are encoded where the type beside them says so. */
const ENCODED_TYPES: ReadonlyMap<string, Media> = new Map([
  ["redacted_thinking", "file"],
  ["reasoning.encrypted", "file"],
  ["base64", "file"],
  ["image_generation_call", "image"],
]);
/** Digits alone are no sound. */
const BASE64 = /^(?=[\d\r\n_-]*[A-Za-z+/=])[\w+/=\r\n-]*$/;
const DATA_URL = /^data:([a-z]*)[^,]{0,200};base64,/i;

/** Members of a response that its request named: no text of the answer. */
export const isEcho = (name: string): boolean => ECHO.has(name);

/** Visits what lies below `root`, in order. */
export function eachString(
  text: string,
  root: Placed,
  rootPath: string,
  reading: Reading,
  visit: (found: FoundString) => void,
): void {
  /** `isFree`: within the arguments of a call, where names mean nothing to us. */
  function walk(node: Placed, path: string, name: string, parent: Placed | undefined, isFree: boolean): void {
    const isTree = node.kind === "object" || node.kind === "array";
    if (isTree && !isFree && reading === "known" && TOKENS.has(name)) {
      visit({ is: "tokens", path, node });
      return;
    }
    if (node.kind === "object") {
      const seen = new Set<string>();
      for (const { name: own, value } of node.members) {
        // Only the last of a name is what most readers take: the others are texts by themselves.
        const at = seen.has(own) ? `${own}!${seen.size}` : own;
        seen.add(own);
        const isCall = (own === "arguments" || own === "input") && value.kind !== "string";
        walk(value, path === "" ? at : `${path}.${at}`, own, node, isFree || isCall);
      }
      return;
    }
    if (node.kind === "array") {
      node.items.forEach((item, i) => {
        walk(item, `${path}.${indexIn(text, memberOf(item, "index")) ?? i}`, name, item, isFree);
      });
      return;
    }
    if (node.kind === "string") leaf(node, path, name, parent, isFree);
  }

  function leaf(node: Placed, path: string, name: string, parent: Placed | undefined, isFree: boolean): void {
    const value = stringIn(text, node) ?? "";
    if (value === "") return;
    const media = isFree ? undefined : mediaOf(value, path, name, parent);
    if (media !== undefined) visit({ is: "media", what: media });
    else if (isFree || reading === "every") visit({ is: "text", path, node, text: value });
    else if (SEALS.has(name)) visit({ is: "seal", path, node });
    else if (FORM.has(name) || (name === "code" && isErrorCode(path))) return;
    else visit({ is: name === "arguments" ? "arguments" : "text", path, node, text: value });
  }

  function mediaOf(value: string, path: string, name: string, parent: Placed | undefined): Media | undefined {
    const encoded = ENCODED.get(name);
    if (encoded !== undefined) return encoded;
    if (name === "data" && path.endsWith("audio.data")) return "audio";
    if (name === "audio" && BASE64.test(value)) return "audio";
    if (name === "data" || name === "result") return ENCODED_TYPES.get(stringIn(text, memberOf(parent, "type")) ?? "");
    const type = value.startsWith("data:") ? DATA_URL.exec(value)?.[1] : undefined;
    if (type === undefined) return undefined;
    return type === "image" || type === "audio" ? type : "file";
  }

  const rootName = rootPath.slice(rootPath.lastIndexOf(".") + 1);
  walk(root, rootPath, rootName, undefined, false);
}

const isErrorCode = (path: string): boolean => path === "code" || path.endsWith("error.code");

/**
 * What of an answer is judged and proven together: a choice, a content block, an item of a response. Empty: outside all.
 */
export function scopeOf(path: string): string {
  return /^(?:choices|content|output)\.\d+(?=\.|$)/.exec(path)?.[0] ?? "";
}

/** Whether a rewriting of that text voids the seals of its scope. */
export function isThought(path: string): boolean {
  return /\.(?:thinking|reasoning\w*|summary)(?:\.|$)/.test(path) || /^output\.\d+\.content\.\d+\.text$/.test(path);
}
