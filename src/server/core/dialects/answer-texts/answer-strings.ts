/**
 * Decides which strings of an answer are texts. Every string is one unless its name marks it as part of the form, so that
 * future members of a provider are inspected too. Source: design decisions, section 11, Segments of a model request.
 */
import { formPattern, uninspectedMembers, uninspectedNames } from "../uninspected.ts";
import { indexIn, memberOf, type Placed, stringIn } from "./placed.ts";

export type Media = "image" | "audio" | "file";

export type FoundString =
  /**
   * String of an answer. `path` consists of names and array indexes (the `index` member where there is one), separated by
   * dots.
   */
  | { readonly is: "text" | "arguments"; readonly path: string; readonly node: Placed; readonly text: string }
  /** Signature of a text in its scope. It becomes void once that text is rewritten. */
  | { readonly is: "seal"; readonly path: string; readonly node: Placed }
  /** Token ids or log probabilities of a text. */
  | { readonly is: "tokens"; readonly path: string; readonly node: Placed }
  | { readonly is: "media"; readonly what: Media };

/** How strings are selected. `every` is for a body whose members are unknown. */
export type Reading = "known" | "every";

const FORM = uninspectedMembers("answers");
const OF_ERRORS = uninspectedMembers("errors");
const SEALS: ReadonlySet<string> = new Set(["signature", "encrypted_content"]);
const TOKENS: ReadonlySet<string> = new Set(["logprobs", "token_ids"]);
/** Names of lists that clients append to instead of replacing them. */
const LISTS: ReadonlySet<string> = new Set(["annotations", "citations"]);
/** Members of a response that repeat its request. */
const ECHO = uninspectedMembers("repeated");
const ENCODED: ReadonlyMap<string, Media> = new Map([
  ["b64_json", "image"],
  ["partial_image_b64", "image"],
  ["embedding", "file"],
]);
/** Types of objects whose `data` or `result` is encoded. */
const ENCODED_TYPES: ReadonlyMap<string, Media> = new Map([
  ["redacted_thinking", "file"],
  ["reasoning.encrypted", "file"],
  ["base64", "file"],
  ["image_generation_call", "image"],
]);
const CARRIERS = uninspectedNames("answered media", "media");
const BASE64 = formPattern("media");

/** Returns whether the string in a member for audio is really audio data. */
export const isSound = (text: string): boolean => BASE64.test(text);
const DATA_URL = /^data:([a-z]*)[^,]{0,200};base64,/i;

/** Returns whether a string member of that name is always inspected as a text, unless it begins like a `data:` URL. */
export const isAlwaysText = (name: string): boolean =>
  ![FORM, OF_ERRORS, SEALS, TOKENS, ENCODED, CARRIERS].some((names) => names.has(name)) && name !== "arguments";

/** Returns whether a value of `obfuscation` is really padding: characters without a meaning. */
export const isPadding = (value: string): boolean =>
  /^[A-Za-z0-9_-]*$/.test(value) && (value === "" || isForm("obfuscation", value));

/** Returns whether the member of a response repeats its request and so is not a text of the answer. */
export const isEcho = (name: string): boolean => ECHO.has(name);

/** Visits all strings below `root`, in order. */
export function eachString(
  text: string,
  root: Placed,
  rootPath: string,
  reading: Reading,
  visit: (found: FoundString) => void,
): void {
  /** Visits the strings of one node. `isFree` is true within the arguments of a call, where names have no fixed meaning. */
  function walk(node: Placed, path: string, name: string, parent: Placed | undefined, isFree: boolean): void {
    const isTree = node.kind === "object" || node.kind === "array";
    if (isTree && !isFree && reading === "known" && TOKENS.has(name)) {
      visit({ is: "tokens", path, node });
      return;
    }
    if (node.kind === "object") {
      const seen = new Set<string>();
      for (const { name: own, value } of node.members) {
        // Some readers ignore letter case, and most use only one of several members with the same name. So each
        // further member is a text of its own.
        const lower = own.toLowerCase();
        const at = seen.has(lower) ? `${lower}!${seen.size}` : lower;
        seen.add(lower);
        const isCall = (own === "arguments" || own === "input") && value.kind !== "string";
        walk(value, path === "" ? at : `${path}.${at}`, own, node, isFree || isCall);
      }
      return;
    }
    if (node.kind === "array") {
      node.items.forEach((item, i) => {
        const index = indexIn(text, memberOf(item, "index")) ?? (LISTS.has(name) ? `+${i}` : i);
        walk(item, `${path}.${index}`, name, item, isFree);
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
    else if (SEALS.has(name) && isForm(name, value)) visit({ is: "seal", path, node });
    else if (isForm(name, value) || (OF_ERRORS.has(name) && isErrorCode(path) && formPattern("token").test(value)))
      return;
    else visit({ is: name === "arguments" ? "arguments" : "text", path, node, text: value });
  }

  function mediaOf(value: string, path: string, name: string, parent: Placed | undefined): Media | undefined {
    const encoded = ENCODED.get(name);
    if (encoded !== undefined) return encoded;
    if (CARRIERS.has(name) && BASE64.test(value)) {
      if (name === "audio" || path.endsWith("audio.data")) return "audio";
      return ENCODED_TYPES.get(stringIn(text, memberOf(parent, "type")) ?? "");
    }
    const type = value.startsWith("data:") ? DATA_URL.exec(value)?.[1] : undefined;
    if (type === undefined) return undefined;
    return type === "image" || type === "audio" ? type : "file";
  }

  const rootName = rootPath.slice(rootPath.lastIndexOf(".") + 1);
  walk(root, rootPath, rootName, undefined, false);
}

function isForm(name: string, value: string): boolean {
  const form = FORM.get(name);
  return form !== undefined && (form === "any" || form.test(value));
}

const isErrorCode = (path: string): boolean => path === "code" || path.endsWith("error.code");

/**
 * Returns the part of an answer that is inspected and signed as a unit: a choice, a content block or an item of a response.
 * Returns an empty string outside of all of them.
 */
export function scopeOf(path: string): string {
  return /^(?:choices|content|output)\.\d+(?=\.|$)/.exec(path)?.[0] ?? "";
}

/** Returns whether the text is thinking. Rewriting it invalidates the signatures of its scope. */
export function isThought(path: string): boolean {
  return /\.(?:thinking|reasoning\w*|summary)(?:\.|$)/.test(path) || /^output\.\d+\.content\.\d+\.text$/.test(path);
}
