/**
 * Decides which strings of an answer are texts. Every string is one unless its name marks it as part of the form, so that
 * future members of a provider are inspected too. Source: design decisions, section 11, Segments of a model request.
 */
import { formPattern, uninspectedMembers, uninspectedNames } from "../uninspected.ts";
import { indexIn, type JsonNode, memberOf, stringIn } from "./positioned-json.ts";

export type Media = "image" | "audio" | "file";

export type FoundString =
  /**
   * String of an answer. `path` consists of names and array indexes (the `index` member where there is one), separated by
   * dots.
   */
  | { readonly kind: "text" | "arguments"; readonly path: string; readonly node: JsonNode; readonly text: string }
  /** Signature of a text in its scope. It becomes void once that text is rewritten. */
  | { readonly kind: "seal"; readonly path: string; readonly node: JsonNode }
  /** Token ids or log probabilities of a text. */
  | { readonly kind: "tokens"; readonly path: string; readonly node: JsonNode }
  | { readonly kind: "media"; readonly media: Media };

/** How strings are selected. `every` is for a body whose members are unknown. */
export type StringSelection = "known" | "every";

const UNINSPECTED_MEMBERS = uninspectedMembers("answers");
const UNINSPECTED_IN_ERRORS = uninspectedMembers("errors");
const SEALS: ReadonlySet<string> = new Set(["signature", "encrypted_content"]);
const TOKENS: ReadonlySet<string> = new Set(["logprobs", "token_ids"]);
/** Names of lists that clients append to instead of replacing them. */
const LISTS: ReadonlySet<string> = new Set(["annotations", "citations"]);
/** Members of a response that repeat its request. */
const REPEATED_MEMBERS = uninspectedMembers("repeated");
const ENCODED_MEMBERS: ReadonlyMap<string, Media> = new Map([
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
const MEDIA_MEMBERS = uninspectedNames("answered media", "media");
const BASE64 = formPattern("media");

/** Returns whether the string in a member for audio is really audio data. */
export const isAudioData = (text: string): boolean => BASE64.test(text);
const DATA_URL = /^data:([a-z]*)[^,]{0,200};base64,/i;

/** Returns whether a string member of that name is always inspected as a text, unless it begins like a `data:` URL. */
export const isAlwaysText = (name: string): boolean =>
  ![UNINSPECTED_MEMBERS, UNINSPECTED_IN_ERRORS, SEALS, TOKENS, ENCODED_MEMBERS, MEDIA_MEMBERS].some((names) =>
    names.has(name),
  ) && name !== "arguments";

/** Returns whether a value of `obfuscation` is really padding: characters without a meaning. */
export const isPadding = (value: string): boolean =>
  /^[A-Za-z0-9_-]*$/.test(value) && (value === "" || hasUninspectedForm("obfuscation", value));

/** Returns whether the member of a response repeats its request and so is not a text of the answer. */
export const repeatsRequest = (name: string): boolean => REPEATED_MEMBERS.has(name);

/** Visits all strings below `root`, in order. */
export function visitStrings(
  text: string,
  root: JsonNode,
  rootPath: string,
  selection: StringSelection,
  visit: (found: FoundString) => void,
): void {
  /** Visits the strings of one node. `isInArguments` is true within the arguments of a call, where names have no fixed meaning. */
  function walk(
    node: JsonNode,
    path: string,
    name: string,
    parent: JsonNode | undefined,
    isInArguments: boolean,
  ): void {
    const isContainer = node.kind === "object" || node.kind === "array";
    if (isContainer && !isInArguments && selection === "known" && TOKENS.has(name)) {
      visit({ kind: "tokens", path, node });
      return;
    }
    if (node.kind === "object") {
      const seen = new Set<string>();
      for (const { name: memberName, value } of node.members) {
        // Some readers ignore letter case, and most use only one of several members with the same name. So each
        // further member is a text of its own.
        const lower = memberName.toLowerCase();
        const pathName = seen.has(lower) ? `${lower}!${seen.size}` : lower;
        seen.add(lower);
        const isCall = (memberName === "arguments" || memberName === "input") && value.kind !== "string";
        walk(value, path === "" ? pathName : `${path}.${pathName}`, memberName, node, isInArguments || isCall);
      }
      return;
    }
    if (node.kind === "array") {
      node.items.forEach((item, i) => {
        const index = indexIn(text, memberOf(item, "index")) ?? (LISTS.has(name) ? `+${i}` : i);
        walk(item, `${path}.${index}`, name, item, isInArguments);
      });
      return;
    }
    if (node.kind === "string") visitString(node, path, name, parent, isInArguments);
  }

  function visitString(
    node: JsonNode,
    path: string,
    name: string,
    parent: JsonNode | undefined,
    isInArguments: boolean,
  ): void {
    const value = stringIn(text, node) ?? "";
    if (value === "") return;
    const media = isInArguments ? undefined : mediaOf(value, path, name, parent);
    if (media !== undefined) visit({ kind: "media", media });
    else if (isInArguments || selection === "every") visit({ kind: "text", path, node, text: value });
    else if (SEALS.has(name) && hasUninspectedForm(name, value)) visit({ kind: "seal", path, node });
    else if (
      hasUninspectedForm(name, value) ||
      (UNINSPECTED_IN_ERRORS.has(name) && isErrorCode(path) && formPattern("token").test(value))
    )
      return;
    else visit({ kind: name === "arguments" ? "arguments" : "text", path, node, text: value });
  }

  function mediaOf(value: string, path: string, name: string, parent: JsonNode | undefined): Media | undefined {
    const encoded = ENCODED_MEMBERS.get(name);
    if (encoded !== undefined) return encoded;
    if (MEDIA_MEMBERS.has(name) && BASE64.test(value)) {
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

function hasUninspectedForm(name: string, value: string): boolean {
  const form = UNINSPECTED_MEMBERS.get(name);
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
